//! Calibrations, in one program: each of its own would have to be linked.

mod calibrate;
mod rows;
mod simulation;
