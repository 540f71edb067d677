//! Whether there is memory for what is to come.
//!
//! Where an allocation fails, Rust ends the process. So the most that the next step takes is asked for
//! beforehand, and given back: under `ulimit -v` or `-d`, the step then fails and the process lives.

use crate::EmbedError;

/// The most that loading a model takes, on any runtime.
pub const FOR_A_MODEL: usize = 96 << 20;

/// The most that one text takes.
pub const FOR_A_TEXT: usize = 16 << 20;

/// Asks for so many bytes.
pub fn require(bytes: usize) -> Result<(), EmbedError> {
    if can_have(bytes) { Ok(()) } else { Err(EmbedError::Memory { bytes }) }
}

/// Asks the system, not the allocator, whose habits depend on what it was asked for.
#[cfg(unix)]
fn can_have(bytes: usize) -> bool {
    use std::ptr;
    let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANON);
    // SAFETY: a new mapping at a place of the system's choice, which nobody uses and which is given
    // back at once; its pages are never touched.
    unsafe {
        let place = libc::mmap(ptr::null_mut(), bytes, access, kind, -1, 0);
        place != libc::MAP_FAILED && libc::munmap(place, bytes) == 0
    }
}

#[cfg(not(unix))]
fn can_have(_: usize) -> bool {
    true
}

/// Gives free memory back to the system: loading leaves half as much again with the allocator as the
/// model needs.
pub fn release_free() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: it only gives free pages back to the system, and may be called on any thread.
    unsafe {
        libc::malloc_trim(0);
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn require_grants_what_there_is() {
        assert_eq!(require(FOR_A_MODEL), Ok(()));
        let bytes = usize::MAX / 2;
        assert_eq!(require(bytes), Err(EmbedError::Memory { bytes }));
    }
}
