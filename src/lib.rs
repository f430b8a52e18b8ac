//! Finds out whether an agent or a tool makes each of its effects happen exactly once when the world around
//! it fails.

pub mod cli;
pub mod demo;
pub mod domain;
mod fit;
pub mod init;
mod log;
pub mod report;
pub mod run;
pub mod scenario;
pub mod score;
mod scratch;
pub mod selftest;
pub mod serve;
pub mod subject;
pub mod trial;
mod trust;
