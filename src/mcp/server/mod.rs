//! The services of a trial as MCP tools, over streamable HTTP: one endpoint for each caller. Every call is one
//! request to the caller's own port of a service, so the engine counts it, applies faults and records it as
//! for a client of the API. A fault of the connection happens to the connection of the MCP client. The module
//! knows no fault and no verdict.

mod call;
mod cancels;
mod cards;
mod connection;
mod handler;
mod open_calls;
mod reply;
mod sessions;
#[cfg(test)]
mod tests;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use mock_services::catalog::ServiceDescription;
use mock_services::idempotency::Idempotency;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::domain::ToolCards;
pub(crate) use cancels::CancelListener;
use handler::ToolServer;
pub(crate) use open_calls::OpenCalls;

/// A service whose operations are offered as tools.
#[derive(Debug, Clone)]
pub(crate) struct OfferedService {
    /// Its description.
    pub(crate) description: ServiceDescription,
    /// How the scenario says that it treats idempotency keys; `None` for the default of the service.
    pub(crate) idempotency: Option<Idempotency>,
    /// Its port for the caller.
    pub(crate) address: SocketAddr,
    /// Its API key.
    pub(crate) key: String,
}

/// The MCP endpoint of one caller. Dropping it closes it.
#[derive(Debug)]
pub(crate) struct McpEndpoint {
    address: SocketAddr,
    activity: Activity,
    calls: OpenCalls,
    accepting: JoinHandle<()>,
}

impl McpEndpoint {
    /// Opens a port. The tools are made when they are first used.
    ///
    /// # Errors
    /// When no port can be opened.
    pub(crate) async fn start(
        services: Vec<OfferedService>,
        cards: ToolCards,
        on_cancel: CancelListener,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let (activity, calls) = (Activity::default(), OpenCalls::default());
        let server = ToolServer::new(services, cards, activity.clone(), calls.clone(), on_cancel);
        let accepting = tokio::spawn(connection::accept(listener, Arc::new(server), activity.clone()));
        Ok(McpEndpoint { address, activity, calls, accepting })
    }

    /// Its port.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its URL.
    pub(crate) fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// The calls whose reply the client does not have yet.
    pub(crate) fn calls(&self) -> OpenCalls {
        self.calls.clone()
    }

    /// Waits until the client has closed its connections and every call that it made has reached its service.
    pub(crate) async fn client_left(&self) {
        self.activity.ended().await;
    }
}

impl Drop for McpEndpoint {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// The number of open connections and running calls.
#[derive(Debug, Clone, Default)]
struct Activity(Arc<watch::Sender<usize>>);

/// One open connection or running call, until it is dropped.
#[derive(Debug)]
struct ActivityGuard(Activity);

impl Activity {
    /// Counts one more.
    fn begin(&self) -> ActivityGuard {
        self.0.send_modify(|count| *count += 1);
        ActivityGuard(self.clone())
    }

    /// Waits until there are none.
    async fn ended(&self) {
        // It cannot fail: the sender exists as long as `self`.
        let _ = self.0.subscribe().wait_for(|count| *count == 0).await;
    }
}

impl Drop for ActivityGuard {
    fn drop(&mut self) {
        self.0.0.send_modify(|count| *count -= 1);
    }
}
