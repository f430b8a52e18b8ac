//! Reads one case from the tree of its scenario, in which every matrix name has been replaced by its value.

use std::collections::BTreeSet;
use std::time::Duration;

use mock_services::BarrierOptions;
use mock_services::fault::{FAULT_FILE, FaultPart, PlacedFault, check_placed, read_fault_list};
use mock_services::service::{Fields, Operation, Value};
use yaml_reader::shape::{Count, MapShape, Rule, Shape, optional, required};
use yaml_reader::{Key, Node, NodeKind, Reader, shown};

use super::approvals::{APPROVALS_LIST, ApprovalReader};
use super::callers::{CALLERS, CallersInput, DELIVER, MAX_CALLERS, check_overlap, read_callers};
use super::check::{CaseParts, check};
use super::controls::{CONTROLS, FOUND, read_found};
use super::events::{EVENT_LIST, HAPPENS, PlannedEventReader};
use super::interrupts::{INTERRUPTS, InterruptReader, PlacedInterrupt};
use super::tasks::tasks;
use crate::scenario::expect::{EXPECT, Expected, read_expect};
use crate::scenario::field_values::in_recorded_form;
use crate::scenario::known::KnownServices;
use crate::scenario::matrix::MATRIX;
use crate::scenario::mcp::{MCP, not_offered_as_tools, read_mcp};
use crate::scenario::services::{
    DeclaredServices, REQUIRES, default_setup, read_requires, read_services, services_schema,
};
use crate::scenario::via::{VIA, check_via, read_via};
use crate::scenario::work::{MAX_STEPS, WorkReader};
use crate::scenario::{
    ApprovalTerm, Case, EventTerm, Intent, OperationTerm, Overlap, Planned, ServiceSetup, Step, Terms, Then,
    Work,
};

/// The default time limit of one start of the subject.
pub(super) const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);
/// The default time limit if callers wait for each other at a barrier.
pub(super) const DEFAULT_BARRIER_TIMEOUT: Duration = Duration::from_secs(60);
/// The largest time limit.
const MAX_TIMEOUT: Duration = Duration::from_secs(3600);

/// The largest number of tags.
const MAX_TAGS: usize = 50;

/// A scenario file.
pub(in crate::scenario) static SCENARIO: MapShape<22> = MapShape::new([
    required("about", Shape::Sentence).about("What the scenario is about, in one sentence."),
    optional("tags", Shape::Set(&Shape::Pattern("^[a-z0-9-]+$"), Count(0, MAX_TAGS)))
        .about("Words to select scenarios by; `clean` for scenarios in which nothing fails."),
    optional("task", Shape::Sentence).about("The task in words."),
    optional("steps", Shape::Ref("steps"))
        .about("The task for a machine: controls execute it, agents can read it."),
    optional("matrix", MATRIX).about("Names and their values: one case for each combination."),
    optional("services", Shape::Own(services_schema))
        .about("How services are set up; a service with default options need not be listed."),
    optional("faults", FAULT_FILE).about("What happens to which attempt."),
    optional("callers", CALLERS)
        .about("How many copies of the subject run at once, and where they wait for each other."),
    optional("each", Shape::List(&Shape::Ref("work"), Count(1, MAX_CALLERS as usize)))
        .about("The task of each caller, where they differ."),
    optional("deliver", DELIVER.shape())
        .about("The same task is delivered more than once, as from an at-least-once queue."),
    optional("interrupts", INTERRUPTS).about("What happens to the subject, and when."),
    optional("turns", Shape::List(&Shape::Ref("work"), Count(0, MAX_STEPS)))
        .about("Tasks after the first one, each in a new start with the same state directory."),
    optional("approvals", APPROVALS_LIST)
        .about("What a person answers to questions of the subject, and when."),
    optional("happens", HAPPENS)
        .about("What the scenario itself does, before the subject is told of it with `events`."),
    optional("events", EVENT_LIST)
        .about("What a sender brings to the subject: webhooks, messages of a queue, jobs of a schedule."),
    required("expect", EXPECT.shape()).about("What must be true at the end."),
    optional("controls", CONTROLS).about("The expected outcome of each control."),
    optional("found", FOUND.shape())
        .about("The subject that was found to fail the scenario, in place of a control that fails it."),
    optional("timeout", Shape::Pattern("^(?=.*[1-9])[0-9]+(\\.[0-9]+)?(ms|s|m)$"))
        .about("The time limit of one start of the subject; the default is 30s."),
    optional("via", VIA)
        .about("The API, or the APIs, through which an operation must be called for the case to count."),
    optional("requires", REQUIRES).about(
        "The services that the subject itself must use. Subjects that do not use them skip the cases.",
    ),
    optional("mcp", MCP.shape()).about("How the tools are described to agents that get them over MCP."),
])
.needs(Rule::First(&["task", "each"]));

