//! The model service in the catalog, and its options in a scenario.

use std::io;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use sha2::{Digest as _, Sha256};
use yaml_reader::shape::{Count, MapShape, Shape, optional};
use yaml_reader::{Map, Node, Reader};

use super::{
    Cassette, Character, ContextFill, Model, ModelOptions, ReplayedFile, ScriptedTurn, TokenBilling,
};
use crate::description::{
    ClientVariable, ConfiguredService, EffectDescription, EndpointDescription, FieldKind, FieldKinds,
    PlannedTask, RealHost, ServiceDescription, read_texts,
};
use crate::service::Fields;
use crate::services::{Builder, ServiceOptions};

/// A generation is only a cost: no task asks for one.
const KINDS: FieldKinds = &[(FieldKind::Text, &["says", "claim"]), (FieldKind::Label, &["*"])];

const VARIABLES: &[ClientVariable] = &[
    ClientVariable::url("ANTHROPIC_BASE_URL"),
    ClientVariable::key("ANTHROPIC_API_KEY"),
    ClientVariable::url_with_path("OPENAI_BASE_URL", "/v1"),
    ClientVariable::key("OPENAI_API_KEY"),
    ClientVariable::url("GOOGLE_GEMINI_BASE_URL"),
    ClientVariable::key("GEMINI_API_KEY"),
    ClientVariable::key("GOOGLE_API_KEY"),
    // This client sends its traces to the real host, whatever OPENAI_BASE_URL says. Where the subject calls
    // the real hosts, this variable is not set, and the service takes the traces.
    ClientVariable::fixed("OPENAI_AGENTS_DISABLE_TRACING", "1"),
];

/// The largest cassette, in bytes.
const MAX_CASSETTE: u64 = 256 * 1024 * 1024;

const HOSTS: &[RealHost] = &[
    RealHost {
        host: "api.openai.com",
        setting: "Let OPENAI_BASE_URL reach the client; it is set to the mock. Or give it HAPAX_MODEL_URL.",
        profile: None,
    },
    RealHost {
        host: "api.anthropic.com",
        setting: "Let ANTHROPIC_BASE_URL reach the client; it is set to the mock. Or give it \
                  HAPAX_MODEL_URL.",
        profile: None,
    },
    RealHost {
        host: "generativelanguage.googleapis.com",
        setting: "Let GOOGLE_GEMINI_BASE_URL reach the client; it is set to the mock. Or give it \
                  HAPAX_MODEL_URL.",
        profile: None,
    },
];

const REVEALS: &[(&str, &[&str])] = &[("model.read", &[]), ("model.telemetry", &[])];

/// The catalog's description of the model service.
pub(crate) fn description() -> ServiceDescription {
    ServiceDescription {
        effects: vec![generation()],
        reveals: ServiceDescription::revealed(REVEALS),
        variables: VARIABLES,
        hosts: HOSTS,
        can_be_added: true,
        claim_field: Some(("model.generate", "claim")),
        endpoints: Arc::new(endpoints),
        about:
            "A scripted language model behind OpenAI's chat completions and responses APIs, Anthropic's messages \
             API and Google's Gemini API."
                .to_owned(),
        not_there: &[
            "There are no embeddings, images, audio, files, batches, moderations, assistants, threads, vector \
             stores, stored conversations, fine-tuning jobs, uploads, caches of contents and interactions. Such a \
             request gets a 501 and makes the trial void, and so does a request to a model in another API.",
        ],
        kinds: KINDS,
        options: OPTIONS.fields(),
        ..ServiceDescription::new(&Model::default(), |reader, map| Arc::new(read_options(reader, map)))
    }
}

/// All endpoints, for the reference. The prefix `/v1` can be left out.
fn endpoints() -> Vec<EndpointDescription> {
    let one =
        |method: &str, path: &str, operation: &str| EndpointDescription::new(method, path, &[operation], &[]);
    vec![
        one("POST", "/v1/chat/completions", "model.generate"),
        one("POST", "/v1/responses", "model.generate"),
        one("POST", "/v1/messages", "model.generate"),
        one("POST", "/v1beta/models/{id}:generateContent", "model.generate"),
        one("POST", "/v1beta/models/{id}:streamGenerateContent", "model.generate"),
        one("POST", "/v1beta/models/{id}:countTokens", "model.read"),
        one("POST", "/v1/messages/count_tokens", "model.read"),
        one("POST", "/v1/responses/input_tokens", "model.read"),
        one("GET", "/v1/models", "model.read"),
        one("GET", "/v1/models/{id}", "model.read"),
        one("GET", "/v1beta/models", "model.read"),
        one("GET", "/v1beta/models/{id}", "model.read"),
        one("POST", "/v1/traces/ingest", "model.telemetry"),
    ]
}

fn generation() -> EffectDescription {
    EffectDescription::new("model.generate", &["conversation", "model", "api", "generation"])
        .labels(&[
            "input_tokens",
            "output_tokens",
            "calls",
            "tools",
            "says",
            "claim",
            "recorded_line",
            "answer_bytes",
            "through",
        ])
        .noun("generation", "generations")
        .cost()
}

