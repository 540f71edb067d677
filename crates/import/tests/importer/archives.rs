//! Compressed and encoded logs.

use std::io::Write;

use flate2::{Compression, write::GzEncoder};
use knowledgepulse_import::Code;
use knowledgepulse_test_support::importing::{self, Outcome, value_of};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

use crate::{error, lines};

/// A frame of Zstandard data that decoders skip.
const SKIPPED: &[u8] = b"\x5a\x2a\x4d\x18\x05\0\0\0 skip";

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

fn zstandard(content: &[u8]) -> Vec<u8> {
    compress_to_vec(content, CompressionLevel::Fastest)
}

fn log(texts: &[&str]) -> Vec<u8> {
    let conversation = |text: &&str| {
        serde_json::json!({ "messages": [
            { "role": "user", "content": text }, { "role": "assistant", "content": "b" },
        ] })
    };
    lines(&texts.iter().map(conversation).collect::<Vec<_>>()).into_bytes()
}

fn import(log: &[u8], piece: usize) -> Outcome {
    importing::import(log.chunks(piece), &importing::options())
}

fn objectives(outcome: &Outcome) -> Vec<String> {
    let objective = |trace| value_of(trace)["task"]["objective"].as_str().unwrap().to_owned();
    outcome.traces().map(objective).collect()
}

#[test]
fn archives_of_several_members_are_read_in_pieces_of_any_size() {
    let long = "é".repeat(400_000);
    let texts = ["one", &long, "three", "four"];
    let content = log(&texts);
    let (begin, end) = content.split_at(500_000);
    let gzip = [gzip(begin), gzip(b""), gzip(end), vec![0; 700]].concat();
    let zstandard = [
        SKIPPED,
        &zstandard(begin),
        SKIPPED,
        &zstandard(b""),
        b"\x50\x2a\x4d\x18\0\0\0\0",
        &zstandard(end),
        SKIPPED,
    ]
    .concat();
    for archive in [gzip, zstandard] {
        for piece in [1, 1009, archive.len()] {
            let outcome = import(&archive, piece);
            assert_eq!(outcome.errors().next(), None, "in pieces of {piece} bytes");
            assert_eq!(objectives(&outcome), texts, "in pieces of {piece} bytes");
            assert_eq!(outcome.report.bytes, content.len() as u64);
        }
    }
}

#[test]
fn archives_that_are_cut_or_damaged_are_unreadable_after_what_could_be_read() {
    let texts = ["one", "two", "three"];
    for (kind, compress) in [("gzip", gzip as fn(&[u8]) -> Vec<u8>), ("Zstandard", zstandard)] {
        let archive = [compress(&log(&texts[..2])), compress(&log(&texts[2..]))].concat();
        let first = compress(&log(&texts[..2])).len();
        for length in 5..archive.len() {
            let outcome = import(&archive[..length], 7);
            if length == first {
                assert_eq!(objectives(&outcome), texts[..2], "{kind} of {length} bytes");
                continue;
            }
            let error = error(&outcome);
            let found = format!("cannot decompress {kind} data: unexpected end of file");
            assert!(error.code == Code::Unreadable && error.message.ends_with(&found), "{error}");
            let read = objectives(&outcome);
            // The last line may lack nothing but its line feed.
            let lines = read.len().max(1) as u64..=read.len() as u64 + 1;
            assert!(error.line.is_some_and(|line| lines.contains(&line)), "{error}");
            assert_eq!(read, texts[..read.len()]);
            assert!(length < first || read.len() >= 2, "{kind} of {length} bytes");
        }
        let mut damaged = archive.clone();
        // In the checksum of the second member.
        let last = damaged.len() - if kind == "gzip" { 5 } else { 1 };
        damaged[last] ^= 1;
        let others = [damaged, [&archive[..], b"something else"].concat()];
        for archive in others {
            let outcome = import(&archive, archive.len());
            assert_eq!(error(&outcome).code, Code::Unreadable, "{kind}");
            assert_eq!(objectives(&outcome), texts, "{kind}");
        }
    }
}

#[test]
fn input_that_is_too_short_for_an_archive_is_an_error() {
    for bytes in [&b"\x1f"[..], b"\x1f\x8b", b"\x28\xb5\x2f", b"\x28\xb5\x2f\xfd", b""] {
        let outcome = import(bytes, 1);
        let is_archive = bytes == b"\x1f\x8b" || bytes.len() == 4;
        assert_eq!(error(&outcome).code == Code::Unreadable, is_archive, "{bytes:x?}");
    }
}

#[test]
fn archives_of_empty_members_end_soon() {
    for (member, count) in [(zstandard(b""), 200_000), (gzip(b""), 20_000)] {
        let archive = member.repeat(count);
        assert_eq!(error(&import(&archive, 1 << 20)).code, Code::UnknownFormat);
    }
}

#[test]
fn archives_wait_for_room() {
    let content = log(&["x"]).repeat(10_000);
    for archive in [gzip(&content), zstandard(&content)] {
        let mut importer = knowledgepulse_import::Importer::new(importing::options());
        importer.open("log");
        importer.push(&archive);
        assert!(importer.next().is_some());
        let bytes = importer.reports()[0].bytes;
        assert!(bytes < content.len() as u64 / 2, "{bytes} bytes are decompressed at once");
        importer.end();
        assert_eq!(std::iter::from_fn(|| importer.next()).count(), 9_999);
    }
}

#[test]
fn utf16_is_read_in_pieces_of_any_size() {
    let texts = ["é 😀", "b"];
    let text = String::from_utf8(log(&texts)).unwrap();
    for bytes in [u16::to_le_bytes, u16::to_be_bytes] {
        let encoded: Vec<_> = format!("\u{feff}{text}").encode_utf16().flat_map(bytes).collect();
        for piece in [1, 3, encoded.len()] {
            assert_eq!(objectives(&import(&encoded, piece)), texts);
        }
        let lone = [&bytes(0xfeff)[..], &bytes(0xd800), b"{"].concat();
        let outcome = import(&lone, 1);
        assert_eq!(error(&outcome).code, Code::InvalidJson);
    }
}
