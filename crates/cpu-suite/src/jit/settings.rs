//! The compiler's settings from `SWITCHBACK_CPU_<SETTING>` variables.
//!
//! Every setting of Cranelift can be named, shared ones and those of the host's instruction set. Keeps two
//! invariants: code is never generated for instructions that the host lacks, and a setting under which calling the
//! code would end the process is refused with a reason.

use std::collections::{BTreeMap, BTreeSet};

use cranelift_codegen::isa::OwnedTargetIsa;
use cranelift_codegen::settings::{self, Configurable, SetError, SettingKind};
use switchback_model::switch::Variables;

/// What the names of the suite's variables start with.
pub const PREFIX: &str = "SWITCHBACK_CPU_";

/// The largest alignment of a function: a page.
const LARGEST_LOG2_ALIGNMENT: u8 = 12;

/// The largest padding between blocks, as Cranelift counts it; 2^15 bytes a block fill the caches well enough.
const LARGEST_LOG2_PADDING: u8 = 16;

/// A compiler for the host under one side's settings.
pub struct Settings {
    isa: OwnedTargetIsa,
    chosen: BTreeMap<String, String>,
}

/// Why variables are no settings.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// Cranelift has no such setting.
    #[error("`{variable}`: Cranelift has no setting `{name}`")]
    Unknown {
        /// The variable.
        variable: String,
        /// The setting it names.
        name: String,
        /// Settings that are spelled nearly so, the nearest first.
        nearest: Vec<String>,
    },
    /// The setting takes other values.
    #[error("`{variable}` is `{value}`: `{name}` takes {expected}")]
    Value {
        /// The variable.
        variable: String,
        /// The setting.
        name: String,
        /// The value given.
        value: String,
        /// What it takes.
        expected: String,
    },
    /// The processor lacks what the setting promises.
    #[error("`{variable}` is `{value}`: this processor has no `{feature}`")]
    HostLacks {
        /// The variable.
        variable: String,
        /// The value given.
        value: String,
        /// The feature.
        feature: String,
    },
    /// Code compiled so cannot be run in this process.
    #[error("`{variable}` is `{value}`: {reason}")]
    CannotRun {
        /// The variable.
        variable: String,
        /// The value given.
        value: String,
        /// Why.
        reason: &'static str,
    },
    /// Cranelift knows no code for this machine.
    #[error("no compiler for this machine: {0}")]
    Host(String),
    /// Settings that exclude one another.
    #[error("the settings cannot be combined: {0}")]
    Combination(String),
}

impl SettingsError {
    /// Advice that goes with the message.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Unknown { nearest, .. } if !nearest.is_empty() => Some(format!(
                "nearest: {}",
                nearest
                    .iter()
                    .map(|name| format!("`{PREFIX}{}`", name.to_uppercase()))
                    .collect::<Vec<_>>()
                    .join(", ")
            )),
            Self::HostLacks { variable, .. } => Some(format!("`{variable}=false` switches it off")),
            _ => None,
        }
    }
}

impl Settings {
    /// Settings of one side from its variables; those without the suite's prefix are passed over.
    ///
    /// Defaults: Cranelift's own but for `opt_level` `speed`, functions aligned to 64 bytes (unaligned, the same code
    /// was seen to run in 73 or 111 us depending on what was compiled before it), no verifier, and all the
    /// instructions that the host has.
    ///
    /// # Errors
    /// A name or value that Cranelift does not know, an instruction set that the host lacks, or a setting under
    /// which the code could not be called.
    pub fn from_variables(variables: &Variables) -> Result<Self, SettingsError> {
        let host = |message: &str| SettingsError::Host(message.into());
        let mut shared = settings::builder();
        for (name, value) in DEFAULTS {
            if shared.iter().any(|setting| setting.name == name) {
                shared.set(name, value).map_err(|error| host(&error.to_string()))?;
            }
        }
        let mut native = cranelift_native::builder().map_err(host)?;
        let host_features = features(
            &*native.finish(settings::Flags::new(shared.clone())).map_err(|e| host(&e.to_string()))?,
        );

        let mut chosen = BTreeMap::new();
        let mut variable_of = BTreeMap::new();
        for (variable, value) in variables {
            let Some(name) = variable.strip_prefix(PREFIX) else { continue };
            let Some(value) = value else { continue };
            let name = name.to_lowercase();
            let Some(kind) =
                shared.iter().chain(native.iter()).find(|setting| setting.name == name).map(|it| it.kind)
            else {
                let names = shared.iter().chain(native.iter()).map(|setting| setting.name);
                return Err(SettingsError::Unknown {
                    variable: variable.clone(),
                    nearest: nearest(&name, names),
                    name,
                });
            };
            check_can_run(variable, &name, value)?;
            let result = if kind == SettingKind::Preset {
                match value.as_str() {
                    "1" | "true" | "on" | "yes" => native.enable(&name),
                    "0" | "false" | "off" | "no" => Ok(()),
                    _ => Err(SetError::BadValue("`true` or `false`".into())),
                }
            } else {
                match shared.set(&name, value) {
                    Err(SetError::BadName(_)) => native.set(&name, value),
                    other => other,
                }
            };
            result.map_err(|error| SettingsError::Value {
                variable: variable.clone(),
                name: name.clone(),
                value: value.clone(),
                expected: expected(kind, &error),
            })?;
            chosen.insert(name.clone(), value.clone());
            variable_of.insert(name, (variable.clone(), value.clone()));
        }

        let isa = native
            .finish(settings::Flags::new(shared))
            .map_err(|error| SettingsError::Combination(error.to_string()))?;
        if let Some(feature) = features(&*isa).difference(&host_features).next() {
            // A preset switches on several; then any preset is what the message can name.
            let (variable, value) = variable_of
                .get(*feature)
                .or_else(|| variable_of.iter().find(|(name, _)| !name.starts_with("has_")).map(|(_, it)| it))
                .cloned()
                .unwrap_or_default();
            return Err(SettingsError::HostLacks { variable, value, feature: (*feature).into() });
        }
        Ok(Self { isa, chosen })
    }

