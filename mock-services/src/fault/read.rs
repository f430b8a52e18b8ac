//! Faults from YAML. This reads their form; the module `check` checks whether they can apply to the services.

use yaml_reader::shape::{Count, MapShape, Rule, Shape, optional, required, words_of};
use yaml_reader::{Node, NodeKind, Problems, Reader, Source, Span, parse, read_duration, shown};

use super::replies::reply_schema;
use super::{After, Attempts, Commit, Fault, FaultPart, Objection, Reply, Trigger, check, check_all};
use crate::examples;
use crate::service::{Fields, Operation, Value};

/// The value of `attempt` that means all attempts.
pub(crate) const EVERY: &str = "every";
/// The value of `where` that includes attempts with effects that the task does not intend.
pub(crate) const ANY: &str = "any";

/// The words that are a whole `commit`.
const COMMIT_WORDS: [(&str, Commit); 4] = [
    ("now", Commit::Now),
    ("never", Commit::Never),
    ("later", Commit::Later(After::Settled)),
    ("twice", Commit::Twice),
];

/// The maximum number of faults in one list; each is compared with all before it.
const MAX_FAULTS: usize = 1000;

const DURATION_RANGE: &str = "^[0-9]+(\\.[0-9]+)?(ms|s|m)\\.\\.[0-9]+(\\.[0-9]+)?(ms|s|m)$";

static FAULT: MapShape<8> = MapShape::new([
    required("on", Shape::Ref("operation")),
    optional(
        "attempt",
        Shape::OneOf(&[
            Shape::POSITIVE,
            Shape::List(&Shape::POSITIVE, Count::SOME),
            Shape::Word(EVERY),
            Shape::Pattern("^0*[1-9][0-9]*\\.\\.0*[1-9][0-9]*$"),
        ]),
    ),
    optional("where", Shape::OneOf(&[Shape::Ref("fields"), Shape::Word(ANY)])),
    optional("caller", Shape::POSITIVE),
    optional("chance", Shape::Chance),
    optional("optional", Shape::Flag),
    optional("commit", Shape::OneOf(&[Shape::Words(|| words_of(&COMMIT_WORDS)), COMMIT.shape()])),
    optional("reply", Shape::Own(reply_schema)),
])
.needs(Rule::AnyOf(&["commit", "reply"]));

static COMMIT: MapShape<3> = MapShape::new([
    optional(
        "later",
        Shape::OneOf(&[Shape::DURATION, Shape::Pattern(DURATION_RANGE), COUNTED_REQUESTS.shape()]),
    ),
    optional("part", Shape::Fraction),
    optional("reverts", Shape::OneOf(&[Shape::DURATION, COUNTED_REQUESTS.shape()])),
])
.needs(Rule::OneOf(&["later", "part", "reverts"]));

static COUNTED_REQUESTS: MapShape<1> = MapShape::new([required("requests", Shape::POSITIVE)]);

static FAULTS: MapShape<1> = MapShape::new([required("faults", Shape::Ref("faults"))]);

/// The definition `faults` of the schema of scenarios.
pub const FAULT_LIST: Shape = Shape::List(&FAULT.shape(), Count(0, MAX_FAULTS));

/// The faults: a list, or a map with the list under `faults`, as in a file of faults for `hapax serve`.
pub const FAULT_FILE: Shape = Shape::OneOf(&[Shape::Ref("faults"), FAULTS.shape()]);

/// A fault and the places of its parts in the text.
#[derive(Debug, Clone, PartialEq)]
pub struct PlacedFault {
    /// The fault.
    pub fault: Fault,
    /// The places of its parts.
    pub places: FaultPlaces,
    /// The parts that could not be read, which was reported, and that have a placeholder value.
    pub malformed: Vec<FaultPart>,
}

/// The places of the parts of a fault; a part that was not given has the place of the fault.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FaultPlaces {
    fault: Span,
    on: Option<Span>,
    attempt: Option<Span>,
    fields: Vec<Span>,
    caller: Option<Span>,
    chance: Option<Span>,
    commit: Option<Span>,
    reply: Option<Span>,
}

