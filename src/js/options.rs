//! Options from JavaScript, read into what the engine takes.

use std::{num::NonZeroUsize, ops::RangeInclusive, sync::Arc, time::Duration};

use knowledgepulse_embedder::LongText;
use knowledgepulse_import as import;
use knowledgepulse_scoring::{
    Error, Invalid, Novelty, Profiles,
    cache::{CacheOptions, Nearest},
    scorer::ScorerOptions,
    weights::Weights,
};
use knowledgepulse_workers::available_cores;

use super::{Read, ReadError, Type, Value, suggest};
use crate::model::{Choice, EmbedderOptions, Mode, Setting, Source, Threshold};

const WEIGHTS: [&str; 4] = ["complexity", "novelty", "toolDiversity", "outcomeConfidence"];

/// The options that an object gives. One that is `undefined` is not given.
struct Options<'env> {
    path: &'static str,
    given: Vec<(String, Value<'env>)>,
}

impl<'env> Options<'env> {
    /// Reads an object at `path`. Fails for an option that is not among the `known`.
    fn read(object: &Value<'env>, path: &'static str, known: &[&str]) -> Read<Self> {
        Ok(Self { path, given: members(object, path, known)? })
    }

    /// Reads an object as [`Options::read`]; `undefined` gives no options.
    fn read_optional(object: &Value<'env>, known: &[&str]) -> Read<Self> {
        match object.type_of() {
            Type::Undefined => Ok(Self { path: "options", given: Vec::new() }),
            _ => Self::read(object, "options", known),
        }
    }

    /// Returns what `read` makes of an option and its path.
    fn get_with<T>(
        &self,
        name: &str,
        read: impl FnOnce(&str, &Value) -> Read<T>,
    ) -> Read<Option<T>> {
        let given = self.given.iter().find(|(given, _)| given == name);
        given.map(|(_, value)| read(&path_of(self.path, name), value)).transpose()
    }

    fn get<T: Setting>(&self, name: &str) -> Read<Option<T>> {
        self.get_with(name, T::from_js)
    }

    fn has(&self, name: &str) -> bool {
        self.given.iter().any(|(given, _)| given == name)
    }
}

impl Source for Options<'_> {
    type Error = ReadError;

    fn get<T: Setting>(&mut self, name: &'static str) -> Read<Option<T>> {
        Options::get(self, name)
    }
}

/// The options of a scorer.
pub struct ScorerConfig {
    pub scorer: ScorerOptions,
    pub embedder: EmbedderOptions,
    /// How many threads work on a text that is alone.
    pub threads: Option<usize>,
    pub budget_ms: Option<f64>,
    pub long_text: LongText,
    /// Whether bounds of the cache were given.
    pub has_cache: bool,
    pub has_store: bool,
    /// Whether scores fail where the store cannot be used.
    pub requires_store: bool,
}

/// Reads the options of `configure`.
pub fn read_embedder_options(options: &Value) -> Read<EmbedderOptions> {
    embedder_options(&mut Options::read(options, "options", &EmbedderOptions::NAMES)?)
}

/// Reads the options of a scorer.
pub fn read_scorer_options(options: &Value) -> Read<ScorerConfig> {
    let known = ["profiles", "cache", "threads", "budgetMs", "longText", "store", "storeMode"];
    // `lib/store.js` reads the last one.
    let known = [&EmbedderOptions::NAMES[..], &known, &["storeTimeoutMs"]].concat();
    let mut options = Options::read_optional(options, &known)?;
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
    Ok(ScorerConfig {
        scorer,
        threads,
        budget_ms: budget.map(|budget| budget.as_secs_f64() * 1000.0),
        long_text: options.get("longText")?.unwrap_or_default(),
        has_cache: cache.is_some(),
        has_store: options.has("store"),
        requires_store: options.get_with("storeMode", is_required)?.unwrap_or_default(),
        embedder: embedder_options(&mut options)?,
    })
}

fn embedder_options(options: &mut Options) -> Read<EmbedderOptions> {
    let given = options.given.iter().map(|(name, _)| name.clone()).collect();
    EmbedderOptions::read(options, given)
}

/// Reads the options of a cache.
pub fn read_cache_options(options: &Value) -> Read<CacheOptions> {
    let options = Options::read_optional(options, &["maxElements", "dimensions", "ttlMs"])?;
    let read = read_bounds(&options)?;
    let vector_len = options.get("dimensions")?.map_or(read.vector_len, NonZeroUsize::get);
    Ok(CacheOptions { vector_len, ..read })
}

