//! The cache in lockstep with a naive model.

use std::time::Duration;

use proptest::prelude::*;

use super::*;

/// A list of vectors with the time of their addition, walked through for every question.
struct Naive {
    options: CacheOptions,
    entries: Vec<(Vec<f32>, Duration)>,
}

impl Naive {
    fn expire(&mut self, now: Duration) {
        if let Some(ttl) = self.options.ttl {
            self.entries.retain(|(_, added)| now - *added < ttl);
        }
    }

    fn add(&mut self, vector: &[f32], now: Duration) {
        self.expire(now);
        self.entries.push((vector.to_vec(), now));
        let surplus = self.entries.len().saturating_sub(self.options.max_elements);
        self.entries.drain(..surplus);
    }

    fn max_similarity(&mut self, query: &[f32], now: Duration) -> Option<f64> {
        self.expire(now);
        self.entries.iter().map(|(vector, _)| cosine(query, vector)).reduce(f64::max)
    }
}

fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let sum = |x: &[f32], y: &[f32]| -> f64 {
        x.iter().zip(y).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum()
    };
    let norms = (sum(a, a) * sum(b, b)).sqrt();
    if norms == 0.0 { 0.0 } else { sum(a, b) / norms }
}

#[derive(Debug, Clone)]
enum Step {
    Add(Vec<f32>),
    Query(Vec<f32>),
    Wait(u64),
    Clear,
}

const DIMENSIONS: usize = 5;

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let vector = || prop::collection::vec(-3.0_f32..3.0, DIMENSIONS);
    let step = prop_oneof![
        8 => vector().prop_map(Step::Add),
        4 => vector().prop_map(Step::Query),
        1 => Just(Step::Add(vec![0.0; DIMENSIONS])),
        3 => (0_u64..40).prop_map(Step::Wait),
        1 => Just(Step::Clear),
    ];
    prop::collection::vec(step, 0..120)
}

proptest! {
    #[test]
    fn behaves_like_a_list(
        steps in steps(),
        max_elements in 1_usize..40,
        ttl in prop::option::of(0_u64..100),
    ) {
        let ttl = ttl.map(Duration::from_millis);
        let options = CacheOptions { max_elements, dimensions: DIMENSIONS, ttl };
        let mut cache = VectorCache::new(options).unwrap();
        let mut naive = Naive { options, entries: Vec::new() };
        let mut now = Duration::from_secs(7);
        for step in steps {
            match step {
                Step::Add(vector) => {
                    cache.add(&vector, now).unwrap();
                    naive.add(&vector, now);
                }
                Step::Query(query) => {
                    let found = cache.max_cosine_similarity(&query, now).unwrap();
                    let expected = naive.max_similarity(&query, now);
                    prop_assert_eq!(found.is_some(), expected.is_some());
                    let (found, expected) = (found.unwrap_or(0.0), expected.unwrap_or(0.0));
                    prop_assert!((found - expected).abs() < 1e-6, "{} for {}", found, expected);
                }
                Step::Wait(millis) => now += Duration::from_millis(millis),
                Step::Clear => {
                    cache.clear();
                    naive.entries.clear();
                }
            }
            naive.expire(now);
            prop_assert_eq!(cache.len(now), naive.entries.len());
        }
    }
}

#[test]
fn an_entry_of_exactly_its_ttl_is_gone() {
    let ttl = Some(Duration::from_millis(10));
    let options = CacheOptions { max_elements: 3, dimensions: 1, ttl };
    let mut cache = VectorCache::new(options).unwrap();
    cache.add(&[1.0], Duration::ZERO).unwrap();
    assert_eq!(cache.len(Duration::from_nanos(9_999_999)), 1);
    assert_eq!(cache.max_cosine_similarity(&[1.0], Duration::from_millis(10)), Ok(None));
    assert_eq!(cache.len(Duration::ZERO), 0, "expiry is final");
}

#[test]
fn bad_vectors_and_bounds_are_refused() {
    let mut cache = VectorCache::new(CacheOptions { dimensions: 3, ..Default::default() }).unwrap();
    for (vector, message) in [
        (&[1.0, 2.0][..], "Expected 3 dimensions, got 2"),
        (&[], "Expected 3 dimensions, got 0"),
        (&[0.0, f32::NAN, 0.0], "vector[1]: expected a finite float32, got NaN"),
        (&[f32::INFINITY, 0.0, 0.0], "vector[0]: expected a finite float32, got Infinity"),
    ] {
        let error = cache.add(vector, Duration::ZERO).unwrap_err();
        assert_eq!((error.code(), error.to_string().as_str()), ("INVALID_VECTOR", message));
        assert_eq!(cache.max_cosine_similarity(vector, Duration::ZERO), Err(error));
    }
    assert_eq!(cache.len(Duration::ZERO), 0);
    for options in [
        CacheOptions { max_elements: 0, ..Default::default() },
        CacheOptions { dimensions: 0, ..Default::default() },
    ] {
        let error = VectorCache::new(options).unwrap_err();
        assert_eq!(error.code(), "INVALID_OPTION", "{options:?}");
    }
}