impl FaultPlaces {
    /// The place of a part.
    #[must_use]
    pub fn of(&self, part: FaultPart) -> Span {
        let place = match part {
            FaultPart::Fault => None,
            FaultPart::On => self.on,
            FaultPart::Attempt => self.attempt,
            FaultPart::Field(index) => self.fields.get(index).copied(),
            FaultPart::Caller => self.caller,
            FaultPart::Chance => self.chance,
            FaultPart::Commit => self.commit,
            FaultPart::Reply => self.reply,
        };
        place.unwrap_or(self.fault)
    }
}

/// Reads and checks a list of faults. All problems are reported at once.
pub fn read_faults(
    file: &Source,
    operations: &[Operation],
    callers: Option<u32>,
) -> Result<Vec<Fault>, Problems> {
    let tree = parse(file)?;
    let reader = Reader::new(file);
    let placed = read_fault_list(&reader, &tree);
    check_placed(&reader, &placed, operations, callers);
    // Where a part was malformed a problem was reported, and nothing is handed out.
    reader.finish(Some(placed.into_iter().map(|placed| placed.fault).collect()))
}

/// The faults of a list, or of a map whose only key is `faults`. What is malformed is reported.
#[must_use]
pub fn read_fault_list(reader: &Reader, node: &Node) -> Vec<PlacedFault> {
    let list = match &node.kind {
        NodeKind::Map(_) => reader.fields(node, "a list of faults", &FAULTS).and_then(|[list]| list),
        _ => Some(node),
    };
    match list.map(|list| (list, &list.kind)) {
        Some((list, NodeKind::List(items))) if items.len() > MAX_FAULTS => {
            let message = format!("there are {} faults here, and at most {MAX_FAULTS} are read", items.len());
            reader.report_with_help(
                list.span,
                message,
                "write one fault for several attempts: `attempt: 1..3`, `every`, `chance`",
            );
            Vec::new()
        }
        Some((_, NodeKind::List(items))) => {
            items.iter().filter_map(|item| read_fault(reader, item)).collect()
        }
        Some((other, _)) => {
            let help =
                format!("begin each fault with a dash: - {{on: {}, reply: drop}}", examples::OPERATION);
            reader.report_with_help(
                other.span,
                format!("expected a list of faults, found {}", other.describe()),
                help,
            );
            Vec::new()
        }
        None => Vec::new(),
    }
}

/// Reports every problem of faults that were read, each at its place.
pub fn check_placed(reader: &Reader, placed: &[PlacedFault], operations: &[Operation], callers: Option<u32>) {
    let report = |placed: &PlacedFault, objection: Objection| {
        reader.report_with_help(placed.places.of(objection.part), objection.message, objection.help);
    };
    let (sound, malformed): (Vec<&PlacedFault>, Vec<&PlacedFault>) =
        placed.iter().partition(|placed| placed.malformed.is_empty());
    let faults: Vec<Fault> = sound.iter().map(|placed| placed.fault.clone()).collect();
    for (index, objection) in check_all(&faults, operations, callers) {
        report(sound[index], objection);
    }
    // A malformed part has been reported already; the other parts may be wrong too.
    for placed in malformed {
        for objection in check(&placed.fault, operations, callers) {
            if !placed.malformed.contains(&objection.part) {
                report(placed, objection);
            }
        }
    }
}

