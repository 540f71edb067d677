//! The vector cache in lockstep with a list.
#![no_main]

use arbitrary::Unstructured;
use knowledgepulse_scoring_fuzz::run;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    // Where the bytes end too early there is nothing more to do.
    let _ = run(&mut Unstructured::new(data));
});
