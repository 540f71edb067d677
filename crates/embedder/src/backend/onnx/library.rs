//! The ONNX Runtime library: loaded once in a process, on first use, never unloaded.

#[cfg(unix)]
use std::os::unix::ffi::OsStrExt;
use std::{
    env::consts::DLL_PREFIX,
    error::Error,
    ffi::{CStr, OsStr},
    fs, io,
    mem::transmute,
    path::{Path, PathBuf},
    sync::Once,
};
#[cfg(target_os = "linux")]
use std::{fs::File, io::Read};

use libloading::Library;
use once_cell::sync::OnceCell;
use ort::{
    environment::Environment,
    logging::LogLevel,
    sys::{ORT_API_VERSION, OrtApi, OrtApiBase, OrtErrorCode, OrtStatus},
};

use crate::{
    embed_error::{EmbedError, Result},
    model::files::regular_file,
};

struct LoadedLibrary {
    /// The canonical path.
    file: PathBuf,
    version: String,
}

/// Failures leave these empty, so that later attempts may succeed.
static LIBRARY: OnceCell<LoadedLibrary> = OnceCell::new();
static ENVIRONMENT: OnceCell<Environment> = OnceCell::new();

/// Disables the telemetry client that some versions of ONNX Runtime have. Only an environment variable switches it off,
/// which is set here unless the user has set it.
pub fn disable_telemetry() {
    static ONCE: Once = Once::new();
    const VARIABLE: &str = "ORT_DISABLE_TELEMETRY";
    ONCE.call_once(|| {
        if std::env::var_os(VARIABLE).is_none() {
            // SAFETY: no other thread may access the environment without the lock of the C library at this
            // moment. This runs once, on the JavaScript thread, as when JavaScript assigns to `process.env`.
            unsafe { std::env::set_var(VARIABLE, "1") };
        }
    });
}

/// Returns the environment of the library at `path`. Checks and loads it, unless it is loaded.
pub(crate) fn environment(path: &Path) -> Result<&'static Environment> {
    let failed = |reason| EmbedError::Library(format!("{}: {reason}", path.display()));
    // The loader would search for a bare name, and its message for a missing file is about where it has searched.
    let file = fs::canonicalize(path).map_err(|error| failed(error.to_string()))?;
    let file = regular_file(&file).map(|_| file).map_err(|_| failed("expected a file".into()))?;
    let loaded = LIBRARY.get_or_try_init(|| {
        let first = loaded_file().unwrap_or_else(|| file.clone());
        require_same(&first, &file)?;
        load(first)
    });
    let loaded = loaded.map_err(failed)?;
    require_same(&loaded.file, &file).map_err(failed)?;
    ENVIRONMENT.get_or_try_init(make_environment).map_err(|error| failed(error.to_string()))
}

/// Fails unless a file is the library that is loaded, perhaps under another name. A second one of its kind would have the
/// names of the first, by which the loader finds it for others, and a state of its own.
fn require_same(loaded: &Path, file: &Path) -> Result<(), String> {
    let is_same = || Some(fs::read(loaded).ok()? == fs::read(file).ok()?);
    if loaded == file || is_same() == Some(true) {
        return Ok(());
    }
    let loaded = loaded.display();
    Err(format!(
        "{loaded} is loaded already, and a process can have only one; the option library may name that"
    ))
}

/// Returns the file of an ONNX Runtime that is loaded, whoever has loaded it.
fn loaded_file() -> Option<PathBuf> {
    let name = format!("{DLL_PREFIX}onnxruntime.");
    let is_named = |file: &OsStr| file.to_str().is_some_and(|file| file.starts_with(&name));
    let found = loaded_files().into_iter().find(|file| file.file_name().is_some_and(is_named))?;
    Some(fs::canonicalize(&found).unwrap_or(found))
}

/// Returns the files of the libraries that are loaded.
#[cfg(all(unix, not(target_os = "macos")))]
fn loaded_files() -> Vec<PathBuf> {
    unsafe extern "C" fn add(
        info: *mut libc::dl_phdr_info,
        _: usize,
        files: *mut libc::c_void,
    ) -> libc::c_int {
        // SAFETY: the loader passes a library, which has a name, and what it was given.
        unsafe {
            let name = CStr::from_ptr((*info).dlpi_name).to_bytes();
            (*files.cast::<Vec<PathBuf>>()).push(OsStr::from_bytes(name).into());
        }
        0
    }
    let mut files = Vec::new();
    // SAFETY: `add` gets what it expects, and nothing else has it meanwhile.
    unsafe { libc::dl_iterate_phdr(Some(add), (&raw mut files).cast()) };
    files
}

/// Returns the files of the libraries that are loaded.
#[cfg(target_os = "macos")]
fn loaded_files() -> Vec<PathBuf> {
    // SAFETY: this only reads a counter.
    let count = unsafe { libc::_dyld_image_count() };
    let file = |index| {
        // SAFETY: a name is null, if the library is gone, or a string.
        let name =
            unsafe { libc::_dyld_get_image_name(index).as_ref().map(|name| CStr::from_ptr(name)) };
        name.map(|name| OsStr::from_bytes(name.to_bytes()).into())
    };
    (0..count).filter_map(file).collect()
}

