//! What errors say about limits.

/// The maximum number of values and member names in the tool inputs of a run, or in a trace of the log: as
/// JavaScript objects they take many times the memory of the log.
pub const MAX_VALUES: usize = 1 << 20;

pub const TOO_MANY_VALUES: &str = "expected at most 1048576 values and names in the tool inputs of a run, in a trace or in the \
                                   attributes of a span, found more";

pub const TOO_MUCH_TEXT: &str = "expected at most 256 MiB of text in one run";

pub const NO_MEMORY: &str = "expected memory for it, found too little";
