//! Reads options from JavaScript.

use std::{num::NonZeroUsize, sync::Arc, time::Duration};

use knowledgepulse_import as import;
use knowledgepulse_scoring::{
    Error, Invalid, Novelty, Profiles,
    cache::{CacheOptions, Nearest},
    scorer::ScorerOptions,
    weights::Weights,
};
use knowledgepulse_workers::available_cores;
use napi::{Env, Result, ValueType, bindgen_prelude::JsObjectValue};

use crate::{
    js::{Value, alternatives, integer, invalid, number_in, or_throw, string, suggest, thrown},
    model::{self, ModelEmbedder, Setting, Settings, Source},
};

const WEIGHTS: [&str; 4] = ["complexity", "novelty", "toolDiversity", "outcomeConfidence"];

/// The options in an object, without those that are `undefined`.
struct Options<'env> {
    path: String,
    given: Vec<(String, Value<'env>)>,
}

impl<'env> Options<'env> {
    /// Reads an object at `path`. Fails for an option that is not among the `known`.
    fn read(object: &Value<'env>, path: impl Into<String>, known: &[&str]) -> Result<Self> {
        let path = path.into();
        if !object.is_object() {
            return Err(invalid(&path, "an object", object));
        }
        let mut given = Vec::new();
        for key in object.keys()? {
            let name = key.string().unwrap_or_default();
            if !known.contains(&name.as_str()) {
                let expected = format!("one of the options {}", known.join(", "));
                let found = match suggest(&name, known) {
                    Some(meant) => format!("an unknown option; did you mean {meant}?"),
                    None => "an unknown option".into(),
                };
                let path = path_of(&path, &name);
                let error = Error::invalid(Invalid::Option, path, expected, found);
                return Err(thrown(&object.env(), error));
            }
            let value = object.get(&key)?;
            if value.type_of() != ValueType::Undefined {
                given.push((name, value));
            }
        }
        Ok(Self { path, given })
    }

    /// Reads an object as [`Options::read`]; `undefined` gives no options.
    fn read_optional(object: &Value<'env>, known: &[&str]) -> Result<Self> {
        match object.type_of() {
            ValueType::Undefined => Ok(Self { path: "options".into(), given: Vec::new() }),
            _ => Self::read(object, "options", known),
        }
    }

    /// Reads an option with `read`, which also gets its path.
    fn get_with<T>(
        &self,
        name: &str,
        read: impl FnOnce(&str, &Value) -> Result<T>,
    ) -> Result<Option<T>> {
        let given = self.given.iter().find(|(given, _)| given == name);
        given.map(|(_, value)| read(&path_of(&self.path, name), value)).transpose()
    }
}

impl Source for Options<'_> {
    type Error = napi::Error;

    fn has(&self, name: &str) -> bool {
        self.given.iter().any(|(given, _)| given == name)
    }

    fn get<T: Setting>(&self, name: &'static str) -> Result<Option<T>> {
        self.get_with(name, T::from_js)
    }
}

/// Reads the options of `configure`, and changes the settings of the process.
pub fn configure(options: &Value) -> Result<()> {
    model::configure(&Options::read(options, "options", &Settings::NAMES)?)
}

pub struct ScorerConfig {
    pub scorer: ScorerOptions,
    pub embedder: Arc<ModelEmbedder>,
    pub budget_ms: Option<f64>,
    /// Whether the bounds of the cache were given.
    pub has_cache: bool,
    /// Whether scores fail if the store is unavailable; `None` without a store.
    pub requires_store: Option<bool>,
}

