//! The deploy service in the catalog, and its options in a scenario.

use std::sync::Arc;

use serde_json::Value;
use yaml_reader::shape::{Count, MapShape, Shape, optional, required};
use yaml_reader::{Key, Map, Node, Reader};

use super::{Deploy, DeployOptions, EnvironmentOptions, LockEnd, Rollout, api_name};
use crate::description::{
    AFTER, ApiDescription, ClientVariable, ConfiguredService, EffectDescription, FieldDescription, FieldKind,
    FieldKinds, FieldRole, LiveChange, PhrasePart, RealHost, ServiceDescription, UsualValue, ValueForm,
    read_after,
};
use crate::idempotency::Profile;
use crate::services::{Builder, ServiceOptions};

/// The maximum number of steps of a rollout.
const MAX_STEPS: u32 = 1000;

const APIS: &[ApiDescription] = &[
    ApiDescription {
        name: "github",
        title: "the GitHub API",
        differs: "which has no locks, rollouts or dry runs",
    },
    ApiDescription {
        name: "plain",
        title: "the plain deploy API",
        differs: "which does nothing when the version is already live",
    },
];

const VARIABLES: &[ClientVariable] = &[
    ClientVariable::url("GITHUB_API_URL"),
    ClientVariable::key("GITHUB_TOKEN"),
    ClientVariable::key("GH_TOKEN"),
];

const HOSTS: &[RealHost] = &[RealHost {
    host: "api.github.com",
    setting: "Give the client GITHUB_API_URL, which is set to the mock (PyGithub: `base_url=`; octokit: \
              `baseUrl`).",
    profile: Some(Profile::None),
}];

const DEPLOYMENT: &[&str] =
    &["environment", "version", "ref", "sha", "repo", "task", "description", "service", "deployment"];
const STATUS: &[&str] = &[
    "state",
    "environment",
    "version",
    "ref",
    "sha",
    "repo",
    "task",
    "description",
    "service",
    "deployment",
];
const LABELS: &[&str] = &["order", "metadata.*"];

const KINDS: FieldKinds = &[
    (
        FieldKind::Label,
        &[
            "deployment",
            "order",
            "metadata.*",
            // Entries of a payload by which callers find their deployment again, and which no deployment script reads.
            "payload.order",
            "payload.id",
            "payload.*_id",
            "payload.*Id",
            "payload.*_key",
            "payload.*Key",
            "payload.key",
            "payload.*_ref",
            "payload.*reference",
            "payload.*marker",
            "payload.*_token",
            "payload.*nonce",
            "payload.attempt*",
            "payload.*_by",
            "payload.*By",
            "payload.*_at",
            "payload.*At",
            "payload.actor",
            "payload.user",
            "payload.requester",
            "payload.source",
            "payload.agent",
            "payload.ticket",
        ],
    ),
    (
        FieldKind::Text,
        &[
            "description",
            "payload.reason",
            "payload.note*",
            "payload.message",
            "payload.comment",
            "payload.description",
            "payload.task_description",
        ],
    ),
    (
        FieldKind::WhoAndHowMuch,
        &[
            "environment",
            "version",
            "ref",
            "sha",
            "repo",
            "task",
            "service",
            "state",
            "holder",
            "by",
            "transient_environment",
            "production_environment",
            "payload",
            "payload.*",
        ],
    ),
];

const WRITES: &[&str] = &[
    "deploy.deploy",
    "deploy.dry-run",
    "deploy.status",
    "deploy.lock",
    "deploy.unlock",
    "deploy.delete",
    "deploy.no-change",
    "deploy.take-lock",
];
const REVEALS: &[(&str, &[&str])] = &[
    ("deploy.get", WRITES),
    ("deploy.list", WRITES),
    ("deploy.environment", WRITES),
    ("deploy.statuses", WRITES),
    ("deploy.repository", &[]),
];

const DEPLOY_VALUES: &[UsualValue] = &[
    UsualValue::new("service", "the whole environment"),
    UsualValue::new("task", "deploy"),
    UsualValue::new("transient_environment", "false"),
    UsualValue::new("production_environment", "what its name says"),
    UsualValue::new("payload", "none").or_named(),
    UsualValue::new("payload.*", "none").or_named(),
];

const FIELDS: &[FieldDescription] = &[
    FieldDescription::new("environment").role(FieldRole::Object),
    FieldDescription::new("service").role(FieldRole::Identifies),
    FieldDescription { advice: Some("repository"), ..FieldDescription::new("repo") },
    FieldDescription::new("version").role(FieldRole::Describes).form(ValueForm::GitRef),
    FieldDescription::new("ref").form(ValueForm::GitRef),
    FieldDescription::new("sha").role(FieldRole::Describes),
];
const PHRASE: &[PhrasePart] = &[
    PhrasePart::new("for", &["order"]),
    PhrasePart::new("to", &["environment"]),
    PhrasePart::new("of", &["version"]),
];

