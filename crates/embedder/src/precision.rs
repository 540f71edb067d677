//! The precision of the arithmetic.

/// The arithmetic of the linear layers. All come from the same stored weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Precision {
    /// float32: the scores of the published model.
    #[default]
    Exact,
    /// Integers of 8 bits: about twice as fast, with a small error.
    Fast,
    /// The same sums as [`Precision::Fast`], which becomes this on processors whose product of
    /// unsigned and signed integers saturates: the weights are unsigned there, too.
    FastUnsigned,
}

impl Precision {
    /// Returns what this processor computes this precision with.
    pub(crate) fn here(self) -> Self {
        if self == Self::Fast && saturates() { Self::FastUnsigned } else { self }
    }

    /// Returns the file of its graph, one of those that `model_files.rs` checks.
    pub(crate) fn graph(self) -> &'static str {
        match self {
            Self::Exact => "exact.onnx",
            Self::Fast => "fast.onnx",
            Self::FastUnsigned => "fast-u8.onnx",
        }
    }

    /// Returns the file of the graph that makes its weights from the stored ones, if it needs others.
    pub(crate) fn weights_graph(self) -> Option<&'static str> {
        (self != Self::Exact).then_some("fast-weights.onnx")
    }
}

/// Without the VNNI instructions, x86 adds up pairs of products in 16 bits.
fn saturates() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        let vnni = [is_x86_feature_detected!("avx512vnni"), is_x86_feature_detected!("avxvnni")];
        !vnni.contains(&true)
    }
    #[cfg(not(target_arch = "x86_64"))]
    false
}
