//! The vector cache: in lockstep with a list, and where the two could differ.

use std::{num::NonZeroUsize, time::Duration};

use knowledgepulse_scoring::{
    Id, VectorCache,
    cache::CacheOptions,
    snapshot::{Bytes, Contents, decode},
};
use knowledgepulse_test_support::{cache::Lockstep, repeats};
use proptest::prelude::*;

#[derive(Debug, Clone)]
enum Operation {
    Add(Vec<f32>, Option<&'static str>),
    Nearest(Vec<f32>),
    /// At most this many, with at least this similarity.
    Similar(Vec<f32>, NonZeroUsize, f64),
    Remove(&'static str),
    Wait(u64),
    /// Into another process, with this time and this capacity.
    Restart(u64, usize),
    Clear,
}

const VECTOR_LEN: usize = 5;
const LENGTHS: [usize; 5] = [1, VECTOR_LEN, 16, 17, LONGEST];
const LONGEST: usize = 33;
const IDS: [&str; 4] = ["a", "", "trace", "👩‍🔬 e\u{301}"];

/// A vector that is cut to the length of the others.
fn vector() -> impl Strategy<Value = Vec<f32>> {
    use prop::num::f32::{NEGATIVE, NORMAL, POSITIVE, SUBNORMAL, ZERO};
    // Few enough directions that equal ones come up.
    prop_oneof![
        4 => prop::collection::vec(-3.0_f32..3.0, LONGEST),
        4 => (1_u8..4, 0..VECTOR_LEN).prop_map(|(scale, at)| {
            (0..LONGEST).map(|i| f32::from(scale) * (i + 3 * usize::from(i == at)) as f32).collect()
        }),
        4 => Just(vec![0.0; LONGEST]),
        1 => prop::collection::vec(POSITIVE | NEGATIVE | NORMAL | SUBNORMAL | ZERO, LONGEST),
    ]
}

fn few() -> impl Strategy<Value = NonZeroUsize> {
    (1_usize..50).prop_map(|k| NonZeroUsize::new(k).expect("not 0"))
}

fn operations() -> impl Strategy<Value = Vec<Operation>> {
    let id = || prop::option::of(prop::sample::select(&IDS[..]));
    let operation = prop_oneof![
        8 => (vector(), id()).prop_map(|(vector, id)| Operation::Add(vector, id)),
        4 => vector().prop_map(Operation::Nearest),
        3 => (vector(), few(), -1.0..=1.0)
            .prop_map(|(vector, k, at_least)| Operation::Similar(vector, k, at_least)),
        2 => prop::sample::select(&IDS[..]).prop_map(Operation::Remove),
        3 => (0_u64..40).prop_map(Operation::Wait),
        1 => any::<u32>().prop_map(|seconds| Operation::Wait(u64::from(seconds) * 1_000)),
        1 => (0_u64..50, 1_usize..40).prop_map(|(now, room)| Operation::Restart(now, room)),
        1 => Just(Operation::Clear),
    ];
    prop::collection::vec(operation, 0..120)
}

/// Continues in another process, with this capacity and this time.
fn restart(lockstep: &mut Lockstep, max_elements: usize, now: Duration) {
    let bytes = Contents::of(&lockstep.cache, "", lockstep.now, None).encode();
    let bytes = Bytes::copy("snapshot", &bytes).unwrap();
    let snapshot = decode("snapshot", bytes, ("", None)).unwrap();
    let options = CacheOptions { max_elements, ..snapshot.options() };
    let restored = snapshot.into_cache(options, now).unwrap();
    assert_eq!(restored.options(), options);
    lockstep.restart(restored, now);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(repeats(256) as u32))]

    #[test]
    fn cache_behaves_like_a_list(
        operations in operations(),
        max_elements in prop_oneof![9 => 1_usize..40, 1 => Just(usize::MAX)],
        vector_len in prop::sample::select(&LENGTHS[..]),
        ttl in prop::option::of(0_u64..100),
    ) {
        let ttl = ttl.map(Duration::from_millis);
        let options = CacheOptions { max_elements, vector_len, ttl };
        let mut lockstep = Lockstep::new(options, Duration::from_secs(7));
        for operation in operations {
            match operation {
                Operation::Add(vector, id) => lockstep.add(&vector[..vector_len], id),
                Operation::Nearest(query) => lockstep.nearest(&query[..vector_len]),
                Operation::Similar(query, k, at_least) => lockstep.similar(&query[..vector_len], k, at_least),
                Operation::Remove(id) => lockstep.remove(id),
                Operation::Wait(millis) => {
                    lockstep.now += Duration::from_millis(millis);
                    if millis.is_multiple_of(2) {
                        lockstep.evict_expired();
                    }
                }
                Operation::Restart(millis, max_elements) => {
                    restart(&mut lockstep, max_elements, Duration::from_millis(millis));
                }
                Operation::Clear => lockstep.clear(),
            }
            lockstep.compare();
        }
    }
}