/// Returns the file of the library of this name, which Windows gives to whoever else needs one of this name.
#[cfg(windows)]
fn loaded_files() -> Vec<PathBuf> {
    use windows_sys::{Win32::System::LibraryLoader::GetModuleHandleW, core::w};
    // SAFETY: the name is a string.
    let module = unsafe { GetModuleHandleW(w!("onnxruntime.dll")) };
    crate::model::package::file_of_module(module).into_iter().collect()
}

/// Returns the version of the library, once it is loaded.
pub fn library_version() -> Option<&'static str> {
    LIBRARY.get().map(|loaded| loaded.version.as_str())
}

fn make_environment() -> ort::Result<Environment> {
    let environment = ort::init().with_name("knowledgepulse").with_telemetry(false).build()?;
    // Problems are returned as errors; a library must not print.
    environment.set_log_level(LogLevel::Fatal);
    Ok(environment)
}

fn load(file: PathBuf) -> Result<LoadedLibrary, String> {
    #[cfg(target_os = "linux")]
    {
        check_processors(|file| fs::read_to_string(file).unwrap_or_default())?;
        check_complete(&file)?;
    }
    let library = open(&file).map_err(|error| match with_sources(&error) {
        reason if reason.contains("failed to map segment") => {
            format!("{reason}; its file system must not be mounted with noexec")
        }
        reason => reason,
    })?;
    let (mut api, version) = interface(&library)?;
    // SAFETY: an `OrtErrorCode` is an `i32`.
    let _ = ERROR_NUMBER.set(unsafe { transmute::<ErrorCodeOf, ErrorNumberOf>(api.GetErrorCode) });
    api.GetErrorCode = error_code;
    ort::set_api(api);
    // Never unloaded: its threads and sessions may outlive this crate's statics.
    std::mem::forget(library);
    Ok(LoadedLibrary { file, version })
}

type ErrorCodeOf = unsafe extern "system" fn(*const OrtStatus) -> OrtErrorCode;
type ErrorNumberOf = unsafe extern "system" fn(*const OrtStatus) -> i32;

/// The library's own `GetErrorCode`.
static ERROR_NUMBER: OnceCell<ErrorNumberOf> = OnceCell::new();

/// Replaces `GetErrorCode` of the library, which returns numbers that are no `OrtErrorCode` for errors of the system, such as
/// too many open files.
unsafe extern "system" fn error_code(status: *const OrtStatus) -> OrtErrorCode {
    const LAST: i32 = OrtErrorCode::ORT_DEVICE_RESET as i32;
    // SAFETY: the caller passes a status.
    match ERROR_NUMBER.get().map(|number_of| unsafe { number_of(status) }) {
        // SAFETY: these are all `OrtErrorCode`s.
        Some(number @ 0..=LAST) => unsafe { transmute::<i32, OrtErrorCode>(number) },
        _ => OrtErrorCode::ORT_FAIL,
    }
}

fn open(path: &Path) -> Result<Library, libloading::Error> {
    // SAFETY: this runs the initialisers of the library, which the user trusts. With `RTLD_NOW`, a missing function is an
    // error here; otherwise the first call of it would end the process.
    #[cfg(unix)]
    let library = unsafe {
        use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
        Library::open(Some(path), RTLD_NOW | RTLD_LOCAL).map(Into::into)
    };
    // SAFETY: as above. With this flag, its dependencies are found beside it.
    #[cfg(windows)]
    let library = unsafe {
        use libloading::os::windows::{LOAD_WITH_ALTERED_SEARCH_PATH, Library};
        Library::load_with_flags(path, LOAD_WITH_ALTERED_SEARCH_PATH).map(Into::into)
    };
    library
}

/// Returns the functions of ONNX Runtime and its version. `ort` would panic if a library has none.
fn interface(library: &Library) -> Result<(OrtApi, String), String> {
    type GetApiBase = unsafe extern "system" fn() -> *const OrtApiBase;
    const NO_LIBRARY: &str = "not an ONNX Runtime library: expected the function OrtGetApiBase";
    // SAFETY: the symbol has this type in every version.
    let base = unsafe { library.get::<GetApiBase>(b"OrtGetApiBase\0") }.map_err(|_| NO_LIBRARY)?;
    // SAFETY: it returns a static table or null.
    let base = unsafe { base().as_ref() };
    let base = base.ok_or_else(|| format!("{NO_LIBRARY}, got null from it"))?;
    // SAFETY: every version has this function, which returns a static string.
    let version = unsafe { CStr::from_ptr((base.GetVersionString)()) };
    let version = version.to_string_lossy().into_owned();
    let minor = version.split('.').nth(1).and_then(|minor| minor.parse().ok()).unwrap_or(0);
    if minor < ORT_API_VERSION {
        return Err(format!(
            "expected version 1.{ORT_API_VERSION} or later, got {version}; npm install onnxruntime-node"
        ));
    }
    // SAFETY: this version has the function, which returns a static table or null.
    let api = unsafe { (base.GetApi)(ORT_API_VERSION).as_ref() };
    let api =
        api.ok_or_else(|| format!("version {version} has no functions of 1.{ORT_API_VERSION}"))?;
    Ok((api.clone(), version))
}

