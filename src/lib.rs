//! Scores reasoning traces in \[0, 1\]: how much a trace is worth sharing.
//!
//! A trace goes one way:
//!
//! ```text
//!  value ──► trace ──► dimensions ──► weights ──► overrides ──► score
//!            read once    C N D O      by domain    in order
//!                           ▲
//!                           │ novelty
//!                 embedder ─┴─ cache
//!              text ─► vector   vectors seen before
//! ```
//!
//! - [`trace`] reads a foreign value, JavaScript's or JSON's, and names the first field that does
//!   not fit. What comes out is valid by construction.
//! - [`dimensions`] measures it: complexity, novelty, tool diversity, outcome confidence.
//! - [`weights`] adds them up as the task domain wants; [`overrides`] corrects the sum;
//!   [`score`] keeps the account of both.
//! - [`embedder`] turns text into a unit vector, [`cache`] compares it with earlier ones. Both are
//!   leaves: they know nothing of traces, of scores or of JavaScript.
//! - [`snapshot`] carries a cache from one process to the next.
//! - [`scorer`] owns a cache, uses the threads, and settles calls in the order in which they came.
//! - [`suggest`] finds what a misspelled name was to be.
//! - [`node`] is the only module that knows JavaScript.
//!
//! ```
//! use knowledgepulse_scoring::{
//!     dimensions::NoveltySource, score::Score, trace::Trace, weights::Profiles,
//! };
//!
//! let json = serde_json::json!({
//!     "metadata": { "task_domain": "finance", "success": true },
//!     "task": { "objective": "Explain the fall of the margin" },
//!     "steps": [{ "type": "tool_call", "tool": { "name": "ledger" } }, { "type": "observation" }],
//!     "outcome": { "confidence": 0.9 },
//! });
//! let trace = Trace::from_json(&json)?;
//! let score = Score::of(&trace, NoveltySource::EmptyCache.into(), Profiles::built_in());
//! assert_eq!(score.profile.domain, "finance");
//! assert_eq!(score.overrides[0].name, "low-tool-diversity");
//! # Ok::<(), knowledgepulse_scoring::error::Error>(())
//! ```

pub mod cache;
pub mod dimensions;
pub mod embedder;
pub mod error;
mod fault;
pub mod node;
pub mod overrides;
pub mod score;
pub mod scorer;
pub mod snapshot;
pub mod suggest;
pub mod threads;
pub mod trace;
pub mod weights;