fn read_bounds(options: &Options) -> Read<CacheOptions> {
    let default = CacheOptions::default();
    let max_elements = options.get("maxElements")?.map_or(default.max_elements, NonZeroUsize::get);
    let ttl = options.get_with("ttlMs", duration)?.unwrap_or(default.ttl);
    Ok(CacheOptions { max_elements, ttl, ..default })
}

/// Reads the options of `scoreWith`: weights by domain.
pub fn read_scoring_options(options: &Value) -> Read<Profiles> {
    let options = Options::read_optional(options, &["profiles"])?;
    Ok(options.get_with("profiles", profiles)?.unwrap_or_default())
}

/// How many traces `similar` finds where nothing else is given.
const K: NonZeroUsize = NonZeroUsize::new(10).expect("not 0");

/// Reads the options of `similar` that concern the search: how many, and how similar at least.
pub fn read_similar_options(options: &Value) -> Read<(NonZeroUsize, f64)> {
    let options = Options::read_optional(options, &["k", "atLeast"])?;
    let at_least = options.get_with("atLeast", |path, value| number_in(path, value, -1.0..=1.0))?;
    Ok((options.get("k")?.unwrap_or(K), at_least.unwrap_or(-1.0)))
}

/// Reads the threshold of a decision, or takes another one where none is given.
pub fn read_threshold(value: &Value, otherwise: Threshold) -> Read<f64> {
    let Threshold(threshold) = match value.type_of() {
        Type::Undefined => otherwise,
        _ => Threshold::from_js("threshold", value)?,
    };
    Ok(threshold)
}

/// Reads the novelty that the caller of `scoreWith` has found. It may be that of a report.
pub fn read_novelty(novelty: &Value) -> Read<Novelty> {
    let known = ["maxSimilarity", "nearest", "source", "seq", "reason"];
    let novelty = Options::read(novelty, "novelty", &known)?;
    let similarity = novelty.get_with("maxSimilarity", |path, value| match value.type_of() {
        Type::Null => Ok(None),
        Type::Number if (-1.0..=1.0).contains(&value.number()?) => value.number().map(Some),
        _ => Err(invalid(path, "a number in [-1, 1] or null", value)),
    })?;
    let Some(similarity) = similarity else {
        let expected = "a number in [-1, 1] or null";
        let path = "novelty.maxSimilarity";
        return Err(Error::invalid(Invalid::Option, path, expected, "undefined").into());
    };
    let id = novelty.get_with("nearest", |path, value| match value.type_of() {
        Type::Null => Ok(None),
        _ => string(path, value).map(Some),
    })?;
    let id = id.flatten().map(Into::into);
    Ok(Novelty::Given(similarity.map(|similarity| Nearest { similarity, id })))
}

/// Reads the options of an import.
pub fn read_import_options(options: &Value) -> Read<import::Options> {
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
            let objective = string(path, value)?;
            let is_blank = objective.trim().is_empty();
            if is_blank {
                Err(invalid(path, "a text that is not blank", value))
            } else {
                Ok(objective)
            }
        })?,
        success: options.get("success")?,
        unread_calls: match one_of("unreadCalls", &["skip", "reject"])?.as_deref() {
            None => import::UnreadCalls::RejectAll,
            Some("skip") => import::UnreadCalls::Skip,
            Some(_) => import::UnreadCalls::RejectAny,
        },
    })
}

/// Returns a string that is one of the `known`.
fn one_of(path: &str, value: &Value, known: &[&str]) -> Read<String> {
    let found = string(path, value)?;
    if known.contains(&&*found) {
        return Ok(found);
    }
    let known: Vec<_> = known.iter().map(|name| format!("{name:?}")).collect();
    Err(invalid(path, &known.join(", "), value))
}

pub fn boolean(path: &str, value: &Value) -> Read<bool> {
    match value.type_of() {
        Type::Boolean => value.boolean(),
        _ => Err(invalid(path, "true or false", value)),
    }
}

pub fn string(path: &str, value: &Value) -> Read<String> {
    match value.type_of() {
        Type::String => value.string(),
        _ => Err(invalid(path, "a string", value)),
    }
}

pub fn number_in(path: &str, value: &Value, range: RangeInclusive<f64>) -> Read<f64> {
    match value.type_of() {
        Type::Number if range.contains(&value.number()?) => value.number(),
        _ => {
            let expected = format!("a number in [{}, {}]", range.start(), range.end());
            Err(invalid(path, &expected, value))
        }
    }
}

