//! Logs, imported whole and in pieces: of the format named in their first line, or of any if it is blank, and then by
//! their lines and as an array of these.
#![no_main]

use knowledgepulse_import::{Options, format_names};
use knowledgepulse_test_support::{importing, memory};
use libfuzzer_sys::{Corpus, fuzz_target};

#[global_allocator]
static ALLOCATOR: memory::Counting = memory::Counting;

/// The maximum memory of an import: bytes for each byte of a log, plus a constant. Even a small step has a large event.
const RATIO: usize = 64;
const FIXED: usize = 1 << 20;

/// Imports what follows a line with the name of a format as a log of that format, or with a blank line as one of any,
/// and checks what comes out. Bytes that name nothing are rejected.
fn check(named: &[u8]) -> Corpus {
    let end = named.iter().position(|&byte| byte == b'\n').unwrap_or(named.len());
    let (name, log) = (&named[..end], named.get(end + 1..).unwrap_or_default());
    let format = format_names().into_iter().find(|format| format.as_bytes() == name);
    if format.is_none() && !name.is_empty() {
        return Corpus::Reject;
    }
    let options = Options { format: format.map(Into::into), ..importing::options() };
    check_log(log, &options);
    if format.is_none() && !importing::is_archive(log) {
        let lines: Vec<_> =
            log.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).collect();
        check_log(&[b"[", &*lines.join(&b","[..]), b"]"].concat(), &options);
    }
    Corpus::Keep
}

fn check_log(log: &[u8], options: &Options) {
    // Depends only on the bytes.
    let sum: usize = log.iter().copied().map(usize::from).sum();
    importing::check(log, 1 + sum % 97, options);
    let (_, peak) = memory::peak(|| importing::import([log], options));
    let is_in_bounds = importing::is_archive(log) || peak <= RATIO * log.len() + FIXED;
    assert!(is_in_bounds, "{peak} bytes for {}", log.len());
    importing::import([log], &Options { messages: true, ..options.clone() });
}

fuzz_target!(|named: &[u8]| -> Corpus { check(named) });
