//! The inner loop of all products.

use bytemuck::Pod;
use pulp::Simd;

use crate::kernels::{
    arch::{Integers, Registers, WithRegisters, prefetch},
    float::PANEL,
};

/// A computation of one tile of a product.
pub trait Tile {
    /// Computes `R` rows from `row`, and `V` registers of columns from the panel `panel`.
    fn tile<B: Registers, const R: usize, const V: usize>(
        &mut self,
        registers: B,
        row: usize,
        panel: usize,
    );
}

/// A product of rows and panels, computed in tiles that fit the registers.
pub struct Tiles<T> {
    pub rows: usize,
    pub panels: usize,
    pub product: T,
}

impl<T: Tile> WithRegisters for Tiles<T> {
    #[inline(always)]
    fn with_registers<B: Registers>(mut self, registers: B) {
        let mut panel = 0;
        while panel < self.panels {
            panel += match B::Simd::F32_LANES {
                16 => match self.panels - panel {
                    3 | 5.. => self.strip::<B, 3>(registers, panel),
                    2 | 4 => self.strip::<B, 2>(registers, panel),
                    _ => self.strip::<B, 1>(registers, panel),
                },
                8 => self.strip::<B, 2>(registers, panel),
                _ => self.strip::<B, 4>(registers, panel),
            };
        }
    }
}

impl<T: Tile> Tiles<T> {
    /// Computes all rows of `V` registers of columns. Returns the number of panels.
    #[inline(always)]
    fn strip<B: Registers, const V: usize>(&mut self, registers: B, panel: usize) -> usize {
        // `match` on a constant, so that only the tiles of these registers are compiled.
        let mut row = match B::ROWS {
            8 => self.full_tiles::<B, 8, V>(registers, 0, panel),
            6 => self.full_tiles::<B, 6, V>(registers, 0, panel),
            _ => 0,
        };
        row = match B::ROWS {
            2 => row,
            _ => self.full_tiles::<B, 4, V>(registers, row, panel),
        };
        row = self.full_tiles::<B, 2, V>(registers, row, panel);
        self.full_tiles::<B, 1, V>(registers, row, panel);
        V * B::Simd::F32_LANES / PANEL
    }

    /// Computes tiles of `R` rows from `row` while enough rows are left. Returns the next row.
    #[inline(always)]
    fn full_tiles<B: Registers, const R: usize, const V: usize>(
        &mut self,
        registers: B,
        mut row: usize,
        panel: usize,
    ) -> usize {
        while row + R <= self.rows {
            self.product.tile::<B, R, V>(registers, row, panel);
            row += R;
        }
        row
    }
}

/// Returns `start` plus the products of `R` rows, which begin `stride` bytes apart, with `V` registers of columns.
/// `columns` begins with their panels. They are prefetched `AHEAD` words before they are needed, or not if `AHEAD`
/// is 0. Panics if `depth` is not a multiple of 4, or there are fewer rows or columns.
#[inline(always)]
pub fn sums<B: Registers, const R: usize, const V: usize, const AHEAD: usize>(
    registers: B,
    (rows, stride): (&[u8], usize),
    columns: &[u32],
    depth: usize,
    start: [Integers<B>; V],
) -> [[Integers<B>; V]; R] {
    let words = depth / 4;
    assert!(depth.is_multiple_of(4) && rows.len() >= (R - 1) * stride + depth);
    assert!(columns.len() >= V * B::Simd::F32_LANES * words);
    let (rows, columns) = (rows.as_ptr(), columns.as_ptr().cast::<Integers<B>>());
    // The registers of a word of one panel.
    let line = PANEL / B::Simd::F32_LANES;
    let mut sums = [start; R];
    // Not unrolled: LLVM would add products of several words first, and run out of registers.
    for word in 0..words {
        let mut four = start;
        for (v, four) in four.iter_mut().enumerate() {
            let at = columns.wrapping_add((v / line * words + word) * line + v % line);
            // SAFETY: `v / line` is less than the number of panels, so this is one of the `V * words` registers.
            *four = unsafe { at.read_unaligned() };
            if AHEAD > 0 && v % line == 0 {
                prefetch(at.wrapping_add(AHEAD * line));
            }
        }
        for (r, sums) in sums.iter_mut().enumerate() {
            let at = rows.wrapping_add(r * stride + 4 * word).cast::<i32>();
            // SAFETY: these are four of the bytes.
            let row = registers.simd().splat_i32s(unsafe { at.read_unaligned() });
            for v in 0..V {
                sums[v] = registers.dot(sums[v], row, four[v]);
            }
        }
    }
    sums
}

/// Reads `V` registers of type `T`. Panics if `numbers` has another size.
#[inline(always)]
pub fn registers_of<T: Pod, N: Pod, const V: usize>(numbers: &[N]) -> [T; V] {
    assert!(size_of_val(numbers) == V * size_of::<T>());
    // SAFETY: `numbers` has this size, and `T` may have any bytes.
    unsafe { numbers.as_ptr().cast::<[T; V]>().read_unaligned() }
}
