//! The search of a cache that compares codes first, beside the flat search of the same vectors.
//!
//! The two take turns, query by query, and must find the same bits; the 10 and the 100 nearest must be the first of
//! all vectors sorted. The size of one cache as an argument
//! measures that alone: `cargo bench -p knowledgepulse-scoring --bench search -- 100000`.

#![expect(clippy::print_stdout, reason = "it is a report")]

use std::{
    hint::black_box,
    num::NonZeroUsize,
    time::{Duration, Instant},
};

use knowledgepulse_scoring::{
    Id, VectorCache,
    cache::{CacheOptions, Nearest},
};

const VECTOR_LEN: usize = 384;
const CLUSTERS: usize = 200;
const SIZES: [usize; 4] = [1_000, 10_000, 100_000, 1_000_000];
/// As many vectors are searched flat: a cache of no more has no codes.
const FLAT: usize = 4096;
/// How many of the nearest are asked for.
const MANY: [usize; 2] = [10, 100];

/// Vectors around the centres of clusters, at a cosine of about 0.8 from them.
struct Vectors {
    seed: u64,
    centres: Vec<[f32; VECTOR_LEN]>,
}

impl Vectors {
    fn new() -> Self {
        let mut vectors = Self { seed: 1, centres: Vec::new() };
        for _ in 0..CLUSTERS {
            let centre = std::array::from_fn(|_| vectors.uniform());
            vectors.centres.push(centre);
        }
        vectors
    }

    /// A number in [-1, 1).
    fn uniform(&mut self) -> f32 {
        self.seed ^= self.seed << 13;
        self.seed ^= self.seed >> 7;
        self.seed ^= self.seed << 17;
        (self.seed >> 40) as f32 / (1 << 23) as f32 - 1.0
    }

    fn next(&mut self) -> Vec<f32> {
        let cluster = (self.uniform().abs() * CLUSTERS as f32) as usize % CLUSTERS;
        let centre = self.centres[cluster];
        centre.iter().map(|x| x + 0.75 * self.uniform()).collect()
    }
}

fn cache(max_elements: usize) -> VectorCache {
    let options = CacheOptions { max_elements, vector_len: VECTOR_LEN, ttl: None };
    VectorCache::new(options)
}

/// The search through several caches, each the older vectors of the next.
fn nearest(caches: &mut [VectorCache], query: &[f32]) -> (Nearest, Duration) {
    let start = Instant::now();
    let found = caches.iter_mut().map(|cache| {
        let found = cache.nearest(black_box(query), Duration::ZERO).expect("a vector");
        found.expect("a vector in each")
    });
    let nearer = |a: Nearest, b: Nearest| if b.similarity > a.similarity { b } else { a };
    let nearest = found.reduce(nearer).expect("a cache");
    (nearest, start.elapsed())
}

fn similar(cache: &mut VectorCache, query: &[f32], k: usize) -> Vec<(Nearest, Duration)> {
    let k = NonZeroUsize::new(k).expect("not 0");
    cache.similar(black_box(query), k, -1.0, Duration::ZERO).expect("a vector")
}

/// All vectors of several caches, the most similar first, of equals the oldest.
fn sorted(caches: &mut [VectorCache], query: &[f32]) -> Vec<Nearest> {
    let all = caches.iter_mut().flat_map(|cache| similar(cache, query, FLAT));
    let mut all: Vec<_> = all.map(|(nearest, _)| nearest).collect();
    all.sort_by(|a, b| b.similarity.total_cmp(&a.similarity));
    all
}

/// Returns the median and the 99th percentile, in milliseconds.
fn percentiles(times: &mut [Duration]) -> [f64; 2] {
    times.sort_unstable();
    [50, 99].map(|percent| times[times.len() * percent / 100].as_secs_f64() * 1e3)
}

fn main() {
    let only: Option<usize> = std::env::args().find_map(|argument| argument.parse().ok());
    println!(
        "  vectors    flat p50   codes p50  p99   ratio   10 and 100 nearest p50   add p50   MB beside float32"
    );
    for size in SIZES.into_iter().filter(|size| only.is_none_or(|only| only == *size)) {
        let mut vectors = Vectors::new();
        let (mut flat, mut coded) = (Vec::new(), [cache(size)]);
        let mut added = Vec::with_capacity(size);
        for at in 0..size {
            let (vector, id) = (vectors.next(), Id::new(at.to_string()));
            if at % FLAT == 0 {
                flat.push(cache(FLAT.min(size - at)));
            }
            let newest = flat.last_mut().expect("a cache");
            newest.add(&vector, Option::clone(&id), Duration::ZERO).expect("a vector");
            let start = Instant::now();
            coded[0].add(&vector, id, Duration::ZERO).expect("a vector");
            added.push(start.elapsed());
        }
        let (mut flat_times, mut times) = (Vec::new(), Vec::new());
        let mut many_times = MANY.map(|_| Vec::new());
        for _ in 0..(20_000_000 / size).clamp(40, 400) {
            let query = vectors.next();
            let (expected, time) = nearest(&mut flat, &query);
            flat_times.push(time);
            let (found, time) = nearest(&mut coded, &query);
            times.push(time);
            assert_eq!(found.similarity.to_bits(), expected.similarity.to_bits());
            assert_eq!(found.id, expected.id);
            let expected = sorted(&mut flat, &query);
            for (k, times) in MANY.into_iter().zip(&mut many_times) {
                let start = Instant::now();
                let found = similar(&mut coded[0], &query, k);
                times.push(start.elapsed());
                assert_eq!(found.len(), k.min(size));
                for ((nearest, _), expected) in found.iter().zip(&expected) {
                    assert_eq!(nearest.similarity.to_bits(), expected.similarity.to_bits());
                    assert_eq!(nearest.id, expected.id);
                }
            }
        }
        let numbers = size * VECTOR_LEN * size_of::<f32>();
        let memory = (coded[0].memory() - numbers) as f64 / 1e6;
        let ([flat, _], [codes, slow], [add, _]) =
            (percentiles(&mut flat_times), percentiles(&mut times), percentiles(&mut added));
        let [ten, hundred] = many_times.map(|mut times| percentiles(&mut times)[0]);
        let (ratio, add) = (flat / codes, add * 1e3);
        println!(
            "{size:9} {flat:8.3} ms {codes:8.3} {slow:8.3} ms {ratio:5.2} {ten:8.3} {hundred:8.3} ms \
             {add:6.2} µs {memory:8.1}"
        );
    }
}
