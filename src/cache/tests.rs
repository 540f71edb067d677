//! The cache in lockstep with a naive model.

mod growth;

use std::time::Duration;

use proptest::prelude::*;

use super::*;

/// A list of vectors, walked through for every question. Times are milliseconds, and those before
/// a restart negative.
struct Naive {
    options: CacheOptions,
    entries: Vec<(Vec<f32>, i64, Option<&'static str>)>,
}

impl Naive {
    fn expire(&mut self, now: i64) {
        if let Some(ttl) = self.options.ttl {
            self.entries.retain(|(_, added, _)| now - *added < ttl.as_millis() as i64);
        }
    }

    fn add(&mut self, vector: &[f32], id: Option<&'static str>, now: i64) {
        self.expire(now);
        self.entries.push((vector.to_vec(), now, id));
        let surplus = self.entries.len().saturating_sub(self.options.max_elements);
        self.entries.drain(..surplus);
    }

    fn max_similarity(&self, query: &[f32]) -> Option<f64> {
        self.entries.iter().map(|(vector, ..)| cosine(query, vector)).reduce(f64::max)
    }

    /// To the bit: each vector is asked in a cache of its own.
    fn nearest(&self, query: &[f32]) -> Option<Nearest> {
        let alone = |vector: &[f32]| {
            let options = CacheOptions { dimensions: DIMENSIONS, ..CacheOptions::default() };
            let mut cache = VectorCache::new(options).unwrap();
            cache.add(vector, Duration::ZERO).unwrap();
            cache.max_cosine_similarity(query, Duration::ZERO).unwrap().unwrap()
        };
        let all = self.entries.iter().map(|(vector, _, id)| (alone(vector), *id));
        let first = all.reduce(|a, b| if b.0 > a.0 { b } else { a });
        first.map(|(similarity, id)| Nearest { similarity, id: id.map(Arc::from) })
    }

