//! The options of a calibration.

#![expect(missing_docs, reason = "lib/types/calibrate.d.ts documents them")]

use knowledgepulse_scoring::Profiles;
use serde::{Deserialize, Serialize};

/// The options of a calibration, which `lib/types/calibrate.d.ts` documents and `lib/calibrate.js` checks. Every field has
/// a default; in JSON the names are in camelCase, and unknown ones are refused. The JSON has no profiles.
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