/// The catalog's description of the deploy service.
pub(crate) fn description() -> ServiceDescription {
    ServiceDescription {
        effects: effects(),
        reveals: ServiceDescription::revealed(REVEALS),
        apis: APIS,
        api_of: |_, path| api_name(path),
        variables: VARIABLES,
        senders: &[super::sender::SENDER],
        sent_effects: super::sender::SENT.iter().map(|effect| (*effect).to_owned()).collect(),
        hosts: HOSTS,
        kinds: KINDS,
        fields: FIELDS,
        phrase: PHRASE,
        tools: Arc::new(super::tools::all),
        endpoints: Arc::new(super::reference::endpoints),
        real_endpoints: super::reference::real_endpoints,
        about:
            "Deployments over GitHub's API, and over a plain API with versions, locks, dry runs and rollouts."
                .to_owned(),
        not_there: &[
            "Webhooks are sent in scenarios with `events`, and nothing runs when a deployment is created.",
            "Every repository and every ref exists. No checks report: a required context is always pending.",
        ],
        options: OPTIONS.fields(),
        ..ServiceDescription::new(&Deploy::default(), |reader, map| Arc::new(read_options(reader, map)))
    }
}

fn effects() -> Vec<EffectDescription> {
    let deployed =
        |effect: EffectDescription| EffectDescription { needs: Some("deploy.deploy".to_owned()), ..effect };
    let live = |value| Some(LiveChange { place: "environment", part: "service", value, id: "deployment" });
    let deploy = EffectDescription {
        live: live(Some("version")),
        past_tense: Some("deployed"),
        ..EffectDescription::new("deploy.deploy", DEPLOYMENT)
            .usual(DEPLOY_VALUES)
            .noun("deployment", "deployments")
            .told_apart_by(&["environment", "version"])
            .impact("a release was deployed", "a release was not deployed")
    };
    let delete = EffectDescription {
        live: live(None),
        ..deployed(
            EffectDescription::new("deploy.delete", DEPLOYMENT)
                .noun("deletion of a deployment", "deletions of a deployment"),
        )
    };
    let status = EffectDescription {
        live: live(None),
        ..deployed(
            EffectDescription::new("deploy.status", STATUS).noun("retired deployment", "retired deployments"),
        )
    };
    let lock = EffectDescription {
        fix_unintended: Some("Release every lock that the task takes, also when a step fails."),
        ..EffectDescription::new("deploy.lock", &["environment", "holder"])
            .noun("unreleased lock", "unreleased locks")
    };
    let take_lock = EffectDescription {
        fix_unintended: Some("Wait until the holder releases the lock; never send another holder's name."),
        ..EffectDescription::new("deploy.take-lock", &["environment", "holder", "by"])
            .noun("use of another holder's lock", "uses of another holder's lock")
    };
    [deploy, delete, status, lock, take_lock].into_iter().map(|effect| effect.labels(LABELS)).collect()
}

static OPTIONS: MapShape<3> = MapShape::new([
    optional("environments", Shape::MapOf(&Shape::Any, &ENVIRONMENT.shape(), Count::ANY)),
    optional("rollout", ROLLOUT.shape()),
    optional("asynchronous", AFTER),
]);
static ENVIRONMENT: MapShape<3> = MapShape::new([
    optional("version", Shape::Text),
    optional("locked_by", Shape::Text),
    optional("free_after", AFTER),
]);
static ROLLOUT: MapShape<2> =
    MapShape::new([required("steps", Shape::Integer(1, MAX_STEPS as i64)), required("each", AFTER)]);

fn read_options(reader: &Reader, map: &mut Map<'_, '_>) -> DeployOptions {
    let [environments, rollout, asynchronous] = map.fields(&OPTIONS);
    let environments = environments.and_then(|node| reader.entries(node)).unwrap_or_default();
    let rollout = rollout.and_then(|node| read_rollout(reader, node));
    let asynchronous = asynchronous.and_then(|node| read_after(reader, node));
    DeployOptions {
        environments: environments
            .iter()
            .filter_map(|(key, node)| read_environment(reader, key, node))
            .collect(),
        rollout: rollout.unwrap_or_default(),
        asynchronous,
    }
}

fn read_environment(reader: &Reader, key: &Key, node: &Node) -> Option<EnvironmentOptions> {
    let [version, holder, free_after] = reader.fields(node, "an environment", &ENVIRONMENT)?;
    let text = |node: Option<&Node>| node.and_then(|node| reader.text(node)).map(str::to_owned);
    let (version, holder) = (text(version), text(holder));
    let end = free_after.and_then(|node| read_after(reader, node)).map_or(LockEnd::Never, LockEnd::After);
    if let (Some((key, _)), None) = (node.entry("free_after"), &holder) {
        reader.report_with_help(
            key.span,
            "`free_after` needs a lock to free",
            "say who holds it: `locked_by: ann`",
        );
    }
    Some(EnvironmentOptions {
        name: key.name.clone(),
        version,
        locked_by: holder.map(|holder| (holder, end)),
    })
}

fn read_rollout(reader: &Reader, node: &Node) -> Option<Rollout> {
    let [steps, each] = reader.fields(node, "a rollout", &ROLLOUT)?;
    let steps = steps.and_then(|node| reader.integer(node, 1..=MAX_STEPS));
    let each = each.and_then(|node| read_after(reader, node));
    Some(Rollout::Steps { count: steps?, each: each? })
}

impl ConfiguredService for DeployOptions {
    fn configuration(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    fn add_to(&self, builder: Builder, _seed: u64, options: ServiceOptions) -> Builder {
        builder.service(Deploy::new(self.clone()), options)
    }

    fn live(&self, place: &str) -> Option<String> {
        self.environments.iter().find(|environment| environment.name == place)?.version.clone()
    }
}
