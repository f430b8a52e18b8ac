//! One case from the tree of its scenario, in which every name of the matrix has been filled.

use std::time::Duration;

use mock_services::fault::{Part, Placed, check_placed, read_fault_list};
use mock_services::service::{Kind as OperationKind, Operation};
use mock_services::yaml::{Kind, Node, Reader, shown};

use super::callers::{CallersInput, read_callers};
use super::check::{Parts, check};
use super::interrupts::{Interrupts, PlacedInterrupt};
use super::tasks::tasks;
use crate::scenario::addresses::in_lower_case;
use crate::scenario::expect::{Expected, read_expect};
use crate::scenario::known::Known;
use crate::scenario::services::{Customs, default_setup, read_services};
use crate::scenario::via::{check_via, read_via};
use crate::scenario::work::Works;
use crate::scenario::{Case, OperationTerm, Planned, Promise, ServiceSetup, Step, Terms, Then, Work};

/// How long one start of the subject may take where nothing else is said.
pub(super) const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);
/// The same where callers wait for each other, which takes a part of it.
pub(super) const TIMEOUT_AT_DOOR: Duration = Duration::from_secs(60);
/// The longest that it can be.
const LONGEST_TIMEOUT: Duration = Duration::from_secs(3600);

/// How many tags a scenario can have.
const MOST_TAGS: usize = 50;

/// Reads a case; its id, its place and its controls are not in the tree and are left to whoever fills it.
pub(super) fn read_case(reader: &Reader, tree: &Node, customs: &Customs<'_>) -> Option<Case> {
    let mut map = reader.map(tree, "a scenario")?;
    // In the order in which messages list them; `each` can stand for the task.
    let (about, tags) = (map.required("about"), map.optional("tags"));
    let task = if map.has("each") { map.optional("task") } else { map.required("task") };
    let steps = map.optional("steps");
    // The matrix was read before any case.
    map.optional("matrix");
    let (services, faults) = (map.optional("services"), map.optional("faults"));
    let (callers, each, deliver) = (map.optional("callers"), map.entry("each"), map.entry("deliver"));
    let (interrupts, turns, expect) =
        (map.optional("interrupts"), map.optional("turns"), map.required("expect"));
    // So were the controls.
    map.optional("controls");
    let (timeout, via_node) = (map.optional("timeout"), map.optional("via"));
    map.finish();

    let about = about.and_then(|node| read_about(reader, node));
    let tags = tags.map(|node| read_tags(reader, node)).unwrap_or_default();
    let own_timeout = timeout.and_then(|node| read_timeout(reader, node));
    let (setups, known) = read_services(reader, services, customs);
    let works = Works { reader, known: &known };
    let work = Work { task: works.task(task), steps: works.steps(steps) };
    let each_work = works.list(each.map(|(_, node)| node), "the task of a caller");
    let length = |node: &Node| if let Kind::List(items) = &node.kind { Some(items.len()) } else { None };
    let each_length = each.and_then(|(key, node)| Some((key, length(node)?)));
    let longest = own_timeout.unwrap_or(TIMEOUT_AT_DOOR);
    let callers =
        read_callers(reader, &known, &CallersInput { callers, each: each_length, deliver, timeout: longest });
    let timeout = if callers.door.is_some() { longest } else { own_timeout.unwrap_or(DEFAULT_TIMEOUT) };
    let mut faults = faults.map(|node| read_fault_list(reader, node)).unwrap_or_default();
    for trigger in faults.iter_mut().map(|placed| &mut placed.fault.trigger) {
        trigger.fields = in_lower_case(&trigger.on, &trigger.fields);
    }
    let own_work = each.is_none().then_some(&work);
    let interrupts = Interrupts { reader, known: &known, callers: callers.count, timeout, work: own_work }
        .read(interrupts);
    let later_turns = works.list(turns, "a turn");
    let expected = read_expect(reader, &known, &setups, expect);

    let again = std::iter::repeat_n(work.clone(), callers.again as usize);
    let turns: Vec<Work> = again.chain(later_turns).collect();
    let restarts = interrupts.iter().filter_map(|placed| match &placed.interrupt.then {
        Then::Restart { work, .. } => work.as_ref(),
        Then::End => None,
    });
    let all_work = [&work].into_iter().chain(&each_work).chain(&turns).chain(restarts);
    let steps: Vec<&Step> = all_work.flat_map(|work| &work.steps).collect();
    let meet = callers.door.as_ref().and_then(|door| door.meet.clone());
    let used = Used {
        steps: &steps,
        faults: &faults,
        interrupts: &interrupts,
        expected: &expected,
        meet: meet.as_deref(),
    };
    let via = via_node.map(|node| read_via(reader, &known, node)).unwrap_or_default();
    check_via(reader, via_node, &via, &steps);
    let services = used.services(setups, &known);
    let operations = operations_of(&services, &known);
    check_faults(reader, &faults, &operations, &known, callers.count);
    let count = callers.count;
    check(
        reader,
        &Parts {
            known: &known,
            faults: &faults,
            interrupts: &interrupts,
            expected: &expected,
            steps,
            timeout,
            callers: count,
        },
    );

    let mut terms =
        terms(&expected, &faults, &interrupts, (&operations, &known), callers.count, callers.door.is_some());
    terms.turns = u32::try_from(turns.len()).unwrap_or(u32::MAX);
    terms.tasks = tasks(&work, &each_work, &turns, &terms.intents);
    terms.via = via;
    Some(Case {
        id: String::new(),
        scenario: String::new(),
        file: reader.file().name().to_owned(),
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
        door: callers.door,
        interrupts: interrupts.into_iter().map(|placed| placed.interrupt).collect(),
        terms,
        controls: Vec::new(),
        timeout,
    })
}

