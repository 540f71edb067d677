//! Lines that are traces, read as they are scored.
#![no_main]

use knowledgepulse_scoring_fuzz::importing::check_own;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|log: &[u8]| check_own(log));
