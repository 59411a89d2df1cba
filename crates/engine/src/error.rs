//! What stops the engine, and the exit code and advice that go with it.

use std::path::PathBuf;

use switchback_model::conditions::Difference;
use switchback_model::exit_code::ExitCode;
use switchback_model::finding::Finding;
use switchback_store::StoreError;
use switchback_suites::suite::SuiteError;

/// Why a command cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The disk.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The suite cannot do what was asked.
    #[error("{}", .0.message)]
    Suite(SuiteError),
    /// An argument or a combination of arguments cannot be used.
    #[error("{message}")]
    Usage {
        /// What is wrong.
        message: String,
        /// What to do about it.
        hint: Option<String>,
    },
    /// Checks before the first measurement failed.
    #[error("{}", failed(.0))]
    Preflight(Vec<Finding>),
    /// Rows that would be compared were measured under different conditions.
    #[error("not comparable: {}", list(.differences, .of))]
    Conditions {
        /// The fields.
        differences: Vec<Difference>,
        /// What was compared: `A` and `B`, or two cells of a campaign.
        of: [String; 2],
    },
    /// Cards are not alike, so that their rows could not stand in one table.
    #[error("card {index} is not like card {first}: {}", floors(.differences))]
    OtherCard {
        /// The first card's index.
        first: String,
        /// The other's.
        index: String,
        /// In what.
        differences: Vec<Difference>,
    },
    /// Another run's recording is of another back end, device or side.
    #[error("the recording of `{operator}` is another's: {}", floors(.differences))]
    OtherRecording {
        /// The operator.
        operator: String,
        /// In what.
        differences: Vec<Difference>,
    },
    /// A cell refused another run's recording: it was made by another compiler.
    #[error("`{cell}` refuses the recording: {reason}")]
    RefusedRecording {
        /// The cell.
        cell: String,
        /// What it said.
        reason: String,
    },
    /// A noise floor is of another machine, or of rows that were timed otherwise.
    #[error("the floor is another machine's or another way of timing: {}", floors(.0))]
    OtherFloor(Vec<Difference>),
    /// A file is no calibration.
    #[error("`{path}` is no calibration: {detail}")]
    NoFloor {
        /// The path.
        path: PathBuf,
        /// What is wrong with it.
        detail: String,
    },
    /// A folder is a campaign of another request.
    #[error("`{path}` is a campaign of another request: `{field}` is `{there}` there, `{here}` here")]
    OtherRequest {
        /// The folder.
        path: PathBuf,
        /// The field of the request.
        field: String,
        /// Its value in the folder.
        there: String,
        /// Its value on the command line.
        here: String,
    },
    /// A folder or file is nothing that can be read as a run.
    #[error("`{path}` is no run: {detail}")]
    NoRun {
        /// The path.
        path: PathBuf,
        /// What was looked for.
        detail: String,
    },
    /// The interpreter has no compiler that could compile recorded kernels again.
    #[error("`{python}` cannot compile the recording: {detail}")]
    NoCompiler {
        /// The interpreter as it was started.
        python: String,
        /// What is missing.
        detail: String,
    },
    /// Recorded kernels, compiled again, are not what was recorded: nothing this compiler says of a switch counts.
    #[error(
        "side A compiled again is not what was recorded: {detail}; recorded by {recorded_by}, compiled again by \
         {compiled_by}"
    )]
    NotReproduced {
        /// Which kernels differ, and where.
        detail: String,
        /// The recording's versions.
        recorded_by: String,
        /// The versions here.
        compiled_by: String,
    },
    /// The user asked to stop.
    #[error("interrupted")]
    Interrupted,
    /// A supervisor could not be started or watched.
    #[error("cannot run `switchback cell` for `{cell}`")]
    Executor {
        /// The cell.
        cell: String,
        /// The system's error.
        source: std::io::Error,
    },
}

impl From<SuiteError> for EngineError {
    fn from(error: SuiteError) -> Self {
        Self::Suite(error)
    }
}

impl EngineError {
    /// A usage error with advice.
    pub fn usage(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Usage { message: message.into(), hint: Some(hint.into()) }
    }