    /// The compiler.
    #[must_use]
    pub fn isa(&self) -> OwnedTargetIsa {
        self.isa.clone()
    }

    /// The settings that variables chose, by name.
    #[must_use]
    pub fn chosen(&self) -> &BTreeMap<String, String> {
        &self.chosen
    }

    /// The machine and the instruction sets that code is generated for.
    #[must_use]
    pub fn target(&self) -> String {
        let features: Vec<&str> = features(&*self.isa).into_iter().collect();
        format!("{} {}", self.isa.triple(), features.join(" ").replace("has_", ""))
    }
}

/// All settings that variables can name, with the values to try: both of a switch, all of a choice, ends and middle of
/// a number's range.
///
/// # Errors
/// Cranelift knows no code for this machine.
pub fn available() -> Result<Vec<(&'static str, Vec<&'static str>)>, SettingsError> {
    let native = cranelift_native::builder().map_err(|message| SettingsError::Host(message.into()))?;
    let values = |setting: settings::Setting| {
        let values = match setting.kind {
            SettingKind::Bool | SettingKind::Preset => vec!["true", "false"],
            SettingKind::Num => vec!["0", "1", "7", "255"],
            SettingKind::Enum => setting.values.unwrap_or_default().to_vec(),
        };
        (setting.name, values)
    };
    Ok(settings::builder().iter().chain(native.iter()).map(values).collect())
}

/// Cranelift's defaults that the suite changes.
const DEFAULTS: [(&str, &str); 4] = [
    ("opt_level", "speed"),
    ("log2_min_function_alignment", "6"),
    ("enable_verifier", "false"),
    ("is_pic", "false"),
];

fn features(isa: &dyn cranelift_codegen::isa::TargetIsa) -> BTreeSet<&'static str> {
    isa.isa_flags()
        .into_iter()
        .filter(|flag| flag.name.starts_with("has_") && flag.as_bool() == Some(true))
        .map(|flag| flag.name)
        .collect()
}

fn check_can_run(variable: &str, name: &str, value: &str) -> Result<(), SettingsError> {
    let is_on = ["1", "true", "on", "yes"].contains(&value);
    let is_above = |limit: u8| value.parse::<u8>().is_ok_and(|number| number > limit);
    let reason = match name {
        "is_pic" if is_on => "the linker in memory takes no position independent code",
        "use_colocated_libcalls" if is_on => "the C library is not within reach of a short call",
        "libcall_call_conv" if value != "isa_default" => {
            "the C library is called by the host's own convention, `isa_default`"
        }
        "log2_min_function_alignment" if is_above(LARGEST_LOG2_ALIGNMENT) => {
            "functions are aligned to a page, `12`, at most"
        }
        "bb_padding_log2_minus_one" if is_above(LARGEST_LOG2_PADDING) => {
            "the suite pads blocks by 2^15 bytes, `16`, at most"
        }
        _ => return Ok(()),
    };
    Err(SettingsError::CannotRun { variable: variable.into(), value: value.into(), reason })
}

fn expected(kind: SettingKind, error: &SetError) -> String {
    match (kind, error) {
        (SettingKind::Bool | SettingKind::Preset, _) => "`true` or `false`, also `1` or `0`".into(),
        (SettingKind::Num, _) => "a whole number from 0 to 255".into(),
        (SettingKind::Enum, SetError::BadValue(values)) => {
            values.strip_prefix("any among ").unwrap_or(values).into()
        }
        (SettingKind::Enum, other) => other.to_string(),
    }
}

