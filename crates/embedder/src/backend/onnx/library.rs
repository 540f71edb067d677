//! The ONNX Runtime library: loaded once in a process, on first use, never unloaded.

use std::{
    error::Error,
    ffi::CStr,
    fs::{self, File},
    path::{Path, PathBuf},
    sync::Once,
};

use libloading::Library;
use object::{FileKind, Object, ObjectSegment, ReadCache, read::macho};
use once_cell::sync::OnceCell;
use ort::{
    environment::Environment,
    logging::LogLevel,
    sys::{ORT_API_VERSION, OrtApi, OrtApiBase},
};

use crate::{EmbedError, model::files::verify_library};

struct Loaded {
    /// As it was named.
    path: PathBuf,
    /// The file, by the one name that all its paths lead to.
    file: PathBuf,
    version: String,
}

/// A failure leaves the cells empty, so that a later attempt may succeed.
static LOADED: OnceCell<Loaded> = OnceCell::new();
static ENVIRONMENT: OnceCell<Environment> = OnceCell::new();

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
    let failed = |reason: String| EmbedError::Library { path: path.to_owned(), reason };
    // The loader would look for a bare name anywhere, and the working folder may change.
    let path = &std::path::absolute(path).map_err(|error| failed(error.to_string()))?;
    // The loader's own message for a missing file is about the search path, not about the file.
    let file = fs::canonicalize(path).map_err(|error| failed(error.to_string()))?;
    let loaded = LOADED.get_or_try_init(|| load(path, file.clone()))?;
    if loaded.file != file {
        let reason =
            format!("{} is loaded already, and a process can have only one", loaded.path.display());
        return Err(failed(reason));
    }
    ENVIRONMENT.get_or_try_init(make_environment).map_err(|error| failed(error.to_string()))
}

/// Returns the path and the version of the library, once it is loaded.
pub fn loaded_library() -> Option<(&'static Path, &'static str)> {
    LOADED.get().map(|loaded| (loaded.path.as_path(), loaded.version.as_str()))
}

fn make_environment() -> ort::Result<Environment> {
    let environment = ort::init().with_name("knowledgepulse").with_telemetry(false).build()?;
    // Whatever goes wrong comes back as an error; nothing is to be printed by a library.
    environment.set_log_level(LogLevel::Fatal);
    Ok(environment)
}

fn load(path: &Path, file: PathBuf) -> Result<Loaded, EmbedError> {
    let failed = |reason: String| EmbedError::Library { path: path.to_owned(), reason };
    verify_library(path)?;
    check_complete(&file).map_err(failed)?;
    let library = open(path).map_err(|error| failed(with_sources(&error)))?;
    let (api, version) = interface(&library).map_err(failed)?;
    ort::set_api(api);
    // Its threads and sessions may outlive everything of ours.
    std::mem::forget(library);
    Ok(Loaded { path: path.to_owned(), file, version })
}

fn open(path: &Path) -> Result<Library, libloading::Error> {
    // SAFETY: its initialisers run. The user trusts the library, as any code that is loaded.
    #[cfg(not(windows))]
    let library = unsafe { Library::new(path) };
    // SAFETY: as above. With this flag its own dependencies are looked for beside it.
    #[cfg(windows)]
    let library = unsafe {
        use libloading::os::windows::{LOAD_WITH_ALTERED_SEARCH_PATH, Library};
        Library::load_with_flags(path, LOAD_WITH_ALTERED_SEARCH_PATH).map(Into::into)
    };
    library
}

/// Returns the functions of ONNX Runtime and its version. `ort` would panic where a library has none.
fn interface(library: &Library) -> Result<(OrtApi, String), String> {
    const NO_LIBRARY: &str = "not an ONNX Runtime library: expected the function OrtGetApiBase";
    // SAFETY: the symbol has this type in every version.
    let base = unsafe {
        library.get::<unsafe extern "system" fn() -> *const OrtApiBase>(b"OrtGetApiBase\0")
    };
    let base = base.map_err(|_| NO_LIBRARY)?;
    // SAFETY: it returns a static table or null.
    let base =
        unsafe { base().as_ref() }.ok_or_else(|| format!("{NO_LIBRARY}, got null from it"))?;
    // SAFETY: the table is that of ONNX Runtime, whose version is a static text.
    let version =
        unsafe { CStr::from_ptr((base.GetVersionString)()) }.to_string_lossy().into_owned();
    let minor = version.split('.').nth(1).and_then(|minor| minor.parse().ok()).unwrap_or(0);
    if minor < ORT_API_VERSION {
        return Err(format!("expected version 1.{ORT_API_VERSION} or later, got {version}"));
    }
    // SAFETY: a library of that version or later has these functions, in a static table.
    let api = unsafe { (base.GetApi)(ORT_API_VERSION).as_ref() };
    let api =
        api.ok_or_else(|| format!("version {version} has no functions of 1.{ORT_API_VERSION}"))?;
    Ok((api.clone(), version))
}

/// An error with what it comes from: the loader's own says only that it failed.
fn with_sources(error: &(dyn Error + 'static)) -> String {
    let sources = std::iter::successors(Some(error), |error| (*error).source());
    sources.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

/// Mapping a library that has been cut off kills the process as soon as a lost page is touched.
fn check_complete(path: &Path) -> Result<(), String> {
    let file = File::open(path).map_err(|error| error.to_string())?;
    let length = file.metadata().map_err(|error| error.to_string())?.len();
    let needed = needed_bytes(&ReadCache::new(file))
        .map_err(|error| format!("not a library of this system: {error}"))?;
    if needed > length {
        return Err(format!("the file is cut off: expected {needed} bytes, got {length}"));
    }
    Ok(())
}

/// Returns the least length of a library. Those of macOS may be several in one file, for several processors.
fn needed_bytes(file: &ReadCache<File>) -> object::Result<u64> {
    let ranges: Vec<_> = match FileKind::parse(file)? {
        FileKind::MachOFat32 => {
            let parts = macho::MachOFatFile32::parse(file)?;
            parts.arches().iter().map(macho::FatArch::file_range).collect()
        }
        FileKind::MachOFat64 => {
            let parts = macho::MachOFatFile64::parse(file)?;
            parts.arches().iter().map(macho::FatArch::file_range).collect()
        }
        _ => object::File::parse(file)?.segments().map(|segment| segment.file_range()).collect(),
    };
    Ok(ranges.into_iter().map(|(start, bytes)| start.saturating_add(bytes)).fold(0, u64::max))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_complete_takes_a_library_for_several_processors() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("universal.dylib");
        // Its magic number, one part, and of that part: processor, kind, place, length, alignment.
        let header: [u32; 7] = [0xcafe_babe, 1, 0x0100_000c, 0, 64, 100, 6];
        let mut bytes: Vec<u8> = header.into_iter().flat_map(u32::to_be_bytes).collect();
        bytes.resize(164, 0);
        fs::write(&path, &bytes).unwrap();
        assert_eq!(check_complete(&path), Ok(()));
        fs::write(&path, &bytes[..163]).unwrap();
        let error = "the file is cut off: expected 164 bytes, got 163";
        assert_eq!(check_complete(&path), Err(error.into()));
    }
}