/// Reads a case. The caller sets its id, its position and its controls, which are not in the tree.
pub(super) fn read_case(reader: &Reader, tree: &Node, declared: &DeclaredServices<'_>) -> Option<Case> {
    // In the order of the shape. The matrix and the controls are read before any case.
    let [
        about,
        tags,
        task,
        steps,
        _matrix,
        services,
        faults,
        callers,
        each,
        _deliver,
        interrupts,
        turns,
        approvals,
        happens,
        events,
        expect,
        _controls,
        found,
        timeout,
        via_node,
        requires_node,
        mcp,
    ] = reader.fields(tree, "a scenario", &SCENARIO)?;
    let about = about.and_then(|node| read_about(reader, node));
    let mcp = mcp.map(|node| read_mcp(reader, node)).unwrap_or_default();
    let tags = tags.map(|node| read_tags(reader, node)).unwrap_or_default();
    let own_timeout = timeout.and_then(|node| read_timeout(reader, node));
    let (setups, known) = read_services(reader, services, declared);
    let works = WorkReader { reader, known: &known };
    let work = Work { task: works.task(task), steps: works.steps(steps) };
    let each_work = works.list(each, "the task of a caller");
    let length = |node: &Node| if let NodeKind::List(items) = &node.kind { Some(items.len()) } else { None };
    let each_length = tree.entry("each").and_then(|(key, node)| Some((key, length(node)?)));
    let deliver = tree.entry("deliver");
    let longest = own_timeout.unwrap_or(DEFAULT_BARRIER_TIMEOUT);
    let is_filled = |(_, node): &(&Key, &Node)| length(node).is_none_or(|length| length > 0);
    let apart = ["interrupts", "turns"].into_iter().filter_map(|name| tree.entry(name).filter(is_filled));
    let apart = apart.map(|(key, _)| key).collect();
    let input = CallersInput { callers, each: each_length, deliver, apart, timeout: longest };
    let mut callers = read_callers(reader, &known, &input);
    let approvals = ApprovalReader { reader, known: &known, timeout: longest }.read(approvals);
    if approvals.resumers() > 1 {
        let apart = ["callers", "each", "deliver", "turns"];
        let apart: Vec<&Key> = apart.into_iter().filter_map(|name| Some(tree.entry(name)?.0)).collect();
        approvals.check_apart(reader, &apart);
        callers.count = approvals.resumers();
        callers.barrier = approvals.barrier(BarrierOptions::default().within.min(longest / 2));
    }
    let events = PlannedEventReader { reader, known: &known, steps: &work.steps, timeout: longest }
        .read(happens, events);
    if !events.events.is_empty() {
        callers.count = events.callers();
    }
    if let Some((overlap, span)) = &callers.overlap {
        check_overlap(reader, overlap, *span, &known, &setups);
    }
    let waits = callers.barrier.is_some() || callers.overlap.is_some() || callers.order.is_some();
    let timeout = if waits { longest } else { own_timeout.unwrap_or(DEFAULT_TIMEOUT) };
    let mut faults = faults.map(|node| read_fault_list(reader, node)).unwrap_or_default();
    for trigger in faults.iter_mut().map(|placed| &mut placed.fault.trigger) {
        trigger.fields = in_recorded_form(&trigger.on, &trigger.fields);
    }
    let own_work = each.is_none().then_some(&work);
    let interrupts =
        InterruptReader { reader, known: &known, callers: callers.count, timeout, work: own_work }
            .read(interrupts);
    let later_turns = works.list(turns, "a turn");
    let expected = read_expect(reader, &known, &setups, expect);

    let again = std::iter::repeat_n(work.clone(), callers.redeliveries as usize);
    let turns: Vec<Work> = again.chain(later_turns).collect();
    let restarts = interrupts.iter().filter_map(|placed| match &placed.interrupt.then {
        Then::Restart { work, .. } => work.as_ref(),
        Then::End => None,
    });
    let all_work = [&work].into_iter().chain(&each_work).chain(&turns).chain(restarts);
    let steps: Vec<&Step> = all_work.flat_map(|work| &work.steps).chain(events.steps()).collect();
    let apart = ["callers", "each", "deliver", "turns", "approvals"];
    let apart: Vec<&Key> = apart.into_iter().filter_map(|name| Some(tree.entry(name)?.0)).collect();
    events.check(reader, &apart, &expected);
    approvals.check(reader, &steps, &expected);
    approvals.check_services(reader, &setups);
    let approvals = approvals.approvals;
    let overlap = callers.overlap.map(|(overlap, _)| overlap);
    let meet = callers.barrier.as_ref().and_then(|barrier| barrier.meet.clone());
    let meet = meet.or_else(|| overlap.as_ref().map(|overlap| overlap.operation.clone()));
    let references = References {
        steps: &steps,
        faults: &faults,
        interrupts: &interrupts,
        expected: &expected,
        happens: &events.happens,
        meet: meet.as_deref(),
    };
    let via = via_node.map(|node| read_via(reader, &known, node)).unwrap_or_default();
    check_via(reader, via_node, &via, &steps);
    let services = references.services(setups, &known);
    let requires = requires_node.map(|node| read_requires(reader, &services, node)).unwrap_or_default();
    let operations = operations_of(&services, &known);
    check_faults(reader, &faults, &operations, &known, callers.count);
    let count = callers.count;
    let is_restart = |placed: &PlacedInterrupt| matches!(placed.interrupt.then, Then::Restart { .. });
    let starts_again = !turns.is_empty() || !approvals.is_empty() || interrupts.iter().any(is_restart);
    check(
        reader,
        &CaseParts {
            known: &known,
            faults: &faults,
            interrupts: &interrupts,
            expected: &expected,
            steps,
            timeout,
            callers: count,
            has_events: !events.events.is_empty(),
            starts_again,
        },
    );

    let operation_term =
        |operation: &Operation| OperationTerm::new(operation, known.described_effect(&operation.name));
    let by_expect = expected.terms();
    let restarts = interrupts.iter().filter_map(|placed| match &placed.interrupt.then {
        Then::Restart { work, .. } => work.as_ref(),
        Then::End => None,
    });
    let told = events.steps().chain(&events.happens).cloned().collect();
    let told = Work { task: String::new(), steps: told };
    let works = [&work, &told].into_iter().chain(&each_work).chain(&turns).chain(restarts);
    let terms = Terms {
        turns: u32::try_from(turns.len()).unwrap_or(u32::MAX),
        tasks: tasks(&work, &each_work, &turns, &by_expect.intents),
        faults: faults.iter().map(|placed| Planned::from(&placed.fault)).collect(),
        interrupts: interrupts.iter().map(|placed| placed.interrupt.planned()).collect(),
        overlap: overlap.as_ref().map(Overlap::planned),
        approvals: approvals.iter().map(ApprovalTerm::from).collect(),
        events: events.events.iter().map(EventTerm::from).collect(),
        callers: callers.count,
        barrier: callers.barrier.is_some(),
        operations: operations.iter().map(operation_term).collect(),
        via,
        requires,
        named: named(works, &by_expect.intents),
        ..by_expect
    };
    let case = Case {
        id: String::new(),
        scenario: String::new(),
        file: reader.file().name().to_owned(),
        replaces_shipped: false,
        announced: None,
        line: 1,
        about: about.unwrap_or_default(),
        tags,
        variant: Vec::new(),
        work,
        each: each_work,
        turns,
        services,
        faults: faults.into_iter().map(|placed| placed.fault).collect(),
        callers: callers.count,
        barrier: callers.barrier,
        order: callers.order,
        overlap,
        interrupts: interrupts.into_iter().map(|placed| placed.interrupt).collect(),
        approvals,
        happens: events.happens,
        events: events.events,
        terms,
        controls: Vec::new(),
        found: found.and_then(|node| read_found(reader, node)),
        timeout,
        mcp,
    };
    check_tools(reader, requires_node, &case);
    if let Some((key, _)) = expect.and_then(|node| node.entry("cancels")).filter(|_| !case.requires_mcp()) {
        let message = "only MCP clients can cancel a call, and the scenario does not require MCP";
        reader.report_with_help(key.span, message, "add `requires: mcp`, or remove `cancels`");
    }
    Some(case)
}