    fn remove(&mut self, id: &str) -> usize {
        let before = self.entries.len();
        self.entries.retain(|(.., other)| *other != Some(id));
        before - self.entries.len()
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
    Add(Vec<f32>, Option<&'static str>),
    Query(Vec<f32>),
    Remove(&'static str),
    Wait(u64),
    /// Into another process, whose clock shows this, with room for so many.
    Restart(u64, usize),
    Clear,
}

const DIMENSIONS: usize = 5;
const IDS: [&str; 4] = ["a", "", "trace", "👩‍🔬 e\u{301}"];

fn steps() -> impl Strategy<Value = Vec<Step>> {
    // Few enough directions that equal ones come up.
    let vector = || {
        prop_oneof![
            prop::collection::vec(-3.0_f32..3.0, DIMENSIONS),
            (1_u8..4, 0..DIMENSIONS).prop_map(|(scale, at)| {
                (0..DIMENSIONS)
                    .map(|i| f32::from(scale) * (i + 3 * usize::from(i == at)) as f32)
                    .collect()
            }),
            Just(vec![0.0; DIMENSIONS]),
        ]
    };
    let id = prop::option::of(prop::sample::select(&IDS[..]));
    let step = prop_oneof![
        8 => (vector(), id).prop_map(|(vector, id)| Step::Add(vector, id)),
        4 => vector().prop_map(Step::Query),
        2 => prop::sample::select(&IDS[..]).prop_map(Step::Remove),
        3 => (0_u64..40).prop_map(Step::Wait),
        1 => (0_u64..50, 1_usize..40).prop_map(|(now, room)| Step::Restart(now, room)),
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
        let mut millis = 7_000;
        for step in steps {
            let now = Duration::from_millis(millis);
            match step {
                Step::Add(vector, id) => {
                    cache.add_named(&vector, id.map(Arc::from), now).unwrap();
                    naive.add(&vector, id, millis as i64);
                }
                Step::Query(query) => {
                    naive.expire(millis as i64);
                    let found = cache.nearest(&query, now).unwrap();
                    prop_assert_eq!(&found, &naive.nearest(&query));
                    let found = found.map(|nearest| nearest.similarity);
                    prop_assert_eq!(found, cache.max_cosine_similarity(&query, now).unwrap());
                    let expected = naive.max_similarity(&query);
                    let (found, expected) = (found.unwrap_or(0.0), expected.unwrap_or(0.0));
                    prop_assert!((found - expected).abs() < 1e-6, "{} for {}", found, expected);
                }
                Step::Remove(id) => {
                    naive.expire(millis as i64);
                    prop_assert_eq!(cache.remove(id, now), naive.remove(id));
                }
                Step::Wait(more) => millis += more,
                Step::Restart(start, max_elements) => {
                    let options = CacheOptions { max_elements, ..options };
                    let then = Duration::from_millis(start);
                    cache = VectorCache::restore(options, cache.entries(now), then).unwrap();
                    prop_assert_eq!(cache.options(), options);
                    naive.options = options;
                    naive.expire(millis as i64);
                    naive.entries.drain(..naive.entries.len().saturating_sub(max_elements));
                    let shift = start as i64 - millis as i64;
                    naive.entries.iter_mut().for_each(|(_, added, _)| *added += shift);
                    millis = start;
                }
                Step::Clear => {
                    cache.clear();
                    naive.entries.clear();
                }
            }
            let now = Duration::from_millis(millis);
            naive.expire(millis as i64);
            prop_assert_eq!(cache.len(now), naive.entries.len());
            let found: Vec<_> = cache.entries(now).map(|e| (e.age, e.id.clone())).collect();
            let expected: Vec<_> = naive.entries.iter().map(|(_, added, id)| {
                (Duration::from_millis((millis as i64 - added) as u64), id.map(Arc::from))
            }).collect();
            prop_assert_eq!(found, expected);
            for (entry, (vector, ..)) in cache.entries(now).zip(&naive.entries) {
                let mut row = vec![0.0; DIMENSIONS];
                normalize_into(&mut row, vector);
                prop_assert_eq!(entry.vector, row);
            }
            let id_bytes: usize = naive.entries.iter().map(|(.., id)| id.unwrap_or("").len()).sum();
            prop_assert_eq!(cache.id_bytes, id_bytes);
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
fn of_equally_similar_vectors_the_oldest_is_named_across_the_seam_of_the_ring() {
    let options = CacheOptions { max_elements: 20, dimensions: 2, ttl: None };
    let mut cache = VectorCache::new(options).unwrap();
    for i in 0_usize..60 {
        let id = Arc::from(i.to_string());
        cache.add_named(&[1.0, (i % 2) as f32], Some(id), Duration::ZERO).unwrap();
        for (query, parity) in [([2.0, 0.0], 0), ([3.0, 3.0], 1)] {
            let oldest = (i + 1).saturating_sub(20);
            let Some(expected) = (oldest..=i).find(|at| at % 2 == parity) else { continue };
            let found = cache.nearest(&query, Duration::ZERO).unwrap().unwrap();
            assert_eq!(found.id.as_deref(), Some(expected.to_string().as_str()), "{i}, {query:?}");
        }
    }
}

#[test]
fn ages_never_rise_towards_the_newest() {
    let mut cache = VectorCache::new(CacheOptions { dimensions: 1, ..Default::default() }).unwrap();
    for millis in [5, 3, 8, 1] {
        cache.add(&[1.0], Duration::from_millis(millis)).unwrap();
    }
    let ages: Vec<_> = cache.entries(Duration::from_millis(7)).map(|e| e.age.as_millis()).collect();
    assert_eq!(ages, [2, 2, 0, 0]);
}

#[test]
fn an_age_beyond_all_clocks_is_borne() {
    let options = CacheOptions { dimensions: 1, ..Default::default() };
    let oldest = Entry { vector: [1.0], age: Duration::MAX, id: None };
    let newest = Entry { age: Duration::from_secs(1), ..oldest.clone() };
    let now = Duration::from_secs(9);
    let mut cache = VectorCache::restore(options, [oldest, newest], now).unwrap();
    cache.add(&[1.0], now).unwrap();
    let ages: Vec<_> = cache.entries(now).map(|entry| entry.age).collect();
    assert_eq!(ages, [Duration::MAX, Duration::from_secs(1), Duration::ZERO]);
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
