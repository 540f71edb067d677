//! Calls side by side, with the results of calls one after another.
#![no_main]

use arbitrary::Unstructured;
use knowledgepulse_scoring_fuzz::order::Lockstep;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    // Where the bytes end too early there is nothing more to do.
    let _ = Lockstep::run(&mut Unstructured::new(data));
});
