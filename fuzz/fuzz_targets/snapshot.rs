//! Arbitrary bytes, and damaged snapshots.
#![no_main]

use std::time::Duration;

use arbitrary::{Arbitrary, Result, Unstructured};
use knowledgepulse_scoring::{
    Id, VectorCache,
    cache::{CacheOptions, VectorEntry},
    snapshot::{self, Bytes, Contents, Snapshot},
};
use knowledgepulse_test_support::memory;
use libfuzzer_sys::fuzz_target;

#[global_allocator]
static ALLOCATOR: memory::Counting = memory::Counting;

/// The fingerprint in every snapshot.
const MODEL: &str = "m";
const LENGTHS: [usize; 4] = [1, 3, 16, 384];
const IDS: [&str; 5] = ["a", "b", "", "trace", "👩‍🔬 e\u{301}"];

/// Magic and version, before the lengths of the whole and of the header.
const START: &[u8] = b"KPCACHE\n\x02\0\0\0";
const HEADER: usize = START.len() + 8 + 8;
const CHECKSUM: usize = 32;

/// Makes a snapshot of a header and vectors, with the right lengths and checksum.
fn seal(header: &[u8], vectors: &[u8]) -> Vec<u8> {
    let length = HEADER + header.len() + vectors.len() + CHECKSUM;
    let [length, head] = [length, header.len()].map(|length| (length as u64).to_le_bytes());
    with_checksum([START, &length, &head, header, vectors].concat())
}

fn with_checksum(mut bytes: Vec<u8>) -> Vec<u8> {
    let checksum = blake3::hash(&bytes);
    bytes.extend(checksum.as_bytes());
    bytes
}

fn owned(cache: &VectorCache, now: Duration) -> Vec<(VectorEntry, Vec<f32>)> {
    cache.entries(now).map(|(entry, vector)| (entry, vector.to_vec())).collect()
}

fn encode(cache: &VectorCache, now: Duration) -> Vec<u8> {
    Contents::of(cache, MODEL, now, None).encode()
}

fn decode(bytes: &[u8]) -> knowledgepulse_scoring::Result<Snapshot> {
    snapshot::decode("snapshot", Bytes::copy("snapshot", bytes)?, (MODEL, None))
}

fn open(bytes: &[u8]) -> Snapshot {
    decode(bytes).expect("a snapshot")
}

/// The contents of a snapshot, except its age.
fn entries(bytes: &[u8]) -> Vec<(VectorEntry, Vec<f32>)> {
    let snapshot = open(bytes);
    let options = CacheOptions { ttl: None, ..snapshot.options() };
    let cache = snapshot.into_cache(options, Duration::ZERO);
    owned(&cache.expect("a cache"), Duration::ZERO)
}

/// Decodes in little memory. What is accepted must be the same after another round trip.
fn check(bytes: &[u8]) -> Option<Snapshot> {
    let (found, peak) = memory::peak(|| decode(bytes));
    assert!(peak <= 32 * bytes.len() + 4096, "{peak} bytes of memory for {}", bytes.len());
    let snapshot = match found {
        Ok(snapshot) => snapshot,
        Err(error) => {
            assert_eq!(error.code(), "INVALID_SNAPSHOT");
            assert!(error.path().expect("a place").starts_with("snapshot"), "{error}");
            return None;
        }
    };
    let (options, now) = (snapshot.options(), Duration::ZERO);
    let cache = open(bytes).into_cache(options, now).expect("a cache");
    let is_alive = |(entry, _): &&(VectorEntry, _)| options.ttl.is_none_or(|ttl| entry.age < ttl);
    let all = entries(bytes);
    let alive: Vec<_> = all.iter().filter(is_alive).cloned().collect();
    assert_eq!(owned(&cache, now), alive);
    if alive.len() == all.len() {
        let again = encode(&cache, now);
        assert_eq!((open(&again).options(), entries(&again)), (options, all));
    }
    Some(snapshot)
}

/// Returns a cache with entries made of the bytes, and the time after them.
fn filled(bytes: &mut Unstructured) -> Result<(VectorCache, Duration)> {
    let (max_elements, vector_len) = (bytes.int_in_range(1..=40)?, *bytes.choose(&LENGTHS)?);
    let ttl = Option::<u16>::arbitrary(bytes)?.map(|ms| Duration::from_millis(ms.into()));
    let mut cache = VectorCache::new(CacheOptions { max_elements, vector_len, ttl });
    let mut now = Duration::ZERO;
    while !bytes.is_empty() {
        now += Duration::from_millis(u8::arbitrary(bytes)?.into());
        let id = Option::<u8>::arbitrary(bytes)?.map(|at| IDS[usize::from(at) % IDS.len()]);
        let numbers = <[i8; 4]>::arbitrary(bytes)?.map(f32::from);
        let vector: Vec<_> = numbers.into_iter().cycle().take(vector_len).collect();
        cache.add(&vector, id.and_then(Id::new), now).expect("a vector");
    }
    Ok((cache, now))
}

/// Changes a snapshot.
fn damage(bytes: &mut Unstructured, snapshot: &mut Vec<u8>) -> Result<()> {
    for _ in 0..bytes.int_in_range(1..=4)? {
        let at = bytes.int_in_range(0..=snapshot.len() - 1)?;
        match bytes.int_in_range(0..=4)? {
            0 => snapshot[at] = u8::arbitrary(bytes)?,
            1 => snapshot[at] ^= 1 << bytes.int_in_range(0..=7)?,
            2 => snapshot.truncate(at + 1),
            3 => snapshot.extend(<&[u8]>::arbitrary(bytes)?),
            _ => {
                let number = u64::arbitrary(bytes)?.to_le_bytes();
                let end = (at + 8).min(snapshot.len());
                snapshot[at..end].copy_from_slice(&number[..end - at]);
            }
        }
    }
    Ok(())
}

fn run(data: &[u8]) -> Result<()> {
    let Some((mode, rest)) = data.split_first() else { return Ok(()) };
    match mode % 3 {
        0 => drop(check(rest)),
        1 => {
            // A length of the vectors, the header and the vectors.
            let Some((length, rest)) = rest.split_first() else { return Ok(()) };
            let (header, vectors) = rest.split_at(rest.len().saturating_sub((*length).into()));
            check(&seal(header, vectors));
        }
        _ => {
            let mut bytes = Unstructured::new(rest);
            let mut damages = Unstructured::new(bytes.bytes(16.min(rest.len()))?);
            let (cache, now) = filled(&mut bytes)?;
            let whole = encode(&cache, now);
            let snapshot = check(&whole).expect("what was encoded");
            let options = snapshot.options();
            let restored = snapshot.into_cache(options, now).expect("a cache");
            assert_eq!(encode(&restored, now), whole);
            assert_eq!(entries(&whole), owned(&cache, now));

            let mut damaged = whole.clone();
            damage(&mut damages, &mut damaged)?;
            assert!(damaged == whole || check(&damaged).is_none(), "a damage was not noticed");
            let mut resealed = whole[..whole.len() - CHECKSUM].to_vec();
            damage(&mut damages, &mut resealed)?;
            check(&with_checksum(resealed.clone()));
            if resealed.len() >= HEADER {
                let length = (resealed.len() + CHECKSUM) as u64;
                resealed[START.len()..HEADER - 8].copy_from_slice(&length.to_le_bytes());
                check(&with_checksum(resealed));
            }
        }
    }
    Ok(())
}

fuzz_target!(|data: &[u8]| {
    // Ends when the bytes run out.
    let _ = run(data);
});
