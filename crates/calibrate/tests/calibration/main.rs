//! Calibrations and their reports, in one program: each of its own would have to be linked.

mod calibrate;
mod report;
mod rows;
mod simulation;
