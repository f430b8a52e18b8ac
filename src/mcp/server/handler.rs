//! Answers the requests of the protocol: the list of tools, and their calls.

use std::sync::OnceLock;

use hyper::http::request::Parts;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ErrorData, Implementation, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};

use super::Activity;
use super::call::RequestOutcome;
use super::cancels::{CancelListener, Cancels};
use super::cards::{self, OfferedTool};
use super::connection::{ConnectionEnd, ConnectionHandle};
use super::open_calls::OpenCalls;
use super::reply::{self, ToolReply};
use super::sessions::Sessions;
use super::{OfferedService, call};
use crate::domain::ToolCards;

/// The tools of one caller.
#[derive(Debug)]
pub(super) struct ToolServer {
    services: Vec<OfferedService>,
    cards: ToolCards,
    activity: Activity,
    calls: OpenCalls,
    tools: OnceLock<Vec<OfferedTool>>,
    pub(super) sessions: Sessions,
    pub(super) cancels: Cancels,
}

impl ToolServer {
    pub(super) fn new(
        services: Vec<OfferedService>,
        cards: ToolCards,
        activity: Activity,
        calls: OpenCalls,
        on_cancel: CancelListener,
    ) -> Self {
        ToolServer {
            services,
            cards,
            activity,
            calls,
            tools: OnceLock::new(),
            sessions: Sessions::default(),
            cancels: Cancels::new(on_cancel),
        }
    }

    pub(super) fn tools(&self) -> &[OfferedTool] {
        self.tools.get_or_init(|| cards::tools(&self.services, self.cards))
    }

    fn tool(&self, name: &str) -> Option<&OfferedTool> {
        self.tools().iter().find(|tool| tool.description.name == name)
    }

    /// Makes one call: one request to the service.
    async fn call(
        &self,
        params: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = self.tool(&params.name) else {
            let name = yaml_reader::shown(&params.name);
            return Err(ErrorData::invalid_params(format!("there is no tool `{name}`"), None));
        };
        let request = match tool.description.request(&params.arguments.unwrap_or_default()) {
            Ok(request) => request,
            Err(error) => return Ok(reply::refusal(&error.to_string()).into()),
        };
        let parts = context.extensions.get::<Parts>();
        let Some((parts, client)) =
            parts.and_then(|parts| Some((parts, parts.extensions.get::<ConnectionHandle>()?.clone())))
        else {
            return Err(ErrorData::internal_error("the request has no connection", None));
        };
        client.call.open(self.calls.begin());
        let service = &self.services[tool.service];
        let (address, key, running) = (service.address, service.key.clone(), self.activity.begin());
        let connection = client.clone();
        let operation = tool.description.operation.to_owned();
        self.cancels.begin(&context.id, &operation);
        let (cancels, headers) = (self.cancels.clone(), parts.headers.clone());
        // A task of its own: the protocol's library drops a call when its client leaves.
        let call = tokio::spawn(async move {
            let _running = running;
            let outcome = call::send(address, &key, request, &connection).await;
            if matches!(outcome, RequestOutcome::ClientLeft) {
                cancels.closed(&operation, &headers);
            }
            outcome
        });
        let outcome = call.await.map_err(|_| ErrorData::internal_error("the call failed", None))?;
        match reply::from_outcome(outcome, &context.id) {
            ToolReply::Result(result) => Ok((*result).into()),
            ToolReply::End(how) => {
                if how == ConnectionEnd::SessionLost {
                    self.sessions.end(&parts.headers);
                }
                client.end(how);
                client.left().await;
                Err(ErrorData::internal_error("the connection has ended", None))
            }
            ToolReply::Nothing => Err(ErrorData::internal_error("the client has left", None)),
        }
    }
}

impl ServerHandler for ToolServer {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        ServerConfig::new(capabilities).with_server_info(Implementation::new("services", "1.0.0"))
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.tools().iter().map(|tool| tool.card.clone()).collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        self.call(request, &context).await
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.tool(name).map(|tool| tool.card.clone())
    }
}
