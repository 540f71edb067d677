//! The arithmetic of the encoder in 8-bit integers.
//!
//! Both factors of a product are quantized. Sums of their products are 32-bit integers and exact; everything
//! between the products is float32 with one rounding per operation in a fixed order. So all [`Registers`] give the
//! same bits.
//!
//! # Layouts
//!
//! A matrix product multiplies rows with panels of 16 columns. The inner loop adds the products of four
//! consecutive numbers of a row, which it broadcasts to all lanes, to the sums of 16 columns:
//!
//! ```text
//! rows [rows, depth], u8                panels [columns / 16, depth / 4, 16], u32
//!
//!          depth ►                               column ►
//!          0 1 2 3   4 5 6 7                     0        1             15
//! row 0   │a b c d│ │e f g h│ …         depth 0 │α β γ δ│ │ε ζ η θ│ … │ω ω ω ω│   64 bytes
//! row 1   │       │ │       │ …         depth 4 │       │ │       │ … │       │
//!
//! sum [row 0, column 0] += a·α + b·β + c·γ + d·δ
//! ```
//!
//! A byte of a row is an integer plus [`Registers::ZERO`], a byte of a panel is a signed integer. Sums start with
//! a number that cancels `ZERO` out.
//!
//! | panels of | columns | depth |
//! | --- | --- | --- |
//! | a linear layer | its outputs | its inputs |
//! | keys, for each head | the keys | the 32 numbers of a head |
//! | values, for each head | the 32 numbers of a head | the tokens |

mod attention_i8;
mod functions_i8;
mod linear_i8;
mod quantize;
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
pub use linear_i8::{Int8Weights, Multiply};
pub use quantize::{Normalize, Quantize, Quantized, QuantizedMut};

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
