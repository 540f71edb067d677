//! Logs, imported whole and in pieces.

use knowledgepulse_import::Options;
use knowledgepulse_test_support::importing;

/// Imports bytes of which only values of one format count, and checks what comes out.
pub fn check(format: &str, log: &[u8]) {
    let format = Some(format.to_owned());
    // Any size will do, as long as it is the same for the same bytes.
    let sum: usize = log.iter().copied().map(usize::from).sum();
    importing::check(log, 1 + sum % 97, &Options { format, ..importing::options() });
}