/// The three names nearest in spelling, of those that are near at all.
fn nearest<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut near: Vec<(f64, &str)> = names
        .map(|candidate| (strsim::jaro_winkler(name, candidate), candidate))
        .filter(|(likeness, _)| *likeness > 0.8)
        .collect();
    near.sort_by(|one, two| two.0.total_cmp(&one.0).then(one.1.cmp(two.1)));
    near.into_iter().take(3).map(|(_, candidate)| candidate.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(pairs: &[(&str, Option<&str>)]) -> Result<Settings, SettingsError> {
        let variables =
            pairs.iter().map(|(name, value)| ((*name).to_owned(), value.map(str::to_owned))).collect();
        Settings::from_variables(&variables)
    }

    #[test]
    fn unset_is_the_default() {
        let plain = settings(&[]).unwrap();
        let unset = settings(&[("SWITCHBACK_CPU_OPT_LEVEL", None), ("PATH", Some("/bin"))]).unwrap();
        assert_eq!(plain.isa().flags().to_string(), unset.isa().flags().to_string());
        assert!(plain.isa().flags().to_string().contains("opt_level = \"speed\""));
        assert!(plain.isa().flags().to_string().contains("log2_min_function_alignment = 6"));
        assert!(unset.chosen().is_empty());
    }

    #[test]
    fn one_and_true_are_the_same() {
        for (one, two) in [("1", "true"), ("0", "false")] {
            let flags = |value| {
                let name = "SWITCHBACK_CPU_ENABLE_NAN_CANONICALIZATION";
                settings(&[(name, Some(value))]).unwrap().isa().flags().to_string()
            };
            assert_eq!(flags(one), flags(two));
            assert!(flags(one).contains(&format!("enable_nan_canonicalization = {two}")));
        }
    }

    #[test]
    fn a_misspelt_setting_names_the_nearest() {
        let error = settings(&[("SWITCHBACK_CPU_OPT_LEVL", Some("none"))]).err().unwrap();
        assert_eq!(error.to_string(), "`SWITCHBACK_CPU_OPT_LEVL`: Cranelift has no setting `opt_levl`");
        assert!(
            error.hint().unwrap().starts_with("nearest: `SWITCHBACK_CPU_OPT_LEVEL`"),
            "{:?}",
            error.hint()
        );
    }

    #[test]
    fn a_bad_value_names_the_good_ones() {
        let error = settings(&[("SWITCHBACK_CPU_OPT_LEVEL", Some("3"))]).err().unwrap();
        assert_eq!(
            error.to_string(),
            "`SWITCHBACK_CPU_OPT_LEVEL` is `3`: `opt_level` takes none, speed, speed_and_size"
        );
        let error = settings(&[("SWITCHBACK_CPU_ENABLE_VERIFIER", Some("maybe"))]).err().unwrap();
        assert!(error.to_string().ends_with("takes `true` or `false`, also `1` or `0`"), "{error}");
        let error = settings(&[("SWITCHBACK_CPU_PROBESTACK_SIZE_LOG2", Some("256"))]).err().unwrap();
        assert!(error.to_string().ends_with("takes a whole number from 0 to 255"), "{error}");
    }

    #[test]
    fn what_could_not_be_called_is_refused() {
        for (name, value) in
            [("IS_PIC", "1"), ("LOG2_MIN_FUNCTION_ALIGNMENT", "13"), ("LIBCALL_CALL_CONV", "fast")]
        {
            let error = settings(&[(&format!("{PREFIX}{name}"), Some(value))]).err().unwrap();
            assert!(matches!(error, SettingsError::CannotRun { .. }), "{error}");
        }
        assert!(settings(&[("SWITCHBACK_CPU_IS_PIC", Some("0"))]).is_ok());
    }

    #[test]
    fn a_feature_that_the_host_lacks_is_refused_and_one_it_has_can_be_left_out() {
        let plain = settings(&[]).unwrap();
        for flag in plain.isa().isa_flags().into_iter().filter(|flag| flag.name.starts_with("has_")) {
            let variable = format!("{PREFIX}{}", flag.name.to_uppercase());
            let on = settings(&[(&variable, Some("1"))]);
            if flag.as_bool() == Some(true) {
                assert!(on.is_ok(), "{variable}");
                let off = settings(&[(&variable, Some("0"))]).unwrap();
                assert_ne!(off.target(), plain.target());
            } else {
                let error = on.err().unwrap();
                assert!(matches!(&error, SettingsError::HostLacks { feature, .. } if *feature == flag.name));
            }
        }
    }
}
