//! The folder of the addon, in which the model and the library of its package are.

use std::{
    fs,
    io::{self, Error, ErrorKind},
    path::{Path, PathBuf},
};

use crate::embed_error::{EmbedError, Result};

/// What users can do if files are not beside the addon.
pub(super) const MOVED: &str = "if the addon was moved by a bundler, keep @knowledgepulse/scoring external, see docs/install.md";

/// A folder whose code and models are trusted: absolute, without symbolic links, and without files of other users.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackageFolder(PathBuf);

impl PackageFolder {
    /// Returns an existing folder.
    ///
    /// # Errors
    ///
    /// The path is relative or leads to no folder, or all users can create files there.
    pub fn new(folder: &Path) -> Result<Self> {
        let failed = |error: Error| EmbedError::file(folder, format!("{error}; {MOVED}"));
        if !folder.is_absolute() {
            return Err(failed(Error::new(ErrorKind::InvalidInput, "expected an absolute path")));
        }
        let found = canonical(folder).map_err(failed)?;
        match admits_files_of_others(&found).map_err(failed)? {
            true => Err(failed(Error::other("other users can create files in this folder"))),
            false => Ok(Self(found)),
        }
    }

    /// Returns the folder of the addon, that is, of the file that has this code.
    ///
    /// # Errors
    ///
    /// The system does not tell the file, or [`PackageFolder::new`] fails for its folder.
    pub fn of_addon() -> Result<Self> {
        let addon = file_of_this_code().unwrap_or_default();
        let folder = |file: &Path| Self::new(file.parent().unwrap_or(Path::new("")));
        // Where others can create files, they may have put a link in the place of an addon that was removed.
        folder(&addon)?;
        let file = canonical(&addon);
        folder(&file.map_err(|error| EmbedError::file(&addon, format!("{error}; {MOVED}")))?)
    }

    pub(crate) fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

/// As [`fs::canonicalize`], without the prefix that it adds on Windows.
fn canonical(path: &Path) -> io::Result<PathBuf> {
    let path = fs::canonicalize(path)?;
    let plain = path.to_str().and_then(|path| path.strip_prefix(r"\\?\"));
    Ok(plain.filter(|path| path.as_bytes().get(1) == Some(&b':')).map_or(path.clone(), Into::into))
}

/// Returns whether other users can create files in a folder, but not replace those of its owner, such as the addon.
#[cfg(unix)]
fn admits_files_of_others(folder: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    const STICKY: u32 = 0o1000;
    const WRITABLE: u32 = 0o022;
    let mode = fs::metadata(folder)?.mode();
    Ok(mode & STICKY != 0 && mode & WRITABLE != 0)
}

/// Temporary folders of Windows belong to one user.
#[cfg(not(unix))]
fn admits_files_of_others(_: &Path) -> io::Result<bool> {
    Ok(false)
}

#[cfg(unix)]
fn file_of_this_code() -> Option<PathBuf> {
    use std::{
        ffi::{CStr, OsStr},
        mem::MaybeUninit,
        os::unix::ffi::OsStrExt,
    };
    let mut found = MaybeUninit::<libc::Dl_info>::uninit();
    let code = file_of_this_code as fn() -> Option<PathBuf> as *const libc::c_void;
    // SAFETY: the address is that of a function, and `found` has room for the answer.
    if unsafe { libc::dladdr(code, found.as_mut_ptr()) } == 0 {
        return None;
    }
    // SAFETY: the call has succeeded, so the name is null or a string that lives as long as this code.
    let name = unsafe { found.assume_init().dli_fname.as_ref().map(|name| CStr::from_ptr(name)) }?;
    Some(OsStr::from_bytes(name.to_bytes()).into())
}

#[cfg(windows)]
fn file_of_this_code() -> Option<PathBuf> {
    use windows_sys::Win32::System::LibraryLoader::{
        GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS, GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT,
        GetModuleHandleExW,
    };
    const FLAGS: u32 =
        GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT;
    let code = file_of_this_code as fn() -> Option<PathBuf> as *const u16;
    let mut module = std::ptr::null_mut();
    // SAFETY: with these flags the address is that of any code, and the module keeps its count of references.
    unsafe { GetModuleHandleExW(FLAGS, code, &mut module) };
    file_of_module(module)
}

/// Returns the file of a module that stays loaded; `None` for none.
#[cfg(windows)]
pub(crate) fn file_of_module(module: windows_sys::Win32::Foundation::HMODULE) -> Option<PathBuf> {
    use std::{ffi::OsString, os::windows::ffi::OsStringExt};

    use windows_sys::Win32::System::LibraryLoader::GetModuleFileNameW;
    if module.is_null() {
        return None;
    }
    let mut name = vec![0; 1 << 15];
    // SAFETY: `name` has the given length.
    let length = unsafe { GetModuleFileNameW(module, name.as_mut_ptr(), name.len() as u32) };
    Some(OsString::from_wide(&name[..length as usize]).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_rejects_paths_that_depend_on_the_working_directory() {
        for path in ["", ".", "src", "../embedder"] {
            let error = PackageFolder::new(path.as_ref()).expect_err(path).to_string();
            assert!(error.contains("expected an absolute path"), "{error}");
        }
    }

    #[test]
    fn of_addon_is_the_folder_of_the_running_code() {
        let expected = std::env::current_exe().unwrap().canonicalize().unwrap();
        assert_eq!(PackageFolder::of_addon(), PackageFolder::new(expected.parent().unwrap()));
    }

    #[test]
    #[cfg(unix)]
    fn new_follows_links_and_rejects_folders_of_all_users() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        let [real, link] = ["real", "link"].map(|name| folder.path().join(name));
        fs::create_dir(&real).unwrap();
        symlink(&real, &link).unwrap();
        let found = PackageFolder::new(&link);
        assert_eq!(found, Ok(PackageFolder(real.canonicalize().unwrap())));
        for (mode, is_trusted) in [(0o777, true), (0o1755, true), (0o1777, false), (0o1775, false)]
        {
            fs::set_permissions(&real, PermissionsExt::from_mode(mode)).unwrap();
            assert_eq!(PackageFolder::new(&link).is_ok(), is_trusted, "{mode:o}");
        }
    }
}
