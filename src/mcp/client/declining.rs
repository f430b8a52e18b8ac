//! The handler of requests that a server makes to its client: everything is declined, and noted.
#![expect(deprecated, reason = "servers still ask for sampling")]

use std::sync::{Arc, Mutex};

use rmcp::model::{
    ClientCapabilities, ClientConfig, CreateMessageRequestParams, CreateMessageResult, ElicitRequestParams,
    ElicitResult, ElicitationAction, ErrorCode, ErrorData, Implementation, ProtocolVersion,
};
use rmcp::service::RequestContext;
use rmcp::{ClientHandler, RoleClient};

/// How many requests of a server are noted.
const MAX_DECLINED: usize = 100;

/// A client without sampling, elicitation and roots.
#[derive(Debug, Clone, Default)]
pub(super) struct DecliningClient {
    declined: Arc<Mutex<Vec<&'static str>>>,
}

impl DecliningClient {
    /// What was declined since the last call.
    pub(super) fn take(&self) -> Vec<&'static str> {
        self.declined.lock().map(|mut declined| std::mem::take(&mut *declined)).unwrap_or_default()
    }

    fn note(&self, what: &'static str) {
        if let Ok(mut declined) = self.declined.lock()
            && declined.len() < MAX_DECLINED
        {
            declined.push(what);
        }
    }
}

impl ClientHandler for DecliningClient {
    fn get_info(&self) -> ClientConfig {
        ClientConfig::new(
            ClientCapabilities::default(),
            Implementation::new("hapax", env!("CARGO_PKG_VERSION")),
        )
        .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }

    async fn create_message(
        &self,
        _: CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        self.note("sampling");
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "this client has no sampling", None))
    }

    async fn create_elicitation(
        &self,
        _: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        self.note("elicitation");
        Ok(ElicitResult::new(ElicitationAction::Decline))
    }
}
