//! Logs, imported whole and in pieces.

use knowledgepulse_import::Options;
use knowledgepulse_test_support::importing;

/// Pointers to groups, one of which counts for a log.
const GROUPS: [&str; 5] = ["/id", "/metadata/session", "/steps/0/tool", "/a~1b/~0", ""];

/// Imports bytes of which only values of one format count, and checks what comes out.
pub fn check(format: &str, log: &[u8]) {
    let format = Some(format.to_owned());
    importing::check(log, 1 + sum(log) % 97, &Options { format, ..importing::options() });
}

/// Imports bytes as they are scored, and as any, and compares what comes out.
pub fn check_own(log: &[u8]) {
    importing::check_own(log, 1 + sum(log) % 997, GROUPS[sum(log) % GROUPS.len()]);
}

/// A number that is the same for the same bytes, which is all that it has to be.
fn sum(bytes: &[u8]) -> usize {
    bytes.iter().copied().map(usize::from).sum()
}
