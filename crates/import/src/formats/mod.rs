//! Reads values of each format into runs.

pub mod amp;
pub mod atif;
pub mod claude_code;
pub mod cline;
pub mod codex;
pub mod copilot_cli;
pub mod cursor;
pub mod droid;
pub mod gemini_cli;
pub mod inspect;
pub mod langfuse;
pub mod langsmith;
pub mod messages;
pub mod mini_swe_agent;
pub mod opencode;
pub mod otel;
pub mod pi;
pub mod qwen_code;
pub mod reasoning_trace;
pub mod runs;
mod spans;
pub mod swe_agent;
pub mod tau;
