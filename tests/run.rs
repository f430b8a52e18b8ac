//! What a user does with `hapax run`, done by a test: the real command, real processes, real sockets.

#![expect(clippy::unwrap_used, clippy::panic, reason = "what fails here fails the test")]

mod kit;

mod run {
    mod bad_input;
    mod before;
    mod believed;
    mod demo;
    mod given;
    mod help;
    mod hosts;
    mod init;
    mod injection;
    mod interrupted;
    mod interrupts;
    mod late;
    mod leaves;
    mod locks;
    mod log;
    mod machines;
    mod one_task;
    mod over_http;
    mod promises;
    mod resumed;
    mod secrets;
    mod served;
    mod side_effects;
    mod silence;
    mod smoke;
    mod statistics;
    mod stays;
    mod unlucky;
    mod unsupported;
    mod verdicts;
    mod via;
    mod wrong_writes;
}