    /// The exit code that the command returns.
    #[must_use]
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Self::Suite(_)
            | Self::Usage { .. }
            | Self::OtherRequest { .. }
            | Self::NoRun { .. }
            | Self::NoFloor { .. }
            | Self::Store(
                StoreError::NoCampaign { .. } | StoreError::Exists { .. } | StoreError::Damaged { .. },
            ) => ExitCode::Usage,
            Self::Store(_) | Self::Preflight(_) | Self::NoCompiler { .. } | Self::Executor { .. } => {
                ExitCode::Environment
            }
            Self::OtherFloor(_)
            | Self::OtherCard { .. }
            | Self::OtherRecording { .. }
            | Self::RefusedRecording { .. }
            | Self::Conditions { .. }
            | Self::NotReproduced { .. } => ExitCode::Refused,
            Self::Interrupted => ExitCode::Interrupted,
        }
    }

    /// Two sides that differ in these conditions.
    pub(crate) fn sides_differ(differences: Vec<Difference>) -> Self {
        Self::Conditions { differences, of: ["A", "B"].map(str::to_owned) }
    }

    /// Advice that goes with the message.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Store(StoreError::Damaged { path, .. }) => damaged(path),
            Self::Store(error) => error.hint(),
            Self::Suite(error) => error.hint.clone(),
            Self::Usage { hint, .. } => hint.clone(),
            Self::Preflight(findings) => {
                findings.iter().find(|finding| is_failure(finding)).and_then(|finding| finding.hint.clone())
            }
            Self::Conditions { differences, .. } => differences
                .first()
                .map(|difference| format!("`--allow {}` compares them all the same", difference.field)),
            Self::OtherRecording { .. } | Self::RefusedRecording { .. } => Some(
                "configs tuned elsewhere are other configs: without `--replay-from` operators tune here"
                    .into(),
            ),
            Self::OtherCard { differences, .. } => differences
                .first()
                .map(|difference| format!("`--allow {}` measures on both all the same", difference.field)),
            Self::OtherFloor(differences) => differences.first().map(|difference| {
                format!(
                    "`switchback calibrate` measures this machine's; `--allow {}` shows it all the same",
                    difference.field
                )
            }),
            Self::NoFloor { .. } => {
                Some("`switchback calibrate` writes one: `calibration.json` in its folder".into())
            }
            Self::OtherRequest { .. } => Some(
                "give another `--out`, or `switchback resume DIR` to go on with the one that is there".into(),
            ),
            Self::NoCompiler { .. } => {
                Some("`--python` names an interpreter with the recording's Triton; no card is needed".into())
            }
            Self::NotReproduced { .. } => Some(
                "`--python` names the interpreter that recorded, `--env NAME=VALUE` what was set there; \
                 `switchback ir recompile` shows each kernel"
                    .into(),
            ),
            Self::NoRun { .. } | Self::Interrupted | Self::Executor { .. } => None,
        }
    }
}

/// What to do about a damaged file: an attempt can be measured again, a request cannot be guessed.
fn damaged(path: &std::path::Path) -> Option<String> {
    let name = path.file_name()?.to_string_lossy();
    let folder = path.parent()?;
    match &*name {
        "campaign.toml" => Some(format!(
            "it is the campaign's request: without it what is in `{}` cannot be told apart; start anew in another `--out`",
            folder.display()
        )),
        "order.json" | "run_identity.json" | "outcome.json" => {
            Some(format!("move `{}` away, and `switchback resume` measures the cell again", folder.display()))
        }
        _ => None,
    }
}

fn is_failure(finding: &Finding) -> bool {
    finding.severity == switchback_model::finding::Severity::Failure
}

fn failed(findings: &[Finding]) -> String {
    let texts: Vec<String> = findings
        .iter()
        .filter(|finding| is_failure(finding))
        .map(|finding| {
            format!(
                "{} check={}: {}",
                switchback_model::marker::PREFLIGHT_FAILED,
                finding.check,
                finding.detail
            )
        })
        .collect();
    texts.join("; ")
}

fn floors(differences: &[Difference]) -> String {
    let value = |value: &Option<String>| value.as_ref().map_or("unknown".into(), |it| format!("`{it}`"));
    let said = |it: &Difference| format!("`{}` is {} there, {} here", it.field, value(&it.a), value(&it.b));
    differences.iter().map(said).collect::<Vec<_>>().join("; ")
}

fn list(differences: &[Difference], [one, other]: &[String; 2]) -> String {
    differences.iter().map(|it| it.between([one, other])).collect::<Vec<_>>().join("; ")
}
