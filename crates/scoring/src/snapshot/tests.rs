//! Valid snapshots, and other bytes.

use super::*;
use crate::Id;

const MODEL: &str = "a model";
/// What the snapshots are named in errors.
const SOURCE: &str = "caches/7.kp";
/// The bytes after the numbers of a vector of length 2.
const PADDING: usize = 14 * size_of::<f32>();
const NOW: Duration = Duration::from_secs(100);

fn options(max_elements: usize, vector_len: usize) -> CacheOptions {
    CacheOptions { max_elements, vector_len, ttl: Some(Duration::from_secs(60)) }
}

fn decode(bytes: &[u8], fingerprint: &str) -> Result<Snapshot> {
    super::decode(SOURCE, Bytes::copy(SOURCE, bytes)?, (fingerprint, None))
}

/// Two vectors, of which one has an id.
fn small_cache() -> VectorCache {
    let mut cache = VectorCache::new(options(3, 2));
    cache.add(&[0.0, 2.0], None, Duration::from_secs(90)).unwrap();
    cache.add(&[3.0, 4.0], Id::new("é"), Duration::from_secs(95)).unwrap();
    cache
}

fn encode(cache: &VectorCache, fingerprint: &str, now: Duration) -> Vec<u8> {
    Contents::of(cache, fingerprint, now, None).encode()
}

fn small() -> Vec<u8> {
    encode(&small_cache(), MODEL, NOW)
}

#[test]
fn into_cache_loses_nothing() {
    let bytes = small();
    let snapshot = decode(&bytes, MODEL).unwrap();
    assert_eq!(snapshot.options(), options(3, 2));
    let age = Duration::from_secs;
    let expected: [(VectorEntry, &[f32]); 2] = [
        (VectorEntry { age: age(10), id: None }, &[0.0, 1.0]),
        (VectorEntry { age: age(5), id: Id::new("é") }, &[0.6, 0.8]),
    ];
    let cache = snapshot.into_cache(options(3, 2), Duration::ZERO).unwrap();
    assert_eq!(cache.entries(Duration::ZERO).collect::<Vec<_>>(), expected);
    assert_eq!(encode(&cache, MODEL, Duration::ZERO), bytes);
}

#[test]
fn without_ages_leaves_nothing_of_the_clock() {
    let at = |now, seq| {
        let (epoch, call) = (String::new(), "".into());
        let position = Position { epoch, seq, at: now, call };
        Contents::of(&small_cache(), MODEL, now, Some(position)).without_ages().encode()
    };
    let bytes = at(NOW, 1);
    assert_eq!(bytes, at(NOW + Duration::from_nanos(1), 2));
    let mut snapshot = decode(&bytes, MODEL).unwrap();
    assert_eq!(snapshot.take_position(), None);
    let cache = snapshot.into_cache(options(3, 2), NOW).unwrap();
    let found = cache.entries(NOW).map(|(entry, vector)| (entry.age, entry.id, vector));
    let expected: [(_, _, &[f32]); 2] =
        [(Duration::ZERO, None, &[0.0, 1.0]), (Duration::ZERO, Id::new("é"), &[0.6, 0.8])];
    assert_eq!(found.collect::<Vec<_>>(), expected);
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
        &356_u64.to_le_bytes()[..],
        &168_u64.to_le_bytes(),
        header.as_bytes(),
        &[0, 0, 0, 0, 0, 0, 0x80, 0x3F],
        &[0; PADDING],
        &[0x9A, 0x99, 0x19, 0x3F, 0xCD, 0xCC, 0x4C, 0x3F],
        &[0; PADDING],
    ]
    .concat();
    let checksum = blake3::hash(&bytes);
    assert_eq!(small(), [&bytes[..], checksum.as_bytes()].concat());
}

#[test]
fn into_cache_keeps_an_empty_cache_empty() {
    let bounds = CacheOptions { ttl: None, ..options(usize::MAX, u32::MAX as usize) };
    let cache = VectorCache::new(bounds);
    let bytes = encode(&cache, "", NOW);
    let snapshot = decode(&bytes, "").unwrap();
    assert_eq!((snapshot.options(), &snapshot.header.entries), (bounds, &vec![]));
    assert_eq!(snapshot.into_cache(bounds, NOW).unwrap().len(NOW), 0);
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
        let cache = decode(&small(), MODEL).unwrap().into_cache(bounds, NOW).unwrap();
        assert_eq!((cache.len(NOW), cache.options()), (expected, bounds));
        // The newest is dropped last.
        let last = cache.entries(NOW).last().map(|(entry, _)| entry.id);
        assert!(last.is_none_or(|id| id.as_deref() == Some("é")), "{bounds:?}");
    }
}

