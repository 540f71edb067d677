//! The process warning about an embedder that is not available.

use std::sync::atomic::{AtomicBool, Ordering};

use knowledgepulse_scoring::{Novelty, scorer::Outcome};
use napi::{
    Env, Result,
    bindgen_prelude::{FnArgs, Function, JsObjectValue, Object},
};

use crate::failure::forget_exception;

/// Warns the user, once in a process, that novelty is neutral, and why.
pub fn warn_without_embedder(env: &Env, outcome: &Outcome) {
    let reason = match outcome {
        Outcome::Scored(report) => match &report.score.novelty {
            Novelty::NoEmbedder { reason } => reason,
            _ => return,
        },
        Outcome::WarmedUp(Err(reason)) => reason,
        _ => return,
    };
    warn(env, reason);
}

/// Warns the user as [`warn_without_embedder`] does, for this reason.
pub fn warn(env: &Env, reason: &str) {
    static WARNED: AtomicBool = AtomicBool::new(false);
    if WARNED.swap(true, Ordering::Relaxed) {
        return;
    }
    // Somebody may have replaced `emitWarning` by what throws; the score matters more.
    if emit_warning(env, reason).is_err() {
        forget_exception(env);
    }
}

fn emit_warning(env: &Env, reason: &str) -> Result<()> {
    let process: Object = env.get_global()?.get_named_property("process")?;
    let emit: Function<FnArgs<(String, &str, &str)>, ()> =
        process.get_named_property("emitWarning")?;
    let message = format!(
        "@knowledgepulse/scoring works without its embedder, so every novelty is 0.5: {reason}"
    );
    let arguments = (message, "KnowledgePulseWarning", "KNOWLEDGEPULSE_NO_EMBEDDER");
    emit.apply(process, arguments.into())
}
