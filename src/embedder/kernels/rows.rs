//! Work that is cut into tasks of a few rows each.

use std::ops::Range;

/// Rows of a task.
pub const ROWS: usize = 16;

/// How many tasks so many rows are.
pub fn row_tasks(rows: usize) -> usize {
    rows.div_ceil(ROWS)
}

/// The rows of a task.
#[inline(always)]
pub fn rows_of(task: usize, rows: usize) -> Range<usize> {
    task * ROWS..rows.min((task + 1) * ROWS)
}