/// Reads the options of a scorer, whose defaults are the current settings of the process.
pub fn read_scorer_options(env: &Env, options: &Value) -> Result<ScorerConfig> {
    let known = ["profiles", "cache", "threads", "budgetMs", "longText", "store", "storeMode"];
    // `lib/store.js` reads the last one.
    let known = [&Settings::NAMES[..], &known, &["storeTimeoutMs"]].concat();
    let options = Options::read_optional(options, &known)?;
    let mut scorer = ScorerOptions::default();
    if let Some(profiles) = options.get_with("profiles", profiles)? {
        scorer.profiles = Arc::new(profiles);
    }
    let cache = options.get_with("cache", |_, cache| {
        read_bounds(&Options::read(cache, "cache", &["maxElements", "ttlMs"])?)
    })?;
    scorer.cache = cache.unwrap_or(scorer.cache);
    let threads =
        options.get_with("threads", |path, value| integer(path, value, available_cores()))?;
    scorer.concurrency = threads.unwrap_or(scorer.concurrency);
    let budget = options.get_with("budgetMs", duration)?.flatten();
    let long_text = options.get("longText")?.unwrap_or_default();
    let modes = &["auto", "required"];
    let mode = options.get_with("storeMode", |path, value| one_of(path, value, modes))?;
    let mut settings = model::settings();
    settings.update(&options)?;
    Ok(ScorerConfig {
        scorer,
        embedder: or_throw(env, settings.embedder(threads, long_text))?,
        budget_ms: budget.map(|budget| budget.as_secs_f64() * 1000.0),
        has_cache: cache.is_some(),
        requires_store: options.has("store").then(|| mode.as_deref() == Some("required")),
    })
}

pub fn read_cache_options(options: &Value) -> Result<CacheOptions> {
    let options = Options::read_optional(options, &["maxElements", "dimensions", "ttlMs"])?;
    let read = read_bounds(&options)?;
    Ok(CacheOptions { vector_len: options.get("dimensions")?.unwrap_or(read.vector_len), ..read })
}

fn read_bounds(options: &Options) -> Result<CacheOptions> {
    let default = CacheOptions::default();
    let max_elements = options.get("maxElements")?.unwrap_or(default.max_elements);
    let ttl = options.get_with("ttlMs", duration)?.unwrap_or(default.ttl);
    Ok(CacheOptions { max_elements, ttl, ..default })
}

/// Reads the options of `scoreWith`: weights by domain.
pub fn read_scoring_options(options: &Value) -> Result<Profiles> {
    let options = Options::read_optional(options, &["profiles"])?;
    Ok(options.get_with("profiles", profiles)?.unwrap_or_default())
}

/// The default number of results of `similar`.
const K: NonZeroUsize = NonZeroUsize::new(10).expect("not 0");

/// Reads the options `k` and `atLeast` of `similar`.
pub fn read_similar_options(options: &Value) -> Result<(NonZeroUsize, f64)> {
    let options = Options::read_optional(options, &["k", "atLeast"])?;
    let at_least = options.get_with("atLeast", |path, value| number_in(path, value, -1.0..=1.0))?;
    Ok((options.get("k")?.and_then(NonZeroUsize::new).unwrap_or(K), at_least.unwrap_or(-1.0)))
}

/// Reads the threshold of a decision; `undefined` gives `otherwise`.
pub fn read_threshold(value: &Value, otherwise: f64) -> Result<f64> {
    match value.type_of() {
        ValueType::Undefined => Ok(otherwise),
        _ => Setting::from_js("threshold", value),
    }
}

/// Reads the novelty given to `scoreWith`; that of a report is accepted too.
pub fn read_novelty(novelty: &Value) -> Result<Novelty> {
    let known = ["maxSimilarity", "nearest", "source", "seq", "reason"];
    let options = Options::read(novelty, "novelty", &known)?;
    let value: Value = novelty.get_named_property_unchecked("maxSimilarity")?;
    let number = value.number().filter(|number| (-1.0..=1.0).contains(number));
    let similarity = value
        .or_null(number)
        .ok_or_else(|| invalid("novelty.maxSimilarity", "a number in [-1, 1] or null", &value))?;
    let id = options.get_with("nearest", |path, value| {
        value.or_null(value.string()).ok_or_else(|| invalid(path, "a string", value))
    })?;
    let id = id.flatten().map(Into::into);
    Ok(Novelty::Given(similarity.map(|similarity| Nearest { similarity, id })))
}

