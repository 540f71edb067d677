//! The flat scan of a cache, beside the time that the machine needs to read the same bytes. Larger caches
//! are measured by `search`.

use std::{hint::black_box, time::Duration};

use divan::{Bencher, counter::BytesCount};
use knowledgepulse_scoring::{VectorCache, cache::CacheOptions};

const VECTOR_LEN: usize = 384;
const SIZES: [usize; 2] = [1_000, 4_000];
/// And an eighth of 100,000 and of a million, which is what a search reads of them. `npm run bench` compares.
const READ: [usize; 4] = [1_000, 4_000, 12_500, 125_000];

fn main() {
    divan::main();
}

fn vector(seed: usize) -> Vec<f32> {
    (0..VECTOR_LEN).map(|i| ((i * 37 + seed * 61) % 101) as f32 / 50.0 - 1.0).collect()
}

fn filled(size: usize) -> VectorCache {
    let options = CacheOptions { max_elements: size, ..CacheOptions::default() };
    let mut cache = VectorCache::new(options);
    (0..size).for_each(|seed| cache.add(&vector(seed), None, Duration::ZERO).expect("a vector"));
    cache
}

fn bytes(size: usize) -> BytesCount {
    BytesCount::new(size * VECTOR_LEN * size_of::<f32>())
}

#[divan::bench(args = SIZES)]
fn nearest(bencher: Bencher, size: usize) {
    let cache = filled(size);
    let query = vector(size / 2);
    let found = cache.nearest(&query, Duration::ZERO).expect("a vector").expect("a full cache");
    assert!(found.similarity > 0.999_999);
    bencher.counter(bytes(size)).bench_local(|| cache.nearest(black_box(&query), Duration::ZERO));
}

#[divan::bench(args = READ)]
fn reading_the_bytes(bencher: Bencher, size: usize) {
    let words = vec![1_u64; size * VECTOR_LEN / 2];
    bencher.counter(bytes(size)).bench_local(|| {
        // Both halves at once: of one stream alone the processor reads less ahead.
        let (first, second) = black_box(&words[..]).split_at(words.len() / 2);
        let chunks = first.chunks_exact(32).zip(second.chunks_exact(32));
        chunks.fold([0_u64; 32], |mut sums, (first, second)| {
            let words = first.iter().zip(second);
            sums.iter_mut().zip(words).for_each(|(sum, (first, second))| *sum ^= first ^ second);
            sums
        })
    });
}

#[divan::bench(args = [1_000, 4_000, 100_000])]
fn add_to_a_full_cache(bencher: Bencher, size: usize) {
    let mut cache = filled(size);
    let new = vector(1);
    bencher.bench_local(|| cache.add(black_box(&new), None, Duration::ZERO));
}
