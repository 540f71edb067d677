//! JavaScript-like values, read as traces and scored.
#![no_main]

use arbitrary::{Result, Unstructured};
use knowledgepulse_scoring_fuzz::{generate::Generator, reading, scoring};
use libfuzzer_sys::fuzz_target;

fn run(data: &[u8]) -> Result<()> {
    let mut bytes = Unstructured::new(data);
    let mut generator = Generator::new(&mut bytes);
    let profiles = generator.profiles()?;
    let similarity = generator.share()? * 2.0 - 1.0;
    let value = generator.trace()?;
    if let Some((trace, plain)) = reading::check(&value) {
        scoring::check(&trace, &plain, similarity, &profiles);
    }
    Ok(())
}

fuzz_target!(|data: &[u8]| {
    // Where the bytes end too early there is no value to read.
    let _ = run(data);
});
