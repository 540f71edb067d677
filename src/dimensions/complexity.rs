use crate::trace::Trace;

/// How richly a trace is built: kinds of step, recovery from errors, length. In \[0, 1\].
///
/// `min(1, uniqueTypes/4 * 0.5 + (errorRecoveries > 0 ? 0.3 : 0) + steps/20 * 0.2)`, in this order.
pub fn complexity(trace: &Trace) -> f64 {
    let types = trace.unique_types() as f64 / 4.0 * 0.5;
    let recovery = if trace.error_recoveries() > 0 { 0.3 } else { 0.0 };
    let length = trace.steps().len() as f64 / 20.0 * 0.2;
    (types + recovery + length).min(1.0)
}