#[test]
fn a_large_cache_behaves_like_a_list() {
    // Past 4,096 vectors there are codes. Some vectors are equal, many are neighbours, some are zero.
    let vector = |i: u32| -> Vec<f32> {
        let number = |at: u32| ((i % 997 + 1) * (at + 3) * 7919 % 1013) as f32 / 506.0 - 1.0;
        let neighbour = |at: u32| number(at) + (i / 997 % 5 * (at + 1)) as f32 * 1e-4;
        (0..20).map(|at| if i.is_multiple_of(51) { 0.0 } else { neighbour(at) }).collect()
    };
    let ttl = Some(Duration::from_secs(10));
    let options = CacheOptions { max_elements: 5_000, vector_len: 20, ttl };
    let mut lockstep = Lockstep::new(options, Duration::ZERO);
    let search = |lockstep: &mut Lockstep| {
        for i in [50, 881, 4_095, 4_096, 5_036, 6_999] {
            lockstep.nearest(&vector(i));
        }
        for (k, at_least) in [(1, 0.0), (10, -1.0), (100, 0.9), (9_000, 0.5)] {
            let k = NonZeroUsize::new(k).expect("not 0");
            [50, 881].into_iter().for_each(|i| lockstep.similar(&vector(i), k, at_least));
        }
        lockstep.compare();
    };
    for i in 0..7_000 {
        lockstep.now = Duration::from_millis(u64::from(i));
        lockstep.add(&vector(i), (i % 5 > 0).then(|| IDS[i as usize % 4]));
        // Before there are codes, with the first of them, in a full ring, and in one that went round.
        if [4_095, 4_096, 4_999, 6_999].contains(&i) {
            search(&mut lockstep);
        }
    }
    lockstep.remove("trace");
    search(&mut lockstep);
    lockstep.now = Duration::from_secs(13);
    search(&mut lockstep);
    for max_elements in [9_000, 700] {
        restart(&mut lockstep, max_elements, Duration::ZERO);
        search(&mut lockstep);
        // Into its spare slots, and then into a larger ring.
        (0..4_000).for_each(|i| lockstep.add(&vector(i), None));
        search(&mut lockstep);
    }
    lockstep.clear();
    lockstep.add(&vector(1), None);
    search(&mut lockstep);
}

#[test]
fn nearest_before_finds_what_nearest_found_before_the_id_was_added() {
    let now = Duration::ZERO;
    // A flat ring, and one that is large enough for codes.
    for count in [60, 5_000] {
        let options = CacheOptions { max_elements: count, vector_len: VECTOR_LEN, ttl: None };
        let mut cache = VectorCache::new(options);
        let vector = |n: usize| [n, n * n, n + 5, 7 * n, 3].map(|x| (x % 23) as f32 - 11.0);
        // They leave the ring, so that the rest wraps around.
        for n in 0..10 {
            cache.add(&vector(n), Id::new("early"), now).unwrap();
        }
        let found: Vec<_> = (10..count + 10)
            .map(|n| {
                let nearest = cache.nearest(&vector(n), now).unwrap();
                cache.add(&vector(n), Id::new(n.to_string()), now).unwrap();
                nearest
            })
            .collect();
        for n in 10..count + 10 {
            let (again, is_known) = cache.nearest_before(&n.to_string(), &vector(n), now).unwrap();
            assert!(is_known);
            let expected =
                found[n - 10].as_ref().filter(|at_first| at_first.id.as_deref() != Some("early"));
            if n == 10 {
                assert_eq!(again, None);
            } else if expected.is_some() {
                assert_eq!(again.as_ref(), expected, "{n}");
            }
        }
        let all = cache.nearest(&vector(7), now).unwrap();
        assert_eq!(cache.nearest_before("unknown", &vector(7), now).unwrap(), (all, false));
    }
}

#[test]
fn entries_stay_in_order_of_age_and_expired_when_the_clock_goes_back() {
    let ttl = Some(Duration::from_millis(10));
    let options = CacheOptions { max_elements: 9, vector_len: 1, ttl };
    let mut cache = VectorCache::new(options);
    for millis in [5, 3, 8, 1] {
        cache.add(&[1.0], None, Duration::from_millis(millis)).unwrap();
    }
    let ages: Vec<_> =
        cache.entries(Duration::from_millis(7)).map(|(e, _)| e.age.as_millis()).collect();
    assert_eq!(ages, [2, 2, 0, 0]);
    let late = Duration::from_millis(18);
    assert_eq!(cache.len(Duration::from_nanos(17_999_999)), 2);
    assert_eq!((cache.len(late), cache.entries(late).len()), (0, 0));
    assert_eq!(cache.nearest(&[1.0], late).unwrap(), None);
    assert_eq!(cache.len(Duration::ZERO), 4, "a search drops nothing");
    cache.evict_expired(late);
    assert_eq!(cache.len(Duration::ZERO), 0, "expiry is final");
}
