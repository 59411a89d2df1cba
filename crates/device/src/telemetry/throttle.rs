//! Why a clock is held down: the names of NVIDIA's bits, and which of them disturb a round.

/// Names of the bits of the throttle reasons, from the lowest (`nvmlClocksEventReasons…` in `nvml.h`).
pub const REASONS: [&str; 9] = [
    "gpu_idle",
    "applications_clocks_setting",
    "sw_power_cap",
    "hw_slowdown",
    "sync_boost",
    "sw_thermal_slowdown",
    "hw_thermal_slowdown",
    "hw_power_brake_slowdown",
    "display_clock_setting",
];

/// What a reading shows where no reason holds the clock down.
pub const NONE: &str = "none";

/// The reason that says that nothing runs on the card.
pub const IDLE: &str = "gpu_idle";

/// Those of [`REASONS`] that say that heat or the power brake held the clock down.
///
/// `hw_slowdown` is none of them: with either it stands beside its own reason, alone it may be a mere change of the
/// power state (`nvidia-smi --help-query-gpu`).
pub const BRAKING: [&str; 3] = ["sw_thermal_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown"];

/// Names of the bits of a mask, joined by `+`; bits without a name are printed as a mask, no bit as [`NONE`].
#[must_use]
pub fn names(bits: u64) -> String {
    let named = REASONS.iter().enumerate().filter(|(bit, _)| bits >> bit & 1 == 1);
    let mut names: Vec<String> = named.map(|(_, name)| (*name).to_owned()).collect();
    let rest = bits >> REASONS.len() << REASONS.len();
    if rest != 0 {
        names.push(format!("{rest:#x}"));
    }
    if names.is_empty() { NONE.into() } else { names.join("+") }
}

/// True if a single reason disturbs a round.
#[must_use]
pub fn is_braking(reason: &str) -> bool {
    BRAKING.contains(&reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_have_names() {
        assert_eq!(names(0), "none");
        assert_eq!(names(1), "gpu_idle");
        assert_eq!(names(0x44), "sw_power_cap+hw_thermal_slowdown");
        assert_eq!(names(0x1080), "hw_power_brake_slowdown+0x1000");
    }
}
