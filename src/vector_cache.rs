//! The JavaScript class `VectorCache`.

use std::{cell::Cell, sync::Arc};

use knowledgepulse_scoring::{Error, VectorCache, scorer::OwnMemory};
use napi::{
    Env, Result,
    bindgen_prelude::{Float32Array, Object, ObjectFinalize},
};
use napi_derive::napi;

use crate::{js::or_throw, options::read_bounds};

#[napi(js_name = "VectorCache", custom_finalize)]
pub struct NativeCache {
    /// Its own, or that of a scorer.
    memory: Arc<OwnMemory>,
    /// The memory reported to the garbage collector, which would otherwise let caches pile up.
    reported: Cell<i64>,
}

impl ObjectFinalize for NativeCache {
    fn finalize(self, env: Env) -> Result<()> {
        env.adjust_external_memory(-self.reported.get()).map(drop)
    }
}

#[napi]
impl NativeCache {
    #[napi(constructor, catch_unwind)]
    pub fn new(options: Object) -> Result<Self> {
        let cache = VectorCache::new(read_bounds(&options)?);
        Ok(Self::of(OwnMemory::new(cache, None)))
    }

    #[napi(getter, catch_unwind)]
    pub fn size(&self) -> u32 {
        self.memory.with_cache(|cache, now| cache.len(now)) as u32
    }

    /// Fails unless the vectors have this length.
    #[napi(catch_unwind)]
    pub fn check_length(&self, env: &Env, length: f64) -> Result<()> {
        let expected = self.memory.with_cache(|cache, _| cache.options().vector_len);
        let found = length as usize;
        let same = (found == expected).then_some(());
        or_throw(env, same.ok_or_else(|| Error::vector_length(expected, found)))
    }

    #[napi(catch_unwind)]
    pub fn add(&self, env: &Env, vector: Float32Array) -> Result<()> {
        let vector = vector.to_vec();
        let added = self.memory.with_cache(|cache, now| cache.add(&vector, None, now));
        self.report_memory(env)?;
        or_throw(env, added)
    }

    #[napi(catch_unwind)]
    pub fn max_cosine_similarity(&self, env: &Env, query: Float32Array) -> Result<f64> {
        let query = query.to_vec();
        let nearest =
            or_throw(env, self.memory.with_cache(|cache, now| cache.nearest(&query, now)))?;
        Ok(nearest.map_or(0.0, |nearest| nearest.similarity))
    }

    #[napi(catch_unwind)]
    pub fn evict_expired(&self) {
        self.memory.with_cache(VectorCache::evict_expired);
    }

    #[napi(catch_unwind)]
    pub fn clear(&self, env: &Env) -> Result<()> {
        self.memory.with_cache(|cache, _| cache.clear());
        self.report_memory(env)
    }
}

impl NativeCache {
    pub fn of(memory: Arc<OwnMemory>) -> Self {
        Self { memory, reported: Cell::new(0) }
    }

    fn report_memory(&self, env: &Env) -> Result<()> {
        let memory =
            self.memory.with_cache(|cache, _| i64::try_from(cache.memory()).unwrap_or(i64::MAX));
        env.adjust_external_memory(memory - self.reported.replace(memory)).map(drop)
    }
}
