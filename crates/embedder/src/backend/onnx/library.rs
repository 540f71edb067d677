//! The ONNX Runtime library: loaded once in a process, on first use, never unloaded.

use std::{
    ffi::CStr,
    fs::File,
    path::{Path, PathBuf},
    sync::Once,
};

use object::{Object, ObjectSegment, ReadCache};
use once_cell::sync::OnceCell;
use ort::{environment::Environment, logging::LogLevel, sys::OrtApiBase};

use crate::{EmbedError, model_files::verify_library};

struct Loaded {
    path: PathBuf,
    version: String,
    environment: Environment,
}

/// A failure leaves the cell empty, so that a later attempt may succeed.
static LOADED: OnceCell<Loaded> = OnceCell::new();

/// Switches the telemetry client of ONNX Runtime off, in the versions that have one.
///
/// The library shipped has none, but the user may name another. Only a variable in the environment of
/// the process does it, so this sets one, unless the user has.
pub fn disable_telemetry() {
    static ONCE: Once = Once::new();
    const VARIABLE: &str = "ORT_DISABLE_TELEMETRY";
    ONCE.call_once(|| {
        if std::env::var_os(VARIABLE).is_none() {
            // SAFETY: `setenv` must not run while another thread reads the environment without a
            // lock of the C library. This runs once, while the addon is being loaded and before any
            // thread of ours exists. It cannot exclude that another thread of the process reads at
            // that very moment; the value is set so early to make that as unlikely as it can be.
            unsafe { std::env::set_var(VARIABLE, "1") };
        }
    });
}

/// Returns the environment of the library at `path`, which is loaded if none is.
pub(crate) fn environment(path: &Path) -> Result<&'static Environment, EmbedError> {
    // `ort` would look for a relative path beside the executable, and the loader for a bare name
    // anywhere; and the working folder may change.
    let path = &std::path::absolute(path).map_err(|error| EmbedError::Library {
        path: path.to_owned(),
        reason: error.to_string(),
    })?;
    let loaded = LOADED.get_or_try_init(|| load(path))?;
    if loaded.path != *path {
        let reason =
            format!("{} is loaded already, and a process can have only one", loaded.path.display());
        return Err(EmbedError::Library { path: path.to_owned(), reason });
    }
    Ok(&loaded.environment)
}

/// Returns the path and the version of the library, once it is loaded.
pub fn loaded_library() -> Option<(&'static Path, &'static str)> {
    LOADED.get().map(|loaded| (loaded.path.as_path(), loaded.version.as_str()))
}

fn load(path: &Path) -> Result<Loaded, EmbedError> {
    let failed = |reason: String| EmbedError::Library { path: path.to_owned(), reason };
    // The loader's own message for a missing file is about the search path, not about the file.
    std::fs::metadata(path).map_err(|error| failed(error.to_string()))?;
    verify_library(path)?;
    check_complete(path).map_err(failed)?;
    let builder = ort::init_from(path).map_err(|error| failed(error.to_string()))?;
    let environment = builder
        .with_name("knowledgepulse")
        .with_telemetry(false)
        .build()
        .map_err(|error| failed(error.to_string()))?;
    // Whatever goes wrong comes back as an error; nothing is to be printed by a library.
    environment.set_log_level(LogLevel::Fatal);
    Ok(Loaded { path: path.to_owned(), version: version(path), environment })
}

/// Mapping a library that has been cut off kills the process as soon as a lost page is touched.
fn check_complete(path: &Path) -> Result<(), String> {
    let file = File::open(path).map_err(|error| error.to_string())?;
    let length = file.metadata().map_err(|error| error.to_string())?.len();
    let cache = ReadCache::new(file);
    let library = object::File::parse(&cache)
        .map_err(|error| format!("not a library of this system: {error}"))?;
    let needed = library
        .segments()
        .map(|segment| segment.file_range())
        .map(|(start, bytes)| start.saturating_add(bytes))
        .fold(0, u64::max);
    if needed > length {
        return Err(format!("the file is cut off: expected {needed} bytes, got {length}"));
    }
    Ok(())
}

/// The version of the library at `path`, which is loaded already. `ort` keeps it to itself.
fn version(path: &Path) -> String {
    // SAFETY: opening it again runs no initialisers; the symbol has this type in every version.
    let version = unsafe {
        libloading::Library::new(path).and_then(|library| {
            let base = library
                .get::<unsafe extern "system" fn() -> *const OrtApiBase>(b"OrtGetApiBase\0")?;
            Ok(CStr::from_ptr(((*base()).GetVersionString)()).to_string_lossy().into_owned())
        })
    };
    version.unwrap_or_else(|_| "unknown".into())
}
