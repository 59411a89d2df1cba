//! The two texts that `mthreads-gmi` prints for people: the table of all cards, and `-q`, sections by indentation.
//!
//! Read only where there is no JSON. The table was seen of versions 1.14, 2.0 and 2.3; of `-q` only what public parsers of
//! it look for, so that form is unverified until somebody keeps a whole one.

use super::Reading;

/// Reads either text.
pub(super) fn parse(text: &str) -> Vec<Reading> {
    let sections = sections(text);
    if sections.is_empty() { table(text) } else { sections }
}

/// `-q`: a line `GPU <bus>` without indentation begins a card, lines that end a level and have no value are sections.
///
/// `Memory`, `Total` and `Used` mean what their section says.
fn sections(text: &str) -> Vec<Reading> {
    let mut cards: Vec<Reading> = Vec::new();
    let mut section = String::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let indented = line.starts_with([' ', '\t']);
        let (key, value) = match line.split_once(':') {
            // A place on the bus holds colons itself.
            Some((key, value)) if indented => (key.trim(), value.trim()),
            _ => (line.trim(), ""),
        };
        if !indented {
            if line.strip_prefix("GPU ").is_some_and(|bus| bus.contains(':')) {
                // The text does not print the index; cards come in its order.
                cards.push(Reading { index: cards.len().to_string(), ..Reading::default() });
            }
            section.clear();
            continue;
        }
        let Some(card) = cards.last_mut() else { continue };
        if value.is_empty() {
            key.clone_into(&mut section);
            continue;
        }
        match (section.as_str(), key) {
            ("FB Memory Usage", "Used") => card.mem_used_mib = card.figure("mem_used_mib", value),
            ("FB Memory Usage", "Total") => card.mem_total_mib = card.figure("mem_total_mib", value),
            ("Utilization", "Gpu") => card.util_pct = card.figure("util_pct", value),
            ("Temperature", "GPU Current Temp") => card.temp_c = card.figure("temp_c", value),
            ("Power Readings", "Power Draw") => card.power_w = card.figure("power_w", value),
            ("Power Readings", "Current Power Limit") => {
                card.power_limit_w = card.figure("power_limit_w", value);
            }
            ("Clocks", "Graphics") => card.sm_clock_mhz = card.figure("sm_clock_mhz", value),
            ("Clocks", "Memory") => card.mem_clock_mhz = card.figure("mem_clock_mhz", value),
            _ => {}
        }
    }
    cards
}

/// The table: two lines a card that matter, the first with index, name, bus, utilisation and memory, the second with lanes
/// and temperature. It ends at `Processes:`, whose lines begin with a number too.
fn table(text: &str) -> Vec<Reading> {
    let mut cards: Vec<Reading> = Vec::new();
    let mut awaits_second = false;
    for line in text.lines().take_while(|line| line.trim() != "Processes:") {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        if let [name, bus, use_and_memory] = cells[..] {
            let index = name.split_whitespace().next().unwrap_or_default();
            let is_card = !index.is_empty() && index.bytes().all(|byte| byte.is_ascii_digit());
            if is_card && bus.matches(':').count() == 2 {
                cards.push(first_line(index, use_and_memory));
                awaits_second = true;
            } else if let Some(card) = cards.last_mut().filter(|_| std::mem::take(&mut awaits_second)) {
                let celsius = use_and_memory.split_whitespace().next().unwrap_or_default();
                card.temp_c = card.figure("temp_c", celsius);
                if let Some((now, most)) = lanes(bus).filter(|(now, most)| now < most) {
                    card.note(&format!("{now} of {most} PCIe lanes"));
                }
            }
        }
    }
    cards
}

/// `0%    66641MiB(81920MiB)`.
fn first_line(index: &str, text: &str) -> Reading {
    let mut it = Reading { index: index.to_owned(), ..Reading::default() };
    let mut words = text.split_whitespace();
    it.util_pct = it.figure("util_pct", words.next().unwrap_or_default());
    let memory = words.next().unwrap_or_default();
    let (used, total) = memory.split_once('(').unwrap_or((memory, ""));
    it.mem_used_mib = it.figure("mem_used_mib", used);
    it.mem_total_mib = it.figure("mem_total_mib", total.trim_end_matches(')'));
    it
}

/// `4x(16x)`: lanes in use, and of how many.
fn lanes(text: &str) -> Option<(u32, u32)> {
    let (now, most) = text.split_once('(')?;
    let lanes = |text: &str| text.trim().trim_end_matches(')').trim_end_matches('x').parse().ok();
    Some((lanes(now)?, lanes(most)?))
}
