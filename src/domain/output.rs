//! What a subject prints.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What one start of a caller wrote.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CapturedOutput {
    /// The caller.
    pub caller: u32,
    /// Which start of the caller, from 1.
    pub start: u32,
    /// What it wrote to its standard output, with the middle cut out where it was too long.
    pub stdout: String,
    /// The same for its standard error.
    pub stderr: String,
    /// How many bytes were cut out, of both.
    pub cut: u64,
}
