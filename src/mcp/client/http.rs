//! Streamable HTTP over hyper: one connection for each request, plain or with TLS.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderName, HeaderValue};
use hyper::http::request::Builder;
use hyper::{Method, Request, Response, StatusCode, Uri};
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_client::{
    HttpStatusError, SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::{Sse, SseStream};

use crate::outbound::{OutboundError, send};

/// The media types that an answer can have.
const ACCEPTED: &str = "application/json, text/event-stream";
const SESSION: &str = "mcp-session-id";
const LAST_EVENT: &str = "last-event-id";
/// The longest answer, or stream of events, in bytes.
const MAX_BODY: usize = 64 * 1024 * 1024;
/// How much of an answer is shown in a message, in characters.
const SHOWN_BODY: usize = 300;

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RequestError {
    /// The request could not be sent, or has no answer.
    #[error(transparent)]
    Outbound(#[from] OutboundError),
    /// A header cannot be sent.
    #[error("{0}")]
    Header(#[from] hyper::http::Error),
    /// The answer cannot be read.
    #[error("the answer cannot be read: {0}")]
    Body(Box<dyn std::error::Error + Send + Sync>),
    /// The message cannot be written.
    #[error("{0}")]
    Json(#[from] serde_json::Error),
}

impl From<RequestError> for StreamableHttpError<RequestError> {
    fn from(error: RequestError) -> Self {
        StreamableHttpError::Client(error)
    }
}

type HttpResult<T> = Result<T, StreamableHttpError<RequestError>>;

/// The client.
#[derive(Debug, Clone, Default)]
pub(crate) struct HyperClient;

fn request(
    method: Method,
    uri: &str,
    session: Option<&str>,
    auth: Option<String>,
    headers: HashMap<HeaderName, HeaderValue>,
) -> Result<Builder, RequestError> {
    let parsed: Uri = uri.parse().map_err(|_| OutboundError::Url(uri.to_owned()))?;
    let host = parsed.authority().map(|authority| authority.as_str().to_owned());
    let mut builder = Request::builder().method(method).uri(parsed).header(ACCEPT, ACCEPTED);
    builder = builder.header(HOST, host.ok_or_else(|| OutboundError::Url(uri.to_owned()))?);
    if let Some(session) = session {
        builder = builder.header(SESSION, session);
    }
    if let Some(auth) = auth {
        builder = builder.header(AUTHORIZATION, format!("Bearer {auth}"));
    }
    Ok(headers.into_iter().fold(builder, |builder, (name, value)| builder.header(name, value)))
}

fn header<'a>(response: &'a Response<Incoming>, name: &str) -> Option<&'a str> {
    response.headers().get(name)?.to_str().ok()
}

fn is_media_type(response: &Response<Incoming>, media_type: &str) -> bool {
    header(response, CONTENT_TYPE.as_str()).is_some_and(|found| found.starts_with(media_type))
}

fn events(response: Response<Incoming>) -> BoxStream<'static, Result<Sse, SseError>> {
    SseStream::new(Limited::new(response.into_body(), MAX_BODY).map_err(io::Error::other)).boxed()
}

async fn body(response: Response<Incoming>) -> Result<Bytes, RequestError> {
    let collected =
        Limited::new(response.into_body(), MAX_BODY).collect().await.map_err(RequestError::Body)?;
    Ok(collected.to_bytes())
}

/// The error for an answer with a status that is not a success.
async fn refused(response: Response<Incoming>) -> StreamableHttpError<RequestError> {
    let status = response.status();
    if status == StatusCode::TOO_MANY_REQUESTS {
        let retry_after = header(&response, "retry-after").map(str::to_owned);
        return HttpStatusError::new(status.as_u16(), retry_after).into();
    }
    let text =
        body(response).await.map(|body| String::from_utf8_lossy(&body).into_owned()).unwrap_or_default();
    let text: String = text.chars().take(SHOWN_BODY).collect();
    StreamableHttpError::UnexpectedServerResponse(Cow::Owned(format!("HTTP {status}: {text}")))
}

impl StreamableHttpClient for HyperClient {
    type Error = RequestError;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> HttpResult<StreamableHttpPostResponse> {
        let json = serde_json::to_vec(&message).map_err(RequestError::Json)?;
        let request = request(Method::POST, &uri, session_id.as_deref(), auth_header, custom_headers)?
            .header(CONTENT_TYPE, "application/json")
            .body(Full::new(Bytes::from(json)))
            .map_err(RequestError::Header)?;
        let response = send(request).await.map_err(RequestError::from)?;
        let status = response.status();
        let is_request = matches!(message, ClientJsonRpcMessage::Request(_));
        let is_empty = header(&response, CONTENT_LENGTH.as_str()) == Some("0");
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT)
            || (status.is_success() && is_empty && !is_request)
        {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if status == StatusCode::NOT_FOUND && session_id.is_some() {
            return Err(StreamableHttpError::SessionExpired);
        }
        let session = header(&response, SESSION).map(str::to_owned);
        if status.is_success() && is_media_type(&response, "text/event-stream") {
            return Ok(StreamableHttpPostResponse::Sse(events(response), session));
        }
        if is_media_type(&response, "application/json") {
            let body = body(response).await?;
            return match serde_json::from_slice::<ServerJsonRpcMessage>(&body) {
                // Servers answer errors of the protocol with an error status, too.
                Ok(message) => Ok(StreamableHttpPostResponse::Json(message, session)),
                Err(_) if status.is_success() && !is_request => Ok(StreamableHttpPostResponse::Accepted),
                Err(error) => {
                    let text: String = String::from_utf8_lossy(&body).chars().take(SHOWN_BODY).collect();
                    let text = format!("HTTP {status}: not a message ({error}): {text}");
                    Err(StreamableHttpError::UnexpectedServerResponse(Cow::Owned(text)))
                }
            };
        }
        if !status.is_success() {
            return Err(refused(response).await);
        }
        let found = header(&response, CONTENT_TYPE.as_str()).map(str::to_owned);
        Err(StreamableHttpError::UnexpectedContentType(found))
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> HttpResult<()> {
        let request = request(Method::DELETE, &uri, Some(&session_id), auth_header, custom_headers)?
            .body(Full::default())
            .map_err(RequestError::Header)?;
        let response = send(request).await.map_err(RequestError::from)?;
        match response.status() {
            StatusCode::METHOD_NOT_ALLOWED => Ok(()),
            status if status.is_success() => Ok(()),
            _ => Err(refused(response).await),
        }
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> HttpResult<BoxStream<'static, Result<Sse, SseError>>> {
        let mut builder = request(Method::GET, &uri, session_id.as_deref(), auth_header, custom_headers)?;
        if let Some(last) = last_event_id {
            builder = builder.header(LAST_EVENT, last);
        }
        let request = builder.body(Full::default()).map_err(RequestError::Header)?;
        let response = send(request).await.map_err(RequestError::from)?;
        match response.status() {
            StatusCode::METHOD_NOT_ALLOWED => Err(StreamableHttpError::ServerDoesNotSupportSse),
            status if status.is_success() && is_media_type(&response, "text/event-stream") => {
                Ok(events(response))
            }
            _ => Err(refused(response).await),
        }
    }
}