/// A snapshot of any header and rows, with the right lengths and checksum.
fn seal(header: &str, rows: &[u8]) -> Vec<u8> {
    let length = HEADER + header.len() + rows.len() + CHECKSUM;
    let [length, head] = [length, header.len()].map(|length| (length as u64).to_le_bytes());
    let start = [MAGIC, &VERSION.to_le_bytes(), &length, &head];
    with_checksum([&start.concat(), header.as_bytes(), rows].concat())
}

fn with_checksum(mut bytes: Vec<u8>) -> Vec<u8> {
    let checksum = blake3::hash(&bytes);
    bytes.extend(checksum.as_bytes());
    bytes
}

/// Header and rows of the small snapshot.
fn parts() -> (String, Vec<u8>) {
    let bytes = small();
    let end = bytes.len() - CHECKSUM;
    let (header, rows) = bytes[HEADER..end].split_at(end - HEADER - 32 * size_of::<f32>());
    (String::from_utf8(header.to_vec()).unwrap(), rows.to_vec())
}

/// The small snapshot with one piece of its header replaced.
fn with(old: &str, new: &str) -> Vec<u8> {
    let (header, rows) = parts();
    assert!(header.contains(old), "{old}");
    seal(&header.replacen(old, new, 1), &rows)
}

/// The small snapshot with other vectors.
fn with_vectors([a, b, c, d]: [f32; 4]) -> Vec<u8> {
    let row = |[x, y]: [f32; 2]| [&x.to_le_bytes()[..], &y.to_le_bytes(), &[0; PADDING]].concat();
    seal(&parts().0, &[[a, b], [c, d]].map(row).concat())
}

#[test]
fn decode_says_that_a_piece_of_a_snapshot_is_cut_off() {
    let whole = small();
    for end in 0..whole.len() {
        let error = decode(&whole[..end], MODEL).unwrap_err();
        let expected = match end {
            0..HEADER => "at least 60".to_owned(),
            _ => whole.len().to_string(),
        };
        let message =
            format!("{SOURCE}: expected {expected} bytes, got {end} bytes: it is cut off");
        assert_eq!((error.code(), error.to_string()), ("INVALID_SNAPSHOT", message));
    }
}

#[test]
fn decode_notices_any_flipped_bit() {
    let whole = small();
    for bit in 0..whole.len() * 8 {
        let mut bytes = whole.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        let error = decode(&bytes, MODEL).expect_err("a bit was flipped");
        assert_eq!(error.code(), "INVALID_SNAPSHOT", "bit {bit}");
        if bit / 8 >= MAGIC.len() + 4 + 8 {
            assert!(error.to_string().ends_with(": it is damaged"), "bit {bit}: {error}");
        }
    }
}

