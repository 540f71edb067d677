//! The JavaScript class `VectorCache`.

use std::{
    cell::Cell,
    sync::{Arc, MutexGuard, PoisonError},
};

use napi::{
    Env, JsValue, Result,
    bindgen_prelude::{Float32Array, FromNapiValue, ObjectFinalize, Unknown},
};
use napi_derive::napi;

use super::{
    options::{duration, integer},
    report,
    view::{JsView, Read},
};
use crate::{
    cache::{self, CacheOptions},
    error::Error,
    scorer::{Scorer, SharedCache, monotonic_clock},
    trace::{Type, View},
};

#[napi(custom_finalize)]
pub struct VectorCache {
    cache: SharedCache,
    /// The one whose cache it is, if it is the live one.
    scorer: Option<Arc<Scorer>>,
    /// The bytes that the garbage collector has been told of. Without that it would not see the
    /// vectors, and let caches pile up.
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
    pub fn new(env: &Env, options: Unknown) -> Result<Self> {
        let options = report::or_throw(env, read_options(&JsView::new(env, options)))?;
        let cache = report::or_throw(env, cache::VectorCache::new(options))?;
        Ok(Self { cache: Arc::new(cache.into()), scorer: None, reported: Cell::new(0) })
    }

    #[napi(getter, catch_unwind)]
    pub fn size(&self) -> u32 {
        self.lock().len(monotonic_clock()) as u32
    }

    #[napi(catch_unwind)]
    pub fn add(&self, env: &Env, vector: Unknown) -> Result<()> {
        let vector = self.vector(env, vector)?;
        let added = self.lock().add(&vector, monotonic_clock());
        self.report_memory(env)?;
        report::or_throw(env, added)
    }

    #[napi(catch_unwind)]
    pub fn max_cosine_similarity(&self, env: &Env, query: Unknown) -> Result<f64> {
        let query = self.vector(env, query)?;
        let similarity = self.lock().max_cosine_similarity(&query, monotonic_clock());
        Ok(report::or_throw(env, similarity)?.unwrap_or(0.0))
    }

    #[napi(catch_unwind)]
    pub fn evict_expired(&self) {
        self.lock().evict_expired(monotonic_clock());
    }

    #[napi(catch_unwind)]
    pub fn clear(&self, env: &Env) -> Result<()> {
        match &self.scorer {
            Some(scorer) => scorer.clear_cache(),
            None => self.lock().clear(),
        }
        self.report_memory(env)
    }
}

impl VectorCache {
    /// The live cache of a scorer.
    pub fn of(scorer: Arc<Scorer>) -> Self {
        Self { cache: scorer.cache().clone(), scorer: Some(scorer), reported: Cell::new(0) }
    }

    fn report_memory(&self, env: &Env) -> Result<()> {
        let memory = i64::try_from(self.lock().memory()).unwrap_or(i64::MAX);
        let change = memory - self.reported.replace(memory);
        if change != 0 {
            env.adjust_external_memory(change)?;
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, cache::VectorCache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn vector<'env>(&self, env: &'env Env, value: Unknown<'env>) -> Result<Vec<f32>> {
        // SAFETY: the handle is of the running call, in this environment.
        if let Ok(array) = unsafe { Float32Array::from_napi_value(env.raw(), value.raw()) } {
            return Ok(array.to_vec());
        }
        let dimensions = self.lock().options().dimensions;
        report::or_throw(env, read_vector(&JsView::new(env, value), dimensions))
    }
}

/// Reads an array-like. The length is compared first: an absurd one must not be walked through.
fn read_vector(array: &JsView, dimensions: usize) -> Read<Vec<f32>> {
    if array.type_of() != Type::Object || array.property("length")?.type_of() != Type::Number {
        return Err(Error::invalid_vector("vector", "an array of numbers", array.describe()).into());
    }
    let length = array.length()?;
    if length as usize != dimensions {
        return Err(Error::dimensions(dimensions, length as usize).into());
    }
    let mut vector = Vec::with_capacity(dimensions);
    for index in 0..length {
        let element = array.element(index)?;
        if element.type_of() != Type::Number {
            let place = format!("vector[{index}]");
            return Err(Error::invalid_vector(place, "a number", element.describe()).into());
        }
        vector.push(element.number()? as f32);
    }
    Ok(vector)
}

fn read_options(options: &JsView) -> Read<CacheOptions> {
    let mut read = CacheOptions::default();
    match options.type_of() {
        Type::Undefined => return Ok(read),
        Type::Object => {}
        _ => return Err(Error::invalid_option("options", "an object", options.describe()).into()),
    }
    for (name, target) in
        [("maxElements", &mut read.max_elements), ("dimensions", &mut read.dimensions)]
    {
        let value = options.property(name)?;
        if value.type_of() != Type::Undefined {
            *target = integer(name, &value, u32::MAX as usize)?;
        }
    }
    let ttl = options.property("ttlMs")?;
    if ttl.type_of() != Type::Undefined {
        read.ttl = duration("ttlMs", &ttl)?;
    }
    Ok(read)
}