/// Reports a case that requires MCP tools and cannot be done with them.
fn check_tools(reader: &Reader, requires: Option<&Node>, case: &Case) {
    let Some(node) = requires.filter(|_| case.requires_mcp()) else { return };
    if let Some(missing) = not_offered_as_tools(case) {
        let message = format!("the case needs {missing}, for which there is no MCP tool");
        reader.report_with_help(node.span, message, "remove `mcp` from `requires`, or change the steps");
    }
}

/// What the tasks name, by field: the values of their steps and of the expected effects, and the mail addresses and
/// names in their texts.
fn named<'w>(works: impl Iterator<Item = &'w Work>, intents: &[Intent]) -> Vec<(String, String)> {
    let mut named = BTreeSet::new();
    let mut add = |fields: &Fields| {
        named.extend(fields.iter().flat_map(|(name, value)| {
            let values = match value {
                Value::List(texts) => texts.clone(),
                value => vec![value.to_string()],
            };
            values.into_iter().map(|value| (name.to_owned(), value))
        }));
    };
    let mut in_texts = Vec::new();
    for work in works {
        work.steps.iter().for_each(|step| add(&step.with));
        let is_part = |c: char| c.is_alphanumeric() || "@._+-".contains(c);
        let words = work.task.split(|c| !is_part(c)).map(|word| word.trim_matches(|c| "._-+".contains(c)));
        // A word with a capital letter inside a sentence can be the name of a person.
        let is_name =
            |word: &str| word.starts_with(char::is_uppercase) && word.chars().skip(1).any(char::is_lowercase);
        let told = words.enumerate().filter(|(at, word)| word.contains('@') || (*at > 0 && is_name(word)));
        in_texts.extend(told.map(|(_, word)| (String::new(), word.to_owned())));
    }
    for intent in intents {
        add(&intent.selector);
        add(&intent.expected);
    }
    // Only a mail greets a person.
    let is_mail = named.iter().chain(&in_texts).any(|(_, value)| value.contains('@'));
    named.extend(in_texts.into_iter().filter(|(_, word)| is_mail || word.contains('@')));
    named.into_iter().collect()
}

