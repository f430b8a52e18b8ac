//! Tests with other programs: real clients, the agents of `examples/`, a real browser, sealed runs, and the
//! schema that Jenkins checks `junit.xml` against. Tests whose program is missing and cannot be installed are
//! ignored, with one line that says what to install; see `kit/needs.rs`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "these are tests")]

mod kit;

mod external {
    pub(crate) mod browser_driver;
    pub(crate) mod client_rows;
    pub(crate) mod examples;
    pub(crate) mod frameworks;
    #[cfg(target_os = "linux")]
    pub(crate) mod hostile_subject;
    pub(crate) mod junit;
    pub(crate) mod live_page;
    pub(crate) mod mail_clients;
    pub(crate) mod mcp_agents;
    pub(crate) mod mcp_servers;
    pub(crate) mod model_agent;
    pub(crate) mod model_clients;
    pub(crate) mod model_streams;
    pub(crate) mod packages;
    pub(crate) mod published_mcp_servers;
    pub(crate) mod real_clients;
    pub(crate) mod recorded_models;
    pub(crate) mod report_page;
    pub(crate) mod runs;
    pub(crate) mod sealed;
    pub(crate) mod sealed_clients;
    pub(crate) mod sealed_web;
    pub(crate) mod wire_clients;
}

#[cfg(target_os = "linux")]
use external::hostile_subject;
use external::{
    browser_driver, examples, frameworks, junit, live_page, mail_clients, mcp_agents, mcp_servers,
    model_agent, model_clients, model_streams, packages, published_mcp_servers, real_clients,
    recorded_models, report_page, sealed, sealed_clients, sealed_web, wire_clients,
};
use kit::needs::Need::{
    Browser, Clients, Frameworks, Namespaces, SealedClients, SealedFrameworks, SealedJava,
};

fn main() -> std::process::ExitCode {
    kit::needs::run(vec![
        (Clients, "examples", examples::tests()),
        (Clients, "junit", junit::tests()),
        (Clients, "mail_clients", mail_clients::tests()),
        (Clients, "mcp_agents", mcp_agents::tests()),
        (Clients, "model_agent", model_agent::tests()),
        (Clients, "model_clients", model_clients::tests()),
        (Clients, "model_streams", model_streams::tests()),
        (Clients, "packages", packages::tests()),
        (Clients, "real_clients", real_clients::tests()),
        (Clients, "recorded_models", recorded_models::tests()),
        (Clients, "wire_clients", wire_clients::tests()),
        (Frameworks, "frameworks", frameworks::tests()),
        (SealedFrameworks, "frameworks", frameworks::sealed_tests()),
        (Browser, "browser_driver", browser_driver::tests()),
        (Browser, "live_page", live_page::tests()),
        (Browser, "report_page", report_page::tests()),
        #[cfg(target_os = "linux")]
        (Namespaces, "hostile_subject", hostile_subject::tests()),
        (Namespaces, "sealed", sealed::tests()),
        (Namespaces, "mcp_servers", mcp_servers::tests()),
        (SealedClients, "mcp_agents", mcp_agents::sealed_tests()),
        (SealedClients, "published_mcp_servers", published_mcp_servers::tests()),
        (SealedClients, "sealed_clients", sealed_clients::tests()),
        (SealedJava, "sealed_clients", sealed_clients::java_tests()),
        (SealedClients, "sealed_web", sealed_web::tests()),
        (SealedClients, "model_agent", model_agent::sealed_tests()),
    ])
}
