//! What can be said only when the whole log is read: numbers of cases that print alike, doubled rows, missing messages.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use switchback_model::event::Timer;

use super::reader::Reader;
use super::{FlagGemsLog, Format, LogRow, PytestSummary};

impl Reader {
    /// Ends the reading.
    pub(super) fn finish(mut self, text: &str) -> FlagGemsLog {
        self.drop_doubled_tables();
        let mut seen: HashMap<(String, String, String), u32> = HashMap::new();
        for it in &mut self.log.rows {
            let case = &mut it.row.case;
            let key = (it.row.operator.clone(), case.dtype.clone(), case.input.clone());
            let count = seen.entry(key).or_default();
            case.occurrence = *count;
            *count += 1;
            if self.wall_time {
                it.row.timer = Some(Timer::Wall);
                it.row.timer_reason = Some("the back end's events are not used".into());
            }
        }
        self.fill_errors();
        for (field, values) in [("mode", self.values(|it| &it.mode)), ("level", self.values(|it| &it.level))]
        {
            if values.len() > 1 {
                let values = values.into_iter().collect::<Vec<_>>().join("`, `");
                self.warn(0, format!("more than one {field} in one log: `{values}`"));
            }
        }
        let not_measured = self.log.rows.iter().filter(|it| it.unmeasurable.is_some()).count();
        if not_measured > 0 {
            let total = self.log.rows.len();
            self.warn(
                0,
                format!("{not_measured} of {total} rows have a latency that is none (zero, negative)"),
            );
        }
        if self.log.rows.is_empty() {
            self.remark_no_rows(text);
        }
        self.log
    }

    fn values(&self, of: impl Fn(&LogRow) -> &String) -> BTreeSet<String> {
        self.log.rows.iter().map(of).filter(|value| !value.is_empty()).cloned().collect()
    }

    fn remark_no_rows(&mut self, text: &str) {
        match self.log.summary {
            Some(PytestSummary { passed, .. }) if passed > 0 => {
                self.warn(0, format!("{passed} tests passed and not one row was printed (is `-s` missing?)"));
            }
            None if self.log.failures.is_empty() && !text.trim().is_empty() => {
                let start: Vec<&str> =
                    text.lines().map(str::trim).filter(|line| !line.is_empty()).take(3).collect();
                let start: String = start.join(" | ").chars().filter(|c| !c.is_control()).take(200).collect();
                self.warn(0, format!("no output of FlagGems' benchmark is recognised; it starts: `{start}`"));
            }
            Some(_) | None => {}
        }
    }

    /// A file that holds tables and records holds rows twice; the record of an operator and dtype is the one not rounded.
    fn drop_doubled_tables(&mut self) {
        let name = |it: &LogRow| (it.row.operator.clone(), it.row.case.dtype.clone());
        let mut counts: BTreeMap<(String, String), (usize, usize)> = BTreeMap::new();
        for it in &self.log.rows {
            let (tables, records) = counts.entry(name(it)).or_default();
            match it.format {
                Format::Table => *tables += 1,
                Format::Record => *records += 1,
            }
        }
        counts.retain(|_, (tables, records)| *tables > 0 && *records > 0);
        for ((operator, dtype), (tables, records)) in &counts {
            let message = format!(
                "`{operator}` {dtype} is there as a table of {tables} rows and as a record of {records}: the record is read"
            );
            self.warn(0, message);
        }
        self.log.rows.retain(|it| it.format == Format::Record || !counts.contains_key(&name(it)));
    }

    /// Gives failures without a message the one of pytest's short summary: of a test that names the operator, or of the
    /// only one.
    fn fill_errors(&mut self) {
        let tests: Vec<(String, String)> =
            self.log.failures.iter().filter_map(|it| Some((it.test.clone()?, it.error.clone()?))).collect();
        for it in self.log.failures.iter_mut().filter(|it| it.test.is_none() && it.error.is_none()) {
            let operator = it.operator.as_deref().unwrap_or_default();
            let named = tests.iter().find(|(test, _)| !operator.is_empty() && test.contains(operator));
            let only = tests.first().filter(|_| tests.len() == 1);
            it.error = named.or(only).map(|(_, error)| error.clone());
        }
    }
}
