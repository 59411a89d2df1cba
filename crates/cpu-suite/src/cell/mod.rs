//! Runs one order: compiles, launches, compares, measures, and tells of it in events.
//!
//! Both pairings are the same run with one or two sides. Every case gives a row for each of its sides, a failed one
//! too. Keeps two invariants: all that is drawn comes from the order's seed and is noted, and inputs do not come from
//! it, so outputs can be compared across cells.

mod kernels;
mod outputs;
mod sink;
mod start;
mod table;
mod timing;

use std::collections::BTreeMap;
use std::io::Write;

use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use switchback_model::event::{EventBody, Failure, Launch, Launched, Note, Proof, Row, Timer};
use switchback_model::order::{CacheState, Order, TimerChoice};
use switchback_model::side::Side;
use switchback_model::switch::Variables;
use switchback_store::StoreError;

use self::kernels::SideKernels;
use self::timing::{Run, Samples};
use crate::dtype::Dtype;
use crate::jit::Settings;
use crate::lang::Body;
use crate::operators::{self, Case, Code, Operator, shape_text};

pub use self::kernels::compile;
pub use self::sink::{AttemptSink, Sink, text_digest};

/// Exit status of a cell all of whose cases were measured.
pub const STATUS_OK: i32 = 0;
/// Exit status of a cell in which something failed.
pub const STATUS_FAILED: i32 = 1;
/// Exit status of a cell that could not begin: an operator or a setting that is none.
pub const STATUS_USAGE: i32 = 2;

/// Runs an order in an environment and gives the exit status.
///
/// The side's variables in the order come before those of the environment: in process pairing they are the same, in
/// duet pairing the environment has none. Prints a table of the rows for people.
///
/// # Errors
/// An event or a text cannot be written.
pub fn run(
    order: &Order,
    environment: &Variables,
    sink: &mut impl Sink,
    table: &mut impl Write,
) -> Result<i32, StoreError> {
    let mut cell = Cell { order, sink, rows: Vec::new(), failures: 0, proven: BTreeMap::new() };
    let status = cell.run(environment)?;
    let rows = cell.rows.iter().filter(|row| row.ok).count() as u64;
    cell.sink.event(EventBody::End(switchback_model::event::End { status, rows }))?;
    // The table is for people; a closed pipe must not turn a measured cell into a failed one.
    let _ = table::print(&cell.rows, table);
    Ok(status)
}

struct Cell<'a, S> {
    order: &'a Order,
    sink: &'a mut S,
    rows: Vec<Row>,
    failures: u64,
    /// Stages that a second compilation gave otherwise, by dtype: cases of one dtype share their kernels.
    proven: BTreeMap<Dtype, Vec<String>>,
}

