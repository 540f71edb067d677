//! The checksum of a mapped file, which finds damage at the speed of memory.
//!
//! It is not cryptographic: nothing signs the manifest, so whoever can replace a file can replace its checksum as well.

use memmap2::Mmap;
use once_cell::sync::OnceCell;
use twox_hash::XxHash3_128;

use crate::kernels::{TextThreads, for_each};

/// The bytes that a thread reads at a time, as in `model/checksum.py`.
const PART_BYTES: usize = 1 << 20;

/// Returns the XXH3-128 of the XXH3-128 of all parts. Pages of the first `released` bytes do not stay in the memory of the
/// process.
pub fn checksum(file: &Mmap, threads: &TextThreads, released: usize) -> u128 {
    let count = file.len().div_ceil(PART_BYTES);
    let parts: Vec<OnceCell<[u8; 16]>> = vec![OnceCell::new(); count];
    let read = |index: usize| {
        let from = index * PART_BYTES;
        let bytes = PART_BYTES.min(file.len() - from);
        // One system call in place of a page fault for every 64 KiB. Linux before 5.14 does not know it.
        #[cfg(target_os = "linux")]
        let _ = file.advise_range(memmap2::Advice::PopulateRead, from, bytes);
        let hash = XxHash3_128::oneshot(&file[from..from + bytes]);
        let _ = parts[index].set(hash.to_be_bytes());
        #[cfg(unix)]
        if from + bytes <= released {
            // SAFETY: the pages are those of a file that is mapped to be read, from which they are read again.
            let _ = unsafe {
                file.unchecked_advise_range(memmap2::UncheckedAdvice::DontNeed, from, bytes)
            };
        }
    };
    // A part whose task panicked is missing, so the checksum is another one.
    let _ = threads.for_text(|_| for_each(count, read));
    XxHash3_128::oneshot(
        &parts.iter().filter_map(OnceCell::get).flatten().copied().collect::<Vec<_>>(),
    )
}
