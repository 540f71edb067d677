//! The native side of the JavaScript class `Scorer`.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use knowledgepulse_scoring::{
    Error,
    scorer::{CallHandle, Input, Outcome, Reply, Work},
    trace::{self, TextWriter, Type, View},
};
use knowledgepulse_workers::{CancelToken, fault};
use napi::{
    Env, Result,
    bindgen_prelude::{Buffer, Either4, Float32Array, Unknown},
};
use napi_derive::napi;

use crate::{
    bound::BoundScorer,
    embedder::ModelEmbedder,
    env::{EnvState, in_background},
    failure::or_throw,
    gathered, options,
    outbox::Deferred,
    status::status,
    vector_cache::VectorCache,
    view::{JsView, Read},
    warning::Warning,
};

/// What a call is to do. `Explain` resolves to a report as JSON, `Evaluate`, `Peek` and `Forget` to a
/// number, `Embed` to a vector.
#[napi]
#[derive(Clone, Copy)]
pub enum CallKind {
    Evaluate,
    Explain,
    Peek,
    Remember,
    Forget,
    Clear,
    Embed,
    WarmUp,
}

#[napi]
pub struct Scorer {
    pub(crate) bound: BoundScorer,
}

#[napi]
impl Scorer {
    #[napi(constructor, catch_unwind)]
    pub fn new(env: &Env, options: Unknown) -> Result<Self> {
        let config = or_throw(env, options::read_scorer_options(&JsView::new(env, options)))?;
        Self::adopted(env, or_throw(env, BoundScorer::new(config, None))?)
    }

    /// A scorer that goes on with a snapshot, which comes from `source`.
    #[napi(catch_unwind)]
    pub fn restore<'env>(
        env: &'env Env,
        bytes: Buffer,
        options: Unknown<'env>,
        source: String,
    ) -> Result<Unknown<'env>> {
        let config = or_throw(env, options::read_scorer_options(&JsView::new(env, options)))?;
        // A copy, because JavaScript may change its bytes meanwhile.
        let bytes = bytes.to_vec();
        let restore = move || BoundScorer::new(config, Some((&source, &bytes)));
        in_background(env, restore, Self::adopted)
    }

    fn adopted(env: &Env, bound: BoundScorer) -> Result<Self> {
        EnvState::of(env)?.adopt(&bound.scorer);
        Ok(Self { bound })
    }

    /// The scorer behind `evaluateValue` in this environment.
    pub fn of_environment(env: &Env) -> Result<Self> {
        Ok(Self { bound: EnvState::of(env)?.default.clone() })
    }

    #[napi(getter)]
    pub fn budget_ms(&self) -> Option<f64> {
        self.bound.budget_ms
    }

    /// Reads what the call is about, a trace, an id or a text, and submits it; `handle` can end it from
    /// then on. Throws what is wrong with that; whatever goes wrong after that rejects the promise.
    #[napi(catch_unwind)]
    pub fn call<'env>(
        &self,
        env: &'env Env,
        kind: CallKind,
        subject: Unknown<'env>,
        handle: Option<&mut Handle>,
    ) -> Result<Unknown<'env>> {
        let subject = JsView::new(env, subject);
        self.submit(env, kind, handle, |embedder| read_work(kind, &subject, embedder))
    }

    /// As `call`, about a trace whose fields have been read: see [`gathered`].
    #[napi(catch_unwind)]
    pub fn call_gathered<'env>(
        &self,
        env: &'env Env,
        kind: CallKind,
        head: Unknown<'env>,
        text: Unknown<'env>,
        confidence: f64,
        handle: Option<&mut Handle>,
    ) -> Result<Unknown<'env>> {
        let [head, text] = [head, text].map(|value| JsView::new(env, value));
        self.submit(env, kind, handle, |embedder| {
            fault::point("read");
            let trace = gathered::trace(&head.units()?, confidence)
                .ok_or_else(|| Error::internal("the fields of a trace could not be read"))?;
            let text = match self.bound.scorer.unavailable_reason(embedder) {
                None => gathered::text(&text, embedder)?,
                Some(_) => String::new(),
            };
            work_on(kind, Input { trace, text })
        })
    }

    fn submit<'env>(
        &self,
        env: &'env Env,
        kind: CallKind,
        handle: Option<&mut Handle>,
        read: impl FnOnce(&ModelEmbedder) -> Read<Work>,
    ) -> Result<Unknown<'env>> {
        let read = || -> Read<_> {
            fault::point("submit");
            let embedder = self.bound.embedder()?;
            Ok((read(&embedder)?, embedder))
        };
        let panicked = |_| Err(Error::internal("reading the call panicked").into());
        let read = catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(panicked);
        let (work, embedder) = or_throw(env, read)?;
        let (promise, deferred) = EnvState::of(env)?.outbox.promise(env)?;
        let reply = reply(kind, deferred, embedder.clone());
        let call = self.bound.scorer.queue(work, embedder, reply);
        if let Some(handle) = handle {
            handle.call = Some(call);
        }
        Ok(promise)
    }

    /// Begins the calls that were made.
    #[napi(catch_unwind)]
    pub fn start(&self) {
        self.bound.scorer.start();
    }

    #[napi(catch_unwind)]
    pub fn snapshot<'env>(&self, env: &'env Env) -> Result<Unknown<'env>> {
        let bound = self.bound.clone();
        in_background(env, move || bound.snapshot(), |_, bytes| Ok(Buffer::from(bytes)))
    }

    #[napi(catch_unwind)]
    pub fn cache(&self) -> Result<VectorCache> {
        let memory = self.bound.scorer.own_memory().cloned();
        let memory = memory.ok_or_else(|| napi::Error::from_reason("a store has no cache"))?;
        Ok(VectorCache::live(memory))
    }

    #[napi(catch_unwind)]
    pub fn status(&self, env: &Env) -> Result<String> {
        let embedder = or_throw(env, self.bound.embedder())?;
        Ok(status(&self.bound, &embedder).to_string())
    }

    #[napi(catch_unwind)]
    pub fn close(&self) {
        self.bound.scorer.close();
    }
}

