//! Tiles of sums: the one loop of all products.

use bytemuck::Pod;
use pulp::Simd;

use crate::kernels::PANEL;
use crate::kernels::arch::{Integers, Registers};

/// What computes a product in tiles of rows and columns.
pub trait Tile {
    /// Does `R` rows from `row` on and `V` registers of columns from `panel` on.
    fn tile<B: Registers, const R: usize, const V: usize>(
        &mut self,
        registers: B,
        row: usize,
        panel: usize,
    );
}

/// Cuts a product of so many rows and panels of 16 columns into tiles that fit the registers.
#[inline(always)]
pub fn tiles<B: Registers>(registers: B, rows: usize, panels: usize, work: &mut impl Tile) {
    let mut panel = 0;
    while panel < panels {
        panel += match (B::Simd::F32_LANES, panels - panel) {
            (16, 3 | 5..) => strip::<B, 3>(registers, rows, panel, work),
            (16, 2 | 4) => strip::<B, 2>(registers, rows, panel, work),
            (16, _) => strip::<B, 1>(registers, rows, panel, work),
            (8, _) => strip::<B, 2>(registers, rows, panel, work),
            _ => strip::<B, 4>(registers, rows, panel, work),
        };
    }
}

/// All rows of `V` registers of columns; gives how many panels these are.
#[inline(always)]
fn strip<B: Registers, const V: usize>(
    registers: B,
    rows: usize,
    panel: usize,
    work: &mut impl Tile,
) -> usize {
    let mut row = 0;
    while B::ROWS == 8 && row + 8 <= rows {
        work.tile::<B, 8, V>(registers, row, panel);
        row += 8;
    }
    while B::ROWS == 6 && row + 6 <= rows {
        work.tile::<B, 6, V>(registers, row, panel);
        row += 6;
    }
    while B::ROWS >= 4 && row + 4 <= rows {
        work.tile::<B, 4, V>(registers, row, panel);
        row += 4;
    }
    while row + 2 <= rows {
        work.tile::<B, 2, V>(registers, row, panel);
        row += 2;
    }
    if row < rows {
        work.tile::<B, 1, V>(registers, row, panel);
    }
    V * B::Simd::F32_LANES / PANEL
}

/// Groups of four numbers in a round of the inner loop: so that few instructions compute addresses.
const STEPS: usize = 4;

/// Adds to `start` the products of `R` rows, `stride` bytes apart, with `V` registers of columns. Columns
/// are \[panels, depth / 4, 16, 4\]; they are fetched `AHEAD` groups of four numbers before they are needed,
/// or not if that is 0.
///
/// # Safety
///
/// `rows` and `columns` are the first of as many bytes.
#[inline(always)]
pub unsafe fn sums<B: Registers, const R: usize, const V: usize, const AHEAD: usize>(
    registers: B,
    (rows, stride): (*const u8, usize),
    columns: *const u8,
    depth: usize,
    start: [Integers<B>; V],
) -> [[Integers<B>; V]; R] {
    let groups = depth / 4;
    let mut sums = [start; R];
    let mut group = 0;
    while group + STEPS <= groups {
        for step in 0..STEPS {
            // SAFETY: the caller's promise.
            unsafe {
                let at = (group, step);
                add::<B, R, V, AHEAD>(registers, (rows, stride), columns, groups, at, &mut sums);
            };
        }
        group += STEPS;
    }
    while group < groups {
        // SAFETY: the caller's promise.
        unsafe {
            let at = (group, 0);
            add::<B, R, V, AHEAD>(registers, (rows, stride), columns, groups, at, &mut sums);
        };
        group += 1;
    }
    sums
}

/// Adds the products of one group of four numbers, that of the sum of both indices.
#[inline(always)]
unsafe fn add<B: Registers, const R: usize, const V: usize, const AHEAD: usize>(
    registers: B,
    (rows, stride): (*const u8, usize),
    columns: *const u8,
    groups: usize,
    (group, step): (usize, usize),
    sums: &mut [[Integers<B>; V]; R],
) {
    let line = PANEL / B::Simd::F32_LANES;
    // Constants last, which become parts of the addresses.
    let columns = columns.cast::<Integers<B>>().wrapping_add(group * line);
    let rows = rows.wrapping_add(4 * group);
    let mut four = sums[0];
    for (v, four) in four.iter_mut().enumerate() {
        let at = columns.wrapping_add(v / line * groups * line + step * line + v % line);
        // SAFETY: within the panels, as the caller promises.
        *four = unsafe { at.read_unaligned() };
        if AHEAD > 0 && v % line == 0 {
            registers.prefetch(at.wrapping_add(AHEAD * line).cast());
        }
    }
    for (r, sums) in sums.iter_mut().enumerate() {
        let at = rows.wrapping_add(r * stride + 4 * step).cast::<i32>();
        // SAFETY: within the row, as the caller promises.
        let row = registers.simd().splat_i32s(unsafe { at.read_unaligned() });
        for v in 0..V {
            sums[v] = registers.dot(sums[v], row, four[v]);
        }
    }
}

/// Reads `V` registers, of type `T`, from as many numbers.
#[inline(always)]
pub fn registers_of<T: Pod, N: Pod, const V: usize>(numbers: &[N]) -> [T; V] {
    assert!(size_of_val(numbers) == V * size_of::<T>());
    // SAFETY: as many bytes are there, and any are a register.
    unsafe { numbers.as_ptr().cast::<[T; V]>().read_unaligned() }
}
