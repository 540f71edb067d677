//! The vector cache in lockstep with a list.
#![no_main]

use arbitrary::Unstructured;
use knowledgepulse_scoring_fuzz::run;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    // Ends when the bytes run out.
    let _ = run(&mut Unstructured::new(data));
});