/// What the scenario is about, on one line: it is printed beside the case id.
fn read_about(reader: &Reader, node: &Node) -> Option<String> {
    let about = reader.text(node)?.split_whitespace().collect::<Vec<_>>().join(" ");
    if about.is_empty() {
        reader.report_with_help(node.span, "`about` is empty", "describe the scenario in one sentence");
    }
    if about.contains(char::is_control) {
        reader.report_with_help(node.span, "`about` contains a control character", "remove it");
    }
    Some(about)
}

fn read_tags(reader: &Reader, node: &Node) -> Vec<String> {
    let mut tags: Vec<String> = Vec::new();
    let items = reader.list(node).unwrap_or_default();
    if items.len() > MAX_TAGS {
        reader.report(node.span, format!("the scenario has {} tags; the maximum is {MAX_TAGS}", items.len()));
        return tags;
    }
    for item in items {
        let Some(tag) = reader.text(item) else { continue };
        if tag.is_empty()
            || !tag.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
        {
            let help = "use only lowercase letters, digits and dashes";
            reader.report_with_help(item.span, format!("`{}` is not a valid tag", shown(tag)), help);
        } else if tags.iter().any(|have| have == tag) {
            reader.report_with_help(
                item.span,
                format!("the tag `{tag}` is listed twice"),
                "remove one of them",
            );
        }
        tags.push(tag.to_owned());
    }
    tags
}

