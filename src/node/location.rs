//! Where this addon lies on the disk: its library and its model lie beside it.

use std::path::PathBuf;

/// The folder of the addon, or an empty path where the system does not tell.
pub fn addon_folder() -> PathBuf {
    addon_path().and_then(|path| path.parent().map(PathBuf::from)).unwrap_or_default()
}

#[cfg(unix)]
fn addon_path() -> Option<PathBuf> {
    use std::{
        ffi::{CStr, OsStr},
        mem::MaybeUninit,
        os::unix::ffi::OsStrExt,
    };

    let mut info = MaybeUninit::<libc::Dl_info>::uninit();
    let inside = addon_path as *const () as *const libc::c_void;
    // SAFETY: the address is one of this image; a result other than 0 means that `info` is filled.
    let info =
        unsafe { (libc::dladdr(inside, info.as_mut_ptr()) != 0).then(|| info.assume_init()) }?;
    if info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: the name is a NUL-terminated string that lives as long as the image.
    let name = unsafe { CStr::from_ptr(info.dli_fname) };
    std::fs::canonicalize(OsStr::from_bytes(name.to_bytes())).ok()
}

#[cfg(windows)]
fn addon_path() -> Option<PathBuf> {
    use std::{ffi::OsString, os::windows::ffi::OsStringExt, ptr};
    use windows_sys::Win32::System::LibraryLoader::{
        GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS, GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT,
        GetModuleFileNameW, GetModuleHandleExW,
    };

    /// The longest path that Windows can have, in UTF-16 units.
    const LONGEST_PATH: usize = 32_768;
    let mut module = ptr::null_mut();
    let flags =
        GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT;
    let inside = addon_path as *const () as *const u16;
    let mut name = vec![0; LONGEST_PATH];
    // SAFETY: the address is one of this image; the length is the buffer's.
    let length = unsafe {
        if GetModuleHandleExW(flags, inside, &mut module) == 0 {
            return None;
        }
        GetModuleFileNameW(module, name.as_mut_ptr(), name.len() as u32)
    };
    let name = OsString::from_wide(&name[..length as usize]);
    (length > 0).then(|| PathBuf::from(name))
}
