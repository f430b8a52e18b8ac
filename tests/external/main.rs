//! Tests with other programs: real clients, the agents of `examples/`, a real browser, sealed runs, and the
//! schema that Jenkins checks `junit.xml` against. Tests whose program is missing and cannot be installed are
//! ignored, with one line that says what to install; see `kit/needs.rs`. The tables of frameworks and of
//! published tools belong to `.ci/full`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "these are tests")]

#[path = "../kit/mod.rs"]
mod kit;

mod browser_driver;
mod client_rows;
mod examples;
mod frameworks;
#[cfg(target_os = "linux")]
mod hostile_subject;
mod junit;
mod live_page;
mod mail_clients;
mod mcp_agents;
mod mcp_servers;
mod model_agent;
mod model_clients;
mod model_streams;
#[cfg(target_os = "linux")]
mod next_day;
mod packages;
mod published_mcp_servers;
mod real_clients;
mod recorded_models;
mod report_page;
mod retry_origins;
mod runs;
mod sealed;
mod sealed_clients;
mod sealed_machine;
mod sealed_web;
mod webhook_receivers;
mod webhook_verifiers;
mod wire_clients;

use kit::needs::Need::{
    Browser, Clients, Frameworks, Namespaces, SealedClients, SealedFrameworks, SealedJava,
};

fn main() -> std::process::ExitCode {
    let tests = vec![
        (Namespaces, "mcp_servers", mcp_servers::tests()),
        (Clients, "examples", examples::tests()),
        (Clients, "junit", junit::tests()),
        (Clients, "mail_clients", mail_clients::tests()),
        (Clients, "mcp_agents", mcp_agents::tests()),
        (Clients, "model_agent", model_agent::tests()),
        (Clients, "model_clients", model_clients::tests()),
        (Clients, "model_streams", model_streams::tests()),
        #[cfg(target_os = "linux")]
        (Clients, "next_day", next_day::tests()),
        (Clients, "packages", packages::tests()),
        (Clients, "real_clients", real_clients::tests()),
        (Clients, "recorded_models", recorded_models::tests()),
        (Clients, "retry_origins", retry_origins::tests()),
        (Clients, "webhook_receivers", webhook_receivers::tests()),
        (Clients, "webhook_verifiers", webhook_verifiers::tests()),
        (Clients, "wire_clients", wire_clients::tests()),
        (Browser, "browser_driver", browser_driver::tests()),
        (Browser, "live_page", live_page::tests()),
        (Browser, "report_page", report_page::tests()),
        #[cfg(target_os = "linux")]
        (Namespaces, "hostile_subject", hostile_subject::tests()),
        (Namespaces, "sealed", sealed::tests()),
        (Namespaces, "sealed_machine", sealed_machine::tests()),
        (SealedClients, "mcp_agents", mcp_agents::sealed_tests()),
        (SealedClients, "sealed_clients", sealed_clients::tests()),
        (SealedJava, "sealed_clients", sealed_clients::java_tests()),
        (SealedClients, "sealed_web", sealed_web::tests()),
        (SealedClients, "model_agent", model_agent::sealed_tests()),
        (SealedClients, "recorded_models", recorded_models::sealed_tests()),
    ];
    let full = vec![
        (Frameworks, "frameworks", frameworks::tests()),
        (SealedFrameworks, "frameworks", frameworks::sealed_tests()),
        (SealedClients, "published_mcp_servers", published_mcp_servers::tests()),
    ];
    kit::needs::run(tests, full)
}