static OPTIONS: MapShape<9> = MapShape::new([
    optional("character", Shape::Words(|| Character::ALL.map(Character::as_str).to_vec())),
    optional("tools", Shape::MapOf(&Shape::Ref("operation_name"), &Shape::Text, Count::ANY)),
    optional("script", Shape::List(&SCRIPTED_TURN.shape(), Count::ANY)),
    optional("second_generation", Shape::MapOf(&Shape::Ref("operation_name"), &Shape::ANY_MAP, Count::ANY)),
    optional("attempts", Shape::Integer(1, 20)),
    optional("models", Shape::TEXTS),
    optional("billing", Shape::Words(|| TokenBilling::ALL.map(TokenBilling::as_str).to_vec())),
    optional("context", Shape::Words(|| ContextFill::ALL.map(ContextFill::as_str).to_vec())),
    optional("replay", Shape::Text),
]);
static SCRIPTED_TURN: MapShape<2> =
    MapShape::new([optional("say", Shape::Text), optional("call", Shape::ANY_MAP)]);

fn read_options(reader: &Reader, map: &mut Map<'_, '_>) -> ModelOptions {
    let usual = ModelOptions::default();
    let words = Character::ALL.map(|character| (character.as_str(), character));
    let [character, tools, script, second, attempts, models, billing, context, replay] = map.fields(&OPTIONS);
    let character = character.and_then(|node| reader.one_of(node, &words));
    let tools = tools.and_then(|node| reader.entries(node)).unwrap_or_default();
    let tools =
        tools.iter().filter_map(|(key, node)| Some((key.name.clone(), reader.text(node)?.to_owned())));
    let script = script.and_then(|node| reader.list(node)).unwrap_or_default();
    let second = second.and_then(|node| reader.entries(node)).unwrap_or_default();
    let attempts = attempts.and_then(|node| reader.integer(node, 1..=20));
    let models = models.map(|node| read_texts(reader, node));
    let billing_words = TokenBilling::ALL.map(|billing| (billing.as_str(), billing));
    let billing = billing.and_then(|node| reader.one_of(node, &billing_words));
    let context_words = ContextFill::ALL.map(|context| (context.as_str(), context));
    let context = context.and_then(|node| reader.one_of(node, &context_words));
    let replay = replay.and_then(|node| read_cassette(reader, node));
    ModelOptions {
        tasks: Vec::new(),
        character: character.unwrap_or(usual.character),
        tools: tools.collect(),
        script: script.iter().filter_map(|node| read_turn(reader, node)).collect(),
        second_generation: second.iter().map(|(key, node)| (key.name.clone(), read_fields(node))).collect(),
        attempts: attempts.unwrap_or(usual.attempts),
        models: models.unwrap_or_default(),
        billing: billing.unwrap_or(usual.billing),
        context: context.unwrap_or(usual.context),
        replay,
    }
}

/// A cassette; its path is relative to the folder of the scenario.
fn read_cassette(reader: &Reader, node: &Node) -> Option<ReplayedFile> {
    let file = reader.text(node)?;
    let folder = Path::new(reader.file().name()).parent().unwrap_or(Path::new(""));
    let text = std::fs::metadata(folder.join(file)).and_then(|metadata| match metadata.len() {
        length if length > MAX_CASSETTE => Err(io::Error::other("it is larger than 256 MiB")),
        _ => std::fs::read_to_string(folder.join(file)),
    });
    let text = match text {
        Ok(text) => text,
        Err(error) => {
            reader.report_with_help(
                node.span,
                format!("cannot read the cassette: {error}"),
                "`hapax record --to cassette.jsonl -- COMMAND` makes one; the path is relative to this file",
            );
            return None;
        }
    };
    match Cassette::read(&text) {
        Ok(cassette) => Some(ReplayedFile {
            file: file.to_owned(),
            sha256: hex::encode(Sha256::digest(&text)),
            cassette: Arc::new(cassette),
        }),
        Err(error) => {
            let help = "make it again with `hapax record`";
            reader.report_with_help(node.span, format!("the cassette cannot be read: {error}"), help);
            None
        }
    }
}

fn read_fields(node: &Node) -> Fields {
    serde_json::to_value(node).ok().and_then(|value| serde_json::from_value(value).ok()).unwrap_or_default()
}

fn read_turn(reader: &Reader, node: &Node) -> Option<ScriptedTurn> {
    let [say, call] = reader.fields(node, "a turn", &SCRIPTED_TURN)?;
    let calls = call.and_then(|node| reader.entries(node)).unwrap_or_default();
    Some(ScriptedTurn {
        say: say.and_then(|node| reader.text(node)).unwrap_or_default().to_owned(),
        calls: calls
            .iter()
            .map(|(key, node)| (key.name.clone(), serde_json::to_value(node).unwrap_or_default()))
            .collect(),
    })
}

impl ConfiguredService for ModelOptions {
    fn configuration(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    fn with_tasks(&self, tasks: &[PlannedTask]) -> Option<Arc<dyn ConfiguredService>> {
        Some(Arc::new(ModelOptions { tasks: tasks.to_vec(), ..self.clone() }))
    }

    fn with_tools(&self, tools: &[(String, String)]) -> Option<Arc<dyn ConfiguredService>> {
        let mut options = self.clone();
        let is_new =
            |(operation, _): &&(String, String)| !self.tools.iter().any(|(have, _)| have == operation);
        options.tools.extend(tools.iter().filter(is_new).cloned());
        Some(Arc::new(options))
    }

    fn add_to(&self, builder: Builder, _seed: u64, options: ServiceOptions) -> Builder {
        builder.service(Model::new(self.clone()), options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reference_lists_endpoints_that_the_router_has() {
        crate::catalog::listed_like_routed(&Model::default(), &endpoints(), &[]);
    }
}
