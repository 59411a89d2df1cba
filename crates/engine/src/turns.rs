//! Which cells may be on one card at the same time.
//!
//! Most of a short cell's time needs no card: an interpreter starts, modules are imported, tests collected. So cells that time
//! nothing share a card, and the next cell gets ready while one measures; a lock that the children take in turn keeps those
//! apart that must be (`cell` has the lock, the child takes it). Here is only which of them a cell needs. Invariant: a cell whose
//! rows are times of the host, or that is measured one process a side, is on its card by itself from start to end.

use procfs::{Current, Meminfo};
use switchback_model::cell::{CellKey, Purpose};
use switchback_model::order::{TimerChoice, Turn};
use switchback_model::side::CellSides;
use switchback_suites::suite::Suite;

use crate::request::Request;
use crate::state::State;

/// Cores that a cell keeps busy while it gets ready: one imports, another is left to the driver and to compilers.
const CORES_A_CELL: usize = 2;
/// Memory of the host that a cell may come to hold: torch, the library, the driver's own.
const BYTES_A_CELL: u64 = 4 << 30;
/// More cells at once gain nothing: on an H200 a FlagGems cell gets ready in 7.5 s and then has the card for 4 s and more.
const MOST: usize = 8;

/// Benchmark modes whose rows are times of the host: what gets ready beside them would be measured with them.
const HOST_MODES: [&str; 2] = ["operator", "wrapper"];

/// Most cells on a card at once: what was asked for, else by the cores and the memory that this machine has for each card.
pub(crate) fn most(request: &Request, suite: &dyn Suite, cards: usize) -> usize {
    if !suite.takes_turns() {
        return 1;
    }
    let asked = request.cells_per_card.map(|asked| asked as usize);
    asked.unwrap_or_else(|| {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let memory = Meminfo::current().ok().and_then(|it| it.mem_available);
        by_machine(cores, memory, cards.max(1))
    })
}

/// `memory` in bytes; none where that is not known.
fn by_machine(cores: usize, memory: Option<u64>, cards: usize) -> usize {
    let by_memory = memory
        .and_then(|bytes| usize::try_from(bytes / BYTES_A_CELL).ok())
        .map_or(MOST, |cells| cells / cards);
    (cores / cards / CORES_A_CELL).min(by_memory).clamp(1, MOST)
}

/// How a cell shares its card; none if it must be there by itself.
pub(crate) fn of(
    request: &Request,
    suite: &dyn Suite,
    state: &State,
    most: usize,
    cell: &CellKey,
) -> Option<Turn> {
    if most < 2 || !suite.takes_turns() {
        return None;
    }
    match cell.purpose {
        Purpose::Tune(_) => Some(Turn::Alone),
        // What failed beside others is tried again without them.
        Purpose::Screen(_) | Purpose::Again(_) => {
            Some(if state.failed_in_company(cell) { Turn::Alone } else { Turn::Shared })
        }
        Purpose::Round(_, CellSides::Both) => {
            let mode = request.options.mode.as_deref().unwrap_or_default();
            let of_the_host = request.measure.timer == TimerChoice::Direct || HOST_MODES.contains(&mode);
            (!of_the_host).then_some(Turn::Alone)
        }
        // The sides of a round follow each other with nothing between them.
        Purpose::Round(..) | Purpose::Naive(..) | Purpose::Run => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::tests::request;
    use crate::state::tests::{outcome, state};
    use switchback_model::outcome::{Ending, Outcome};
    use switchback_suites::registry;

    const ALONE_TURN: Option<Turn> = Some(Turn::Alone);
    const SHARED: Option<Turn> = Some(Turn::Shared);

    #[test]
    fn cores_and_memory_tell_how_many() {
        assert_eq!(
            [0, 1, 3, 4, 7, 8, 16, 64].map(|cores| by_machine(cores, None, 1)),
            [1, 1, 1, 2, 3, 4, 8, 8]
        );
        assert_eq!([0, 3, 4, 15, 16, 999].map(|gib| by_machine(16, Some(gib << 30), 1)), [1, 1, 1, 3, 4, 8]);
        assert_eq!(by_machine(128, Some(560 << 30), 8), 8);
        assert_eq!(by_machine(128, Some(128 << 30), 8), 4);
        let mut it = request();
        it.cells_per_card = Some(3);
        assert_eq!(most(&it, suite("triton").as_ref(), 8), 3);
        assert_eq!(most(&it, suite("command").as_ref(), 8), 1);
    }

    fn suite(name: &str) -> Box<dyn Suite> {
        let options =
            switchback_suites::suite::SuiteOptions { command: vec!["x".into()], ..Default::default() };
        registry::suite(name, &options, std::path::Path::new("x")).unwrap()
    }

    #[test]
    fn what_times_the_host_or_one_side_is_by_itself() {
        let (triton, cpu) = (suite("triton"), suite("cpu"));
        let cell = |purpose: &str| CellKey { operator: "add".into(), purpose: purpose.parse().unwrap() };
        let mut it = request();
        let turn = |it: &Request, purpose| of(it, triton.as_ref(), &State::default(), 4, &cell(purpose));
        assert_eq!(
            ["tune_A", "screen_B", "again_A", "r1_AB"].map(|purpose| turn(&it, purpose)),
            [ALONE_TURN, SHARED, SHARED, ALONE_TURN]
        );
        assert_eq!(["run", "r1_A", "naive1_B"].map(|purpose| turn(&it, purpose)), [None; 3]);
        assert_eq!(of(&it, triton.as_ref(), &State::default(), 1, &cell("screen_A")), None);
        assert_eq!(of(&it, cpu.as_ref(), &State::default(), 4, &cell("screen_A")), None);
        it.measure.timer = TimerChoice::Direct;
        assert_eq!(turn(&it, "r1_AB"), None);
        it.measure.timer = TimerChoice::Gated;
        it.options.mode = Some("operator".into());
        assert_eq!(turn(&it, "r1_AB"), None);
    }

    #[test]
    fn what_failed_in_company_is_tried_again_by_itself() {
        let of_outcome = |success, failed| {
            let it = outcome(Ending::Completed, success, "2026-01-01T10:00:00Z", "0");
            Some(Outcome {
                shared: true,
                counts: switchback_model::outcome::Counts { failed, ..it.counts },
                ..it
            })
        };
        // All rows are there, but the outputs of a case could not be kept.
        let with_error_of = |it: &Option<Outcome>| {
            let it = it.clone().unwrap();
            Some(Outcome { counts: switchback_model::outcome::Counts { errors: 1, ..it.counts }, ..it })
        };
        let cell = CellKey { operator: "add".into(), purpose: "screen_A".parse().unwrap() };
        let is_open =
            |it: &State| matches!(it.standing(&cell.operator, cell.purpose), crate::state::Standing::Open);
        let good = state(&[("screen_A", vec![of_outcome(3, 0)])]);
        assert!(!is_open(&good) && !good.failed_in_company(&cell));
        let with_error = with_error_of(&of_outcome(3, 0));
        for bad in [of_outcome(2, 1), of_outcome(0, 0), with_error] {
            let once = state(&[("screen_A", vec![bad.clone()])]);
            assert!(is_open(&once) && once.failed_in_company(&cell));
            let by_itself = Some(Outcome { shared: false, ..bad.clone().unwrap() });
            let twice = state(&[("screen_A", vec![bad, by_itself])]);
            assert!(!is_open(&twice));
        }
    }
}
