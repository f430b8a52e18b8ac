//! A connection to a server, and what can be asked over it. Every wait has a limit.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use hyper::header::{HeaderName, HeaderValue};
use mock_services::result_text::ResultText;
use rmcp::RoleClient;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, ClientRequest, PaginatedRequestParams,
    ProtocolVersion, ServerResult, Tool,
};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, ClientServiceExt as _, PeerRequestOptions, RequestHandle,
    RunningService, ServiceError,
};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use serde_json::Value;
use tokio::time::timeout;

use super::declining::DecliningClient;
use super::http::HyperClient;
use super::plan::{CallOutcome, Handshake, ListedTool, ServerAddress, ToolCall};
use super::server_process::ServerProcess;
use super::trial_name::TrialName;
use crate::outbound::connect_once;

/// The maximum number of tools, and of pages of the list.
const MAX_TOOLS: usize = 1000;
/// How long a connection can take to close.
const CLOSE_TIME: Duration = Duration::from_secs(2);

/// Headers of every request over HTTP.
pub(super) type Headers = HashMap<HeaderName, HeaderValue>;

/// A connection.
pub(super) struct Connection {
    service: RunningService<RoleClient, DecliningClient>,
    process: Option<ServerProcess>,
    limit: Duration,
}

/// The result of a call.
pub(super) struct CallResult {
    pub(super) outcome: CallOutcome,
    pub(super) text: String,
}

/// A call that is not answered yet.
pub(super) type PendingCall = RequestHandle<RoleClient>;

