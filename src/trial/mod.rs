//! One case, one subject, one ledger: services up, callers started, interrupts struck, claims heard, everything settled.

pub mod notes;
