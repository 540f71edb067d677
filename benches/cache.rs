//! The scan of the cache, beside the time that the machine needs to read the same bytes.

use std::{hint::black_box, time::Duration};

use divan::{Bencher, counter::BytesCount};
use knowledgepulse_scoring::cache::{CacheOptions, VectorCache};

const DIMENSIONS: usize = 384;
const SIZES: [usize; 3] = [1_000, 10_000, 100_000];

fn main() {
    divan::main();
}

fn vector(seed: usize) -> Vec<f32> {
    (0..DIMENSIONS).map(|i| ((i * 37 + seed * 61) % 101) as f32 / 50.0 - 1.0).collect()
}

fn filled(size: usize) -> VectorCache {
    let options = CacheOptions { max_elements: size, ..CacheOptions::default() };
    let mut cache = VectorCache::new(options).expect("bounds");
    (0..size).for_each(|seed| cache.add(&vector(seed), Duration::ZERO).expect("a vector"));
    cache
}

fn bytes(size: usize) -> BytesCount {
    BytesCount::new(size * DIMENSIONS * size_of::<f32>())
}

#[divan::bench(args = SIZES)]
fn max_cosine_similarity(bencher: Bencher, size: usize) {
    let mut cache = filled(size);
    let query = vector(size / 2);
    let found = cache.max_cosine_similarity(&query, Duration::ZERO);
    assert!(found.expect("a vector").expect("a full cache") > 0.999_999);
    bencher
        .counter(bytes(size))
        .bench_local(|| cache.max_cosine_similarity(black_box(&query), Duration::ZERO));
}

#[divan::bench(args = SIZES)]
fn reading_the_bytes(bencher: Bencher, size: usize) {
    let words = vec![1_u64; size * DIMENSIONS / 2];
    bencher.counter(bytes(size)).bench_local(|| {
        black_box(&words[..]).chunks_exact(32).fold([0_u64; 32], |mut sums, chunk| {
            sums.iter_mut().zip(chunk).for_each(|(sum, word)| *sum ^= word);
            sums
        })
    });
}

#[divan::bench(args = SIZES)]
fn add_to_a_full_cache(bencher: Bencher, size: usize) {
    let mut cache = filled(size);
    let new = vector(1);
    bencher.bench_local(|| cache.add(black_box(&new), Duration::ZERO));
}
