//! Checks that there is enough memory before a model is loaded.
//!
//! When an allocation fails, Rust aborts the process. So the memory of the load is requested and released beforehand: with
//! too little memory under `ulimit -v` or `-d`, the load fails instead of the process.

use crate::embed_error::{EmbedError, Result};

/// The maximum memory for loading the built-in model, in bytes.
pub const FOR_A_MODEL: usize = 96 << 20;

/// Fails if `bytes` bytes cannot be allocated.
pub fn require(bytes: usize) -> Result<()> {
    if can_map(bytes) { Ok(()) } else { Err(EmbedError::Memory { bytes }) }
}

/// From the system, because the allocator may have free memory of other sizes.
#[cfg(unix)]
fn can_map(bytes: usize) -> bool {
    use std::ptr;
    let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANON);
    // SAFETY: this makes and removes a new mapping at an address of the system's choice, which is never accessed.
    unsafe {
        let mapping = libc::mmap(ptr::null_mut(), bytes, access, kind, -1, 0);
        mapping != libc::MAP_FAILED && libc::munmap(mapping, bytes) == 0
    }
}

#[cfg(not(unix))]
fn can_map(_: usize) -> bool {
    true
}

/// Returns free memory of the allocator to the system: after loading, half the size of the model.
pub fn release_free() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: `malloc_trim` may be called on any thread.
    unsafe {
        libc::malloc_trim(0);
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    #[test]
    fn require_fails_if_there_is_not_enough_memory() {
        assert_eq!(require(FOR_A_MODEL), Ok(()));
        let bytes = usize::MAX / 2;
        assert_eq!(require(bytes), Err(EmbedError::Memory { bytes }));
    }
}
