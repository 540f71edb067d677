//! The model that `npm run build` makes.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Returns the folder of a platform, `npm/<platform>`, that the model has been built into.
///
/// # Panics
///
/// When there is none.
pub fn package_folder() -> PathBuf {
    let packages = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../npm");
    let folders = fs::read_dir(packages).into_iter().flatten().flatten().map(|entry| entry.path());
    folders
        .filter(|folder| folder.join("model/manifest.json").exists())
        .min()
        .expect("run `npm run build` once: this test needs the model")
}
