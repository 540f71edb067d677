//! Numbers that are aligned for the widest registers.

use std::{
    marker::PhantomData,
    ops::{Deref, DerefMut},
};

use bytemuck::{Pod, Zeroable};

/// Numbers that are aligned to cache lines, so that no register of them crosses one.
pub struct Aligned<T> {
    lines: Vec<Line>,
    len: usize,
    element: PhantomData<T>,
}

#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u8; 64]);

// SAFETY: a `Line` is 64 bytes, which may be zero.
unsafe impl Zeroable for Line {}
// SAFETY: a `Line` is 64 bytes without padding, which may have any value.
unsafe impl Pod for Line {}

impl<T: Pod> Aligned<T> {
    /// Returns `len` zeros.
    pub fn zeros(len: usize) -> Self {
        let lines = vec![Line([0; 64]); (len * size_of::<T>()).div_ceil(64)];
        Self { lines, len, element: PhantomData }
    }

    /// Returns a copy of some numbers.
    pub fn copy(numbers: &[T]) -> Self {
        let mut copy = Self::zeros(numbers.len());
        copy.copy_from_slice(numbers);
        copy
    }
}

impl<T: Pod> Deref for Aligned<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &bytemuck::cast_slice(&self.lines)[..self.len]
    }
}

impl<T: Pod> DerefMut for Aligned<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut bytemuck::cast_slice_mut(&mut self.lines)[..self.len]
    }
}
