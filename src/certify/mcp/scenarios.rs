//! The scenarios of a tool that writes: for each, what fails and what is called. Each is the text of a scenario,
//! read as any scenario is, with the plan of the driver as the task of its cases.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use mock_services::fault::Attempts;
use mock_services::word_enum;
use serde_json::{Map, Value};
use yaml_reader::{Problems, Source, write_duration};

use super::arguments::CallArguments;
use super::judge::EffectSource;
use super::patience::Patience;
use super::startup::StartupWrite;
use crate::mcp::client::{CloseMoment, DriverPlan, DriverStep, Handshake, ToolCall};
use crate::scenario::{Case, InterruptMoment, Reached, any_host_service, read_scenario};

/// The name of the scenarios in problems.
const FILE: &str = "scenario of an MCP server";
/// The largest number of steps that a plan waits for, with some room.
const LONGEST_PLAN: u32 = 8;
/// The backend commits: at once, or late.
const COMMITTED: &[&str] = &["now", "{ later: { requests: 2 } }"];
const LOST: &[&str] = &["drop", "reset", "{ hang: { release: 2s } }", "truncate", "garble"];
const ERRORS: &[&str] = &["{ status: 500 }", "{ status: 502 }", "{ status: 503 }", "{ status: 429 }"];

word_enum! {
    /// A scenario of a tool that writes.
    pub(crate) enum ServerScenario {
        /// The same call twice, without a key.
        SameCallTwice => "same-call-twice",
        /// The same call twice, with one key.
        SameKeyTwice => "same-key-twice",
        /// The same call twice, with two keys.
        AnotherKey => "another-key",
        /// Two calls with one key and different arguments.
        SameKeyOtherArguments => "same-key-other-arguments",
        /// Many callers at once with the same call.
        CallersAtOnce => "callers-at-once",
        /// A call that is cancelled while the backend says nothing.
        Cancelled => "cancelled",
        /// A call whose connection is lost after it was sent, and then the same call again.
        LostConnection => "lost-connection",
        /// The server is killed after the effect and started again, and then the same call again.
        KilledAfterEffect => "killed-after-effect",
        /// The backend commits, and its reply is lost.
        LostReply => "lost-reply",
        /// The backend commits, and replies with an error.
        ErrorAfterEffect => "error-after-effect",
        /// The backend commits nothing, and its reply is lost or an error.
        LostRequest => "lost-request",
        /// The backend commits nothing, and replies with success.
        LyingSuccess => "lying-success",
    }
}

/// What a scenario needs: the steps of each start of the driver, and what happens meanwhile.
#[derive(Debug, Clone, Default)]
pub(super) struct ScenarioSetup {
    pub(super) starts: Vec<Vec<DriverStep>>,
    /// The fault of the first attempt of an operation: all combinations of what is committed and replied.
    fault: Option<(&'static [&'static str], Vec<&'static str>)>,
    /// The moment at which the driver acts, if it waits for one of the attempt that fails.
    announced: Option<Reached>,
    /// Whether everything is killed and started again after the commit of an operation.
    killed: bool,
    /// The operations that fail, or at which the callers meet.
    operations: Vec<String>,
    callers: u32,
}

/// Why a scenario is skipped for a tool whose effects a read counts.
const NO_BACKEND: &str = "its effects are counted by a read, so hapax cannot make its backend fail";

/// A tool, as the scenarios need it.
#[derive(Debug, Clone, Copy)]
pub(super) struct CalledTool<'a> {
    pub(super) name: &'a str,
    pub(super) call: &'a CallArguments,
    /// Where its effects are counted.
    pub(super) source: &'a EffectSource,
    /// How many callers call it at once.
    pub(super) callers: u32,
    /// Whether the server serves HTTP, so that a caller is a session.
    pub(super) over_http: bool,
    /// How long is waited for what it does without an answer.
    pub(super) patience: Patience,
}

