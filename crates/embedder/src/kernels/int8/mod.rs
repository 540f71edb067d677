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
//! A byte of a row is an integer plus [`Registers::ZERO`]; [`Registers::column`] converts it to a byte of a panel. Sums
//! start with what this function returns.
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

pub(crate) use super::arch::with_registers;
pub use super::{
    arch::{Machine, Registers, WithRegisters},
    buffers::Aligned,
};
pub use attention_i8::{Keys, KeysMut, Projection, attend};
pub use linear_i8::{Int8Weights, Multiply};
pub use quantize::{Normalize, Quantize, Quantized};