fn read_timeout(reader: &Reader, node: &Node) -> Option<Duration> {
    let timeout = reader.duration(node)?;
    if timeout.is_zero() || timeout > MAX_TIMEOUT {
        reader.report_with_help(
            node.span,
            "`timeout` must be greater than zero and at most 60m",
            "remove it for the default, 30s",
        );
        return None;
    }
    Some(timeout)
}

/// The parts of a case that refer to services.
struct References<'a> {
    steps: &'a [&'a Step],
    faults: &'a [PlacedFault],
    interrupts: &'a [PlacedInterrupt],
    expected: &'a Expected,
    happens: &'a [Step],
    meet: Option<&'a str>,
}

impl References<'_> {
    /// The services that are set up, followed by those that are only used, with default options.
    fn services(&self, mut setups: Vec<ServiceSetup>, known: &KnownServices) -> Vec<ServiceSetup> {
        let steps = self.steps.iter().map(|step| step.operation.as_str());
        let faults = self.faults.iter().map(|placed| placed.fault.trigger.on.as_str());
        let interrupts = self.interrupts.iter().map(|placed| placed.interrupt.when.operation.as_str());
        let effects = self.expected.intents.iter().map(|placed| placed.intent.effect.as_str());
        let budgets = self.expected.attempts.iter().map(|(budget, _)| budget.operation.as_str());
        let needs_store = !self.expected.records.is_empty() || !self.expected.invariants.is_empty();
        let stores = needs_store.then(|| known.store()).flatten();
        let stores =
            stores.into_iter().chain((!self.expected.live.is_empty()).then(|| known.with_live()).flatten());
        let happens = self.happens.iter().map(|step| step.operation.as_str());
        let names = steps.chain(faults).chain(interrupts).chain(effects).chain(budgets).chain(happens);
        let services = names.filter_map(|name| known.service_of(name)).chain(stores);
        for service in services.chain(self.meet.and_then(|name| known.service_of(name))) {
            if !setups.iter().any(|setup| setup.name == service.name) {
                setups.extend(default_setup(&service.name));
            }
        }
        setups
    }
}

fn operations_of(services: &[ServiceSetup], known: &KnownServices) -> Vec<Operation> {
    services
        .iter()
        .filter_map(|setup| known.service(&setup.name))
        .flat_map(|service| service.operations.clone())
        .collect()
}

fn check_faults(
    reader: &Reader,
    faults: &[PlacedFault],
    operations: &[Operation],
    known: &KnownServices,
    callers: u32,
) {
    // For an unknown service, the suggestions are the operations of all services.
    let has_unknown_service = |placed: &&PlacedFault| {
        !placed.malformed.contains(&FaultPart::On) && known.service_of(&placed.fault.trigger.on).is_none()
    };
    for placed in faults.iter().filter(has_unknown_service) {
        known.named(reader, &placed.fault.trigger.on, placed.places.of(FaultPart::On));
    }
    let others: Vec<PlacedFault> =
        faults.iter().filter(|placed| !has_unknown_service(placed)).cloned().collect();
    check_placed(reader, &others, operations, Some(callers));
}