impl<S: Sink> Cell<'_, S> {
    fn run(&mut self, environment: &Variables) -> Result<i32, StoreError> {
        self.sink.event(EventBody::Start(start::start()))?;
        let name = self.order.operator.operator.as_str();
        let Some(operator) = operators::find(name) else {
            self.fail("collect", format!("the cpu suite has no operator `{name}`"), None)?;
            return Ok(STATUS_USAGE);
        };
        let Some(mut sides) = self.sides(environment)? else { return Ok(STATUS_USAGE) };
        for capability in start::capabilities(&self.order.measure) {
            self.sink.event(EventBody::Capability(capability))?;
        }
        self.note_what_is_passed_over()?;
        let dtypes = self.dtypes(operator)?;

        let mut draws = ChaCha8Rng::seed_from_u64(self.order.measure.seed);
        if sides.len() == 2 && draws.random::<bool>() {
            sides.reverse();
        }
        let mut cases: Vec<Case> = operator.cases(&dtypes).collect();
        cases.shuffle(&mut draws);
        let in_order: Vec<String> = cases.iter().map(|case| case.key().to_string()).collect();
        self.note(
            "draws",
            format!(
                "seed {}: side {} compiled first; cases {}",
                self.order.measure.seed,
                sides[0].side,
                in_order.join(", ")
            ),
        )?;
        let mut discarded = 0;
        for case in cases {
            discarded += self.case(operator, case, &mut sides, &mut draws)?;
        }
        if discarded > 0 {
            self.note("discarded", format!("{discarded} samples at the beginning of blocks"))?;
        }
        Ok(if self.failures == 0 { STATUS_OK } else { STATUS_FAILED })
    }

    fn note(&mut self, topic: &str, detail: impl Into<String>) -> Result<(), StoreError> {
        self.sink.event(EventBody::Note(Note { topic: topic.into(), detail: detail.into() }))
    }

    fn fail(
        &mut self,
        place: &str,
        error: impl Into<String>,
        case: Option<switchback_model::case::CaseKey>,
    ) -> Result<(), StoreError> {
        self.failures += 1;
        self.sink.event(EventBody::Error(Failure { place: place.into(), error: error.into(), case }))
    }

    fn row(&mut self, row: Row) -> Result<(), StoreError> {
        self.sink.event(EventBody::Row(row.clone()))?;
        self.rows.push(row);
        Ok(())
    }

    /// The sides with their settings; none if a variable is no setting.
    fn sides(&mut self, environment: &Variables) -> Result<Option<Vec<SideKernels>>, StoreError> {
        let mut sides = Vec::new();
        for side in self.order.purpose.sides().sides() {
            let mut variables = environment.clone();
            variables.extend(self.order.switch.side(*side).clone());
            match Settings::from_variables(&variables) {
                Ok(settings) => sides.push(SideKernels::new(*side, settings)),
                Err(error) => {
                    let hint = error.hint().map(|hint| format!("\nhint: {hint}")).unwrap_or_default();
                    self.fail("setup", format!("side {side}: {error}{hint}"), None)?;
                    return Ok(None);
                }
            }
        }
        Ok(Some(sides))
    }

    /// Says once what the order asks for and the suite does otherwise.
    fn note_what_is_passed_over(&mut self) -> Result<(), StoreError> {
        let foreign: Vec<String> = self
            .order
            .switch
            .names()
            .into_iter()
            .filter(|name| !name.starts_with(crate::jit::PREFIX))
            .map(|name| format!("`{name}`"))
            .collect();
        if !foreign.is_empty() {
            let names = foreign.join(", ");
            self.note("switch", format!("{names}: no variable of the cpu suite, so its code cannot change"))?;
        }
        if self.order.measure.timed && self.order.measure.cache_state == CacheState::Flush {
            self.note("cache_state", "the cpu suite measures with a warm cache; it does not flush")?;
        }
        Ok(())
    }

    /// The dtypes to measure; each that the operator refuses gives an error and a failed row a side.
    fn dtypes(&mut self, operator: &'static Operator) -> Result<Vec<Dtype>, StoreError> {
        let asked = &self.order.operator.dtypes;
        let names: Vec<String> = if asked.is_empty() {
            operator.sweep.iter().map(|dtype| dtype.name().to_owned()).collect()
        } else {
            asked.clone()
        };
        let mut dtypes: Vec<Dtype> = Vec::new();
        for name in names {
            match Dtype::from_name(&name).filter(|dtype| operator.dtypes.contains(dtype)) {
                Some(dtype) if dtypes.contains(&dtype) => {}
                Some(dtype) => dtypes.push(dtype),
                None => self.refuse(operator, &name)?,
            }
        }
        Ok(dtypes)
    }

    fn refuse(&mut self, operator: &Operator, dtype: &str) -> Result<(), StoreError> {
        let taken: Vec<&str> = operator.dtypes.iter().map(|dtype| dtype.name()).collect();
        let name = operator.name;
        let error = format!("refuses {dtype}, takes {}: `{name}::{}`", taken.join(", "), taken[0]);
        let case = switchback_model::case::CaseKey {
            dtype: dtype.into(),
            input: shape_text(operator.shapes[0]),
            occurrence: 0,
        };
        self.fail("dtype", &error, Some(case.clone()))?;
        for side in self.order.purpose.sides().sides() {
            self.row(Row {
                operator: name.into(),
                side: *side,
                case: case.clone(),
                ok: false,
                error: Some(error.clone()),
                timer: None,
                timer_reason: None,
                samples_us: Vec::new(),
                latency_us: None,
                baseline_us: None,
                host_us: None,
                host_bound: false,
                dropped: 0,
                clock_mhz: None,
                standard_error_pct: None,
                regime: switchback_model::order::Regime::Burst,
            })?;
        }
        Ok(())
    }

    /// Runs one case on all sides; gives how many samples were discarded.
    fn case(
        &mut self,
        operator: &'static Operator,
        case: Case,
        sides: &mut [SideKernels],
        draws: &mut ChaCha8Rng,
    ) -> Result<u64, StoreError> {
        if let Code::Kernel(write) = operator.code {
            for side in &mut *sides {
                side.ensure(operator, write, case.dtype, self.sink)?;
            }
            if let Some(error) = sides.iter().find_map(|side| side.get(case.dtype).err().map(str::to_owned)) {
                self.cannot_compile(operator, case, sides, &error)?;
                return Ok(0);
            }
            if sides.len() == 2 {
                self.prove(operator, write, case, sides)?;
            }
        }
        let runs: Vec<Run<'_>> = sides
            .iter()
            .map(|side| match operator.code {
                Code::Kernel(_) => Run::Native(&side.get(case.dtype).expect("checked above").native),
                Code::Plain(plain) => Run::Plain(plain),
            })
            .collect();
        let mut operands = operator.operands(case);
        let mut outputs = Vec::new();
        for (side, run) in sides.iter().zip(&runs) {
            operands.poison_output();
            run.call(&mut operands);
            outputs.push((side.side, *run, operands.output().clone()));
            if matches!(operator.code, Code::Kernel(_)) {
                self.sink.event(EventBody::Launch(Launch {
                    side: side.side,
                    case: case.key(),
                    compiled: vec![Launched { id: side.id(operator, case.dtype), launches: 1 }],
                    unknown: 0,
                }))?;
            }
        }
        outputs.sort_by_key(|(side, ..)| *side);
        let (first_side, first_run, first) = &outputs[0];
        operands.poison_output();
        first_run.call(&mut operands);
        let again = operands.output();
        let compared = match outputs.get(1) {
            None => {
                let reference = self.order.reference.then_some((operator, &operands));
                outputs::of_one_side(case, *first_side, first, again, reference)
            }
            Some((_, _, second)) => outputs::of_both_sides(operator, case, &operands, first, second, again),
        };
        self.sink.event(EventBody::Outputs(compared))?;
        drop(outputs);

        let samples = if self.order.measure.timed {
            timing::measure(&runs, &mut operands, &self.order.measure, draws)
        } else {
            vec![Samples::default(); runs.len()]
        };
        let mut rows: Vec<Row> = sides
            .iter()
            .zip(&samples)
            .map(|(side, samples)| self.measured_row(operator, case, side.side, samples))
            .collect();
        rows.sort_by_key(|row| row.side);
        for row in rows {
            self.row(row)?;
        }
        Ok(samples.iter().map(|samples| samples.discarded).sum())
    }

    fn measured_row(&self, operator: &Operator, case: Case, side: Side, samples: &Samples) -> Row {
        let timed = self.order.measure.timed;
        let asked = self.order.measure.timer;
        Row {
            operator: operator.name.into(),
            side,
            case: case.key(),
            ok: true,
            error: None,
            timer: timed.then_some(Timer::Wall),
            timer_reason: (timed && asked != TimerChoice::Auto)
                .then(|| format!("{asked} needs an accelerator; the cpu suite has the wall clock")),
            samples_us: samples.blocks.clone(),
            latency_us: timing::interquartile_mean(&samples.blocks),
            baseline_us: None,
            host_us: None,
            host_bound: false,
            dropped: 0,
            clock_mhz: None,
            standard_error_pct: samples.standard_error_pct,
            regime: switchback_model::order::Regime::Burst,
        }
    }

    /// A case that one side cannot compile is measured on neither: half a comparison is none.
    fn cannot_compile(
        &mut self,
        operator: &Operator,
        case: Case,
        sides: &[SideKernels],
        error: &str,
    ) -> Result<(), StoreError> {
        self.fail("compile", error, Some(case.key()))?;
        for side in sides {
            let error = match side.get(case.dtype) {
                Err(error) => error.to_owned(),
                Ok(_) => format!("not measured: side {} does not compile", side.side.other()),
            };
            let row = self.measured_row(operator, case, side.side, &Samples::default());
            self.row(Row { ok: false, error: Some(error), timer: None, timer_reason: None, ..row })?;
        }
        Ok(())
    }

    /// Compiles both sides once more in the opposite order and compares every stage.
    ///
    /// The engine compares with the isolated cells as well; this catches a compiler whose code depends on what it
    /// compiled before.
    fn prove(
        &mut self,
        operator: &Operator,
        write: fn(&Body),
        case: Case,
        sides: &[SideKernels],
    ) -> Result<(), StoreError> {
        let differing = self
            .proven
            .entry(case.dtype)
            .or_insert_with(|| differing_stages(operator, write, case.dtype, sides));
        let holds = differing.is_empty();
        let detail = if holds { "compiled again in the opposite order".into() } else { differing.join(", ") };
        self.sink.event(EventBody::Proof(Proof { case: case.key(), holds, detail }))
    }
}

/// Compiles the sides in the opposite order; names the stages whose texts are not those that the sides hold.
fn differing_stages(
    operator: &Operator,
    write: fn(&Body),
    dtype: Dtype,
    sides: &[SideKernels],
) -> Vec<String> {
    let mut differing = Vec::new();
    for side in sides.iter().rev() {
        let Ok(held) = side.get(dtype) else { continue };
        match compile(operator, write, dtype, &side.settings) {
            Err(error) => differing.push(format!("side {}: {error}", side.side)),
            Ok(again) => differing.extend(
                held.stages
                    .named()
                    .into_iter()
                    .zip(again.stages.named())
                    .filter(|(one, other)| one != other)
                    .map(|((stage, _), _)| format!("side {}: `{stage}`", side.side)),
            ),
        }
    }
    differing
}
