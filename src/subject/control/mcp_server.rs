//! Two small MCP servers, which `hapax certify --mcp` runs as controls: one that passes a key on, and one without.

use std::io::{self, BufRead, Write};
use std::time::Duration;

use mock_services::word_enum;
use serde_json::{Value, json};

use crate::process_env;
use crate::scenario::any_host_service;

/// The host of their backend, which does not exist.
const HOST: &str = "payments.hapax.example";
/// How long they wait for a reply.
const CLIENT_TIMEOUT: Duration = Duration::from_secs(60);
/// How often the keyed server sends a request.
const ATTEMPTS: u32 = 3;

word_enum! {
    /// A control.
    pub(crate) enum ControlServer {
        /// It takes a key, passes it on, and repeats a failed request with it.
        Keyed => "keyed",
        /// It takes no key.
        Keyless => "keyless",
    }
}

impl ControlServer {
    /// The only tool of each.
    pub(crate) const TOOL: &str = "charge";

    /// Speaks MCP over standard input and output until the input ends.
    pub(crate) fn serve(self) -> io::Result<()> {
        for line in io::stdin().lock().lines() {
            let Ok(message) = serde_json::from_str::<Value>(&line?) else { continue };
            let (Some(id), Some(method)) = (message.get("id"), message.get("method").and_then(Value::as_str))
            else {
                continue;
            };
            let result = self.answer(method, message.get("params").unwrap_or(&Value::Null));
            let mut out = io::stdout().lock();
            serde_json::to_writer(&mut out, &json!({"jsonrpc": "2.0", "id": id, "result": result}))?;
            out.write_all(b"\n")?;
            out.flush()?;
        }
        Ok(())
    }

    fn answer(self, method: &str, params: &Value) -> Value {
        match method {
            "initialize" => json!({
                "protocolVersion": params["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": format!("hapax-control-{}", self.as_str()), "version": "1"}
            }),
            "tools/list" => json!({"tools": [self.tool()]}),
            "tools/call" => {
                let (text, is_error) = self.charge(&params["arguments"]);
                json!({"content": [{"type": "text", "text": text}], "isError": is_error})
            }
            _ => json!({}),
        }
    }

    fn tool(self) -> Value {
        let mut properties = json!({"amount": {"type": "integer", "minimum": 50}});
        if self == ControlServer::Keyed {
            properties["idempotency_key"] = json!({"type": "string"});
        }
        let schema = json!({"type": "object", "properties": properties, "required": ["amount"]});
        json!({"name": Self::TOOL, "description": "Charges a customer.", "inputSchema": schema})
    }

    /// The text of the result, and whether it is an error.
    fn charge(self, arguments: &Value) -> (String, bool) {
        // Sealed, the real host is reached at its usual port; otherwise hapax names the address.
        let base = process_env::text("HAPAX_CA_FILE").map(|_| format!("http://{HOST}"));
        let base = base.or_else(|| process_env::text(&url_variable()?));
        let url = format!("{}/charges", base.unwrap_or_else(|| format!("http://{HOST}")));
        let agent: ureq::Agent =
            ureq::Agent::config_builder().timeout_global(Some(CLIENT_TIMEOUT)).build().into();
        let attempts = if self == ControlServer::Keyed { ATTEMPTS } else { 1 };
        let mut problem = String::new();
        for _ in 0..attempts {
            let mut request = agent.post(&url).header("Content-Type", "application/json");
            if let Some(key) = arguments.get("idempotency_key").and_then(Value::as_str) {
                request = request.header("Idempotency-Key", key);
            }
            let body = json!({"amount": arguments["amount"]}).to_string();
            let sent = request.send(body).and_then(|mut answer| answer.body_mut().read_to_string());
            match sent.map(|text| serde_json::from_str::<Value>(&text)) {
                Ok(Ok(answer)) => return (format!("charged: {}", answer["id"]), false),
                Ok(Err(error)) => problem = error.to_string(),
                Err(error) => problem = error.to_string(),
            }
        }
        (problem, true)
    }
}

/// The variable with the URL of the service that answers for any host.
fn url_variable() -> Option<String> {
    any_host_service().map(|service| format!("HAPAX_{}_URL", service.to_uppercase()))
}