impl CalledTool<'_> {
    /// What a scenario needs, or why it is skipped.
    pub(super) fn setup(&self, scenario: ServerScenario) -> Result<ScenarioSetup, &'static str> {
        use DriverStep::Call;
        let keyed = |number| self.step(&self.call.with_key(number));
        let operations = match self.source {
            EffectSource::Backend(operations) => Ok(operations.clone()),
            EffectSource::Read { .. } => Err(NO_BACKEND),
        };
        let failing = |commits: &'static [&'static str], replies: &[&[&'static str]], steps| {
            let fault = Some((commits, replies.concat()));
            Ok(ScenarioSetup {
                starts: vec![steps],
                fault,
                operations: operations.clone()?,
                ..Default::default()
            })
        };
        let again = || vec![Call(keyed(1)), DriverStep::CallAgainAfterError(keyed(1))];
        match scenario {
            ServerScenario::SameCallTwice => match &self.call.key {
                Some(key) if key.required => Err("every call needs a key"),
                _ => {
                    let plain = || Call(self.step(&self.call.arguments));
                    Ok(self.without_faults(vec![plain(), plain()]))
                }
            },
            ServerScenario::SameKeyTwice
            | ServerScenario::AnotherKey
            | ServerScenario::SameKeyOtherArguments
                if self.call.key.is_none() =>
            {
                Err("it takes no key")
            }
            ServerScenario::SameKeyTwice => Ok(self.without_faults(vec![Call(keyed(1)), Call(keyed(1))])),
            ServerScenario::AnotherKey => Ok(self.without_faults(vec![Call(keyed(1)), Call(keyed(2))])),
            ServerScenario::SameKeyOtherArguments => match self.call.other_with_key(1) {
                Some(other) => Ok(self.without_faults(vec![Call(keyed(1)), Call(self.step(&other))])),
                None => {
                    Err("hapax does not know which argument to change; name it in the tools file (`other`)")
                }
            },
            ServerScenario::CallersAtOnce if self.over_http => {
                Ok(self
                    .without_faults(vec![DriverStep::CallAtOnce { call: keyed(1), callers: self.callers }]))
            }
            ServerScenario::CallersAtOnce => match self.source {
                EffectSource::Backend(operations) => Ok(ScenarioSetup {
                    callers: self.callers,
                    operations: operations.first().cloned().into_iter().collect(),
                    ..self.without_faults(vec![Call(keyed(1))])
                }),
                EffectSource::Read { .. } => {
                    Err("its effects are counted by a read, and each caller has its own server")
                }
            },
            ServerScenario::Cancelled => {
                let step = DriverStep::Cancel { call: keyed(1), wait: self.patience.after_cancel() };
                let setup = failing(&["never"], &[&["{ hang: { release: 3s } }"]], vec![step])?;
                Ok(ScenarioSetup { announced: Some(Reached::Received), ..setup })
            }
            ServerScenario::LostConnection => {
                let lose = |when| DriverStep::LoseConnection { call: keyed(1), when };
                match self.source {
                    // The reply is too late for the connection.
                    EffectSource::Backend(_) => {
                        let steps = vec![lose(CloseMoment::Arrived), Call(keyed(1))];
                        let setup = failing(&["now"], &[&["{ delay: 3s }"]], steps)?;
                        Ok(ScenarioSetup { announced: Some(Reached::Committed), ..setup })
                    }
                    EffectSource::Read { call: read, .. } => {
                        let lose = lose(CloseMoment::After(self.patience.close_after()));
                        Ok(self.without_faults(vec![lose, DriverStep::Count(read.clone()), Call(keyed(1))]))
                    }
                }
            }
            ServerScenario::KilledAfterEffect => Ok(ScenarioSetup {
                starts: vec![vec![Call(keyed(1))], vec![Call(keyed(1))]],
                killed: true,
                operations: operations?,
                ..ScenarioSetup::default()
            }),
            ServerScenario::LostReply => failing(COMMITTED, &[LOST], again()),
            ServerScenario::ErrorAfterEffect => failing(COMMITTED, &[ERRORS], again()),
            ServerScenario::LostRequest => failing(&["never"], &[LOST, ERRORS], again()),
            ServerScenario::LyingSuccess => failing(&["never"], &[&["ok"]], vec![Call(keyed(1))]),
        }
    }

    /// If a read counts the effects, it is asked before and after.
    fn without_faults(&self, mut steps: Vec<DriverStep>) -> ScenarioSetup {
        if let EffectSource::Read { call, .. } = self.source {
            steps.insert(0, DriverStep::Count(call.clone()));
            steps.push(DriverStep::Count(call.clone()));
        }
        ScenarioSetup::of_steps(steps)
    }

    fn step(&self, arguments: &Map<String, Value>) -> ToolCall {
        ToolCall { tool: self.name.to_owned(), arguments: arguments.clone() }
    }
}

