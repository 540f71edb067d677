//! Options from JavaScript, read into what the engine takes.

use std::{sync::Arc, time::Duration};

use knowledgepulse_embedder::LongText;
use knowledgepulse_import as import;
use knowledgepulse_scoring::{
    Error, Invalid, Novelty, Profiles,
    cache::{CacheOptions, Nearest},
    scorer::ScorerOptions,
    trace::{Type, View},
    weights::Weights,
};
use knowledgepulse_workers::available_cores;

use crate::{
    choice::Choice,
    embedder::Mode,
    settings::{Change, EmbedderOption},
    suggest::suggest,
    view::{JsView, Read, ReadError},
};

const WEIGHTS: [&str; 4] = ["complexity", "novelty", "toolDiversity", "outcomeConfidence"];

/// The options of a scorer.
#[derive(Default)]
pub struct ScorerConfig {
    pub scorer: ScorerOptions,
    pub embedder: Vec<Change>,
    /// Threads that work on a text that is alone.
    pub threads: Option<usize>,
    pub budget_ms: Option<f64>,
    pub long_text: LongText,
    /// Whether bounds of the cache were given.
    pub has_cache: bool,
    /// Whether the memory is that of a store.
    pub has_store: bool,
    /// Whether scores fail where the store cannot be used.
    pub requires_store: bool,
}

/// Reads the options of `configure`.
pub fn read_embedder_options(options: &JsView) -> Read<Vec<Change>> {
    let given = named(options, "options", &EmbedderOption::ALL.map(|(_, name, _)| name))?;
    given.iter().filter_map(|(name, value)| read_change(name, value).transpose()).collect()
}

/// Reads the options of a scorer; `undefined` is all defaults.
pub fn read_scorer_options(options: &JsView) -> Read<ScorerConfig> {
    let mut config = ScorerConfig::default();
    if options.type_of() == Type::Undefined {
        return Ok(config);
    }
    let mut known = EmbedderOption::ALL.map(|(_, name, _)| name).to_vec();
    known.extend(["profiles", "cache", "threads", "budgetMs", "longText"]);
    known.extend(["store", "storeMode", "storeTimeoutMs"]);
    for (name, value) in named(options, "options", &known)? {
        match name.as_str() {
            "profiles" => config.scorer.profiles = Arc::new(read_profiles(&value)?),
            "cache" => {
                config.scorer.cache = read_cache_options(&value, "cache")?;
                config.has_cache = true;
            }
            "threads" => {
                let threads = integer(&name, &value, available_cores())?;
                (config.scorer.concurrency, config.threads) = (threads, Some(threads));
            }
            "budgetMs" => {
                let budget = duration(&name, &value)?;
                config.budget_ms = budget.map(|budget| budget.as_secs_f64() * 1000.0);
            }
            "longText" => config.long_text = Choice::parse(&name, &string(&name, &value)?)?,
            "store" => config.has_store = true,
            "storeMode" => config.requires_store = required(&name, &value)?,
            // For lib/store.js, which has read it.
            "storeTimeoutMs" => {}
            _ => config.embedder.extend(read_change(&name, &value)?),
        }
    }
    Ok(config)
}

/// Reads an option of the embedder; `None` for another one.
fn read_change(name: &str, value: &JsView) -> Read<Option<Change>> {
    let Some((option, ..)) = EmbedderOption::ALL.into_iter().find(|(_, known, _)| *known == name)
    else {
        return Ok(None);
    };
    let text = match option {
        EmbedderOption::Normalize => boolean(name, value)?.to_string(),
        EmbedderOption::MaxTokens => integer(name, value, u32::MAX as usize)?.to_string(),
        _ => string(name, value)?,
    };
    Ok(Some(Change { option, place: name.into(), value: text.into() }))
}

/// Reads the options of `scoreWith`: weights by domain.
pub fn read_scoring_options(options: &JsView) -> Read<Profiles> {
    if options.type_of() == Type::Undefined {
        return Ok(Profiles::default());
    }
    match named(options, "options", &["profiles"])?.first() {
        Some((_, profiles)) => read_profiles(profiles),
        None => Ok(Profiles::default()),
    }
}

/// Reads what the caller of `scoreWith` has found.
pub fn read_novelty(novelty: &JsView) -> Read<Novelty> {
    if novelty.type_of() != Type::Object {
        return Err(invalid("novelty", "an object", novelty));
    }
    let similarity = novelty.property("maxSimilarity")?;
    let similarity = match similarity.type_of() {
        Type::Null => return Ok(Novelty::Given(None)),
        Type::Number => similarity.number()?,
        _ => f64::NAN,
    };
    if !(-1.0..=1.0).contains(&similarity) {
        let found = novelty.property("maxSimilarity")?;
        return Err(invalid("novelty.maxSimilarity", "a number in [-1, 1] or null", &found));
    }
    let id = novelty.property("nearest")?;
    let id = match id.type_of() {
        Type::Undefined | Type::Null => None,
        _ => Some(string("novelty.nearest", &id)?.into()),
    };
    Ok(Novelty::Given(Some(Nearest { similarity, id })))
}

/// Reads the bounds of a cache, whose path is `options` or `cache`; the length of vectors is only an
/// option of a cache of one's own.
pub fn read_cache_options(options: &JsView, path: &str) -> Read<CacheOptions> {
    let mut read = CacheOptions::default();
    let known: &[&str] = match path {
        "options" => &["maxElements", "dimensions", "ttlMs"],
        _ => &["maxElements", "ttlMs"],
    };
    for (name, value) in named(options, path, known)? {
        let place = place(path, &name);
        match name.as_str() {
            "maxElements" => read.max_elements = integer(&place, &value, u32::MAX as usize)?,
            "dimensions" => read.vector_len = integer(&place, &value, u32::MAX as usize)?,
            _ => read.ttl = duration(&place, &value)?,
        }
    }
    Ok(read)
}

