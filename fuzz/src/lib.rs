//! Operations on a cache, made of the fuzzer's bytes and carried out in lockstep with a list. A difference is a panic,
//! which the fuzzer reports with the input.

use std::time::Duration;

use arbitrary::{Arbitrary, Result, Unstructured};
use knowledgepulse_scoring::{
    cache::CacheOptions,
    snapshot::{Bytes, Contents, decode},
};
use knowledgepulse_test_support::cache::Lockstep;

/// The fingerprint in every snapshot.
pub const MODEL: &str = "m";

const LENGTHS: [usize; 8] = [1, 2, 3, 5, 16, 17, 33, 384];
const IDS: [&str; 5] = ["a", "b", "", "trace", "👩‍🔬 e\u{301}"];
const MOST_OPERATIONS: usize = 64;
const MOST_FILLED: u8 = 40;

/// A vector, of the right length but for `Raw`.
#[derive(Debug, Arbitrary)]
enum Vector {
    Zero,
    Axis(u8, i8),
    /// Repeated up to the length. There are few directions, so that some are equal.
    Small(Vec<i8>),
    Floats(Vec<f32>),
    Raw(Vec<f32>),
}

impl Vector {
    fn of(&self, length: usize) -> Vec<f32> {
        let cycle = |numbers: Vec<f32>| {
            let at = |i| numbers.get(i % (numbers.len() + 1)).copied().unwrap_or(0.0);
            (0..length).map(at).collect()
        };
        match self {
            Self::Zero => vec![0.0; length],
            Self::Axis(axis, scale) => {
                let mut vector = vec![0.0; length];
                vector[usize::from(*axis) % length] = f32::from(*scale);
                vector
            }
            Self::Small(numbers) => cycle(numbers.iter().map(|x| f32::from(x % 4)).collect()),
            Self::Floats(numbers) => cycle(numbers.clone()),
            Self::Raw(numbers) => numbers.clone(),
        }
    }
}

#[derive(Debug, Arbitrary)]
enum Operation {
    Add(Vector, Option<u8>),
    /// Many at once, so that the ring grows and wraps around.
    Fill(u8, Option<u8>),
    Nearest(Vector),
    Remove(u8),
    Wait(u16),
    WaitLong(u32, u32),
    Evict,
    Clear,
    /// Into another process, with another clock and other bounds.
    Restart {
        seconds: u32,
        room: u8,
        ttl: Option<u16>,
    },
}

fn id(number: u8) -> &'static str {
    IDS[usize::from(number) % IDS.len()]
}

/// Runs the operations in the fuzzer's bytes.
pub fn run(bytes: &mut Unstructured) -> Result<Lockstep> {
    let max_elements = match u8::arbitrary(bytes)? {
        255 => usize::MAX,
        room => usize::from(room).max(1),
    };
    let vector_len = *bytes.choose(&LENGTHS)?;
    let ttl = Option::<u16>::arbitrary(bytes)?.map(|ms| Duration::from_millis(ms.into()));
    let options = CacheOptions { max_elements, vector_len, ttl };
    let now = Duration::from_millis(u16::arbitrary(bytes)?.into());
    let mut lockstep = Lockstep::new(options, now);
    for _ in 0..MOST_OPERATIONS {
        if bytes.is_empty() {
            break;
        }
        step(&mut lockstep, Operation::arbitrary(bytes)?);
        lockstep.compare();
    }
    Ok(lockstep)
}

fn step(lockstep: &mut Lockstep, operation: Operation) {
    let length = lockstep.cache.options().vector_len;
    match operation {
        Operation::Add(vector, name) => {
            if let Some(vector) = accepted(lockstep, vector.of(length)) {
                lockstep.add(&vector, name.map(id));
            }
        }
        Operation::Fill(count, name) => {
            for scale in 0..count % MOST_FILLED {
                let numbers = [scale as i8, (scale / 2) as i8, 1].to_vec();
                lockstep.add(&Vector::Small(numbers).of(length), name.map(id));
            }
        }
        Operation::Nearest(query) => {
            if let Some(query) = accepted(lockstep, query.of(length)) {
                lockstep.nearest(&query);
            }
        }
        Operation::Remove(name) => lockstep.remove(id(name)),
        Operation::Wait(ms) => lockstep.now += Duration::from_millis(ms.into()),
        Operation::WaitLong(seconds, nanos) => {
            lockstep.now +=
                Duration::from_secs(seconds.into()) + Duration::from_nanos(nanos.into());
        }
        Operation::Evict => lockstep.evict_expired(),
        Operation::Clear => lockstep.clear(),
        Operation::Restart { seconds, room, ttl } => {
            let ttl = ttl.map(|ms| Duration::from_millis(ms.into()));
            let (max_elements, before) = (usize::from(room).max(1), lockstep.cache.options());
            let options = CacheOptions { max_elements, ttl, ..before };
            restart(lockstep, options, Duration::from_secs(seconds.into()));
        }
    }
}

/// Returns a vector if it is valid; otherwise checks that every operation refuses it with the right message.
fn accepted(lockstep: &mut Lockstep, vector: Vec<f32>) -> Option<Vec<f32>> {
    let (cache, now) = (&mut lockstep.cache, lockstep.now);
    let length = cache.options().vector_len;
    let odd = vector.iter().position(|x| !x.is_finite());
    let start = match odd {
        _ if vector.len() != length => {
            format!("Expected {length} dimensions, got {}", vector.len())
        }
        Some(at) => format!("vector[{at}]: expected a finite float32, got "),
        None => return Some(vector),
    };
    let error = cache.nearest(&vector, now).expect_err("not a vector");
    assert_eq!(error.code(), "INVALID_VECTOR");
    assert!(error.to_string().starts_with(&start), "{error} for {start}");
    assert_eq!(cache.add(&vector, None, now), Err(error));
    None
}

fn restart(lockstep: &mut Lockstep, options: CacheOptions, now: Duration) {
    let before = lockstep.cache.options();
    let bytes = Contents::of(&lockstep.cache, MODEL, lockstep.now, None).encode();
    let copy = || Bytes::copy("snapshot", &bytes).expect("enough memory");
    let decode = |model| decode("snapshot", copy(), (model, None));
    let snapshot = decode(MODEL).expect("what was encoded");
    assert_eq!(snapshot.options(), before);
    assert!(decode("another model").is_err());
    let restored = snapshot.into_cache(options, now).expect("a cache");
    assert_eq!(restored.options(), options);
    lockstep.restart(restored, now);
}
