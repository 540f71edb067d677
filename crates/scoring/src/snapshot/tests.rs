//! Snapshots that are whole.

use std::sync::Arc;

use proptest::prelude::*;

use super::*;

mod damaged;

const MODEL: &str = "a model";
const NOW: Duration = Duration::from_secs(100);

fn options(max_elements: usize, vector_len: usize) -> CacheOptions {
    CacheOptions { max_elements, vector_len, ttl: Some(Duration::from_secs(60)) }
}

fn decode<'a>(bytes: &'a [u8], fingerprint: &str) -> Result<Snapshot<'a>> {
    super::decode("snapshot", bytes, fingerprint)
}

/// Two vectors, of which one has an id.
fn small_cache() -> VectorCache {
    let mut cache = VectorCache::new(options(3, 2)).unwrap();
    cache.add(&[0.0, 2.0], None, Duration::from_secs(90)).unwrap();
    cache.add(&[3.0, 4.0], Some("é".into()), Duration::from_secs(95)).unwrap();
    cache
}

fn small() -> Vec<u8> {
    encode(&mut small_cache(), MODEL, NOW)
}

#[test]
fn into_cache_loses_nothing() {
    let bytes = small();
    let snapshot = decode(&bytes, MODEL).unwrap();
    assert_eq!(snapshot.options(), options(3, 2));
    let age = Duration::from_secs;
    let expected: [Entry<&[f32]>; 2] = [
        Entry { vector: &[0.0, 1.0], age: age(10), id: None },
        Entry { vector: &[0.6, 0.8], age: age(5), id: Some(Arc::from("é")) },
    ];
    let mut cache = snapshot.into_cache(options(3, 2), Duration::ZERO).unwrap();
    assert_eq!(cache.entries(Duration::ZERO).collect::<Vec<_>>(), expected);
    assert_eq!(encode(&mut cache, MODEL, Duration::ZERO), bytes);
}

#[test]
fn encode_keeps_its_layout() {
    // Snapshots outlive the process, and so the version that wrote them.
    let header = concat!(
        r#"{"model":"a model","maxElements":3,"vectorLen":2,"ttl":{"secs":60,"nanos":0},"#,
        r#""entries":[{"age":{"secs":10,"nanos":0},"id":null},"#,
        r#"{"age":{"secs":5,"nanos":0},"id":"é"}]}"#,
    );
    let bytes = [
        b"KPCACHE\n\x02\0\0\0",
        &244_u64.to_le_bytes()[..],
        &168_u64.to_le_bytes(),
        header.as_bytes(),
        &[0, 0, 0, 0, 0, 0, 0x80, 0x3F],
        &[0x9A, 0x99, 0x19, 0x3F, 0xCD, 0xCC, 0x4C, 0x3F],
    ]
    .concat();
    let checksum = blake3::hash(&bytes);
    assert_eq!(small(), [&bytes[..], checksum.as_bytes()].concat());
}

#[test]
fn into_cache_keeps_an_empty_cache_empty() {
    let bounds = CacheOptions { ttl: None, ..options(usize::MAX, u32::MAX as usize) };
    let mut cache = VectorCache::new(bounds).unwrap();
    let bytes = encode(&mut cache, "", NOW);
    let snapshot = decode(&bytes, "").unwrap();
    assert_eq!((snapshot.options(), &snapshot.entries), (bounds, &vec![]));
    assert_eq!(snapshot.into_cache(bounds, NOW).unwrap().len(NOW), 0);
}

#[test]
fn into_cache_goes_on_with_the_time_to_live_where_it_stopped() {
    // The clock of the other process may show less than the age of a vector, or more.
    for start in [Duration::ZERO, Duration::from_secs(5000)] {
        let bytes = small();
        let snapshot = decode(&bytes, MODEL).unwrap();
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
fn into_cache_applies_other_bounds_at_once() {
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
    fn into_cache_gives_a_cache_that_answers_as_the_former_one(
        vectors in prop::collection::vec(
            (prop::collection::vec(-3.0_f32..3.0, 5), prop::option::of("(?s).{0,8}"), 0_u64..9), 0..40
        ),
        more in prop::collection::vec((prop::collection::vec(-3.0_f32..3.0, 5), 0_u64..9), 0..40),
        max_elements in 1_usize..30,
    ) {
        let mut cache = VectorCache::new(options(max_elements, 5)).unwrap();
        let mut now = NOW;
        for (vector, id, wait) in vectors {
            now += Duration::from_secs(wait);
            cache.add(&vector, id.map(Arc::from), now).unwrap();
        }
        let bytes = encode(&mut cache, MODEL, now);
        let snapshot = decode(&bytes, MODEL).unwrap();
        let mut restored = snapshot.into_cache(cache.options(), Duration::ZERO).unwrap();
        let mut then = Duration::ZERO;
        for (vector, wait) in more {
            now += Duration::from_secs(wait);
            then += Duration::from_secs(wait);
            prop_assert_eq!(restored.nearest(&vector, then), cache.nearest(&vector, now));
            restored.add(&vector, None, then).unwrap();
            cache.add(&vector, None, now).unwrap();
            prop_assert!(restored.entries(then).eq(cache.entries(now)));
        }
    }
}
