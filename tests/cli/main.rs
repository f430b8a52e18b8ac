//! hapax as a user runs it: every verb of the real command, real processes, real sockets. One program, so that
//! the package is linked once.

#![expect(clippy::unwrap_used, clippy::panic, reason = "what fails here fails the test")]

#[path = "../kit/mod.rs"]
mod kit;

mod accepted;
mod agents;
mod approvals;
mod bad_input;
mod before;
mod certify;
mod controls;
mod controls_services;
mod controls_together;
mod demo;
mod events;
mod explore;
mod extra_fields;
mod fleet;
mod help;
mod hosts;
mod http_agents;
mod init;
mod injection;
mod interrupted;
mod interrupts;
mod late;
mod laws;
mod left_behind;
mod locks;
mod log;
mod lucky_passes;
mod machines;
mod many_callers;
mod mcp;
mod model;
mod no_exit;
mod one_task;
mod options;
mod over_http;
mod own_keys;
mod probe;
mod promises;
#[cfg(target_os = "linux")]
mod protected_memory;
mod rate;
mod remedies;
mod report;
mod resumed;
mod run_folder;
mod scenario_files;
mod secrets;
mod secrets_of_config;
mod select;
mod selftest;
mod send_to;
mod serve;
mod served;
mod side_effects;
mod silence;
mod slow_starts;
mod spent_faults;
mod start_environment;
mod statistics;
#[cfg(target_os = "linux")]
mod subjects;
mod tampered;
mod task_places;
mod temporary_files;
mod unlucky;
mod unsupported;
mod verdicts;
mod via;
mod wrong_writes;
