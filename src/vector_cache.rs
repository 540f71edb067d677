//! The JavaScript class `VectorCache`.

use std::{cell::Cell, sync::Arc};

use knowledgepulse_scoring::{Error, Invalid, cache, scorer::OwnMemory};
use napi::{
    Env, Result,
    bindgen_prelude::{JsObjectValue, ObjectFinalize},
};
use napi_derive::napi;

use crate::{
    js::{Value, or_throw, thrown},
    options::read_cache_options,
};

#[napi(custom_finalize)]
pub struct VectorCache {
    /// Its own, or that of a scorer.
    memory: Arc<OwnMemory>,
    /// The memory reported to the garbage collector, which would otherwise let caches pile up.
    reported: Cell<i64>,
}

impl ObjectFinalize for VectorCache {
    fn finalize(self, env: Env) -> Result<()> {
        env.adjust_external_memory(-self.reported.get()).map(drop)
    }
}

#[napi]
impl VectorCache {
    #[napi(constructor, catch_unwind)]
    pub fn new(options: Value) -> Result<Self> {
        let cache = cache::VectorCache::new(read_cache_options(&options)?);
        Ok(Self::of(OwnMemory::new(cache, None)))
    }

    #[napi(getter, catch_unwind)]
    pub fn size(&self) -> u32 {
        self.memory.with_cache(cache::VectorCache::len) as u32
    }

    #[napi(catch_unwind)]
    pub fn add(&self, env: &Env, vector: Value) -> Result<()> {
        let vector = self.vector(env, vector)?;
        let added = self.memory.with_cache(|cache, now| cache.add(&vector, None, now));
        self.report_memory(env)?;
        or_throw(env, added)
    }

    #[napi(catch_unwind)]
    pub fn max_cosine_similarity(&self, env: &Env, query: Value) -> Result<f64> {
        let query = self.vector(env, query)?;
        let nearest =
            or_throw(env, self.memory.with_cache(|cache, now| cache.nearest(&query, now)))?;
        Ok(nearest.map_or(0.0, |nearest| nearest.similarity))
    }

    #[napi(catch_unwind)]
    pub fn evict_expired(&self) {
        self.memory.with_cache(cache::VectorCache::evict_expired);
    }

    #[napi(catch_unwind)]
    pub fn clear(&self, env: &Env) -> Result<()> {
        self.memory.with_cache(|cache, _| cache.clear());
        self.report_memory(env)
    }
}

impl VectorCache {
    pub fn of(memory: Arc<OwnMemory>) -> Self {
        Self { memory, reported: Cell::new(0) }
    }

    fn report_memory(&self, env: &Env) -> Result<()> {
        let memory =
            self.memory.with_cache(|cache, _| i64::try_from(cache.memory()).unwrap_or(i64::MAX));
        let change = memory - self.reported.replace(memory);
        if change != 0 {
            env.adjust_external_memory(change)?;
        }
        Ok(())
    }

    fn vector(&self, env: &Env, value: Value) -> Result<Vec<f32>> {
        if let Some(array) = value.floats() {
            return Ok(array.to_vec());
        }
        let vector_len = self.memory.with_cache(|cache, _| cache.options().vector_len);
        read_vector(env, &value, vector_len)
    }
}

/// Reads an array-like. Compares its length first, because it may be huge.
fn read_vector(env: &Env, array: &Value, vector_len: usize) -> Result<Vec<f32>> {
    let invalid = |place: &str, expected, found: &Value| {
        thrown(env, Error::invalid(Invalid::Vector, place, expected, found.describe()))
    };
    let length = if array.is_object() { array.length()? } else { None };
    let length = length.ok_or_else(|| invalid("vector", "an array of numbers", array))?;
    if length as usize != vector_len {
        return Err(thrown(env, Error::vector_length(vector_len, length as usize)));
    }
    let element = |index| {
        let element: Value = array.get_element(index)?;
        let number = element.number().map(|number| number as f32);
        number.ok_or_else(|| invalid(&format!("vector[{index}]"), "a number", &element))
    };
    (0..length).map(element).collect()
}
