//! What a compilation stage is called, and where it stands in the pipeline.
//!
//! Keeps one invariant: [`Stage`] is ordered front end first, so the smallest differing stage is the
//! first one at which two compilations part. Leaves the rules of each stage's text to [`crate::canonical()`].

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// One text (or binary) that a compiler leaves behind on its way from source to machine code.
///
/// Ordered by the pipeline, front end first; `Other` comes last, by name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stage {
    /// Triton's own dialect: what the front end produced.
    Ttir,
    /// Triton's GPU dialect: layouts, memory spaces, pipelining.
    Ttgir,
    /// LLVM IR.
    Llir,
    /// NVIDIA's virtual assembly.
    Ptx,
    /// AMD's assembly.
    Amdgcn,
    /// NVIDIA's machine code: a cubin's sections that run, or their text through the disassembler.
    Sass,
    /// Cranelift IR before optimisation.
    Clif,
    /// Cranelift IR after optimisation.
    ClifOpt,
    /// Cranelift's machine code in text, registers assigned.
    Vcode,
    /// Machine code as bytes.
    Bytes,
    /// A stage that has no rules here; compared byte by byte.
    Other(String),
}

impl Stage {
    /// Every stage that has a name of its own, in pipeline order.
    pub const KNOWN: [Self; 10] = [
        Self::Ttir,
        Self::Ttgir,
        Self::Llir,
        Self::Ptx,
        Self::Amdgcn,
        Self::Sass,
        Self::Clif,
        Self::ClifOpt,
        Self::Vcode,
        Self::Bytes,
    ];

    /// The stage of a file extension or event key, such as `ttgir` or `clif_opt`.
    ///
    /// `cubin` is another name of `sass`: the same stage, not disassembled. A leading dot is ignored; letters must be lower case, as the compilers write them. Anything
    /// unknown becomes [`Stage::Other`] with the name as given.
    #[must_use]
    pub fn from_name(name: &str) -> Self {
        let bare = name.strip_prefix('.').unwrap_or(name);
        if bare == "cubin" {
            return Self::Sass;
        }
        Self::KNOWN
            .into_iter()
            .find(|stage| stage.name() == bare)
            .unwrap_or_else(|| Self::Other(bare.to_owned()))
    }

    /// The name under which events and files know this stage.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Ttir => "ttir",
            Self::Ttgir => "ttgir",
            Self::Llir => "llir",
            Self::Ptx => "ptx",
            Self::Amdgcn => "amdgcn",
            Self::Sass => "sass",
            Self::Clif => "clif",
            Self::ClifOpt => "clif_opt",
            Self::Vcode => "vcode",
            Self::Bytes => "bytes",
            Self::Other(name) => name,
        }
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl Serialize for Stage {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Stage {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        Ok(Self::from_name(&name))
    }
}
