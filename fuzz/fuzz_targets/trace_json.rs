//! JSON, read as traces and scored: texts, and values that are nearly traces.
#![no_main]

use arbitrary::{Result, Unstructured};
use knowledgepulse_scoring_fuzz::{generate::Generator, reading, scoring};
use libfuzzer_sys::fuzz_target;

fn generated(data: &[u8]) -> Result<()> {
    let mut bytes = Unstructured::new(data);
    let mut generator = Generator::new(&mut bytes);
    let profiles = generator.profiles()?;
    let similarity = generator.share()? * 2.0 - 1.0;
    if let Some((trace, plain)) = reading::compared(&generator.trace()?) {
        scoring::check(&trace, &plain, similarity, &profiles);
    }
    Ok(())
}

fuzz_target!(|data: &[u8]| {
    let Ok(json) = serde_json::from_slice(data) else {
        // Where the bytes end too early there is no value to read.
        let _ = generated(data);
        return;
    };
    if let Some((trace, plain)) = reading::compared(&json) {
        scoring::check(&trace, &plain, trace.confidence(), &[]);
    }
});
