//! `watch`: how far a campaign is that runs elsewhere, from what lies in its folder.

use std::io::IsTerminal;
use std::path::Path;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use switchback_engine::prepare;
use switchback_engine::watch::{self, Sight};
use switchback_model::exit_code::ExitCode;
use switchback_model::outcome::Ending;
use switchback_report::text::one_line;

use crate::args::WatchArgs;
use crate::session;

/// How often the folder is looked at; a large one that takes long to read is looked at less often.
const PERIOD: Duration = Duration::from_secs(2);
/// What runs and writes nothing for so long is said to be silent.
const SILENT_S: f64 = 15.0;

pub fn run(args: &WatchArgs) -> anyhow::Result<ExitCode> {
    let program = session::program()?;
    let moving = std::io::stdout().is_terminal() && !args.once;
    let bar = if moving { ProgressBar::no_length() } else { ProgressBar::hidden() };
    bar.set_style(ProgressStyle::with_template("{msg}").unwrap_or_else(|_| ProgressStyle::default_bar()));
    loop {
        let asked = Instant::now();
        let sight = watch::look(&prepare::read(&args.dir, &program)?)?;
        let text = text(&sight, &args.dir);
        if !moving || sight.phase.is_none() {
            bar.finish_and_clear();
            session::print(&text);
            return Ok(ExitCode::Success);
        }
        bar.set_message(text);
        bar.tick();
        std::thread::sleep(PERIOD.max(asked.elapsed() * 5));
    }
}

fn text(sight: &Sight, dir: &Path) -> String {
    let failed = if sight.failed > 0 { format!(", {} failed", sight.failed) } else { String::new() };
    let phase = sight.phase.unwrap_or("finished");
    let mut lines = vec![format!("{phase:<8} {} of {} cells{failed}", sight.done, sight.total)];
    if sight.is_driven == Some(false) && sight.phase.is_some() {
        lines.push(format!("  nobody works here; `switchback resume {}` goes on", dir.display()));
    }
    for it in &sight.underway {
        let cell = one_line(&it.cell.to_string());
        let again = if it.attempt > 1 { format!(", attempt {}", it.attempt) } else { String::new() };
        let mut line = format!("  card {}  {:>4.0} s  {cell}{again}", it.card.index, it.age_s);
        let units = ["MHz", "W", "°C"];
        for (value, unit) in it.reading.iter().zip(units).filter_map(|(value, unit)| Some(((*value)?, unit)))
        {
            line.push_str(&format!("  {value:.0} {unit}"));
        }
        if it.silent_s > SILENT_S {
            line.push_str(&format!("  silent for {:.0} s", it.silent_s));
        }
        lines.push(line);
    }
    if let Some((cell, outcome)) = &sight.last {
        let cell = one_line(&cell.to_string());
        let ended = match outcome.ending {
            Ending::Interrupted => "interrupted".to_owned(),
            _ => format!("status {}", outcome.shell_status()),
        };
        let rows = outcome.counts.success;
        lines.push(format!("last     {cell}: {ended} after {:.1} s, {rows} rows", outcome.elapsed_s));
    }
    lines.join("\n")
}
