//! The encoder's arithmetic in integers of 8 bits: products, and what rounds numbers for them.
//!
//! A product meets rows with columns. A byte of a row is an integer plus [`Registers::ZERO`], a byte of
//! columns is a signed integer; sums are of 32 bits and exact. Around them is float32, rounded once for
//! each operation in the same order everywhere, so that all [`Registers`] give the same bits.

mod attention_i8;
mod functions_i8;
mod linear_i8;
mod rounding;
#[cfg(test)]
mod tests;
mod tile;

use std::{
    marker::PhantomData,
    ops::{Deref, DerefMut},
};

use bytemuck::{Pod, Zeroable};

pub(crate) use super::arch::with_registers;
pub use super::arch::{Machine, Registers, Work};
pub use attention_i8::{Keys, KeysMut, Projection, Scratch, attend};
pub use linear_i8::{Add, After, Columns, Gelu, Multiply, Set};
pub use rounding::{Normalize, Rows, RowsMut, Turn, block};

/// Numbers that begin at a line of the cache, so that no register of them crosses one.
pub struct Aligned<T> {
    lines: Vec<Line>,
    len: usize,
    element: PhantomData<T>,
}

#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u8; 64]);

// SAFETY: any bytes are a line, also those that are 0.
unsafe impl Zeroable for Line {}
// SAFETY: bytes, without padding.
unsafe impl Pod for Line {}

impl<T: Pod> Aligned<T> {
    /// Returns so many zeros.
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
