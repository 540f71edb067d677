use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;

/// Recorded logs, and what a second implementation of the same rules makes of them.
pub struct Recordings {
    /// The name of their folder, that of a format or of a framework.
    pub name: String,
    /// The files, in order.
    pub files: Vec<PathBuf>,
    /// What becomes of each file.
    pub golden: Vec<Value>,
}

/// Returns the folders that [`recordings`] finds.
fn roots() -> impl Iterator<Item = PathBuf> {
    let shared = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    ["logs", "logs-2"].into_iter().map(move |name| shared.join(name)).filter(|root| root.exists())
}

/// Returns a file that says what becomes of recorded logs; `None` without the recordings.
///
/// # Panics
///
/// When there is no such file beside the recordings.
pub fn golden(name: &str) -> Option<Value> {
    let files: Vec<_> = roots().map(|root| root.join("golden").join(name)).collect();
    let text = files.iter().find_map(|file| fs::read_to_string(file).ok());
    assert!(files.is_empty() || text.is_some(), "no {name} among the golden files");
    text.map(|text| serde_json::from_str(&text).expect("JSON"))
}

/// Returns all recorded logs by folder. They are not part of the repository; without them there are none.
///
/// # Panics
///
/// When they cannot be read.
pub fn recordings() -> Vec<Recordings> {
    let mut all = Vec::new();
    for root in roots() {
        let entries = fs::read_dir(root.join("golden")).expect("golden files");
        let mut names: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
        names.sort();
        for path in names {
            let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
            // The results of other options are no list.
            let Some(Value::Array(golden)) = golden(&format!("{name}.json")) else { continue };
            let file = |result: &Value| root.join(result["file"].as_str().expect("a file"));
            all.push(Recordings { name, files: golden.iter().map(file).collect(), golden });
        }
    }
    all
}
