//! Bytes that may be a snapshot, and snapshots with damages.
#![no_main]

use std::time::Duration;

use arbitrary::{Arbitrary, Result, Unstructured};
use knowledgepulse_scoring::snapshot::{Snapshot, decode, encode};
use knowledgepulse_scoring_fuzz::{
    cache::{Lockstep, MODEL},
    memory,
};
use libfuzzer_sys::fuzz_target;

#[global_allocator]
static ALLOCATOR: memory::Counting = memory::Counting;

/// Magic and version, and where the length stands.
const START: &[u8] = b"KPCACHE\n\x01\0\0\0";
const HEADER: usize = START.len() + 8;
const CHECKSUM: usize = 32;

/// Makes length and checksum right, so that the values are reached.
fn seal(mut bytes: Vec<u8>) -> Vec<u8> {
    let length = (bytes.len() + CHECKSUM) as u64;
    bytes[START.len()..HEADER].copy_from_slice(&length.to_le_bytes());
    let checksum = blake3::hash(&bytes);
    bytes.extend(checksum.as_bytes());
    bytes
}

/// Decodes in little memory. What is accepted must be what encoding gives, byte for byte.
fn check(bytes: &[u8]) -> Option<Snapshot> {
    let (found, peak) = memory::peak(|| decode(bytes, MODEL));
    assert!(peak <= 16 * bytes.len() + 4096, "{peak} bytes of memory for {}", bytes.len());
    let snapshot = match found {
        Ok(snapshot) => snapshot,
        Err(error) => {
            assert_eq!(error.code(), "INVALID_SNAPSHOT");
            assert!(error.path().expect("a place").starts_with("snapshot"), "{error}");
            return None;
        }
    };
    let (options, now) = (snapshot.options(), Duration::ZERO);
    let mut cache = snapshot.clone().into_cache(options, now).expect("a cache");
    let is_alive = |age| options.ttl.is_none_or(|ttl| age < ttl);
    let alive: Vec<_> =
        snapshot.entries().iter().filter(|entry| is_alive(entry.age)).cloned().collect();
    let restored = cache.entries(now).map(|entry| entry.vector.to_vec());
    assert!(restored.eq(alive.iter().map(|entry| entry.vector.clone())), "the vectors differ");
    if alive.len() == snapshot.entries().len() {
        assert_eq!(encode(&mut cache, MODEL, now), bytes);
    }
    Some(snapshot)
}

/// Makes something else of a snapshot.
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
        1 => drop(check(&seal([START, &[0; 8], rest].concat()))),
        _ => {
            let mut bytes = Unstructured::new(rest);
            let mut damages = Unstructured::new(bytes.bytes(16.min(rest.len()))?);
            let Some(mut lockstep) = Lockstep::run(&mut bytes)? else { return Ok(()) };
            let whole = encode(&mut lockstep.cache, MODEL, lockstep.now);
            let snapshot = check(&whole).expect("what was encoded");
            let entries = lockstep.cache.entries(lockstep.now);
            let found = snapshot.entries().iter().map(|e| (&e.vector[..], e.age, e.id.clone()));
            assert!(found.eq(entries.map(|e| (e.vector, e.age, e.id))), "the entries differ");

            let mut damaged = whole.clone();
            damage(&mut damages, &mut damaged)?;
            assert!(damaged == whole || check(&damaged).is_none(), "a damage was not noticed");
            let mut resealed = whole[..whole.len() - CHECKSUM].to_vec();
            damage(&mut damages, &mut resealed)?;
            if resealed.len() >= HEADER {
                check(&seal(resealed));
            }
        }
    }
    Ok(())
}

fuzz_target!(|data: &[u8]| {
    // Where the bytes end too early there is nothing more to try.
    let _ = run(data);
});
