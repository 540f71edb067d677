//! Imported traces score in Rust as the same objects do in JavaScript: both have to give the scores of
//! one file, which `__test__/import/scores.test.mjs` reads as well.

use std::{collections::BTreeMap, fs, path::Path};

use knowledgepulse_import::{AssumeSuccess, Importer, Options};
use knowledgepulse_scoring::{Novelty, Profiles, Score, cache::Nearest};
use knowledgepulse_test_support::{importing::value_of, read_trace, recordings};
use sha2::{Digest, Sha256};

/// The id of a trace to the hash of its text, and its score with a similarity of 0.25.
type Scores = BTreeMap<String, (String, f64)>;

fn score_all() -> Scores {
    let options =
        Options { assume_success: Some(AssumeSuccess::Always(true)), ..Options::default() };
    let mut importer = Importer::new(options);
    let mut scores = Scores::new();
    // Two logs may have the same id; the last one counts.
    for path in recordings().iter().flat_map(|recordings| &recordings.files) {
        importer.open(path.to_str().unwrap());
        importer.push(&fs::read(path).unwrap());
        importer.end();
        for imported in std::iter::from_fn(|| importer.next()).filter_map(Result::ok) {
            let mut text = String::new();
            let trace = read_trace(&value_of(&imported), &mut text).unwrap();
            let novelty = Novelty::Given(Some(Nearest { similarity: 0.25, id: None }));
            let score = Score::of(&trace, novelty, &Profiles::default()).value;
            let hash = format!("{:x}", Sha256::digest(text))[..12].to_owned();
            scores.insert(trace.id().unwrap().to_string(), (hash, score));
        }
    }
    scores
}

#[test]
fn imported_traces_score_as_in_javascript() {
    let found = score_all();
    // The recordings are not part of the repository.
    if found.is_empty() {
        return;
    }
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../__test__/fixtures");
    let file = fixtures.join("imported-scores.json");
    if std::env::var_os("KP_UPDATE").is_some() {
        let rows = found.iter().map(|row| serde_json::to_string(&row).unwrap());
        fs::write(&file, format!("[\n{}\n]\n", rows.collect::<Vec<_>>().join(",\n"))).unwrap();
    }
    let expected: Vec<(String, (String, f64))> =
        serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    assert_eq!(found.into_iter().collect::<Vec<_>>(), expected);
}
