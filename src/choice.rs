//! Settings that have a few named values.

use knowledgepulse_embedder::{BackendKind, LongText, Pooling, Precision};
use knowledgepulse_scoring::{Error, Invalid, Result};

use crate::embedder::Mode;

/// A setting whose values have names in options, environment variables and reports.
pub trait Choice: Copy + PartialEq + 'static {
    /// The names. A value without one cannot be chosen.
    const NAMES: &'static [(&'static str, Self)];

    /// Returns the name of the value.
    fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, value)| *value == self).map_or("", |(name, _)| name)
    }

    /// Returns the value that is called `name`, which stands at `place`.
    fn parse(place: &str, name: &str) -> Result<Self> {
        let found = Self::NAMES.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| *value).ok_or_else(|| {
            let names: Vec<_> = Self::NAMES.iter().map(|(name, _)| format!("{name:?}")).collect();
            let (last, others) = names.split_last().expect("at least one name");
            let expected = format!("{} or {last}", others.join(", "));
            Error::invalid(Invalid::Option, place, expected, format!("{name:?}"))
        })
    }
}

impl Choice for Mode {
    const NAMES: &'static [(&'static str, Self)] =
        &[("auto", Self::Auto), ("off", Self::Off), ("required", Self::Required)];
}

impl Choice for BackendKind {
    const NAMES: &'static [(&'static str, Self)] =
        &[("onnx", Self::Onnx), ("native", Self::Native)];
}

impl Choice for Precision {
    const NAMES: &'static [(&'static str, Self)] = &[("exact", Self::Exact), ("fast", Self::Fast)];
}

impl Choice for Pooling {
    const NAMES: &'static [(&'static str, Self)] =
        &[("mean", Self::Mean), ("cls", Self::Cls), ("last", Self::Last)];
}

impl Choice for bool {
    const NAMES: &'static [(&'static str, Self)] = &[("true", true), ("false", false)];
}

impl Choice for LongText {
    const NAMES: &'static [(&'static str, Self)] =
        &[("window", Self::Window), ("whole", Self::Whole)];
}