impl Connection {
    /// Connects.
    ///
    /// # Errors
    /// Why there is no connection, and what to do about it.
    pub(super) async fn open(
        address: &ServerAddress,
        headers: &Headers,
        handshake: Handshake,
        limit: Duration,
        client: &DecliningClient,
    ) -> Result<Self, String> {
        let mode = match handshake {
            Handshake::Initialize => ClientLifecycleMode::Initialize,
            Handshake::Discover => {
                ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] }
            }
        };
        match address {
            ServerAddress::Command(program) => {
                let shown = program.join(" ");
                let (mut process, output, input) = ServerProcess::start(program)
                    .map_err(|error| format!("cannot start `{shown}`: {error}; check the command"))?;
                let serving = client.clone().serve_with_lifecycle((output, input), mode);
                let why = match timeout(limit, serving).await {
                    Ok(Ok(service)) => return Ok(Connection { service, process: Some(process), limit }),
                    Ok(Err(error)) => not_initialized(&error, &mut process).await,
                    Err(_) => silent(limit, handshake, &process),
                };
                process.end().await;
                Err(why)
            }
            ServerAddress::Url(url) | ServerAddress::Serving { url, .. } => {
                connect_once(url).await.map_err(|error| format!("{error}; check the URL and the server"))?;
                let config = StreamableHttpClientTransportConfig::with_uri(url.as_str())
                    .custom_headers(headers.clone());
                let transport = StreamableHttpClientTransport::with_client(HyperClient, config);
                let serving = client.clone().serve_with_lifecycle(transport, mode);
                match timeout(limit, serving).await {
                    Ok(Ok(service)) => Ok(Connection { service, process: None, limit }),
                    Ok(Err(error)) => Err(format!("{url} does not speak streamable HTTP: {error}")),
                    Err(_) => {
                        Err(format!("{url} did not answer {} within {limit:?}", request_name(handshake)))
                    }
                }
            }
        }
    }

    /// The protocol version, and the name and version of the server.
    pub(super) fn identity(&self) -> (String, String) {
        let info = self.service.peer().peer_info();
        let protocol =
            info.as_ref().map(|info| info.protocol_version.as_str().to_owned()).unwrap_or_default();
        let server = info.as_ref().and_then(|info| info.server_info.as_ref());
        let server = server.map(|server| format!("{} {}", server.name, server.version)).unwrap_or_default();
        (protocol, server)
    }

    /// All tools.
    ///
    /// # Errors
    /// When there is no list, or it names a tool twice or does not end.
    pub(super) async fn list(&self) -> Result<Vec<ListedTool>, String> {
        let (mut tools, mut cursor, mut cursors) = (Vec::new(), None, BTreeSet::new());
        loop {
            let params = PaginatedRequestParams::default().with_cursor(cursor.take());
            let page = match timeout(self.limit, self.service.peer().list_tools(Some(params))).await {
                Ok(Ok(page)) => page,
                Ok(Err(error)) => {
                    return Err(format!("its tools could not be listed: {}", self.explain(&error)));
                }
                Err(_) => return Err(format!("it did not answer tools/list within {:?}", self.limit)),
            };
            tools.extend(page.tools.iter().map(listed));
            if tools.len() > MAX_TOOLS || cursors.len() > MAX_TOOLS {
                return Err(format!("it lists more than {MAX_TOOLS} tools, or its list does not end"));
            }
            match page.next_cursor {
                None => break,
                Some(next) if !cursors.insert(next.clone()) => {
                    return Err("its list of tools does not end: a cursor came twice".to_owned());
                }
                Some(next) => cursor = Some(next),
            }
        }
        let mut names = BTreeSet::new();
        match tools.iter().find(|tool| !names.insert(tool.name.as_str())) {
            Some(tool) => Err(format!(
                "it lists the tool `{}` twice, so a call does not say which one is meant; give each tool its \
                 own name",
                tool.name
            )),
            None => Ok(tools),
        }
    }

    /// Sends a call.
    pub(super) async fn send(&self, call: &ToolCall, trial: &TrialName) -> Result<PendingCall, CallResult> {
        let arguments = trial.fill(&call.arguments);
        let params = CallToolRequestParams::new(call.tool.clone()).with_arguments(arguments);
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let sending = self.service.peer().send_cancellable_request(request, PeerRequestOptions::no_options());
        match timeout(self.limit, sending).await {
            Ok(sent) => sent.map_err(|error| self.failed(&error)),
            Err(_) => Err(late(self.limit)),
        }
    }

    /// Calls a tool and waits for its result.
    pub(super) async fn call(&self, call: &ToolCall, trial: &TrialName) -> CallResult {
        match self.send(call, trial).await {
            Ok(pending) => self.result_of(pending).await,
            Err(result) => result,
        }
    }

    async fn result_of(&self, pending: PendingCall) -> CallResult {
        match timeout(self.limit, pending.await_response()).await {
            Ok(answer) => self.read(answer),
            Err(_) => late(self.limit),
        }
    }

    /// Waits until a call has ended by itself, however long that takes.
    pub(super) async fn end_of(&self, pending: &mut PendingCall) -> CallResult {
        let answer = (&mut pending.rx).await;
        self.read(answer.unwrap_or(Err(ServiceError::TransportClosed)))
    }

    fn read(&self, answer: Result<ServerResult, ServiceError>) -> CallResult {
        match answer {
            Ok(ServerResult::CallToolResult(result)) => {
                let text = text_of(&result);
                let outcome = match result.is_error {
                    Some(true) => CallOutcome::Error,
                    _ => match ResultText::of(&text) {
                        ResultText::Success => CallOutcome::Ok,
                        ResultText::Error => CallOutcome::ErrorInText,
                        ResultText::Unclear => CallOutcome::Unclear,
                    },
                };
                CallResult { outcome, text }
            }
            Ok(ServerResult::InputRequiredResult(_)) => CallResult {
                outcome: CallOutcome::NeedsInput,
                text: "it asks for input from a user or a model, which hapax declines".to_owned(),
            },
            Ok(ServerResult::CreateTaskResult(_)) => CallResult {
                outcome: CallOutcome::ProtocolError,
                text: "it answers with a task although this client has no tasks".to_owned(),
            },
            Ok(_) => CallResult {
                outcome: CallOutcome::ProtocolError,
                text: "its answer is not the result of a tool call".to_owned(),
            },
            Err(error) => self.failed(&error),
        }
    }

    fn failed(&self, error: &ServiceError) -> CallResult {
        let outcome = match error {
            ServiceError::McpError(_) | ServiceError::UnexpectedResponse => CallOutcome::ProtocolError,
            ServiceError::Timeout { .. } => CallOutcome::Timeout,
            _ => CallOutcome::Lost,
        };
        CallResult { outcome, text: self.explain(error) }
    }

    /// Why something failed, with what is known of the process.
    fn explain(&self, error: &ServiceError) -> String {
        let flooded = self.process.as_ref().is_some_and(|process| process.seen().flooded);
        match error {
            ServiceError::McpError(error) => error.message.to_string(),
            _ if flooded => flood(),
            ServiceError::TransportClosed => "the server closed the connection".to_owned(),
            other => other.to_string(),
        }
    }

    /// Whether the server still answers.
    pub(super) async fn is_alive(&self) -> bool {
        let listing = self.service.peer().list_tools(None);
        matches!(timeout(self.limit, listing).await, Ok(Ok(_)))
    }

    /// The number of lines that are not messages, and the first of them.
    pub(super) fn noise(&self) -> Option<(u64, String)> {
        let seen = self.process.as_ref()?.seen();
        (seen.noise > 0).then(|| (seen.noise, seen.first_noise.clone()))
    }

    /// Closes the connection, and ends the server if it was started for it.
    pub(super) async fn close(mut self) {
        // The input of the server is closed with the service.
        let _ = timeout(CLOSE_TIME, self.service.close()).await;
        drop(self.service);
        if let Some(process) = self.process {
            process.end().await;
        }
    }
}

