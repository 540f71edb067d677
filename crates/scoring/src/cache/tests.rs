//! How the ring grows, and what memory it takes.

use std::{cell::Cell, time::Duration};

use super::*;

thread_local! {
    /// The most numbers that a ring can have.
    pub static MOST: Cell<usize> = const { Cell::new(usize::MAX) };
}

fn cache(max_elements: usize, vector_len: usize) -> VectorCache {
    VectorCache::new(CacheOptions { max_elements, vector_len, ttl: None })
}

#[test]
fn memory_counts_ids() {
    let mut cache = cache(3, 1);
    let mut add = |id: Option<&str>| {
        cache.add(&[1.0], id.and_then(Id::new), Duration::ZERO).unwrap();
        cache.memory()
    };
    let empty = add(None);
    let long = "x".repeat(1000);
    assert_eq!(add(Some(&long)) - empty, 1000);
    cache.remove(&long, Duration::ZERO);
    assert_eq!(cache.memory(), empty);
    for length in 0..10 {
        cache.add(&[1.0], Id::new("x".repeat(length)), Duration::ZERO).unwrap();
    }
    assert_eq!(cache.memory() - empty, 7 + 8 + 9, "those of dropped vectors do not count");
    cache.clear();
    assert_eq!(cache.memory(), 0);
}

#[test]
fn add_drops_the_oldest_where_there_is_no_memory_for_more() {
    let mut cache = cache(1000, 3);
    MOST.set(0);
    cache.add(&[1.0; 3], None, Duration::ZERO).unwrap();
    assert_eq!(cache.len(Duration::ZERO), 0);
    MOST.set(40 * cache.row);
    for index in 0..100 {
        cache.add(&[1.0; 3], Id::new(index.to_string()), Duration::from_secs(index)).unwrap();
    }
    let now = Duration::from_secs(99);
    let ids: Vec<_> = cache.entries(now).map(|(entry, _)| entry.id.unwrap().to_string()).collect();
    assert_eq!(ids, (68..100).map(|index| index.to_string()).collect::<Vec<_>>());
    MOST.set(usize::MAX);
    cache.add(&[1.0; 3], None, now).unwrap();
    assert_eq!(cache.len(now), 33, "it grows when it can");
}

#[test]
fn memory_counts_codes_of_a_large_ring() {
    let mut cache = cache(5_000, 384);
    let mut add = |count: usize| {
        (0..count).for_each(|_| cache.add(&[1.0; 384], None, Duration::ZERO).unwrap());
        let rows = cache.rows.as_ref().map_or(0, |rows| rows.len());
        cache.memory() - rows - 32 * cache.added.capacity()
    };
    assert_eq!(add(FLAT_SLOTS), 0);
    assert_eq!(add(1), 5_000 * (384 + 12), "a byte a number, a step and two lengths");
    cache.clear();
    assert_eq!(cache.memory(), 0);
}

#[test]
fn add_doubles_the_ring_up_to_the_capacity() {
    let mut large = cache(100, 1);
    let mut grown = vec![large.slots];
    for _ in 0..300 {
        large.add(&[1.0], None, Duration::ZERO).unwrap();
        grown.push(large.slots);
    }
    grown.dedup();
    assert_eq!(grown, [0, 16, 32, 64, 100]);
    let mut tiny = cache(3, 1);
    tiny.add(&[1.0], None, Duration::ZERO).unwrap();
    assert_eq!(tiny.slots, 3);
}

#[test]
fn restore_takes_ages_beyond_the_clock() {
    let options = CacheOptions { vector_len: 1, ..CacheOptions::default() };
    let mut rows = MmapMut::map_anon(128).unwrap();
    for at in [0, 64] {
        rows[at..at + 4].copy_from_slice(&1.0_f32.to_le_bytes());
    }
    let ages = [Duration::MAX, Duration::from_secs(1)];
    let entries = ages.map(|age| VectorEntry { age, id: None }).to_vec();
    let now = Duration::from_secs(9);
    let mut cache = VectorCache::restore(options, entries, rows, 0..128, now).unwrap();
    cache.add(&[1.0], None, now).unwrap();
    let ages: Vec<_> = cache.entries(now).map(|(entry, _)| entry.age).collect();
    assert_eq!(ages, [Duration::MAX, Duration::from_secs(1), Duration::ZERO]);
}
