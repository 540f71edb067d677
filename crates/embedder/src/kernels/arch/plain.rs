//! Registers in portable code.

use pulp::Scalar128b;

use super::registers::{Registers, WithRegisters};

/// Four lanes in portable code.
#[derive(Clone, Copy, Debug)]
pub struct Plain;

impl Registers for Plain {
    type Simd = Scalar128b;
    const ZERO: u8 = 128;
    const ROWS: usize = 2;

    fn simd(self) -> Scalar128b {
        Scalar128b
    }

    #[inline(never)]
    fn call<W: WithRegisters>(self, work: W) {
        work.with_registers(self);
    }

    #[inline(always)]
    fn dot(self, sums: pulp::i32x4, row: pulp::i32x4, columns: pulp::i32x4) -> pulp::i32x4 {
        let mut sums: [i32; 4] = pulp::cast(sums);
        let (row, columns): ([u8; 16], [i8; 16]) = (pulp::cast(row), pulp::cast(columns));
        for at in 0..16 {
            sums[at / 4] += i32::from(row[at]) * i32::from(columns[at]);
        }
        pulp::cast(sums)
    }

    #[inline(always)]
    fn numbers(self, integers: pulp::i32x4) -> pulp::f32x4 {
        let integers: [i32; 4] = pulp::cast(integers);
        pulp::cast(integers.map(|x| x as f32))
    }

    #[inline(always)]
    fn swap<const DISTANCE: usize>(self, numbers: pulp::f32x4) -> pulp::f32x4 {
        let numbers: [f32; 4] = pulp::cast(numbers);
        let mut swapped = numbers;
        for lane in 0..4 {
            swapped[lane] = numbers[lane ^ DISTANCE];
        }
        pulp::cast(swapped)
    }

    #[inline(always)]
    fn store(self, numbers: [pulp::f32x4; 4], bytes: &mut [u8]) {
        let numbers: [f32; 16] = pulp::cast(numbers);
        for (byte, number) in bytes[..16].iter_mut().zip(numbers) {
            *byte = (number.round_ties_even() as i8).cast_unsigned() ^ Self::ZERO;
        }
    }
}
