//! The int8 kernels against their definitions, in all registers of the machine.

mod attention;
mod functions;
mod linear;
mod quantize;
mod tile;

use super::{quantize::block, *};
use crate::kernels::{
    arch::Registers,
    testing::{bits, noise, normal_distribution},
};

/// Returns the results of a function for all registers of this machine, with their names.
fn every_machine<T>(run: impl Fn(Machine) -> T) -> Vec<(String, T)> {
    let name = |machine| format!("{machine:?}").split('(').next().unwrap_or_default().to_owned();
    Machine::all().into_iter().map(|machine| (name(machine), run(machine))).collect()
}

/// Fails if the results differ.
#[track_caller]
fn assert_equal<T: PartialEq>(found: &[(String, T)], case: &str) {
    for (name, result) in found {
        assert!(*result == found[0].1, "{name} and {}: {case}", found[0].0);
    }
}

/// Returns the numbers that a function computes. Fails if registers give different bits.
#[track_caller]
fn same_bits(case: &str, run: impl Fn(Machine) -> Vec<f32>) -> Vec<f32> {
    let found = every_machine(|machine| bits(&run(machine)));
    assert_equal(&found, case);
    found[0].1.iter().copied().map(f32::from_bits).collect()
}

/// Returns the byte that stands for 0 in rows.
fn zero(machine: Machine) -> u8 {
    fn zero<R: Registers>(_: R) -> u8 {
        R::ZERO
    }
    with_registers!(machine, registers => zero(registers))
}

fn numbers(seed: usize, count: usize, size: f32) -> Vec<f32> {
    noise(seed).take(count).map(|x| x * size).collect()
}

/// Returns the Hadamard transform of each block of a row.
fn hadamard(row: &[f64], block: usize) -> Vec<f64> {
    let number = |at: usize| {
        let first = at / block * block;
        let term = |from: usize| {
            let is_negative = ((at - first) & from).count_ones() % 2 == 1;
            if is_negative { -row[first + from] } else { row[first + from] }
        };
        (0..block).map(term).sum()
    };
    (0..row.len()).map(number).collect()
}

fn wide(row: &[f32]) -> Vec<f64> {
    row.iter().copied().map(f64::from).collect()
}

/// Half a step, plus the error of float32.
const HALF: f64 = 0.501;
