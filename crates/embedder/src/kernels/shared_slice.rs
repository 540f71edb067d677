//! A slice that several threads fill, each its own part.

use std::{marker::PhantomData, ops::Range};

/// Numbers that tasks write side by side.
pub struct SharedSlice<'a, T> {
    start: *mut T,
    len: usize,
    borrowed: PhantomData<&'a mut [T]>,
}

// SAFETY: it is a `&mut [T]`, handed out in parts by a function whose callers promise that no two
// parts overlap.
unsafe impl<T: Send> Send for SharedSlice<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for SharedSlice<'_, T> {}

impl<'a, T> SharedSlice<'a, T> {
    /// Returns the slice, to be written in parts.
    pub fn new(slice: &'a mut [T]) -> Self {
        Self { start: slice.as_mut_ptr(), len: slice.len(), borrowed: PhantomData }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Returns a part of the slice.
    ///
    /// # Safety
    ///
    /// While it is alive, no other part may overlap it.
    ///
    /// # Panics
    ///
    /// The range is not within the slice.
    #[inline(always)]
    #[expect(clippy::mut_from_ref, reason = "that is what it is for")]
    pub unsafe fn part(&self, range: Range<usize>) -> &mut [T] {
        assert!(range.start <= range.end && range.end <= self.len);
        // SAFETY: the range is within the slice, which is borrowed for as long as `self` is; the
        // caller promises that nothing else refers to it.
        unsafe {
            std::slice::from_raw_parts_mut(self.start.add(range.start), range.end - range.start)
        }
    }
}