fn listed(tool: &Tool) -> ListedTool {
    ListedTool {
        name: tool.name.to_string(),
        description: tool.description.as_deref().unwrap_or_default().to_owned(),
        input_schema: Value::Object((*tool.input_schema).clone()),
        annotations: tool.annotations.as_ref().and_then(|hints| serde_json::to_value(hints).ok()),
    }
}

fn text_of(result: &CallToolResult) -> String {
    let texts = result.content.iter().filter_map(|block| Some(block.as_text()?.text.clone()));
    let text = texts.collect::<Vec<_>>().join("\n");
    match &result.structured_content {
        Some(structured) if text.is_empty() => structured.to_string(),
        _ => text,
    }
}

fn late(limit: Duration) -> CallResult {
    CallResult { outcome: CallOutcome::Timeout, text: format!("no result within {limit:?}") }
}

fn flood() -> String {
    "it wrote more to its standard output than hapax reads (a line of 8 MiB, or 64 MiB in all)".to_owned()
}

const fn request_name(handshake: Handshake) -> &'static str {
    match handshake {
        Handshake::Initialize => "initialize",
        Handshake::Discover => "server/discover",
    }
}

/// The message for a server that does not answer.
fn silent(limit: Duration, handshake: Handshake, process: &ServerProcess) -> String {
    let seen = process.seen();
    let name = request_name(handshake);
    if seen.flooded {
        return format!("it did not answer {name}: {}", flood());
    }
    let mut why = format!("it did not answer {name} within {limit:?}");
    if seen.noise > 0 {
        why += &format!(
            "; {} lines of its standard output are not MCP messages, the first is `{}`",
            seen.noise, seen.first_noise
        );
    }
    let errors = seen.last_error_lines();
    if !errors.is_empty() {
        why += &format!("; its standard error ends with: {errors}");
    }
    why
}

async fn not_initialized(error: &ClientInitializeError, process: &mut ServerProcess) -> String {
    // An end of its output is often followed by its own end.
    for _ in 0..20 {
        if process.exit_status().is_some() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    let status = process.exit_status();
    let seen = process.seen();
    let errors = seen.last_error_lines();
    let errors =
        if errors.is_empty() { String::new() } else { format!("; its standard error ends with: {errors}") };
    if seen.flooded {
        return format!("it did not answer the first request: {}", flood());
    }
    match (status, error) {
        (
            Some(status),
            ClientInitializeError::ConnectionClosed(_) | ClientInitializeError::TransportError { .. },
        ) => {
            format!("it ended before it answered the first request ({status}){errors}")
        }
        (_, ClientInitializeError::JsonRpcError(refusal)) => {
            format!("it refused the connection: {}{errors}", refusal.message)
        }
        (_, ClientInitializeError::ConnectionClosed(_)) => {
            format!("it closed its output before it answered the first request{errors}")
        }
        (_, other) => {
            let other: String = other.to_string().chars().take(300).collect();
            format!("its answer to the first request is not valid: {other}{errors}")
        }
    }
}