/// Ends a call, or a calibration, on its way.
#[napi(js_name = "CallHandle")]
#[derive(Default)]
pub struct Handle {
    call: Option<CallHandle>,
    pub(crate) cancel: CancelToken,
}

#[napi]
impl Handle {
    #[napi(constructor)]
    pub fn new() -> Self {
        Self::default()
    }

    #[napi(catch_unwind)]
    pub fn abort(&self) -> bool {
        self.cancel.cancel();
        self.call.as_ref().is_some_and(CallHandle::abort)
    }

    #[napi(catch_unwind)]
    pub fn end_budget(&self) -> bool {
        self.call.as_ref().is_some_and(CallHandle::end_budget)
    }
}

fn read_work(kind: CallKind, value: &JsView, embedder: &ModelEmbedder) -> Read<Work> {
    let read = || -> Read<Work> {
        fault::point("read");
        let mut text = embedder.text_buffer();
        let trace = trace::read(value, &mut text)?;
        work_on(kind, Input { trace, text: text.into_string() })
    };
    match kind {
        CallKind::Evaluate | CallKind::Explain | CallKind::Peek | CallKind::Remember => read(),
        CallKind::Forget => Ok(Work::Forget(value.string()?.into())),
        CallKind::Clear => Ok(Work::Clear),
        CallKind::Embed if value.type_of() == Type::String => {
            let mut text = embedder.text_buffer();
            value.write_to(&mut TextWriter::new(&mut text))?;
            Ok(Work::Embed(text.into_string()))
        }
        CallKind::Embed => read(),
        CallKind::WarmUp => Ok(Work::WarmUp),
    }
}

fn work_on(kind: CallKind, input: Input) -> Read<Work> {
    Ok(match kind {
        CallKind::Evaluate | CallKind::Explain => Work::Score(input),
        CallKind::Peek => Work::Peek(input),
        CallKind::Remember => Work::Remember(input),
        CallKind::Embed => Work::Embed(input.text),
        CallKind::Forget | CallKind::Clear | CallKind::WarmUp => {
            return Err(Error::internal("the call is not about a trace").into());
        }
    })
}

/// Settles the promise of a call. A report is JSON, which JavaScript parses: no setter on a prototype
/// has a say in it, and the objects belong to the realm of the caller.
fn reply(kind: CallKind, deferred: Deferred, embedder: Arc<ModelEmbedder>) -> Reply {
    let failed = |error: serde_json::Error| napi::Error::from_reason(error.to_string());
    let answer = move |env: &Env, outcome| {
        if let Some(warning) = Warning::of(&embedder, &outcome) {
            warning.emit(env);
        }
        Ok(match (kind, outcome) {
            (CallKind::Explain, Outcome::Scored(report)) => {
                Either4::A(serde_json::to_string(&report).map_err(failed)?)
            }
            (_, Outcome::Scored(report)) => Either4::B(report.score.value),
            (_, Outcome::Removed(count)) => Either4::B(count as f64),
            (_, Outcome::Embedded(vector)) => Either4::C(Float32Array::new(vector.into_vec())),
            (_, Outcome::Remembered | Outcome::WarmedUp(_)) => Either4::D(()),
        })
    };
    Box::new(move |result| deferred.settle(result, answer))
}
