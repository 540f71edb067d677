use crate::trace::Trace;

/// How many different tools a trace uses for its length. In \[0, 1\].
///
/// `min(1, uniqueTools / max(1, steps) * 3)`, in this order.
pub fn tool_diversity(trace: &Trace) -> f64 {
    let steps = trace.steps().len().max(1) as f64;
    (trace.unique_tools() as f64 / steps * 3.0).min(1.0)
}
