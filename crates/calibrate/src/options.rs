//! The options of a calibration.

#![expect(missing_docs, reason = "lib/types/calibrate.d.ts documents them")]

use knowledgepulse_scoring::{Error, Invalid, Profiles, Result, error::number};
use serde::{Deserialize, Serialize};

/// The options of a calibration, which `lib/types/calibrate.d.ts` documents. Every field has a default; in
/// JSON the names are in camelCase, and unknown ones are refused. The JSON has no profiles.
///
/// ```
/// use knowledgepulse_calibrate::{Options, Target, read_json};
/// use knowledgepulse_scoring::Invalid;
///
/// let options: Options = read_json(r#"{ "target": { "share": 0.2 } }"#, Invalid::Option, "")?;
/// assert_eq!(options.target, Some(Target::Share(0.2)));
/// assert_eq!((options.level, options.replicates, options.seed), (0.95, 1000, 0));
/// # Ok::<(), knowledgepulse_scoring::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Options {
    pub target: Option<Target>,
    pub fit: bool,
    pub first: Option<usize>,
    pub level: f64,
    pub replicates: usize,
    pub seed: u64,
    #[serde(skip)]
    pub profiles: Profiles,
}

/// The target of a threshold.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Target {
    Threshold(f64),
    Share(f64),
    Precision(f64),
}

impl Default for Options {
    fn default() -> Self {
        Self {
            target: None,
            fit: false,
            first: None,
            level: 0.95,
            replicates: 1000,
            seed: 0,
            profiles: Profiles::default(),
        }
    }
}

impl Options {
    pub(crate) fn check(&self) -> Result<()> {
        let out_of = |range, path, found| {
            let expected = format!("a number in {range}");
            Err(Error::invalid(Invalid::Option, path, expected, number(found)))
        };
        if !(0.5..=0.999).contains(&self.level) {
            return out_of("[0.5, 0.999]", "level", self.level);
        }
        if !(100..=10_000).contains(&self.replicates) {
            let expected = "a whole number from 100 to 10000";
            return Err(Error::invalid(Invalid::Option, "replicates", expected, self.replicates));
        }
        let Some(target) = self.target else { return Ok(()) };
        let (is_valid, range, path, found) = match target {
            Target::Threshold(at) => ((0.0..=1.0).contains(&at), "[0, 1]", "target.threshold", at),
            Target::Share(at) => (at > 0.0 && at <= 1.0, "(0, 1]", "target.share", at),
            Target::Precision(at) => (at > 0.0 && at < 1.0, "(0, 1)", "target.precision", at),
        };
        if is_valid { Ok(()) } else { out_of(range, path, found) }
    }
}
