//! Measures memory.

#![expect(unsafe_code, reason = "an allocator")]

use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

static USED: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

/// The system's allocator, with a count of bytes. For `#[global_allocator]`.
pub struct Counting;

fn grow(bytes: usize) {
    let used = USED.fetch_add(bytes, Relaxed) + bytes;
    PEAK.fetch_max(used, Relaxed);
}

// SAFETY: it does what the system's allocator does.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        grow(layout.size());
        // SAFETY: the caller upholds the same contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        USED.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(at, layout) }
    }

    // The default would count both blocks, although the system often grows a block in place.
    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        USED.fetch_sub(layout.size(), Relaxed);
        grow(size);
        // SAFETY: as above.
        unsafe { System.realloc(at, layout, size) }
    }
}

/// Returns the result of `run`, and the peak of bytes in use beyond those in use before.
pub fn peak<T>(run: impl FnOnce() -> T) -> (T, usize) {
    let before = USED.load(Relaxed);
    PEAK.store(before, Relaxed);
    let value = run();
    (value, PEAK.load(Relaxed) - before)
}
