//! The precision of the arithmetic.

/// The arithmetic of the model. Both kinds come from the same stored weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Precision {
    /// float32: the scores of the published model.
    #[default]
    Exact,
    /// Integers of 8 bits, always by [`BackendKind::Native`](crate::BackendKind::Native): in about half the
    /// time, with a small error.
    Fast,
}
