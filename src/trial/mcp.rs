//! The MCP endpoint of each caller: the services of the trial as tools.

#[cfg(feature = "mcp")]
pub(super) use crate::mcp::server::{McpEndpoint, OpenCalls};

use mock_services::MockServices;
use mock_services::ledger::Ledger;

#[cfg(feature = "mcp")]
use crate::domain::SubjectEvent;
#[cfg(feature = "mcp")]
use crate::mcp::server::{CancelListener, OfferedService};
use crate::scenario::Case;

/// Opens the endpoint of a caller; `None` if hapax was built without MCP.
///
/// # Errors
/// When no port can be opened.
#[cfg(feature = "mcp")]
pub(super) async fn start(
    case: &Case,
    services: &MockServices,
    caller: u32,
    ledger: &Ledger,
) -> std::io::Result<Option<McpEndpoint>> {
    let offered = case.services.iter().filter_map(|setup| {
        Some(OfferedService {
            description: setup.description()?.into_owned(),
            idempotency: setup.idempotency.clone(),
            address: services.address(&setup.name, caller)?,
            key: services.key(&setup.name)?.to_owned(),
        })
    });
    let ledger = ledger.clone();
    let on_cancel = CancelListener::new(move |operation, signal| {
        let event = SubjectEvent::CallCanceled { operation: operation.to_owned(), signal };
        ledger.append(event.to_ledger(Some(caller)));
    });
    McpEndpoint::start(offered.collect(), case.mcp, on_cancel).await.map(Some)
}

/// Opens the endpoint of a caller; `None` if hapax was built without MCP.
#[cfg(not(feature = "mcp"))]
#[expect(clippy::unused_async, reason = "the same signature as with MCP")]
pub(super) async fn start(
    _: &Case,
    _: &MockServices,
    _: u32,
    _: &Ledger,
) -> std::io::Result<Option<McpEndpoint>> {
    Ok(None)
}

/// There is no endpoint where hapax was built without MCP.
#[cfg(not(feature = "mcp"))]
#[derive(Debug)]
pub(super) enum NoMcpEndpoint {}

/// There are no calls where hapax was built without MCP.
#[cfg(not(feature = "mcp"))]
#[derive(Debug, Clone)]
pub(super) enum NoOpenCalls {}

#[cfg(not(feature = "mcp"))]
pub(super) use {NoMcpEndpoint as McpEndpoint, NoOpenCalls as OpenCalls};

#[cfg(not(feature = "mcp"))]
impl NoMcpEndpoint {
    pub(super) fn address(&self) -> std::net::SocketAddr {
        match *self {}
    }

    pub(super) fn url(&self) -> String {
        match *self {}
    }

    pub(super) fn calls(&self) -> NoOpenCalls {
        match *self {}
    }

    pub(super) async fn client_left(&self) {
        match *self {}
    }
}

#[cfg(not(feature = "mcp"))]
impl NoOpenCalls {
    pub(super) fn any(&self) -> bool {
        match *self {}
    }

    pub(super) async fn replied(&self) -> bool {
        match *self {}
    }
}
