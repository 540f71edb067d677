//! The registers of a machine, with the operations that the int8 kernels need in addition to those of `pulp`.
//!
//! The float kernels use `pulp::Simd` directly, so that they also run on the registers without a product of bytes:
//! AVX-512 without VNNI, and NEON without `dotprod`.

mod machine;
#[cfg(target_arch = "aarch64")]
mod neon;
mod plain;
mod registers;
#[cfg(target_arch = "x86_64")]
mod x86;

pub use machine::Machine;
pub(crate) use machine::with_registers;
pub use registers::{Floats, Integers, Registers, WithRegisters, in_order, prefetch};
