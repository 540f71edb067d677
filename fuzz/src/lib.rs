//! What the fuzz targets share: inputs made of the fuzzer's bytes, and what each target compares the
//! engine with, beside the naive models of the tests.
//!
//! A difference is a panic, which the fuzzer reports with the input.

pub mod cache;
pub mod generate;
pub mod importing;
pub mod order;
pub mod reading;
pub mod scoring;
pub mod tokens;
