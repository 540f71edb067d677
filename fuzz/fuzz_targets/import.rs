//! Logs of a format that their first line names.
#![no_main]

use knowledgepulse_scoring_fuzz::importing::check;
use knowledgepulse_test_support::memory;
use libfuzzer_sys::{Corpus, fuzz_target};

#[global_allocator]
static ALLOCATOR: memory::Counting = memory::Counting;

fuzz_target!(|named: &[u8]| -> Corpus { check(named) });
