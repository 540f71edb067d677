//! Numbers that are aligned for the widest registers, and slices of which several threads write different parts.

use std::{
    cell::Cell,
    ops::{Deref, DerefMut, Range},
    slice,
};

use bytemuck::Pod;

/// The bytes of a cache line.
const LINE: usize = 64;

/// Numbers that are aligned to cache lines, so that no register of them crosses one.
///
/// The allocator is asked for a line more, not for the alignment: glibc before 2.38 does not use freed memory again for
/// aligned requests of the same size, so the memory of a process would grow with every text.
pub struct Aligned<T> {
    numbers: Vec<T>,
    /// Where the first whole line begins.
    start: usize,
    len: usize,
}

impl<T: Pod> Aligned<T> {
    /// Returns `len` zeros.
    pub fn zeros(len: usize) -> Self {
        let numbers = vec![T::zeroed(); len + LINE / size_of::<T>()];
        let start = numbers.as_ptr().align_offset(LINE);
        Self { numbers, start, len }
    }

    /// Returns a copy of some numbers.
    pub fn copy(numbers: &[T]) -> Self {
        let mut copy = Self::zeros(numbers.len());
        copy.copy_from_slice(numbers);
        copy
    }
}

/// A buffer that a thread keeps for its next computation.
pub struct Kept<T>(Cell<Option<Aligned<T>>>);

impl<T: Pod> Kept<T> {
    pub const fn new() -> Self {
        Self(Cell::new(None))
    }

    /// Takes the buffer, or makes one of `len` zeros if it is shorter. What it has is left from before.
    pub fn take(&self, len: usize) -> Aligned<T> {
        self.0.take().filter(|kept| kept.len >= len).unwrap_or_else(|| Aligned::zeros(len))
    }

    pub fn put(&self, buffer: Aligned<T>) {
        self.0.set(Some(buffer));
    }
}

impl<T> Deref for Aligned<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.numbers[self.start..][..self.len]
    }
}

impl<T> DerefMut for Aligned<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.numbers[self.start..][..self.len]
    }
}

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
