//! `hapax run` and other verbs as a user runs them: the real command, real processes, real sockets.

#![expect(clippy::unwrap_used, clippy::panic, reason = "what fails here fails the test")]

mod kit;

mod run {
    mod bad_input;
    mod before;
    mod certify;
    mod demo;
    mod help;
    mod hosts;
    mod init;
    mod injection;
    mod interrupted;
    mod interrupts;
    mod late;
    mod locks;
    mod log;
    mod machines;
    mod many_callers;
    mod mcp;
    mod model;
    mod no_exit;
    mod one_task;
    mod options;
    mod over_http;
    mod promises;
    mod resumed;
    mod run_folder;
    mod secrets;
    mod select;
    mod served;
    mod side_effects;
    mod silence;
    mod smoke;
    mod start_environment;
    mod statistics;
    mod tampered;
    mod unlucky;
    mod unsupported;
    mod verdicts;
    mod via;
    mod wrong_writes;
}
