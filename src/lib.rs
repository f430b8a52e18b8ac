//! Tests whether an agent or a tool makes each of its effects happen exactly once when the services that it
//! uses fail.

mod certify;
pub mod cli;
pub mod demo;
pub mod doctor;
pub mod domain;
mod exit_status;
pub mod explore;
mod fit;
pub mod init;
pub mod lint;
mod log;
#[cfg(feature = "mcp")]
pub mod mcp;
mod outbound;
mod proc_stat;
mod process_env;
mod process_protection;
pub mod record;
pub mod report;
pub mod results;
pub mod run;
pub mod scenario;
pub mod score;
mod scratch;
pub mod selftest;
pub mod serve;
pub mod subject;
mod text;
pub mod trial;
mod trust;

pub use exit_status::ExitStatus;