impl ScenarioSetup {
    /// One start with these steps, without faults.
    pub(super) fn of_steps(steps: Vec<DriverStep>) -> Self {
        ScenarioSetup { starts: vec![steps], ..ScenarioSetup::default() }
    }
}

/// What all cases share.
#[derive(Debug, Clone)]
pub(super) struct CaseMaker {
    /// The services, each with its settings as YAML.
    pub(super) services: Vec<(String, String)>,
    /// How the driver connects.
    pub(super) handshake: Handshake,
    /// How long the server can take for each request.
    pub(super) timeout: Duration,
    /// How long is waited for what it does without an answer.
    pub(super) patience: Patience,
    /// Where the driver writes lists of tools.
    pub(super) list_folder: PathBuf,
    /// A text that is another one in every run.
    pub(super) run: String,
    /// What the server writes at its start, without a call: faults and interrupts are not meant for it.
    pub(super) startup: Vec<StartupWrite>,
}

/// The services that stand in for the backend if the user names none. A key that the server sends counts.
pub(super) fn default_services() -> Vec<(String, String)> {
    let any = any_host_service().map(|name| (name.to_owned(), "{ idempotency: stripe }".to_owned()));
    any.into_iter().collect()
}

impl CaseMaker {
    /// The cases of a scenario with this name.
    pub(super) fn cases(&self, name: &str, setup: &ScenarioSetup) -> Result<Vec<Case>, Problems> {
        let mut cases = read_scenario(&Source::new(FILE, self.text(name, setup)), name)?;
        let plan = DriverPlan {
            handshake: self.handshake,
            timeout: self.timeout,
            list_folder: Some(self.list_folder.clone()),
            run: self.run.clone(),
            starts: setup.starts.iter().map(|steps| watched(steps, self.patience)).collect(),
        };
        // Plain data written into memory cannot fail.
        let task = serde_json::to_string(&plan).unwrap_or_default();
        for case in &mut cases {
            case.work.task.clone_from(&task);
            self.spare_the_start(case);
            case.announced = setup.announced.and_then(|reached| announced(case, reached));
        }
        Ok(cases)
    }

    /// Lets the faults and interrupts of a case begin behind what the server writes at its start.
    fn spare_the_start(&self, case: &mut Case) {
        let before = |operation: &str| {
            let of_operation = self.startup.iter().filter(|write| write.operation == operation);
            u32::try_from(of_operation.map(|write| write.count).sum::<usize>()).unwrap_or(u32::MAX)
        };
        for trigger in case.faults.iter_mut().map(|fault| &mut fault.trigger) {
            let before = before(&trigger.on);
            if before > 0 {
                trigger.attempts = Attempts::These(vec![before.saturating_add(1)]);
            }
        }
        for moment in case.interrupts.iter_mut().map(|interrupt| &mut interrupt.when) {
            moment.attempt = moment.attempt.saturating_add(before(&moment.operation));
        }
    }

    fn text(&self, name: &str, setup: &ScenarioSetup) -> String {
        let (mut text, mut matrix) = (String::new(), Vec::new());
        // A name of the matrix, unless there is only one value.
        let mut axis = |name: &str, values: &[&str]| match values {
            [only] => (*only).to_owned(),
            values => {
                matrix.push(format!("{name}: [{}]", values.join(", ")));
                format!("\"${{{name}}}\"")
            }
        };
        let operations: Vec<&str> = setup.operations.iter().map(String::as_str).collect();
        // Writing into a string cannot fail.
        if let Some((commits, replies)) = &setup.fault {
            let (on, commit) = (axis("operation", &operations), axis("commit", commits));
            let reply = axis("reply", replies);
            let _ = writeln!(
                text,
                "faults:\n  - {{ on: {on}, where: any, attempt: 1, commit: {commit}, reply: {reply} }}"
            );
        }
        if setup.killed {
            let on = axis("operation", &operations);
            let _ = writeln!(
                text,
                "interrupts:\n  - {{ when: {{ committed: {on}, attempt: 1 }}, do: kill, then: restart }}"
            );
        }
        if setup.callers > 1 {
            let meet = operations.first().map(|operation| format!(", meet: {operation}")).unwrap_or_default();
            let within = write_duration(self.timeout);
            let _ = writeln!(text, "callers: {{ count: {}{meet}, within: {within} }}", setup.callers);
        }
        let limit = write_duration(self.timeout.saturating_mul(LONGEST_PLAN) + Duration::from_secs(30));
        let services: String =
            self.services.iter().map(|(name, settings)| format!("  {name}: {settings}\n")).collect();
        let matrix = match matrix.as_slice() {
            [] => String::new(),
            axes => format!("matrix: {{ {} }}\n", axes.join(", ")),
        };
        format!(
            "about: The tools of an MCP server are called ({name}).\ntask: call\nservices:\n{services}{matrix}{text}\
             expect: {{ effects: [], claim: [done, not-done, unknown] }}\ntimeout: {limit}\n"
        )
    }
}

