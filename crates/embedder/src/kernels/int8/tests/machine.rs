//! The operations of registers.

use super::*;
use crate::kernels::arch::*;
use pulp::Simd;

/// An operation on each register of some numbers.
enum Operation<'a> {
    Dot { sums: &'a mut [i32], row: &'a [i32], columns: &'a [i32] },
    Numbers { integers: &'a [i32], numbers: &'a mut [f32] },
    Rest(&'a mut [f32]),
    Scale { numbers: &'a mut [f32], powers: &'a [f32] },
    Swap { numbers: &'a mut [f32], distance: usize },
    Store { numbers: &'a [f32], bytes: &'a mut [u8] },
}

impl Work for Operation<'_> {
    #[inline(always)]
    fn run<R: Registers>(self, registers: R) {
        match self {
            Self::Dot { sums, row, columns } => {
                let (row, columns) =
                    (R::Simd::as_simd_i32s(row).0, R::Simd::as_simd_i32s(columns).0);
                for (at, sum) in R::Simd::as_mut_simd_i32s(sums).0.iter_mut().enumerate() {
                    *sum = registers.dot(*sum, row[at], columns[at]);
                }
            }
            Self::Numbers { integers, numbers } => {
                let (integers, _) = R::Simd::as_simd_i32s(integers);
                for (at, x) in R::Simd::as_mut_simd_f32s(numbers).0.iter_mut().enumerate() {
                    *x = registers.numbers(integers[at]);
                }
            }
            Self::Rest(numbers) => {
                for x in R::Simd::as_mut_simd_f32s(numbers).0 {
                    *x = registers.rest(*x);
                }
            }
            Self::Scale { numbers, powers } => {
                let (powers, _) = R::Simd::as_simd_f32s(powers);
                for (at, x) in R::Simd::as_mut_simd_f32s(numbers).0.iter_mut().enumerate() {
                    *x = registers.scale(*x, powers[at]);
                }
            }
            Self::Swap { numbers, distance } => {
                for x in R::Simd::as_mut_simd_f32s(numbers).0 {
                    *x = match distance {
                        8 if R::Simd::F32_LANES > 8 => registers.swap::<8>(*x),
                        4 if R::Simd::F32_LANES > 4 => registers.swap::<4>(*x),
                        2 => registers.swap::<2>(*x),
                        1 => registers.swap::<1>(*x),
                        _ => *x,
                    };
                }
            }
            Self::Store { numbers, bytes } => {
                let (fours, _) = R::Simd::as_simd_f32s(numbers).0.as_chunks::<4>();
                let bytes = bytes.chunks_exact_mut(4 * R::Simd::F32_LANES);
                for (four, bytes) in fours.iter().zip(bytes) {
                    registers.store(*four, bytes);
                }
            }
        }
    }
}

/// Does an operation in the registers of a machine; gives their [`Registers::ZERO`] and their lanes.
fn apply(machine: Machine, operation: Operation) -> (u8, usize) {
    fn facts<R: Registers>(_: R) -> (u8, usize) {
        (R::ZERO, R::Simd::F32_LANES)
    }
    with_registers!(machine, registers => {
        registers.call(operation);
        facts(registers)
    })
}

/// Bytes as words of four.
fn words<T: Pod>(bytes: &[T]) -> Vec<i32> {
    let mut words = vec![0; bytes.len() / 4];
    bytemuck::cast_slice_mut(&mut words).copy_from_slice(bytes);
    words
}

#[test]
fn dot_is_exact_for_all_bytes() {
    // Every byte of a row with many of a column, the extremes among them.
    let row: Vec<u8> = (0..4096).map(|at| [at / 16, at / 16, 255, 0][at % 4] as u8).collect();
    let columns: Vec<i8> =
        (0..4096).map(|at: i32| [127, -128, at * 7, at * 31][at as usize % 4] as i8).collect();
    let before: Vec<i32> = (0..1024).map(|at| at * 7919 - 4_000_000).collect();
    for (name, (zero, found)) in every_machine(|machine| {
        let mut sums = before.clone();
        let (row, columns) = (words(&row), words(&columns));
        let (zero, _) =
            apply(machine, Operation::Dot { sums: &mut sums, row: &row, columns: &columns });
        (zero, sums)
    }) {
        for (at, sum) in found.into_iter().enumerate() {
            let product = |k: usize| {
                let byte = row[4 * at + k];
                let number =
                    if zero == 0 { i32::from(byte.cast_signed()) } else { i32::from(byte) };
                number * i32::from(columns[4 * at + k])
            };
            assert_eq!(sum, before[at] + (0..4).map(product).sum::<i32>(), "{name}, {at}");
        }
    }
}

#[test]
fn numbers_are_the_integers() {
    let integers: Vec<i32> = (0..64).map(|at| (at - 32) * 774_191).collect();
    for (name, found) in every_machine(|machine| {
        let mut numbers = vec![f32::NAN; 64];
        apply(machine, Operation::Numbers { integers: &integers, numbers: &mut numbers });
        numbers
    }) {
        assert!(found.iter().zip(&integers).all(|(x, i)| *x == *i as f32), "{name}: {found:?}");
    }
}

#[test]
fn rest_and_scale_are_their_definitions() {
    let mut powers: Vec<f32> = (0..4096).map(|at| at as f32 / -32.77).collect();
    powers.extend((0..128).map(|at| at as f32 / -2.0));
    powers.extend([-1e-30, -1e-7, -0.999_999_94, -124.999_99].repeat(4));
    for (name, (rests, scaled)) in every_machine(|machine| {
        let (mut rests, mut scaled) = (powers.clone(), vec![1.25; powers.len()]);
        apply(machine, Operation::Rest(&mut rests));
        apply(machine, Operation::Scale { numbers: &mut scaled, powers: &powers });
        (rests, scaled)
    }) {
        for (at, power) in powers.iter().enumerate() {
            let integer = power.round_ties_even();
            assert_eq!(rests[at], power - integer, "{name}, {power}");
            assert_eq!(f64::from(scaled[at]), 1.25 * f64::from(integer).exp2(), "{name}, {power}");
        }
    }
}

#[test]
fn swap_exchanges_lanes() {
    for distance in [1, 2, 4, 8] {
        for machine in Machine::all() {
            let mut numbers: Vec<f32> = (0..64).map(|at| at as f32).collect();
            let (_, lanes) = apply(machine, Operation::Swap { numbers: &mut numbers, distance });
            let expected = |at: usize| (at ^ distance) as f32;
            let is_swapped = numbers.iter().enumerate().all(|(at, x)| *x == expected(at));
            assert!(is_swapped || lanes <= distance, "{machine:?}, {distance}: {numbers:?}");
        }
    }
}

#[test]
fn store_rounds_to_the_nearest_byte_halves_to_even() {
    let numbers: Vec<f32> = (0..1024).map(|at| (at - 512) as f32 / 4.0).collect();
    let numbers: Vec<f32> = numbers.into_iter().map(|x| x.clamp(-128.5, 127.4)).collect();
    for (name, (zero, bytes)) in every_machine(|machine| {
        let mut bytes = vec![1; 1024];
        let (zero, _) = apply(machine, Operation::Store { numbers: &numbers, bytes: &mut bytes });
        (zero, bytes)
    }) {
        for (byte, number) in bytes.into_iter().zip(&numbers) {
            let expected = (number.round_ties_even() as i8).cast_unsigned().wrapping_add(zero);
            assert_eq!(byte, expected, "{name}, {number}");
        }
    }
}
