use std::env;

/// By how much more is repeated: `KP_TRUST`, or 1.
fn factor() -> usize {
    env::var("KP_TRUST").map_or(1, |text| text.parse().expect("KP_TRUST is a whole number"))
}

/// Returns `count`, or `KP_TRUST` times as many: how often a test repeats what is generated.
pub fn repeats(count: usize) -> usize {
    count * factor()
}

/// Whether this is a long run, which also does what takes long even once.
pub fn is_long_run() -> bool {
    factor() > 1
}
