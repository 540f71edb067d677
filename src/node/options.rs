//! Options of calls from JavaScript, read into what the engine takes.

use std::{path::PathBuf, sync::Arc, time::Duration};

use napi::{Env, bindgen_prelude::Unknown};

use super::{
    settings::{Changes, LONG_TEXT, MODE, PRECISION, RUNTIME},
    view::{JsView, Read, Thrown},
};
use crate::{
    cache::CacheOptions,
    error::Error,
    scorer::ScorerOptions,
    suggest::suggest,
    threads::pool_threads,
    trace::{ReadError, Type, View},
    weights::{Profiles, Weights},
};

/// What concerns the embedder, as `configure` takes it.
pub const EMBEDDER_OPTIONS: [&str; 5] = ["embedder", "runtime", "precision", "modelDir", "library"];

const SCORER_OPTIONS: [&str; 10] = [
    "embedder",
    "runtime",
    "precision",
    "modelDir",
    "library",
    "profiles",
    "cache",
    "threads",
    "budgetMs",
    "longText",
];
const CACHE_OPTIONS: [&str; 2] = ["maxElements", "ttlMs"];
const WEIGHTS: [&str; 4] = ["complexity", "novelty", "toolDiversity", "outcomeConfidence"];

/// The options of a scorer.
#[derive(Default)]
pub struct ScorerChanges {
    pub scorer: ScorerOptions,
    pub embedder: Changes,
    /// Whether bounds of the cache were given.
    pub has_cache: bool,
}

/// Reads the options of `configure`.
pub fn read_changes(options: &JsView) -> Read<Changes> {
    let mut changes = Changes::default();
    for (name, value) in named(options, "options", &EMBEDDER_OPTIONS)? {
        read_change(&mut changes, &name, &value)?;
    }
    Ok(changes)
}

/// Reads the options of a scorer; none at all are all defaults.
pub fn read_scorer(env: &Env, options: Unknown) -> Read<ScorerChanges> {
    let options = JsView::new(env, options);
    let mut changes = ScorerChanges::default();
    if options.type_of() == Type::Undefined {
        return Ok(changes);
    }
    for (name, value) in named(&options, "options", &SCORER_OPTIONS)? {
        match name.as_str() {
            "profiles" => changes.scorer.profiles = Arc::new(read_profiles(&value)?),
            "cache" => {
                changes.scorer.cache = read_cache(&value)?;
                changes.has_cache = true;
            }
            "threads" => {
                let threads = integer(&name, &value, pool_threads())?;
                (changes.scorer.threads, changes.embedder.threads) = (threads, Some(threads));
            }
            "budgetMs" => changes.scorer.budget = duration(&name, &value)?,
            "longText" => {
                changes.scorer.long_text = LONG_TEXT.value(&name, &string(&name, &value)?)?;
            }
            _ => read_change(&mut changes.embedder, &name, &value)?,
        }
    }
    Ok(changes)
}

fn read_change(changes: &mut Changes, name: &str, value: &JsView) -> Read<()> {
    let text = string(name, value)?;
    match name {
        "modelDir" => changes.model_dir = Some(text.into()),
        "library" => changes.library = Some(PathBuf::from(text)),
        "runtime" => changes.runtime = Some(RUNTIME.value(name, &text)?),
        "precision" => changes.precision = Some(PRECISION.value(name, &text)?),
        _ => changes.mode = Some(MODE.value(name, &text)?),
    }
    Ok(())
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
        let mut values = [0.0; 4];
        let mut missing = WEIGHTS.to_vec();
        for (name, value) in named(&weights, &path, &WEIGHTS)? {
            let at = WEIGHTS.iter().position(|known| *known == name).unwrap_or_default();
            if value.type_of() != Type::Number {
                return Err(invalid(&format!("{path}.{name}"), "a number", &value));
            }
            values[at] = value.number()?;
            missing.retain(|known| *known != name);
        }
        if let Some(name) = missing.first() {
            let path = format!("{path}.{name}");
            return Err(Error::invalid_option(path, "a number", "undefined").into());
        }
        let [complexity, novelty, tool_diversity, outcome_confidence] = values;
        read.push((domain, Weights { complexity, novelty, tool_diversity, outcome_confidence }));
    }
    Ok(Profiles::with(read)?)
}

fn read_cache(cache: &JsView) -> Read<CacheOptions> {
    let mut read = CacheOptions::default();
    for (name, value) in named(cache, "cache", &CACHE_OPTIONS)? {
        let path = format!("cache.{name}");
        match name.as_str() {
            "maxElements" => read.max_elements = integer(&path, &value, u32::MAX as usize)?,
            _ => read.ttl = duration(&path, &value)?,
        }
    }
    Ok(read)
}

/// The options that are given, each one of the `known`.
fn named<'env>(
    options: &JsView<'env>,
    path: &str,
    known: &[&'static str],
) -> Read<Vec<(String, JsView<'env>)>> {
    if options.type_of() != Type::Object {
        return Err(invalid(path, "an object", options));
    }
    let mut given = Vec::new();
    for key in options.keys()? {
        let name = key.string()?;
        if !known.contains(&name.as_str()) {
            let place = if path == "options" { name.clone() } else { format!("{path}.{name}") };
            let expected = format!("one of the options {}", known.join(", "));
            let found = match suggest(&name, known) {
                Some(meant) => format!("an unknown option; did you mean {meant}?"),
                None => "an unknown option".into(),
            };
            return Err(Error::invalid_option(place, expected, found).into());
        }
        let value = options.get(&key)?;
        if value.type_of() != Type::Undefined {
            given.push((name, value));
        }
    }
    Ok(given)
}

fn string(path: &str, value: &JsView) -> Read<String> {
    match value.type_of() {
        Type::String => Ok(value.string()?),
        _ => Err(invalid(path, "a string", value)),
    }
}

/// A whole number from 1 to `most`.
pub fn integer(path: &str, value: &JsView, most: usize) -> Read<usize> {
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
pub fn duration(path: &str, value: &JsView) -> Read<Option<Duration>> {
    match value.type_of() {
        Type::Number if value.number()? >= 0.0 => {
            Ok(Duration::try_from_secs_f64(value.number()? / 1000.0).ok())
        }
        _ => Err(invalid(path, "a number of milliseconds, 0 or more", value)),
    }
}

fn invalid(path: &str, expected: &str, found: &JsView) -> ReadError<Thrown> {
    Error::invalid_option(path, expected, found.describe()).into()
}
