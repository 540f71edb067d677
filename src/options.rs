//! Reads options, which `lib/` has checked.

use std::{sync::Arc, time::Duration};

use knowledgepulse_import as import;
use knowledgepulse_scoring::{
    Error, Invalid, Profiles, cache::CacheOptions, scorer::ScorerOptions, weights::Weights,
};
use napi::{
    Either, Env, Result,
    bindgen_prelude::{Object, Unknown},
};

use crate::{
    env::EnvState,
    js::{or_throw, shown, thrown},
    model::ModelEmbedder,
    settings,
};

/// A domain, and its weights for complexity, novelty, diversity of tools and confidence.
pub type Profile = (String, f64, f64, f64, f64);

/// Returns the built-in profiles with those that are given.
pub fn profiles(given: Option<Vec<Profile>>) -> Profiles {
    let profile = |(domain, complexity, novelty, tools, confidence)| {
        (domain, Weights::new([complexity, novelty, tools, confidence]))
    };
    Profiles::with(given.into_iter().flatten().map(profile))
}

pub struct ScorerConfig {
    pub scorer: ScorerOptions,
    pub embedder: Arc<ModelEmbedder>,
    /// Whether the bounds of the cache were given.
    pub has_cache: bool,
    /// Whether scores fail if the store is unavailable; `None` without a store.
    pub requires_store: Option<bool>,
}

/// Reads the options of a scorer, whose defaults are the current settings of the process.
pub fn read_scorer_options(env: &Env, options: &Object) -> Result<ScorerConfig> {
    let cache = options.get("cache")?.map(|cache| read_bounds(&cache)).transpose()?;
    let threads = options.get::<u32>("threads")?.map(|threads| threads as usize);
    let mut scorer = ScorerOptions {
        profiles: profiles(options.get("profiles")?),
        cache: cache.unwrap_or_default(),
        ledger: EnvState::of(env)?.held.clone(),
        ..ScorerOptions::default()
    };
    scorer.concurrency = threads.unwrap_or(scorer.concurrency);
    let settings = settings::current(EnvState::variables(env)?, |current| current.texts.clone());
    let settings = settings::overlaid(settings, settings::texts_of(options));
    let (store, mode) = (options.get::<Unknown>("store")?, options.get::<String>("storeMode")?);
    Ok(ScorerConfig {
        scorer,
        embedder: or_throw(env, settings::embedder_with(&settings, threads))?,
        has_cache: cache.is_some(),
        requires_store: store.map(|_| mode.as_deref() == Some("required")),
    })
}

/// Reads the bounds of a cache.
pub fn read_bounds(options: &Object) -> Result<CacheOptions> {
    let default = CacheOptions::default();
    let number = |name| options.get::<u32>(name).map(|number| number.map(|number| number as usize));
    // A time beyond the range of a duration, such as Infinity, is none.
    let ttl = |ms: f64| Duration::try_from_secs_f64(ms / 1000.0).ok();
    Ok(CacheOptions {
        max_elements: number("maxElements")?.unwrap_or(default.max_elements),
        vector_len: number("dimensions")?.unwrap_or(default.vector_len),
        ttl: options.get("ttlMs")?.map_or(default.ttl, ttl),
    })
}

pub fn read_import_options(env: &Env, options: &Object) -> Result<import::Options> {
    let time = |text: String| {
        import::utc(&text).ok_or_else(|| {
            let expected = "a time in ISO 8601";
            thrown(env, Error::invalid(Invalid::Option, "createdAt", expected, shown(text)))
        })
    };
    let assume_success = |given| match given {
        Either::A(success) => import::AssumeSuccess::Always(success),
        Either::B::<_, String>(_) => import::AssumeSuccess::Skip,
    };
    let confidence = |given| match given {
        Either::A(share) => import::Confidence::Given(share),
        Either::B::<_, String>(_) => import::Confidence::Logprobs,
    };
    Ok(import::Options {
        format: options.get("format")?,
        assume_success: options.get("assumeSuccess")?.map(assume_success),
        confidence: options.get("confidence")?.map(confidence),
        domain: options.get("domain")?,
        created_at: options.get("createdAt")?.map(time).transpose()?,
        visibility: options.get("visibility")?,
        privacy_level: options.get("privacyLevel")?,
        objective: options.get("objective")?,
        success: options.get("success")?,
        labels: Arc::new(options.get::<Vec<_>>("labels")?.into_iter().flatten().collect()),
        messages: options.get("messages")?.unwrap_or_default(),
        unread_calls: match options.get::<String>("unreadCalls")?.as_deref() {
            None => import::UnreadCalls::RejectAll,
            Some("skip") => import::UnreadCalls::Skip,
            Some(_) => import::UnreadCalls::RejectAny,
        },
        max_text: None,
    })
}
