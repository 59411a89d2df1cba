//! One side's compiled kernels, and the events that tell of them.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use switchback_model::event::Compile;
use switchback_model::side::Side;
use switchback_store::StoreError;

use super::sink::{Sink, text_digest};
use crate::dtype::Dtype;
use crate::jit::{self, CompileError, Compiled, Settings};
use crate::lang::Body;
use crate::operators::Operator;

/// One side: its settings and what was compiled under them, by dtype.
pub(super) struct SideKernels {
    pub(super) side: Side,
    pub(super) settings: Settings,
    compiled: BTreeMap<Dtype, Result<Compiled, String>>,
}

impl SideKernels {
    pub(super) fn new(side: Side, settings: Settings) -> Self {
        Self { side, settings, compiled: BTreeMap::new() }
    }

    /// Compiles a kernel for a dtype unless that was done, and tells of it.
    pub(super) fn ensure(
        &mut self,
        operator: &Operator,
        write: fn(&Body),
        dtype: Dtype,
        sink: &mut impl Sink,
    ) -> Result<(), StoreError> {
        if self.compiled.contains_key(&dtype) {
            return Ok(());
        }
        let compiled = compile(operator, write, dtype, &self.settings);
        if let Ok(compiled) = &compiled {
            let event = self.event(operator, dtype, compiled, sink)?;
            sink.event(switchback_model::event::EventBody::Compile(event))?;
        }
        self.compiled.insert(dtype, compiled.map_err(|error| with_causes(&error)));
        Ok(())
    }

    /// The compiled kernel of a dtype, or why there is none.
    ///
    /// # Panics
    /// If it was not asked for before.
    pub(super) fn get(&self, dtype: Dtype) -> Result<&Compiled, &str> {
        self.compiled[&dtype].as_ref().map_err(String::as_str)
    }

    /// What `compile` and `launch` events call the compiled kernel.
    pub(super) fn id(&self, operator: &Operator, dtype: Dtype) -> String {
        format!("{}:{}", self.side, operator.kernel_name(dtype))
    }

    fn event(
        &self,
        operator: &Operator,
        dtype: Dtype,
        compiled: &Compiled,
        sink: &mut impl Sink,
    ) -> Result<Compile, StoreError> {
        let signature = signature(operator, dtype);
        let constexprs: BTreeMap<String, Value> =
            [("dtype".to_owned(), json!(dtype.name())), ("lanes".to_owned(), json!(dtype.lanes()))].into();
        let kernel = operator.kernel_name(dtype);
        // What the kernel is whatever the settings: they must not be part of it, or no kernel of A had a partner in B.
        let variant = text_digest(json!([kernel, constexprs, signature]).to_string().as_bytes());
        let mut stages = BTreeMap::new();
        for (stage, text) in compiled.stages.named() {
            stages.insert(stage.to_owned(), sink.text(text.as_bytes())?);
        }
        Ok(Compile {
            side: self.side,
            id: self.id(operator, dtype),
            kernel,
            variant,
            constexprs,
            signature,
            specialization: BTreeMap::new(),
            options: self
                .settings
                .chosen()
                .iter()
                .map(|(name, value)| (name.clone(), json!(value)))
                .collect(),
            stages,
            missing: BTreeMap::new(),
            registers: None,
            spills: None,
            shared_bytes: None,
            compile_ms: Some(compiled.compile_ms),
            tuning: false,
            cache_hit: false,
        })
    }
}

/// Compiles an operator's kernel for a dtype.
///
/// # Errors
/// The compiler refuses it, or panics, under these settings.
pub fn compile(
    operator: &Operator,
    write: fn(&Body),
    dtype: Dtype,
    settings: &Settings,
) -> Result<Compiled, CompileError> {
    jit::compile(&operator.kernel_name(dtype), settings, |call_conv| {
        let body = Body::new(dtype, operator.inputs(), call_conv);
        write(&body);
        body
    })
}

fn signature(operator: &Operator, dtype: Dtype) -> BTreeMap<String, Value> {
    let pointer = json!(format!("*{:?}", dtype.scalar()).to_lowercase());
    let layout = (operator.layout)(operator.shapes[0]);
    let inputs = (0..layout.inputs.len()).map(|position| (format!("input{position}"), pointer.clone()));
    let sizes = (0..layout.sizes.len()).map(|position| (format!("size{position}"), json!("i64")));
    std::iter::once(("output".to_owned(), pointer.clone())).chain(inputs).chain(sizes).collect()
}

fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
