//! The repository's own files: the structure of the source, names, pages, the shipped scenarios and the sample.

#![expect(clippy::unwrap_used, clippy::panic, reason = "what fails here fails the test")]

#[path = "../kit/timeless.rs"]
mod timeless;

mod architecture;
mod docs;
mod excuses;
mod golden;
mod sample;
mod type_names;