/// Reads one fault.
#[must_use]
pub fn read_fault(reader: &Reader, node: &Node) -> Option<PlacedFault> {
    let before = reader.count();
    let [on, attempt, fields, caller, chance, optional, commit, reply] =
        reader.fields(node, "a fault", &FAULT)?;
    let mut places = FaultPlaces { fault: node.place(), ..FaultPlaces::default() };
    let place = |node: Option<&Node>| node.map(|node| node.span);
    (places.on, places.attempt, places.caller) = (place(on), place(attempt), place(caller));
    (places.chance, places.commit, places.reply) = (place(chance), place(commit), place(reply));
    if let Some(NodeKind::Map(entries)) = fields.map(|node| &node.kind) {
        places.fields = entries.iter().map(|(key, node)| key.span.to(node.span)).collect();
    }
    // A part that cannot be read is reported, and gets a placeholder value so that the rest can be read and
    // checked.
    let mut malformed = Vec::new();
    let mut or = |part: FaultPart, is_read: bool| {
        if !is_read {
            malformed.push(part);
        }
    };
    let operation = on.and_then(|node| reader.text(node));
    or(FaultPart::On, operation.is_some());
    let attempts = attempt.map_or(Some(Attempts::These(vec![1])), |node| read_attempts(reader, node));
    or(FaultPart::Attempt, attempts.is_some());
    let any_effect = fields.is_some_and(|node| matches!(&node.kind, NodeKind::Text(text) if text == ANY));
    let wanted = fields.filter(|_| !any_effect).map_or(Some(Fields::new()), |node| read_where(reader, node));
    or(FaultPart::Fault, wanted.is_some());
    let whose = caller.map_or(Some(None), |node| reader.integer(node, 0..=u32::MAX).map(Some));
    or(FaultPart::Caller, whose.is_some());
    let how_likely = chance.map_or(Some(None), |node| reader.number(node).map(Some));
    or(FaultPart::Chance, how_likely.is_some());
    let what = commit.map_or(Some(Commit::Now), |node| read_commit(reader, node));
    or(FaultPart::Commit, what.is_some());
    let seen = reply.map_or(Some(Reply::default()), |node| Reply::read(reader, node));
    or(FaultPart::Reply, seen.is_some());
    let may_miss = optional.map_or(Some(false), |node| reader.boolean(node));
    or(FaultPart::Fault, may_miss.is_some());
    if reader.count() == before && commit.is_none() && reply.is_none() {
        let help = "say what is committed (`commit: never`), what the caller sees (`reply: drop`), or both";
        reader.report_with_help(places.fault, "a fault without `commit` and `reply` changes nothing", help);
    }
    let trigger = Trigger {
        on: operation.unwrap_or_default().to_owned(),
        attempts: attempts.unwrap_or(Attempts::Every),
        fields: wanted.unwrap_or_default(),
        any_effect,
        caller: whose.flatten(),
        chance: how_likely.flatten(),
    };
    let fault = Fault {
        trigger,
        commit: what.unwrap_or(Commit::Now),
        reply: seen.unwrap_or_default(),
        optional: may_miss.unwrap_or_default(),
    };
    Some(PlacedFault { fault, places, malformed })
}

fn read_attempts(reader: &Reader, node: &Node) -> Option<Attempts> {
    let number = |node| reader.integer(node, 0..=u32::MAX);
    match &node.kind {
        NodeKind::Integer(_) => Some(Attempts::These(vec![number(node)?])),
        NodeKind::List(items) => items.iter().map(number).collect::<Option<_>>().map(Attempts::These),
        NodeKind::Text(text) if text == EVERY => Some(Attempts::Every),
        NodeKind::Text(text) if read_span(text).is_some() => {
            read_span(text).map(|(first, last)| Attempts::Span(first, last))
        }
        _ => {
            let message = format!("expected the number of an attempt, found {}", node.describe());
            reader.report_with_help(node.span, message, "write 1, [1, 2], 1..3 or every");
            None
        }
    }
}

fn read_span(text: &str) -> Option<(u32, u32)> {
    let (first, last) = text.split_once("..")?;
    let number = |digits: &str| {
        digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok()).flatten()
    };
    Some((number(first)?, number(last)?))
}

/// The conditions of a fault's `where`.
fn read_where(reader: &Reader, node: &Node) -> Option<Fields> {
    if let NodeKind::Text(_) = &node.kind {
        let help = format!(
            "write fields of the request, `{{order: ord_1}}`, or `{ANY}` for attempts that the \
             scenario does not ask for"
        );
        reader.report_with_help(
            node.span,
            format!("expected conditions or `{ANY}`, found {}", node.describe()),
            help,
        );
        return None;
    }
    read_fields(reader, node)
}

