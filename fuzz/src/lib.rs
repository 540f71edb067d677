//! What the fuzz targets share: foreign values, and naive models to compare the engine with.
//!
//! The models are written from the specification, in another manner than the engine, and as simply
//! as possible. A difference is a panic, which the fuzzer reports with the input.

pub mod cache;
pub mod generate;
pub mod memory;
pub mod order;
pub mod reading;
pub mod scoring;
pub mod tokens;
pub mod value;
