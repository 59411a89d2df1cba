//! What stands on the moving lines: the campaign in one, each card at work in one. Values in, text out.

use std::collections::BTreeMap;
use std::time::Duration;

/// A card at work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CardLine {
    /// The card's index.
    pub index: String,
    /// Its cell.
    pub cell: String,
    /// How long that has run.
    pub elapsed: Duration,
}

/// A campaign as it stands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct View {
    /// The stretch that was begun last.
    pub phase: &'static str,
    /// Cells that are done.
    pub done: usize,
    /// Cells in all, as far as screening has told.
    pub total: usize,
    /// Cells that ended with another status than 0 since this start.
    pub failed: usize,
    /// Time since the start.
    pub elapsed: Duration,
    /// Time until all cards are done, as far as it is known what is to be measured.
    pub left: Option<Duration>,
    /// True once several cells ran at a time: from then on each has its line.
    pub many: bool,
    /// Cards at work, by their index and their cell.
    pub cards: BTreeMap<(String, String), CardLine>,
}

impl View {
    /// The moving lines of a terminal of that width.
    pub fn lines(&self, width: usize) -> String {
        let mut lines = vec![self.campaign()];
        let longest = self.cards.values().map(|card| card.index.chars().count()).max().unwrap_or(0);
        // One card is no list of cards: its cell stands in the campaign's line.
        match self.cards.values().collect::<Vec<_>>()[..] {
            [] => {}
            [card] if !self.many => {
                lines[0] = format!("{}  {} {}", self.campaign(), card.cell, seconds(card.elapsed));
            }
            ref cards => lines.extend(cards.iter().map(|card| {
                format!("  card {:>longest$}  {}  {}", card.index, seconds(card.elapsed), card.cell)
            })),
        }
        let cut = |line: String| line.chars().take(width).collect::<String>();
        lines.into_iter().map(cut).collect::<Vec<_>>().join("\n")
    }

    /// All of it on one line, for a log.
    pub fn line(&self) -> String {
        let mut line = self.campaign();
        for card in self.cards.values() {
            line.push_str(&format!("; card {}: {} {}", card.index, card.cell, seconds(card.elapsed)));
        }
        line
    }

    fn campaign(&self) -> String {
        let mut text = format!("{:<8} {} of {} cells", self.phase, self.done, self.total);
        if self.failed > 0 {
            text.push_str(&format!(", {} failed", self.failed));
        }
        text.push_str(&format!(", {} so far", span(self.elapsed)));
        if let Some(left) = self.left {
            text.push_str(&format!(", about {} left", span(left)));
        }
        text
    }
}

fn seconds(time: Duration) -> String {
    format!("{:>4} s", time.as_secs())
}

/// `41 s`, `12 min`, `3 h 20 min`: as coarse as an estimate is.
fn span(time: Duration) -> String {
    let minutes = (time.as_secs() + 30) / 60;
    match (time.as_secs(), minutes) {
        (seconds @ 0..120, _) => format!("{seconds} s"),
        (_, minutes @ 0..60) => format!("{minutes} min"),
        (_, minutes) => format!("{} h {} min", minutes / 60, minutes % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(cards: &[(&str, &str, u64)]) -> View {
        View {
            phase: "measure",
            done: 34,
            total: 120,
            elapsed: Duration::from_secs(192),
            left: Some(Duration::from_secs(3 * 3600 + 20 * 60)),
            cards: cards
                .iter()
                .map(|(index, cell, elapsed_s)| {
                    let elapsed = Duration::from_secs(*elapsed_s);
                    let card = CardLine { index: (*index).into(), cell: (*cell).into(), elapsed };
                    (((*index).to_owned(), (*cell).to_owned()), card)
                })
                .collect(),
            ..View::default()
        }
    }

    #[test]
    fn each_card_at_work_has_a_line_below_the_campaign_s() {
        let it = View { failed: 2, ..view(&[("0", "mm r2_AB", 41), ("11", "softmax r1_AB", 3)]) };
        assert_eq!(
            it.lines(100),
            "measure  34 of 120 cells, 2 failed, 3 min so far, about 3 h 20 min left\n\
             \x20 card  0    41 s  mm r2_AB\n\
             \x20 card 11     3 s  softmax r1_AB"
        );
        assert!(it.lines(20).lines().all(|line| line.chars().count() <= 20));
    }

    #[test]
    fn a_single_card_stands_in_the_campaign_s_line_and_a_log_has_one_line_whatever_runs() {
        let one = view(&[("0", "mm r2_AB", 41)]);
        let campaign = "measure  34 of 120 cells, 3 min so far, about 3 h 20 min left";
        assert_eq!(one.lines(200), format!("{campaign}  mm r2_AB   41 s"));
        // Between two cells of two cards the lines do not change their form.
        let many = View { many: true, ..one.clone() };
        assert_eq!(many.lines(200), format!("{campaign}\n  card 0    41 s  mm r2_AB"));
        let two = view(&[("0", "mm r2_AB", 41), ("1", "add r1_AB", 3)]);
        assert_eq!(two.line(), format!("{campaign}; card 0: mm r2_AB   41 s; card 1: add r1_AB    3 s"));
        assert_eq!(View { left: None, ..view(&[]) }.line(), "measure  34 of 120 cells, 3 min so far");
    }

    #[test]
    fn times_are_as_coarse_as_estimates_are() {
        let told = [0, 119, 120, 3569, 3570, 7200].map(|time| span(Duration::from_secs(time)));
        assert_eq!(told, ["0 s", "119 s", "2 min", "59 min", "1 h 0 min", "2 h 0 min"]);
    }
}
