//! A slice of which several threads write different parts.

use std::{cell::Cell, ops::Range, slice};

/// A mutable slice that is divided among tasks.
pub struct SplitSlice<'a, T>(&'a [Cell<T>]);

// SAFETY: the elements are accessed only through `part` and `cells`, whose callers promise that no two threads use the same.
unsafe impl<T: Send> Sync for SplitSlice<'_, T> {}

impl<'a, T> SplitSlice<'a, T> {
    /// Returns the slice, to be written in parts.
    pub fn new(slice: &'a mut [T]) -> Self {
        Self(Cell::from_mut(slice).as_slice_of_cells())
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the elements, to be written one by one.
    ///
    /// # Safety
    ///
    /// No two threads may use the same element.
    #[inline(always)]
    pub unsafe fn cells(&self) -> &[Cell<T>] {
        self.0
    }

    /// Returns a part of the slice. Panics if the range is not within it.
    ///
    /// # Safety
    ///
    /// While the part is alive, no other part may overlap it.
    #[inline(always)]
    #[expect(clippy::mut_from_ref, reason = "parts do not overlap")]
    pub unsafe fn part(&self, range: Range<usize>) -> &mut [T] {
        let part = &self.0[range];
        // SAFETY: a `Cell` has the layout of its contents and allows writing, and the caller promises that no other
        // part overlaps this one.
        unsafe { slice::from_raw_parts_mut(part.as_ptr().cast_mut().cast(), part.len()) }
    }
}
