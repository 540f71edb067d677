//! Snapshots that are whole.

use std::sync::Arc;

use proptest::prelude::*;

use super::*;

mod damaged;
mod files;

const MODEL: &str = "a model";
const NOW: Duration = Duration::from_secs(100);

fn options(max_elements: usize, dimensions: usize) -> CacheOptions {
    CacheOptions { max_elements, dimensions, ttl: Some(Duration::from_secs(60)) }
}

/// Two vectors, of which one has an id.
fn small_cache() -> VectorCache {
    let mut cache = VectorCache::new(options(3, 2)).unwrap();
    cache.add(&[0.0, 2.0], Duration::from_secs(90)).unwrap();
    cache.add_named(&[3.0, 4.0], Some("é".into()), Duration::from_secs(95)).unwrap();
    cache
}

fn small() -> Vec<u8> {
    encode(&mut small_cache(), MODEL, NOW)
}

#[test]
fn nothing_is_lost() {
    let bytes = small();
    let snapshot = decode(&bytes, MODEL).unwrap();
    assert_eq!(snapshot.options(), options(3, 2));
    let age = Duration::from_secs;
    let expected = [
        Entry { vector: vec![0.0, 1.0], age: age(10), id: None },
        Entry { vector: vec![0.6, 0.8], age: age(5), id: Some(Arc::from("é")) },
    ];
    assert_eq!(snapshot.entries(), expected);
    let mut cache = snapshot.into_cache(options(3, 2), Duration::ZERO).unwrap();
    assert_eq!(encode(&mut cache, MODEL, Duration::ZERO), bytes);
}

#[test]
fn the_layout_stays_what_it_is() {
    // Snapshots outlive the process, and so the version that wrote them.
    let number = |number: u64| number.to_le_bytes().to_vec();
    let duration = |seconds: u64| [&seconds.to_le_bytes()[..], &[0; 4]].concat();
    let bytes = [
        b"KPCACHE\n\x01\0\0\0".to_vec(),
        number(156),
        number(7),
        b"a model".to_vec(),
        number(3),
        number(2),
        [vec![1], duration(60)].concat(),
        number(2),
        [duration(10), vec![0]].concat(),
        vec![0, 0, 0, 0, 0, 0, 0x80, 0x3F],
        [duration(5), vec![1], number(2), b"\xC3\xA9".to_vec()].concat(),
        vec![0x9A, 0x99, 0x19, 0x3F, 0xCD, 0xCC, 0x4C, 0x3F],
    ]
    .concat();
    let checksum = blake3::hash(&bytes);
    assert_eq!(small(), [&bytes[..], checksum.as_bytes()].concat());
}

#[test]
fn an_empty_cache_stays_empty() {
    let bounds = CacheOptions { ttl: None, ..options(usize::MAX, u32::MAX as usize) };
    let mut cache = VectorCache::new(bounds).unwrap();
    let snapshot = decode(&encode(&mut cache, "", NOW), "").unwrap();
    assert_eq!((snapshot.options(), snapshot.entries()), (bounds, &[][..]));
    assert_eq!(snapshot.into_cache(bounds, NOW).unwrap().len(NOW), 0);
}

#[test]
fn the_time_to_live_goes_on_where_it_stopped() {
    // The clock of the other process may show less than the age of a vector, or more.
    for start in [Duration::ZERO, Duration::from_secs(5000)] {
        let snapshot = decode(&small(), MODEL).unwrap();
        let mut cache = snapshot.into_cache(options(3, 2), start).unwrap();
        let instant = Duration::from_nanos(1);
        for (seconds, before, after) in [(50, 2, 1), (55, 1, 0)] {
            let then = start + Duration::from_secs(seconds);
            assert_eq!(cache.len(then - instant), before, "{start:?} + {seconds}");
            assert_eq!(cache.len(then), after, "{start:?} + {seconds}");
        }
    }
}

#[test]
fn other_bounds_apply_at_once() {
    let ttl = |seconds| CacheOptions { ttl: Some(Duration::from_secs(seconds)), ..options(3, 2) };
    for (bounds, expected) in [
        (options(2, 2), 2),
        (options(1, 2), 1),
        (ttl(11), 2),
        (ttl(10), 1),
        (ttl(5), 0),
        (CacheOptions { ttl: None, ..options(9, 2) }, 2),
    ] {
        let mut cache = decode(&small(), MODEL).unwrap().into_cache(bounds, NOW).unwrap();
        assert_eq!((cache.len(NOW), cache.options()), (expected, bounds));
        // The newest is the last to go.
        let last = cache.entries(NOW).last().map(|entry| entry.id);
        assert!(last.is_none_or(|id| id.as_deref() == Some("é")), "{bounds:?}");
    }
    let other = decode(&small(), MODEL).unwrap().into_cache(options(3, 384), NOW).unwrap_err();
    assert_eq!(other.code(), "INVALID_SNAPSHOT");
    assert_eq!(other.to_string(), "snapshot: dimensions: expected 384, got 2");
}

proptest! {
    #[test]
    fn a_cache_goes_on_as_if_nothing_had_happened(
        vectors in prop::collection::vec(
            (prop::collection::vec(-3.0_f32..3.0, 5), prop::option::of(".{0,8}"), 0_u64..9), 0..40
        ),
        more in prop::collection::vec((prop::collection::vec(-3.0_f32..3.0, 5), 0_u64..9), 0..40),
        max_elements in 1_usize..30,
    ) {
        let mut cache = VectorCache::new(options(max_elements, 5)).unwrap();
        let mut now = NOW;
        for (vector, id, wait) in vectors {
            now += Duration::from_secs(wait);
            cache.add_named(&vector, id.map(Arc::from), now).unwrap();
        }
        let snapshot = decode(&encode(&mut cache, MODEL, now), MODEL).unwrap();
        let mut restored = snapshot.into_cache(cache.options(), Duration::ZERO).unwrap();
        let mut then = Duration::ZERO;
        for (vector, wait) in more {
            now += Duration::from_secs(wait);
            then += Duration::from_secs(wait);
            prop_assert_eq!(restored.nearest(&vector, then), cache.nearest(&vector, now));
            restored.add(&vector, then).unwrap();
            cache.add(&vector, now).unwrap();
            prop_assert!(restored.entries(then).eq(cache.entries(now)));
        }
    }
}
