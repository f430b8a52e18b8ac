//! Names and lines that help texts and error messages give as examples.

/// An operation.
pub const OPERATION: &str = "payment.charge";
/// An operation of another service.
pub const OTHER_OPERATION: &str = "email.send";
/// A service.
pub const SERVICE: &str = "payment";
/// What is known about a service, as `--assume` takes it.
pub const ASSUMPTION: &str = "payment.idempotency=stripe";
/// A variable with the address of a service, as `--set` takes it.
pub const VARIABLE: &str = "PAYMENT_URL='${payment.url}'";
/// A fault on one line.
pub const FAULT_LINE: &str = "payment.charge#1 commit=now reply=drop";
/// An effect that is due, as `--expect` takes it.
pub const EXPECTED: &str = "payment.charge:order=7,amount=4999";
/// The same effect for two recipients.
pub const EXPECTED_TWICE: &str =
    "--expect email.send:to=ann@example.com --expect email.send:to=bob@example.com";
/// The order of two effects.
pub const ORDER: &str = "[payment.charge, email.send]";
/// A step of a scenario.
pub const STEP: &str = "{do: payment.charge, with: {amount: 4999}}";
/// The same as JSON.
pub const STEP_JSON: &str = r#"{"do": "payment.charge", "with": {"amount": 4999}}"#;
/// A question to a person as JSON.
pub const QUESTION_JSON: &str =
    r#"{"id": "a1", "operation": "payment.refund", "fields": {"order": "ord_7", "amount": 1000}}"#;
