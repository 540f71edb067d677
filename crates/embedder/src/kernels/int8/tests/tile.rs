//! Tiles of sums against plain loops.

use super::{
    super::tile::{Tile, Tiles, registers_of, sums},
    *,
};
use crate::kernels::{PANEL, arch::Integers};

/// A product of integers.
struct Product<'a> {
    rows: &'a [u8],
    stride: usize,
    columns: &'a [u32],
    depth: usize,
    start: &'a [i32],
    y: &'a mut [i32],
}

impl Tile for Product<'_> {
    #[inline(always)]
    fn tile<B: Registers, const R: usize, const V: usize>(
        &mut self,
        registers: B,
        row: usize,
        panel: usize,
    ) {
        let (first, width) = (panel * PANEL, V * size_of::<Integers<B>>() / 4);
        let start = registers_of::<Integers<B>, _, V>(&self.start[first..first + width]);
        let rows = &self.rows[row * self.stride..][..(R - 1) * self.stride + self.depth];
        let columns = &self.columns[first * self.depth / 4..][..width * self.depth / 4];
        let sums = sums::<B, R, V, 8>(registers, (rows, self.stride), columns, self.depth, start);
        for (r, sums) in sums.iter().enumerate() {
            let at = (row + r) * self.start.len() + first;
            self.y[at..at + width].copy_from_slice(bytemuck::cast_slice(sums));
        }
    }
}

/// Converts bytes of a row to those of a column. Returns what the sums lack.
fn column(machine: Machine, bytes: &mut [u8]) -> i32 {
    fn column<R: Registers>(_: R, bytes: &mut [u8]) -> i32 {
        R::column(bytes)
    }
    with_registers!(machine, registers => column(registers, bytes))
}

/// Checks a product of `count` rows, which start at an offset and are further apart than their length.
fn check(count: usize, panels: usize, depth: usize, offset: usize) {
    let (stride, columns) = (depth + offset, panels * PANEL);
    // The extremes are frequent, so that sums would saturate if they could.
    let byte = |x: f32| (x * 150.0) as i8;
    let rows: Vec<i8> = noise(depth).take(offset + count * stride).map(byte).collect();
    let weight = noise(columns).take(columns * depth).map(|x| byte(x).max(-127));
    let weight: Vec<i8> = weight.collect();
    let start: Vec<i32> = (0..columns).map(|at| at as i32 * 7919).collect();
    let found = every_machine(|machine| {
        let zero = zero(machine);
        let bytes = |row: &[i8]| row.iter().map(|x| x.cast_unsigned() ^ zero).collect::<Vec<u8>>();
        let (mut words, mut start) = (vec![0; columns * depth / 4], start.clone());
        for (at, weight) in weight.chunks_exact(depth).enumerate() {
            let mut weight = bytes(weight);
            start[at] += column(machine, &mut weight);
            let panel = &mut words[at / PANEL * PANEL * depth / 4..];
            for (word, four) in weight.as_chunks().0.iter().enumerate() {
                panel[word * PANEL + at % PANEL] = u32::from_ne_bytes(*four);
            }
        }
        let (rows, mut y) = (&bytes(&rows)[offset..], vec![0; count * columns]);
        let product = Product { rows, stride, columns: &words, depth, start: &start, y: &mut y };
        let product = Tiles { rows: count, panels, product };
        with_registers!(machine, registers => registers.call(product));
        y
    });
    let expected: Vec<i32> = (0..count * columns)
        .map(|at| {
            let (row, column) = (at / columns, at % columns);
            let row = &rows[offset + row * stride..];
            let term = |k: usize| i32::from(row[k]) * i32::from(weight[column * depth + k]);
            start[column] + (0..depth).map(term).sum::<i32>()
        })
        .collect();
    for (name, y) in found {
        assert!(y == expected, "{name}, {count} rows, {panels} panels, {depth}, {offset}");
    }
}

#[test]
fn sums_are_exact_for_all_rows_and_panels() {
    for count in 1..=19 {
        for panels in 1..=7 {
            check(count, panels, 8, 0);
        }
    }
}

#[test]
fn sums_are_exact_at_all_depths_and_offsets() {
    for depth in (4..=72).step_by(4).chain([384, 1536]) {
        for offset in [0, 1, 3, 4, 17, 64] {
            check(3, 3, depth, offset);
        }
    }
}
