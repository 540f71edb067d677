use crate::trace::Trace;

/// The agent's confidence, cut to three tenths for a failed task. In \[0, 1\].
///
/// `confidence * (success ? 1 : 0.3)`.
pub fn outcome_confidence(trace: &Trace) -> f64 {
    trace.confidence().get() * if trace.success() { 1.0 } else { 0.3 }
}