/// Names and plain values: the conditions of a `where`.
#[must_use]
pub fn read_fields(reader: &Reader, node: &Node) -> Option<Fields> {
    let mut fields = Fields::new();
    let before = reader.count();
    for (key, node) in reader.entries(node)? {
        match read_value(node) {
            Some(value) => fields.set(key.name.clone(), value),
            None => {
                let message =
                    format!("expected a plain value for `{}`, found {}", shown(&key.name), node.describe());
                let help = "a field is a text, a whole number, true, false or a list of texts; a field \
                    within another has a dot: \
                            `metadata.order: o1`";
                reader.report_with_help(node.span, message, help);
            }
        }
    }
    (reader.count() == before).then_some(fields)
}

fn read_value(node: &Node) -> Option<Value> {
    match &node.kind {
        NodeKind::Bool(value) => Some(Value::Bool(*value)),
        NodeKind::Integer(value) => Some(Value::Number(*value)),
        NodeKind::Text(text) => Some(Value::from(text.as_str())),
        NodeKind::List(items) => {
            let texts = items.iter().map(|item| match read_value(item)? {
                Value::List(_) => None,
                single => Some(single.to_string()),
            });
            texts.collect::<Option<_>>().map(Value::List)
        }
        NodeKind::Null | NodeKind::Float(_) | NodeKind::Map(_) => None,
    }
}

fn read_commit(reader: &Reader, node: &Node) -> Option<Commit> {
    match &node.kind {
        NodeKind::Map(_) => {
            let [later, part, reverts] = reader.fields(node, "`commit`", &COMMIT)?;
            let place = node.place();
            match (later, part, reverts) {
                (Some(later), None, None) => read_later(reader, later),
                (None, Some(part), None) => reader.number(part).map(Commit::Part),
                (None, None, Some(reverts)) => read_counted(reader, reverts, "reverts").map(Commit::Reverts),
                (None, None, None) => {
                    reader.report_with_help(
                        place,
                        "`commit` needs `later`, `part` or `reverts`",
                        "for example {later: 2s}, {part: 0.5} or {reverts: {requests: 3}}",
                    );
                    None
                }
                _ => {
                    let message = "`commit` is one of `later`, `part` and `reverts`, not several";
                    reader.report_with_help(place, message, "keep one of them");
                    None
                }
            }
        }
        NodeKind::Text(text) if text == "reverts" => {
            let help = "write {reverts: {requests: 3}} or {reverts: 2s}";
            reader.report_with_help(node.span, "`reverts` needs to know when it is gone", help);
            None
        }
        NodeKind::Text(text) if text == "part" => {
            reader.report_with_help(node.span, "`part` needs to know how large a part", "write {part: 0.5}");
            None
        }
        _ => reader.one_of(node, &COMMIT_WORDS),
    }
}

fn read_later(reader: &Reader, node: &Node) -> Option<Commit> {
    let NodeKind::Text(text) = &node.kind else {
        return read_counted(reader, node, "later").map(Commit::Later);
    };
    if !text.contains("..") {
        return read_counted(reader, node, "later").map(Commit::Later);
    }
    let within =
        text.split_once("..").and_then(|(first, last)| Some((read_duration(first)?, read_duration(last)?)));
    let Some((first, last)) = within else {
        let message = format!("expected two durations, found {}", node.describe());
        reader.report_with_help(node.span, message, "write both with their unit: {later: 1s..5s}");
        return None;
    };
    Some(Commit::LaterWithin(first, last))
}

/// A number of requests, or a time.
fn read_counted(reader: &Reader, node: &Node, name: &str) -> Option<After> {
    match &node.kind {
        NodeKind::Map(_) => {
            let [requests] = reader.fields(node, &format!("`{name}`"), &COUNTED_REQUESTS)?;
            Some(After::Requests(reader.integer(requests?, 0..=u32::MAX)?))
        }
        NodeKind::Integer(number) => {
            let help = format!("write {{{name}: {{requests: {number}}}}} or {{{name}: {number}s}}");
            let message = format!("`{name}` needs to know what is counted: requests or seconds");
            reader.report_with_help(node.span, message, help);
            None
        }
        _ => reader.duration(node).map(After::Time),
    }
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
