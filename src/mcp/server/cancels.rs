//! Calls that the client does not wait for any longer, and how it tells the server so.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hyper::header::HeaderMap;
use rmcp::model::RequestId;
use serde_json::Value;

use crate::domain::CancelSignal;

/// The first version of the protocol in which a closed connection cancels the call. Versions are dates.
const CLOSING_CANCELS: &str = "2026-07-28";

/// What is done with a canceled call: its operation, and how it was canceled.
type Listen = dyn Fn(&str, CancelSignal) + Send + Sync;

/// Gets each canceled call.
#[derive(Clone)]
pub(crate) struct CancelListener(Arc<Listen>);

impl CancelListener {
    pub(crate) fn new(listen: impl Fn(&str, CancelSignal) + Send + Sync + 'static) -> Self {
        CancelListener(Arc::new(listen))
    }
}

impl fmt::Debug for CancelListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CancelListener")
    }
}

/// The calls of a client: the operation of each, by the id of its request.
#[derive(Debug, Clone)]
pub(super) struct Cancels {
    operations: Arc<Mutex<HashMap<String, String>>>,
    listener: CancelListener,
}

impl Cancels {
    pub(super) fn new(listener: CancelListener) -> Self {
        Cancels { operations: Arc::default(), listener }
    }

    /// A call begins.
    pub(super) fn begin(&self, id: &RequestId, operation: &str) {
        if let Ok(id) = serde_json::to_string(id) {
            self.known().insert(id, operation.to_owned());
        }
    }

    /// A message of the client. Returns whether it is a notification that a call is canceled. One about an unknown call
    /// is ignored, as the protocol says.
    pub(super) fn is_notification(&self, message: &Value) -> bool {
        let is_it = message["method"] == "notifications/cancelled";
        if is_it && let Some(operation) = self.known().get(&message["params"]["requestId"].to_string()) {
            (self.listener.0)(operation, CancelSignal::Notification);
        }
        is_it
    }

    /// The client closed the connection of a call.
    pub(super) fn closed(&self, operation: &str, request: &HeaderMap) {
        let version = request.get("mcp-protocol-version").and_then(|version| version.to_str().ok());
        if version.is_some_and(|version| version >= CLOSING_CANCELS) {
            (self.listener.0)(operation, CancelSignal::Disconnect);
        }
    }

    fn known(&self) -> MutexGuard<'_, HashMap<String, String>> {
        self.operations.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
