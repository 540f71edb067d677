//! The process warnings about the embedder.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use knowledgepulse_scoring::{Novelty, scorer::Outcome};
use napi::{
    Env, Result,
    bindgen_prelude::{FnArgs, Function, JsObjectValue, Object},
};

use crate::{embedder::ModelEmbedder, failure::forget_exception};

/// What the user has to know of scores; each is said once in a process.
pub enum Warning {
    /// Novelty is neutral, for a reason.
    WithoutEmbedder(Arc<str>),
    /// Most texts are in scripts that the built-in model does not know.
    UnknownScripts,
}

impl Warning {
    /// Returns what is to be said after a call.
    pub fn of(embedder: &ModelEmbedder, outcome: &Outcome) -> Option<Self> {
        match outcome {
            Outcome::Scored(report) => Self::of_novelty(embedder, &report.score.novelty),
            Outcome::WarmedUp(Err(reason)) => Some(Self::WithoutEmbedder(reason.clone())),
            _ => Self::of_scripts(embedder),
        }
    }

    /// Returns what is to be said after a score.
    pub fn of_novelty(embedder: &ModelEmbedder, novelty: &Novelty) -> Option<Self> {
        match novelty {
            Novelty::NoEmbedder { reason } => Some(Self::WithoutEmbedder(reason.clone())),
            _ => Self::of_scripts(embedder),
        }
    }

    fn of_scripts(embedder: &ModelEmbedder) -> Option<Self> {
        embedder.sees_unknown_scripts().then_some(Self::UnknownScripts)
    }

    /// Warns the user, unless that was done before.
    pub fn emit(&self, env: &Env) {
        static SAID: [AtomicBool; 2] = [AtomicBool::new(false), AtomicBool::new(false)];
        let said = match self {
            Self::WithoutEmbedder(_) => &SAID[0],
            Self::UnknownScripts => &SAID[1],
        };
        // Somebody may have replaced `emitWarning` by what throws; the score matters more.
        if !said.swap(true, Ordering::Relaxed) && self.emit_warning(env).is_err() {
            forget_exception(env);
        }
    }

    fn emit_warning(&self, env: &Env) -> Result<()> {
        let (message, code) = match self {
            Self::WithoutEmbedder(reason) => (
                format!("works without its embedder, so every novelty is 0.5: {reason}"),
                "KNOWLEDGEPULSE_NO_EMBEDDER",
            ),
            Self::UnknownScripts => (
                "scores texts mostly in scripts that the built-in model, an English one, does not know, so novelty hardly tells anything; the option model takes a multilingual one".into(),
                "KNOWLEDGEPULSE_UNKNOWN_SCRIPTS",
            ),
        };
        let process: Object = env.get_global()?.get_named_property("process")?;
        let emit: Function<FnArgs<(String, &str, &str)>, ()> =
            process.get_named_property("emitWarning")?;
        let message = format!("@knowledgepulse/scoring {message}");
        emit.apply(process, (message, "KnowledgePulseWarning", code).into())
    }
}
