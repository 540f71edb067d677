//! Logs of the format `otel`.
#![no_main]

use knowledgepulse_scoring_fuzz::importing::check;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|log: &[u8]| check("otel", log));