/// The moment of the attempt that fails.
fn announced(case: &Case, reached: Reached) -> Option<InterruptMoment> {
    let trigger = &case.faults.first()?.trigger;
    let attempt = match &trigger.attempts {
        Attempts::These(numbers) => numbers.first().copied()?,
        Attempts::Span(first, _) => *first,
        Attempts::Every => 1,
    };
    Some(InterruptMoment { reached, operation: trigger.on.clone(), attempt, caller: None })
}

/// The steps of a start, with the server watched after the last call: before its effects are counted.
fn watched(steps: &[DriverStep], patience: Patience) -> Vec<DriverStep> {
    let is_call = |step: &DriverStep| {
        !matches!(step, DriverStep::List | DriverStep::Count(_) | DriverStep::Watch { .. })
    };
    let mut steps = steps.to_vec();
    if let Some(last) = steps.iter().rposition(is_call) {
        steps.insert(last + 1, DriverStep::Watch { time: patience.watch() });
    }
    steps
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::json;

    use super::super::judge::BackendFault;
    use super::super::tools_file::ToolSettings;
    use super::*;
    use crate::mcp::client::ListedTool;

    #[test]
    fn every_scenario_has_cases_with_ids_that_can_be_typed() {
        let schema = json!({ "properties": { "amount": {}, "idempotency_key": {} }, "required": ["amount"] });
        let listed = ListedTool { name: "pay".to_owned(), input_schema: schema, ..ListedTool::default() };
        let settings =
            ToolSettings { other: json!({"amount": 2}).as_object().cloned(), ..ToolSettings::default() };
        let service = any_host_service().unwrap();
        let source = EffectSource::Backend(vec![format!("{service}.post"), format!("{service}.put")]);
        let call = CallArguments::new(&listed, &settings);
        let tool = CalledTool {
            name: "pay",
            call: &call,
            source: &source,
            callers: 8,
            over_http: false,
            patience: Patience::default(),
        };
        let maker = CaseMaker {
            services: default_services(),
            handshake: Handshake::Initialize,
            timeout: Duration::from_secs(30),
            patience: Patience::default(),
            list_folder: PathBuf::new(),
            run: String::new(),
            startup: Vec::new(),
        };
        let cases = |scenario: ServerScenario| {
            maker.cases(&format!("pay/{scenario}"), &tool.setup(scenario).unwrap()).unwrap()
        };
        let ids = |scenario| cases(scenario).into_iter().map(|case| case.id).collect::<Vec<_>>();
        let counts = ServerScenario::ALL.map(|scenario| ids(scenario).len());
        assert_eq!(counts, [1, 1, 1, 1, 1, 2, 2, 2, 20, 16, 18, 2]);
        assert_eq!(ids(ServerScenario::SameKeyTwice), ["pay/same-key-twice"]);
        assert_eq!(
            ids(ServerScenario::LostReply)[7],
            format!("pay/lost-reply@operation={service}.post,commit=later-requests-2,reply=hang-release-2s")
        );
        let failing = [ServerScenario::LostRequest, ServerScenario::ErrorAfterEffect].map(cases).concat();
        let failures = failing.iter().filter_map(|case| case.faults.first()).map(BackendFault::new);
        let clauses: BTreeSet<String> = failures.map(|fault| fault.failure).collect();
        insta::assert_snapshot!(clauses.into_iter().collect::<Vec<_>>().join("\n"));
    }
}
