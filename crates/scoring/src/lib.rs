//! Scores reasoning traces in \[0, 1\]: how much a trace is worth sharing.
//!
//! ```text
//!            trace ──► dimensions ──► weights ──► overrides ──► score
//!                         C N D O      by domain    in order
//!                           ▲
//!                           │ novelty
//!                 embedder ─┴─ cache
//!              text ─► vector   vectors seen before
//! ```
//!
//! ```
//! use knowledgepulse_scoring::{Novelty, Profiles, Score, Trace, trace::{Confidence, Steps}};
//!
//! let steps = Steps::of([("tool_call", Some(Some("ledger"))), ("observation", None)]);
//! let confidence = Confidence::new(0.9).expect("a number in [0, 1]");
//! let trace = Trace::new("finance".into(), true, confidence, steps, None);
//! let score = Score::of(&trace, Novelty::EmptyCache, &Profiles::default());
//! assert_eq!(score.profile.domain, "finance");
//! assert_eq!(score.overrides[0].name, "low-tool-diversity");
//! ```

#![forbid(unsafe_code)]

pub mod cache;
mod clock;
pub mod embed;
pub mod error;
mod id;
pub mod score;
pub mod scorer;
pub mod select;
pub mod snapshot;
mod sync;
pub mod trace;
pub mod weights;

pub use cache::VectorCache;
pub use error::{Error, Invalid, Result, StoreFault};
pub use id::Id;
pub use score::{Novelty, Score};
pub use scorer::Scorer;
pub use trace::Trace;
pub use weights::Profiles;