/// Reads the options of an import.
pub fn read_import_options(options: &JsView) -> Read<import::Options> {
    let known = ["format", "assumeSuccess", "confidence", "domain", "createdAt"];
    let known = [&known[..], &["visibility", "privacyLevel", "objective", "success"]].concat();
    let mut read = import::Options::default();
    for (name, value) in named(options, "options", &known)? {
        match name.as_str() {
            "format" => read.format = Some(one_of(&name, &value, &import::format_names())?),
            "assumeSuccess" => read.assume_success = Some(assume_success(&name, &value)?),
            "confidence" => {
                one_of(&name, &value, &["logprobs"])?;
                read.use_logprobs = true;
            }
            "domain" => read.domain = Some(string(&name, &value)?),
            "createdAt" => {
                let time = import::utc(&string(&name, &value)?);
                let expected = "a time in ISO 8601";
                read.created_at = Some(time.ok_or_else(|| invalid(&name, expected, &value))?);
            }
            "visibility" => {
                read.visibility = Some(one_of(&name, &value, &["private", "org", "network"])?);
            }
            "privacyLevel" => {
                let known = ["aggregated", "federated", "private"];
                read.privacy_level = Some(one_of(&name, &value, &known)?);
            }
            "objective" => {
                let objective = string(&name, &value)?;
                if objective.trim().is_empty() {
                    return Err(invalid(&name, "a text that is not blank", &value));
                }
                read.objective = Some(objective);
            }
            _ => read.success = Some(boolean(&name, &value)?),
        }
    }
    Ok(read)
}

/// Returns a string that is one of the `known`.
fn one_of(path: &str, value: &JsView, known: &[&str]) -> Read<String> {
    let found = string(path, value)?;
    if known.contains(&&*found) {
        return Ok(found);
    }
    let known: Vec<_> = known.iter().map(|name| format!("{name:?}")).collect();
    Err(invalid(path, &known.join(", "), value))
}

fn assume_success(path: &str, value: &JsView) -> Read<import::AssumeSuccess> {
    match value.type_of() {
        Type::Boolean => Ok(import::AssumeSuccess::Always(value.boolean()?)),
        Type::String if value.string()? == "skip" => Ok(import::AssumeSuccess::Skip),
        _ => Err(invalid(path, "true, false or \"skip\"", value)),
    }
}

fn boolean(path: &str, value: &JsView) -> Read<bool> {
    match value.type_of() {
        Type::Boolean => Ok(value.boolean()?),
        _ => Err(invalid(path, "true or false", value)),
    }
}

fn read_profiles(profiles: &JsView) -> Read<Profiles> {
    if profiles.type_of() != Type::Object {
        return Err(invalid("profiles", "an object of weights by domain", profiles));
    }
    let mut read = Vec::new();
    for key in profiles.keys()? {
        let domain = key.string()?;
        let path = format!("profiles.{domain}");
        let weights = profiles.get(&key)?;
        named(&weights, &path, &WEIGHTS)?;
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

/// Returns the options that are given, each one of the `known`.
fn named<'env>(
    options: &JsView<'env>,
    path: &str,
    known: &[&str],
) -> Read<Vec<(String, JsView<'env>)>> {
    if options.type_of() != Type::Object {
        return Err(invalid(path, "an object", options));
    }
    let mut given = Vec::new();
    for key in options.keys()? {
        let name = key.string()?;
        if !known.contains(&name.as_str()) {
            let expected = format!("one of the options {}", known.join(", "));
            let found = match suggest(&name, known) {
                Some(meant) => format!("an unknown option; did you mean {meant}?"),
                None => "an unknown option".into(),
            };
            return Err(Error::invalid(Invalid::Option, place(path, &name), expected, found).into());
        }
        let value = options.get(&key)?;
        if value.type_of() != Type::Undefined {
            given.push((name, value));
        }
    }
    Ok(given)
}

/// Where an option of the object at `path` stands.
fn place(path: &str, name: &str) -> String {
    if path == "options" { name.into() } else { format!("{path}.{name}") }
}

fn required(path: &str, value: &JsView) -> Read<bool> {
    match Choice::parse(path, &string(path, value)?) {
        Ok(Mode::Auto) => Ok(false),
        Ok(Mode::Required) => Ok(true),
        _ => Err(invalid(path, "\"auto\" or \"required\"", value)),
    }
}

fn string(path: &str, value: &JsView) -> Read<String> {
    match value.type_of() {
        Type::String => Ok(value.string()?),
        _ => Err(invalid(path, "a string", value)),
    }
}

/// A whole number from 1 to `most`.
fn integer(path: &str, value: &JsView, most: usize) -> Read<usize> {
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

/// A number of milliseconds; `None` for what is beyond the range of a duration, as Infinity.
fn duration(path: &str, value: &JsView) -> Read<Option<Duration>> {
    match value.type_of() {
        Type::Number if value.number()? >= 0.0 => {
            Ok(Duration::try_from_secs_f64(value.number()? / 1000.0).ok())
        }
        _ => Err(invalid(path, "a number of milliseconds, 0 or more", value)),
    }
}

fn invalid(path: &str, expected: &str, found: &JsView) -> ReadError {
    Error::invalid(Invalid::Option, path, expected, found.describe()).into()
}
