//! Numbers that are aligned for the widest registers.

use std::ops::{Deref, DerefMut};

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
