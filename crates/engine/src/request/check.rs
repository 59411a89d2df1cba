//! Whether a request's figures are ones that can be measured with.
//!
//! What has to be asked of the machine (suites, cards, operators) is left to `prepare`. Invariant: a figure that is refused is
//! named with the value that was given.

use switchback_model::verdict::ScreenVerdict;
use switchback_stats::stopping::FIRST_LOOK;

use super::{Goal, Request};
use crate::error::EngineError;

impl Request {
    /// Checks the figures that a user can get wrong.
    ///
    /// # Errors
    /// No operator, too few rounds, a margin or a time that is not above zero.
    pub fn check(&self) -> Result<(), EngineError> {
        if self.operators.is_empty() {
            return Err(EngineError::usage("no operator was named", "`switchback ops` lists them"));
        }
        if self.goal == Goal::Ab && self.rounds < 2 {
            return Err(EngineError::usage(
                format!("`rounds` must be at least 2, got {}", self.rounds),
                "one pair without a repeat is `switchback screen`",
            ));
        }
        if let Some(verdict) = self
            .verdicts
            .iter()
            .find(|verdict| !matches!(verdict, ScreenVerdict::IrChanged | ScreenVerdict::NoIrDiff))
        {
            return Err(EngineError::usage(
                format!("`verdicts` cannot be `{verdict}`: there is nothing of the compiler's to measure"),
                "it takes `IR_CHANGED` and `NO_IR_DIFF`, both by `,`",
            ));
        }
        if self.rounds > 1000 {
            return Err(EngineError::usage(
                format!("`rounds` must be at most 1000, got {}", self.rounds),
                "`--margin` asks for less precision",
            ));
        }
        if let Some(precision) = self.precision
            && !(FIRST_LOOK..=1000).contains(&precision.max_rounds)
        {
            return Err(EngineError::usage(
                format!("`max-rounds` must be {FIRST_LOOK} to 1000, got {}", precision.max_rounds),
                "a width is not believed before the third round",
            ));
        }
        let figures = [
            ("precision", self.precision.map_or(1.0, |precision| precision.half_width_percent)),
            ("margin", self.margin_pct),
            ("cell-timeout", self.cell_timeout_s),
            ("sample-ms", self.measure.sample_ms),
            ("time-budget", self.time_budget_s.unwrap_or(1.0)),
        ];
        for (name, value) in figures {
            if !value.is_finite() || value <= 0.0 {
                return Err(EngineError::Usage {
                    message: format!("`{name}` must be above zero, got {value}"),
                    hint: None,
                });
            }
        }
        if !self.measure.warmup_ms.is_finite() || self.measure.warmup_ms < 0.0 {
            return Err(EngineError::Usage {
                message: format!("`warmup-ms` must not be negative, got {}", self.measure.warmup_ms),
                hint: None,
            });
        }
        if !self.measure.case_precision_pct.is_finite() || self.measure.case_precision_pct < 0.0 {
            return Err(EngineError::Usage {
                message: format!(
                    "`case-precision` must not be negative, got {}",
                    self.measure.case_precision_pct
                ),
                hint: Some("0 takes all the time that `--sample-ms` gives".to_owned()),
            });
        }
        for (name, value) in [
            ("direct-repeat", self.measure.direct_repeat),
            ("blocks", self.measure.blocks),
            ("block-length", self.measure.block_length),
        ] {
            if value == 0 {
                return Err(EngineError::Usage {
                    message: format!("`{name}` must be at least 1, got 0"),
                    hint: None,
                });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use switchback_stats::Precision;

    use crate::request::tests::request;

    #[test]
    fn bad_figures_are_named_with_what_was_given() {
        let mut it = request();
        it.rounds = 1;
        let error = it.check().unwrap_err();
        assert_eq!(error.to_string(), "`rounds` must be at least 2, got 1");
        assert_eq!(error.hint().unwrap(), "one pair without a repeat is `switchback screen`");
        it.rounds = 3;
        it.precision = Some(Precision { half_width_percent: 0.2, max_rounds: 2 });
        assert_eq!(it.check().unwrap_err().to_string(), "`max-rounds` must be 3 to 1000, got 2");
        it.precision = Some(Precision { half_width_percent: 0.0, max_rounds: 3 });
        assert_eq!(it.check().unwrap_err().to_string(), "`precision` must be above zero, got 0");
        it.precision = None;
        it.margin_pct = f64::NAN;
        assert!(it.check().unwrap_err().to_string().contains("`margin`"));
    }
}