/// What the scenario is about, on one line however it was written: it is printed beside the id.
fn read_about(reader: &Reader, node: &Node) -> Option<String> {
    let about = reader.text(node)?.split_whitespace().collect::<Vec<_>>().join(" ");
    if about.is_empty() {
        reader.report_with_help(
            node.span,
            "`about` is empty",
            "say in a sentence what the scenario is about",
        );
    }
    if about.contains(char::is_control) {
        reader.report_with_help(node.span, "`about` holds a control character", "write it in plain words");
    }
    Some(about)
}

fn read_tags(reader: &Reader, node: &Node) -> Vec<String> {
    let mut tags: Vec<String> = Vec::new();
    let items = reader.list(node).unwrap_or_default();
    if items.len() > MOST_TAGS {
        reader.report(
            node.span,
            format!("there are {} tags here, and at most {MOST_TAGS} are read", items.len()),
        );
        return tags;
    }
    for item in items {
        let Some(tag) = reader.text(item) else { continue };
        if tag.is_empty()
            || !tag.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
        {
            let help = "a tag consists of small letters, digits and dashes";
            reader.report_with_help(item.span, format!("`{}` cannot be a tag", shown(tag)), help);
        } else if tags.iter().any(|have| have == tag) {
            reader.report_with_help(
                item.span,
                format!("the tag `{tag}` stands here twice"),
                "leave one of the two out",
            );
        }
        tags.push(tag.to_owned());
    }
    tags
}

fn read_timeout(reader: &Reader, node: &Node) -> Option<Duration> {
    let timeout = reader.duration(node)?;
    if timeout.is_zero() || timeout > LONGEST_TIMEOUT {
        reader.report_with_help(node.span, "a time limit is above 0 and at most 60m", "leave it out for 30s");
        return None;
    }
    Some(timeout)
}

/// What names services.
struct Used<'a> {
    steps: &'a [&'a Step],
    faults: &'a [Placed],
    interrupts: &'a [PlacedInterrupt],
    expected: &'a Expected,
    meet: Option<&'a str>,
}

impl Used<'_> {
    /// The services that are set up, and then those that are only used, as they are.
    fn services(&self, mut setups: Vec<ServiceSetup>, known: &Known) -> Vec<ServiceSetup> {
        let steps = self.steps.iter().map(|step| step.operation.as_str());
        let faults = self.faults.iter().map(|placed| placed.fault.trigger.on.as_str());
        let interrupts = self.interrupts.iter().map(|placed| placed.interrupt.when.operation.as_str());
        let effects = self.expected.intents.iter().map(|placed| placed.intent.effect.as_str());
        let budgets = self.expected.attempts.iter().map(|(budget, _)| budget.operation.as_str());
        let records = self.expected.records.iter().map(|_| "records.get");
        let names = steps
            .chain(faults)
            .chain(interrupts)
            .chain(effects)
            .chain(budgets)
            .chain(records)
            .chain(self.meet);
        for service in names.filter_map(|name| known.service_of(name)) {
            if !setups.iter().any(|setup| setup.name == service.name) {
                setups.extend(default_setup(&service.name));
            }
        }
        setups
    }
}

fn operations_of(services: &[ServiceSetup], known: &Known) -> Vec<Operation> {
    services
        .iter()
        .filter_map(|setup| known.service(&setup.name))
        .flat_map(|service| service.operations.clone())
        .collect()
}

fn check_faults(reader: &Reader, faults: &[Placed], operations: &[Operation], known: &Known, callers: u32) {
    // Where a service is not known, any operation may have been meant.
    let is_strange = |placed: &&Placed| {
        !placed.malformed.contains(&Part::On) && known.service_of(&placed.fault.trigger.on).is_none()
    };
    for placed in faults.iter().filter(is_strange) {
        known.named(reader, &placed.fault.trigger.on, placed.places.of(Part::On));
    }
    let others: Vec<Placed> = faults.iter().filter(|placed| !is_strange(placed)).cloned().collect();
    check_placed(reader, &others, operations, Some(callers));
}

fn terms(
    expected: &Expected,
    faults: &[Placed],
    interrupts: &[PlacedInterrupt],
    (operations, known): (&[Operation], &Known),
    callers: u32,
    door: bool,
) -> Terms {
    let planned = |placed: &Placed| Planned {
        text: placed.fault.to_string(),
        operation: placed.fault.trigger.on.clone(),
        optional: placed.fault.optional,
    };
    let operation = |operation: &Operation| OperationTerm {
        name: operation.name.to_string(),
        write: operation.kind == OperationKind::Write,
        identity: operation.identity.iter().map(ToString::to_string).collect(),
        natural: known.natural(&operation.name),
    };
    Terms {
        intents: expected.intents.iter().map(|placed| placed.intent.clone()).collect(),
        lists: expected.lists.clone(),
        claim: expected.claim.clone(),
        claims_optional: false,
        promise: Promise::default(),
        recovery: expected.recovery.clone(),
        turns: 0,
        tasks: Vec::new(),
        attempts: expected.attempts.iter().map(|(budget, _)| budget.clone()).collect(),
        respect_retry_after: expected.respect_retry_after,
        compensation: expected.compensation,
        records: expected.records.clone(),
        faults: faults.iter().map(planned).collect(),
        interrupts: interrupts.iter().map(|placed| placed.interrupt.planned()).collect(),
        callers,
        door,
        operations: operations.iter().map(operation).collect(),
        fields: Vec::new(),
        via: Vec::new(),
        can: Vec::new(),
    }
}