pub fn read_import_options(options: &Value) -> Result<import::Options> {
    let known = ["format", "assumeSuccess", "confidence", "domain", "createdAt", "visibility"];
    let known = [&known[..], &["privacyLevel", "objective", "success", "unreadCalls"]].concat();
    let options = Options::read(options, "options", &known)?;
    let one_of =
        |name, known: &[&str]| options.get_with(name, |path, value| one_of(path, value, known));
    Ok(import::Options {
        format: one_of("format", &import::format_names())?,
        assume_success: options.get_with("assumeSuccess", assume_success)?,
        confidence: options.get_with("confidence", confidence)?,
        domain: options.get("domain")?,
        created_at: options.get_with("createdAt", |path, value| {
            let time = import::utc(&string(path, value)?);
            time.ok_or_else(|| invalid(path, "a time in ISO 8601", value))
        })?,
        visibility: one_of("visibility", &["private", "org", "network"])?,
        privacy_level: one_of("privacyLevel", &["aggregated", "federated", "private"])?,
        objective: options.get_with("objective", |path, value| {
            let objective = Some(string(path, value)?).filter(|text| !text.trim().is_empty());
            objective.ok_or_else(|| invalid(path, "a text that is not blank", value))
        })?,
        success: options.get("success")?,
        unread_calls: match one_of("unreadCalls", &["skip", "reject"])?.as_deref() {
            None => import::UnreadCalls::RejectAll,
            Some("skip") => import::UnreadCalls::Skip,
            Some(_) => import::UnreadCalls::RejectAny,
        },
    })
}

fn one_of(path: &str, value: &Value, known: &[&str]) -> Result<String> {
    let found = Some(string(path, value)?).filter(|found| known.contains(&&**found));
    found.ok_or_else(|| invalid(path, &alternatives(known.iter().copied()), value))
}

/// Reads a number of milliseconds; `None` for one beyond the range of a duration, such as Infinity.
fn duration(path: &str, value: &Value) -> Result<Option<Duration>> {
    let ms = value.number().filter(|ms| *ms >= 0.0);
    let ms = ms.ok_or_else(|| invalid(path, "a number of milliseconds, 0 or more", value))?;
    Ok(Duration::try_from_secs_f64(ms / 1000.0).ok())
}

fn confidence(path: &str, value: &Value) -> Result<import::Confidence> {
    let share = value.number().filter(|number| (0.0..=1.0).contains(number));
    let logprobs = || (value.string()? == "logprobs").then_some(import::Confidence::Logprobs);
    let found = share.map(import::Confidence::Given).or_else(logprobs);
    found.ok_or_else(|| invalid(path, "\"logprobs\" or a number in [0, 1]", value))
}

fn assume_success(path: &str, value: &Value) -> Result<import::AssumeSuccess> {
    let skip = || (value.string()? == "skip").then_some(import::AssumeSuccess::Skip);
    let found = value.boolean().map(import::AssumeSuccess::Always).or_else(skip);
    found.ok_or_else(|| invalid(path, "true, false or \"skip\"", value))
}

fn profiles(path: &str, value: &Value) -> Result<Profiles> {
    if !value.is_object() {
        return Err(invalid(path, "an object of weights by domain", value));
    }
    let mut read = Vec::new();
    for key in value.keys()? {
        let domain = key.string().unwrap_or_default();
        let path = format!("{path}.{domain}");
        let weights = value.get(&key)?;
        Options::read(&weights, &*path, &WEIGHTS)?;
        let weight = |name| {
            let value: Value = weights.get_named_property_unchecked(name)?;
            value.number().ok_or_else(|| invalid(&format!("{path}.{name}"), "a number", &value))
        };
        let [complexity, novelty, tool_diversity, outcome_confidence] = WEIGHTS.map(weight);
        let weights = Weights {
            complexity: complexity?,
            novelty: novelty?,
            tool_diversity: tool_diversity?,
            outcome_confidence: outcome_confidence?,
        };
        read.push((domain, weights));
    }
    or_throw(&value.env(), Profiles::with(read))
}

/// Returns the path of an option of the object at `path`.
fn path_of(path: &str, name: &str) -> String {
    if path == "options" { name.into() } else { format!("{path}.{name}") }
}
