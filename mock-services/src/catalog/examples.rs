//! Names and lines that help texts and error messages give as examples.

/// An operation.
pub const OPERATION: &str = "payment.charge";
/// A service.
pub const SERVICE: &str = "payment";
/// A fault on one line.
pub const FAULT_LINE: &str = "payment.charge#1 commit=now reply=drop";
