//! A slice of which several threads write different parts.

use std::{marker::PhantomData, ops::Range};

/// A mutable slice that is divided among tasks.
pub struct SharedSlice<'a, T> {
    start: *mut T,
    len: usize,
    borrowed: PhantomData<&'a mut [T]>,
}

// SAFETY: this is a `&mut [T]`, of which `part` returns parts that do not overlap.
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
    /// While the part is alive, no other part may overlap it.
    ///
    /// # Panics
    ///
    /// If the range is not within the slice.
    #[inline(always)]
    #[expect(clippy::mut_from_ref, reason = "parts do not overlap")]
    pub unsafe fn part(&self, range: Range<usize>) -> &mut [T] {
        assert!(range.start <= range.end && range.end <= self.len);
        // SAFETY: the range is within the slice, which is borrowed as long as `self`, and the caller promises
        // that no other part overlaps it.
        unsafe {
            std::slice::from_raw_parts_mut(self.start.add(range.start), range.end - range.start)
        }
    }
}