/// Returns the messages of an error and its sources: that of the loader only says that it failed.
fn with_sources(error: &(dyn Error + 'static)) -> String {
    let sources = std::iter::successors(Some(error), |error| (*error).source());
    sources.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

/// Fails if ONNX Runtime would find no processor: it then ends the process, or does so at the first use. On arm64 it needs
/// a list of processors and their description, on x64 one of the two.
#[cfg(target_os = "linux")]
fn check_processors(read: impl Fn(&str) -> String) -> Result<(), String> {
    const LISTS: [&str; 2] =
        ["/sys/devices/system/cpu/possible", "/sys/devices/system/cpu/present"];
    const DESCRIPTION: &str = "/proc/cpuinfo";
    let is_listed =
        LISTS.iter().any(|file| read(file).starts_with(|first: char| first.is_ascii_digit()));
    // With many processors, the system takes milliseconds to write it.
    let is_described = || read(DESCRIPTION).lines().any(|line| line.starts_with("processor"));
    let (suffices, link) = match cfg!(target_arch = "aarch64") {
        true => (is_listed && is_described(), "and"),
        false => (is_listed || is_described(), "or"),
    };
    let [possible, present] = LISTS;
    let needed = format!("{possible} or {present}, {link} in {DESCRIPTION}");
    if suffices { Ok(()) } else { Err(format!("expected processors in {needed}, got none")) }
}

/// Fails if a library is truncated: the first access to a missing page would end the process. Other systems check it.
#[cfg(target_os = "linux")]
fn check_complete(path: &Path) -> Result<(), String> {
    let failed = |error: io::Error| error.to_string();
    let file = File::open(path).map_err(failed)?;
    let length = file.metadata().map_err(failed)?.len();
    let mut head = Vec::new();
    file.take(4096).read_to_end(&mut head).map_err(failed)?;
    // The loader has a message for what is no ELF file.
    let needed = if head.starts_with(b"\x7fELF") { mapped_bytes(&head) } else { 0 };
    if needed > length {
        return Err(format!("the file is cut off: expected {needed} bytes, got {length}"));
    }
    Ok(())
}

/// Returns where the last segment ends that the beginning of a 64-bit ELF file lists.
#[cfg(target_os = "linux")]
fn mapped_bytes(head: &[u8]) -> u64 {
    let number = |at: u64, bytes: usize| {
        let bytes = head.get(at as usize..)?.get(..bytes)?;
        Some(bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    };
    let end_of = |segment: u64| {
        let at = number(32, 8)?.checked_add(segment * number(54, 2)?)?;
        number(at.checked_add(8)?, 8)?.checked_add(number(at.checked_add(32)?, 8)?)
    };
    (0..number(56, 2).unwrap_or(0)).filter_map(end_of).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::ffi::c_char;

    use knowledgepulse_test_support::onnx_runtime;
    use ort::sys::OrtStatusPtr;

    use super::*;

    #[test]
    #[cfg_attr(target_env = "musl", ignore = "there is no ONNX Runtime")]
    fn error_code_of_an_unknown_status_is_that_of_a_failure() {
        type Create<Code> = unsafe extern "system" fn(Code, *const c_char) -> OrtStatusPtr;
        environment(&onnx_runtime()).unwrap();
        // 24 is the system's number for too many open files.
        for (number, expected) in [(3, OrtErrorCode::ORT_NO_SUCHFILE), (24, OrtErrorCode::ORT_FAIL)]
        {
            // SAFETY: `OrtErrorCode` is passed as `i32`, and the status is released once.
            unsafe {
                let create = ort::api().CreateStatus;
                let create = transmute::<Create<OrtErrorCode>, Create<i32>>(create);
                let status = create(number, c"told".as_ptr()).0;
                assert_eq!((ort::api().GetErrorCode)(status), expected);
                (ort::api().ReleaseStatus)(status);
            }
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn check_processors_fails_where_onnx_runtime_finds_none() {
        let is_arm = cfg!(target_arch = "aarch64");
        for (list, description, suffices) in [
            ("0-1\n", "processor\t: 0\n", true),
            ("0-1\n", "", !is_arm),
            ("", "vendor_id\t: A\nprocessor\t: 0\n", !is_arm),
            ("", "vendor_id\t: A\n", false),
            ("\n", "", false),
        ] {
            for list_file in ["possible", "present"] {
                let read = |file: &str| match file {
                    "/proc/cpuinfo" => description.into(),
                    file if file.ends_with(list_file) => list.into(),
                    _ => String::new(),
                };
                assert_eq!(check_processors(read).is_ok(), suffices, "{list:?} {description:?}");
            }
        }
    }
}