pub fn positive(path: &str, value: &Value) -> Read<NonZeroUsize> {
    let number = integer(path, value, u32::MAX as usize)?;
    NonZeroUsize::new(number).ok_or_else(|| invalid(path, "a positive integer", value))
}

/// Reads a number of milliseconds; `None` for one beyond the range of a duration, such as Infinity.
fn duration(path: &str, value: &Value) -> Read<Option<Duration>> {
    match value.type_of() {
        Type::Number if value.number()? >= 0.0 => {
            Ok(Duration::try_from_secs_f64(value.number()? / 1000.0).ok())
        }
        _ => Err(invalid(path, "a number of milliseconds, 0 or more", value)),
    }
}

fn confidence(path: &str, value: &Value) -> Read<import::Confidence> {
    match value.type_of() {
        Type::Number if (0.0..=1.0).contains(&value.number()?) => {
            value.number().map(import::Confidence::Given)
        }
        Type::String if value.string()? == "logprobs" => Ok(import::Confidence::Logprobs),
        _ => Err(invalid(path, "\"logprobs\" or a number in [0, 1]", value)),
    }
}

fn assume_success(path: &str, value: &Value) -> Read<import::AssumeSuccess> {
    match value.type_of() {
        Type::Boolean => Ok(import::AssumeSuccess::Always(value.boolean()?)),
        Type::String if value.string()? == "skip" => Ok(import::AssumeSuccess::Skip),
        _ => Err(invalid(path, "true, false or \"skip\"", value)),
    }
}

fn profiles(path: &str, value: &Value) -> Read<Profiles> {
    if value.type_of() != Type::Object {
        return Err(invalid(path, "an object of weights by domain", value));
    }
    let mut read = Vec::new();
    for key in value.keys()? {
        let domain = key.string()?;
        let path = format!("{path}.{domain}");
        let weights = value.get(&key)?;
        members(&weights, &path, &WEIGHTS)?;
        let weight = |name| {
            let value = weights.property(name)?;
            match value.type_of() {
                Type::Number => value.number(),
                _ => Err(invalid(&format!("{path}.{name}"), "a number", &value)),
            }
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
    Ok(Profiles::with(read)?)
}

fn is_required(path: &str, value: &Value) -> Read<bool> {
    match Choice::parse(path, &string(path, value)?) {
        Ok(Mode::Auto) => Ok(false),
        Ok(Mode::Required) => Ok(true),
        _ => Err(invalid(path, "\"auto\" or \"required\"", value)),
    }
}

/// Returns the members of an object that are not `undefined`. Fails for one that is not among the `known`.
fn members<'env>(
    object: &Value<'env>,
    path: &str,
    known: &[&str],
) -> Read<Vec<(String, Value<'env>)>> {
    if object.type_of() != Type::Object {
        return Err(invalid(path, "an object", object));
    }
    let mut given = Vec::new();
    for key in object.keys()? {
        let name = key.string()?;
        if !known.contains(&name.as_str()) {
            let expected = format!("one of the options {}", known.join(", "));
            let found = match suggest(&name, known) {
                Some(meant) => format!("an unknown option; did you mean {meant}?"),
                None => "an unknown option".into(),
            };
            let path = path_of(path, &name);
            return Err(Error::invalid(Invalid::Option, path, expected, found).into());
        }
        let value = object.get(&key)?;
        if value.type_of() != Type::Undefined {
            given.push((name, value));
        }
    }
    Ok(given)
}

/// Returns the path of an option of the object at `path`.
fn path_of(path: &str, name: &str) -> String {
    if path == "options" { name.into() } else { format!("{path}.{name}") }
}

/// Reads a whole number from 1 to `most`.
fn integer(path: &str, value: &Value, most: usize) -> Read<usize> {
    let number = if value.type_of() == Type::Number { value.number()? } else { f64::NAN };
    if (1.0..=most as f64).contains(&number) && number.fract() == 0.0 {
        return Ok(number as usize);
    }
    let expected = match most {
        _ if most == u32::MAX as usize => "a positive integer".into(),
        _ => format!("an integer from 1 to {most}"),
    };
    Err(invalid(path, &expected, value))
}

fn invalid(path: &str, expected: &str, found: &Value) -> ReadError {
    Error::invalid(Invalid::Option, path, expected, found.describe()).into()
}