#[test]
fn decode_says_what_was_expected_and_what_was_found() {
    let sizes = |length: u64, head: u64| {
        [MAGIC, &VERSION.to_le_bytes(), &length.to_le_bytes(), &head.to_le_bytes()].concat()
    };
    let (header, rows) = parts();
    let json = "the JSON of a cache, got";
    let endless = "18446744073709551615";
    let normal = "length 1, or zeros, got length";
    for (bytes, place, message) in [
        (
            b"PK\x03\x04".to_vec(),
            "",
            r#"a snapshot of a vector cache, got bytes that begin with "PK\x03\x04""#,
        ),
        ([MAGIC, &[1, 0, 0, 0], &[0; 90]].concat(), "", "format version 2, got 1"),
        ([small(), vec![0]].concat(), "", "356 bytes, got 357 bytes"),
        (with_checksum(sizes(59, 0))[..59].to_vec(), "", "60 bytes, got 59 bytes: it is cut off"),
        (with_checksum(sizes(60, 1)), ": header", "1 bytes, got 0 bytes"),
        (with_checksum(sizes(60, u64::MAX)), ": header", &format!("{endless} bytes, got 0 bytes")),
        (
            with_checksum(sizes(60, 0)),
            ": header",
            &format!("{json} EOF while parsing a value at line 1 column 0"),
        ),
        (
            seal("5", &[]),
            ": header",
            &format!("{json} invalid type: integer `5`, expected struct Header at line 1 column 1"),
        ),
        (
            with("\"a model\"", &format!("{:?}", "x".repeat(300))),
            ": model",
            &format!(r#""a model", got "{}""#, "x".repeat(200)),
        ),
        (with("a model", "A model"), ": model", r#""a model", got "A model""#),
        (with("Elements\":3", "Elements\":0"), ": maxElements", "2 or more, got 0"),
        (with("Elements\":3", "Elements\":1"), ": maxElements", "2 or more, got 1"),
        (with("Len\":2", "Len\":0"), ": vectorLen", "1 to 4294967295, got 0"),
        (
            with("Len\":2", &format!("Len\":{endless}")),
            ": vectorLen",
            &format!("1 to 4294967295, got {endless}"),
        ),
        (
            with("Len\":2", "Len\":4294967295"),
            ": rows",
            "2 rows of 4294967296 float32, got 128 bytes",
        ),
        (seal(&header, &[0; 8]), ": rows", "2 rows of 16 float32, got 8 bytes"),
        (
            seal(&header, &[&rows[..], &[0; 3]].concat()),
            ": rows",
            "2 rows of 16 float32, got 131 bytes",
        ),
        (with("secs\":5", "secs\":11"), ": entries[1].age", "10s or less, got 11s"),
        (with_vectors([f32::NAN, 0.0, 1.0, 0.0]), ": rows[0]", &format!("{normal} NaN")),
        (with_vectors([0.0, 1.0, 1.0, f32::NEG_INFINITY]), ": rows[1]", &format!("{normal} inf")),
        (with_vectors([0.0, 2.0, 1.0, 0.0]), ": rows[0]", &format!("{normal} 2")),
        (with_vectors([0.0, 1.0, 0.5, 0.0]), ": rows[1]", &format!("{normal} 0.5")),
        (
            with_vectors([1.001, 0.0, 1.0, 0.0]),
            ": rows[0]",
            &format!("{normal} 1.0010000467300415"),
        ),
    ] {
        let error = decode(&bytes, MODEL).expect_err(message);
        assert_eq!(error.code(), "INVALID_SNAPSHOT", "{message}");
        assert_eq!(error.path(), Some(format!("{SOURCE}{place}").as_str()), "{message}");
        assert_eq!(error.to_string(), format!("{SOURCE}{place}: expected {message}"));
    }
    assert!(decode(&with_vectors([0.0, -0.0, 1.0, 0.0]), MODEL).is_ok(), "zeros are a vector");
}

#[test]
fn decode_refuses_an_entry_older_than_its_store() {
    let position = |seconds| {
        let at = format!(r#"{{"secs":{seconds},"nanos":0}}"#);
        with("}]}", &format!(r#"}}],"position":{{"epoch":"","seq":2,"at":{at},"call":""}}}}"#))
    };
    assert!(decode(&position(10), MODEL).is_ok());
    let error = decode(&position(9), MODEL).expect_err("an entry from before 1970");
    let message = ": entries[0].age: expected 9s or less, got 10s";
    assert_eq!(
        (error.code(), error.to_string()),
        ("INVALID_SNAPSHOT", format!("{SOURCE}{message}"))
    );
}

#[test]
fn decode_refuses_vectors_of_another_length_than_those_of_the_model() {
    let decode = |bytes: &[u8], length| {
        super::decode(SOURCE, Bytes::copy(SOURCE, bytes)?, (MODEL, Some(length)))
    };
    assert!(decode(&small(), 2).is_ok());
    // 16 numbers of a row would be a valid length.
    let error = decode(&with("Len\":2", "Len\":16"), 2).expect_err("another length");
    assert_eq!(error.to_string(), format!("{SOURCE}: vectorLen: expected 2, got 16"));
    let empty = encode(&VectorCache::new(options(3, 16)), MODEL, NOW);
    assert!(decode(&empty, 2).is_ok(), "it has no vector");
}

#[test]
fn decode_refuses_an_id_that_no_trace_has() {
    let id = |length| with("é", &"x".repeat(length));
    assert!(decode(&id(1024), MODEL).is_ok());
    let error = decode(&id(1025), MODEL).expect_err("a long id");
    assert_eq!(error.path(), Some("caches/7.kp: header"), "{error}");
}

#[test]
fn decode_refuses_a_header_of_other_values() {
    for (old, new) in [
        ("\"a model\"", "5"),
        ("Elements\":3", "Elements\":-1"),
        ("Elements\":3", "Elements\":1e9"),
        ("Len\":2", "Len\":2.5"),
        ("\"model\":\"a model\",", ""),
        ("\"secs\":60,\"nanos\":0", "\"secs\":18446744073709551615,\"nanos\":1000000000"),
        ("\"secs\":5", "\"secs\":-5"),
        ("\"id\":null", "\"id\":7"),
        ("\"id\":null", "\"name\":null"),
        ("\"ttl\"", "\"tl\""),
        ("é", "\\ud800"),
        ("}]}", "}]}}"),
        ("}]}", "}]"),
    ] {
        let error = decode(&with(old, new), MODEL).expect_err(new);
        assert_eq!(error.path(), Some("caches/7.kp: header"), "{old} → {new}");
    }
    let (header, rows) = parts();
    let deep = "[".repeat(100_000);
    assert!(decode(&seal(&deep, &rows), MODEL).is_err());
    let mut bytes = seal(&header.replace('é', "ee"), &rows);
    let at = HEADER + header.find('é').unwrap();
    bytes[at] = 0xFF;
    bytes.truncate(bytes.len() - CHECKSUM);
    let error = decode(&with_checksum(bytes), MODEL).expect_err("not UTF-8");
    assert_eq!(error.path(), Some("caches/7.kp: header"));
}
