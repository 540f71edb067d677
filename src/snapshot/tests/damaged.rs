//! Everything that bytes can be instead of a snapshot.

use super::*;

/// Makes length and checksum right, so that only the values can be wrong.
fn seal(mut bytes: Vec<u8>) -> Vec<u8> {
    let length = (bytes.len() + CHECKSUM) as u64;
    bytes[HEADER - 8..HEADER].copy_from_slice(&length.to_le_bytes());
    let checksum = blake3::hash(&bytes);
    bytes.extend(checksum.as_bytes());
    bytes
}

/// What is between header and checksum of the small snapshot, and where its fields begin.
const FINGERPRINT: usize = HEADER;
const CAPACITY: usize = FINGERPRINT + 8 + MODEL.len();
const DIMENSIONS: usize = CAPACITY + 8;
const TTL: usize = DIMENSIONS + 8;
const COUNT: usize = TTL + 1 + 12;
const AGE: usize = COUNT + 8;
const NO_ID: usize = AGE + 12;
const VECTOR: usize = NO_ID + 1;
const SECOND_AGE: usize = VECTOR + 8;
const ID: usize = SECOND_AGE + 12;
const SECOND_VECTOR: usize = ID + 1 + 8 + "é".len();
const END: usize = SECOND_VECTOR + 8;

/// The small snapshot with other bytes from an offset on.
fn with(at: usize, new: &[u8]) -> Vec<u8> {
    let mut bytes = small();
    bytes.truncate(END);
    bytes[at..at + new.len()].copy_from_slice(new);
    seal(bytes)
}

proptest! {
    #[test]
    fn whatever_the_bytes_nothing_breaks(
        changes in prop::collection::vec((HEADER..END, any::<u8>()), 0..6),
        end in HEADER..=END,
        more in prop::collection::vec(any::<u8>(), 0..20),
    ) {
        let mut bytes = small();
        changes.into_iter().for_each(|(at, byte)| bytes[at] = byte);
        bytes.truncate(end);
        bytes.extend(more);
        if let Ok(snapshot) = decode(&seal(bytes), MODEL) {
            let bounds = snapshot.options();
            let mut cache = snapshot.into_cache(bounds, NOW).unwrap();
            let found = cache.max_cosine_similarity(&[1.0, 0.0], NOW);
            prop_assert!(found.is_err() || found.unwrap().is_none_or(|x| (-1.0..=1.0).contains(&x)));
        }
    }

    #[test]
    fn any_bytes_are_an_error(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert_eq!(decode(&bytes, "").unwrap_err().code(), "INVALID_SNAPSHOT");
    }
}

#[test]
fn cut_off_anywhere_it_is_an_error_that_says_so() {
    let whole = small();
    for end in 0..whole.len() {
        let error = decode(&whole[..end], MODEL).unwrap_err();
        let expected = match end {
            0..HEADER => "at least 52".to_owned(),
            _ => whole.len().to_string(),
        };
        let message =
            format!("snapshot: expected {expected} bytes, got {end} bytes: it is cut off");
        assert_eq!((error.code(), error.to_string()), ("INVALID_SNAPSHOT", message));
    }
}

#[test]
fn any_flipped_bit_is_an_error() {
    let whole = small();
    for bit in 0..whole.len() * 8 {
        let mut bytes = whole.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        let error = decode(&bytes, MODEL).expect_err("a bit was flipped");
        assert_eq!(error.code(), "INVALID_SNAPSHOT", "bit {bit}");
        if bit / 8 >= HEADER {
            assert!(error.to_string().ends_with(": it is damaged"), "bit {bit}: {error}");
        }
    }
}

#[test]
fn says_what_was_expected_and_what_was_found() {
    let float = |x: f32, y: f32| [x.to_le_bytes(), y.to_le_bytes()].concat();
    let endless = u64::MAX.to_le_bytes();
    let long = [small(), vec![0]].concat();
    let more = seal([&small()[..END], &[0; 3]].concat());
    let vector = "finite numbers of length 1, or zeros, got";
    for (bytes, place, message) in [
        (
            b"PK\x03\x04".to_vec(),
            "",
            r#"a snapshot of a vector cache, got bytes that begin with "PK\x03\x04""#,
        ),
        ([&MAGIC[..], &[2, 0, 0, 0], &[0; 90]].concat(), "", "format version 1, got 2"),
        (long, "", "156 bytes, got 157 bytes"),
        (seal(small()[..HEADER].to_vec()), ": model", "8 bytes, got 0 bytes"),
        (with(FINGERPRINT, &endless), ": model", "18446744073709551615 bytes, got 96 bytes"),
        (with(FINGERPRINT + 8, b"A"), ": model", r#""a model", got "A model""#),
        (with(CAPACITY, &[0; 8]), ": maxElements", "1 to 18446744073709551615, got 0"),
        (with(CAPACITY, &1_u64.to_le_bytes()), ": entries", "1 or fewer, got 2"),
        (with(DIMENSIONS, &[0; 8]), ": dimensions", "1 to 4294967295, got 0"),
        (with(DIMENSIONS, &endless), ": dimensions", "1 to 4294967295, got 18446744073709551615"),
        (
            with(DIMENSIONS, &u64::from(u32::MAX).to_le_bytes()),
            ": entries[0].vector",
            "17179869180 bytes, got 39 bytes",
        ),
        (with(TTL, &[2]), ": ttl", "0 or 1 for absent or present, got 2"),
        (
            with(TTL + 9, &1_000_000_000_u32.to_le_bytes()),
            ": ttl",
            "less than 1000000000 nanoseconds, got 1000000000",
        ),
        (with(COUNT, &endless), ": entries", "3 or fewer, got 18446744073709551615"),
        (with(COUNT, &[3]), ": entries[2].age", "8 bytes, got 0 bytes"),
        (with(COUNT, &[1]), "", "an end after 1 entries, got 31 more bytes"),
        (more, "", "an end after 2 entries, got 3 more bytes"),
        (
            with(SECOND_AGE, &[11]),
            ": entries[1].age",
            "10s or less, as of the entry before, got 11s",
        ),
        (with(NO_ID, &[255]), ": entries[0].id", "0 or 1 for absent or present, got 255"),
        (with(ID + 1, &endless), ": entries[1].id", "18446744073709551615 bytes, got 10 bytes"),
        (
            with(ID + 9, &[0xFF]),
            ": entries[1].id",
            "UTF-8, got invalid utf-8 sequence of 1 bytes from index 0",
        ),
        (with(VECTOR, &float(f32::NAN, 0.0)), ": entries[0].vector", &format!("{vector} NaN")),
        (
            with(SECOND_VECTOR, &float(1.0, f32::NEG_INFINITY)),
            ": entries[1].vector",
            &format!("{vector} -Infinity"),
        ),
        (with(VECTOR, &float(0.0, 2.0)), ": entries[0].vector", &format!("{vector} length 2")),
        (with(VECTOR, &float(0.5, 0.0)), ": entries[0].vector", &format!("{vector} length 0.5")),
        (
            with(VECTOR, &float(1.00001, 0.0)),
            ": entries[0].vector",
            &format!("{vector} length 1.0000100135803223"),
        ),
    ] {
        let error = decode(&bytes, MODEL).expect_err(message);
        assert_eq!(error.code(), "INVALID_SNAPSHOT", "{message}");
        assert_eq!(error.path(), Some(format!("snapshot{place}").as_str()), "{message}");
        assert_eq!(error.to_string(), format!("snapshot{place}: expected {message}"));
    }
    assert!(decode(&with(VECTOR, &float(0.0, -0.0)), MODEL).is_ok(), "zeros are a vector");
}
