//! The JSON Schema of `report.json`, written by hand so that it says what each field means. Tests hold it to
//! the types.

/// The JSON Schema of `report.json`.
pub const REPORT_SCHEMA: &str = include_str!("../../docs/report.schema.json");

#[cfg(test)]
mod tests;
