//! Reads `callers`, `each` and `deliver`: how many callers there are, where they wait for each other, and how
//! often the same task is delivered.

use std::time::Duration;

use mock_services::BarrierOptions;
use yaml_reader::shape::{MapShape, Shape, optional, required, words_of};
use yaml_reader::{Key, Node, NodeKind, Reader, Span};

use crate::scenario::known::KnownServices;

/// The largest number of callers in a trial.
pub(crate) const MAX_CALLERS: u32 = 1000;
/// The value of `meet` for callers that do not wait for each other.
const MEET_NONE: &str = "none";
/// The words of `how`, and whether the deliveries are concurrent.
const DELIVERY_WORDS: [(&str, bool); 2] = [("together", true), ("one-after-another", false)];

static MEETING: MapShape<3> = MapShape::new([
    required("count", COUNT),
    optional("meet", Shape::OneOf(&[Shape::Ref("operation"), Shape::Word(MEET_NONE)])),
    optional("within", Shape::DURATION),
]);
const COUNT: Shape = Shape::Integer(1, MAX_CALLERS as i64);
pub(super) const CALLERS: Shape = Shape::OneOf(&[COUNT, MEETING.shape()]);
pub(super) static DELIVER: MapShape<2> = MapShape::new([
    required("times", Shape::Integer(2, MAX_CALLERS as i64)),
    required("how", Shape::Words(|| words_of(&DELIVERY_WORDS))),
]);

/// The callers of a case.
#[derive(Debug)]
pub(crate) struct Callers {
    pub(crate) count: u32,
    pub(crate) barrier: Option<BarrierOptions>,
    /// How many further times the same work is delivered, one after another.
    pub(crate) redeliveries: u32,
}

/// The parts of a scenario that describe its callers.
pub(crate) struct CallersInput<'n> {
    pub(crate) callers: Option<&'n Node>,
    /// The key `each`, and the length of its list.
    pub(crate) each: Option<(&'n Key, usize)>,
    pub(crate) deliver: Option<(&'n Key, &'n Node)>,
    pub(crate) timeout: Duration,
}

/// Reads the callers.
pub(crate) fn read_callers(reader: &Reader, known: &KnownServices, input: &CallersInput<'_>) -> Callers {
    let mut read = Callers { count: 1, barrier: None, redeliveries: 0 };
    let mut options = BarrierOptions {
        within: BarrierOptions::default().within.min(input.timeout / 2),
        ..BarrierOptions::default()
    };
    let mut meets = true;
    let count =
        input.callers.map(|node| read_count(reader, known, node, (&mut options, &mut meets), input.timeout));
    read.count = count.flatten().unwrap_or(1);
    match (input.each, count) {
        (Some((_, length)), None) if (1..=MAX_CALLERS as usize).contains(&length) => {
            read.count = u32::try_from(length).unwrap_or(1);
        }
        (Some((key, length)), None) => {
            let message =
                format!("`each` has {length} entries; the number of callers must be 1 to {MAX_CALLERS}");
            reader.report_with_help(key.span, message, "list one `{task, steps}` for each caller");
        }
        (Some((key, length)), Some(Some(count))) if length != count as usize => {
            let message = format!("`each` has {length} entries, but `callers` is {count}");
            reader.report_with_help(
                key.span,
                message,
                "list one `{task, steps}` for each caller, or remove `callers`",
            );
        }
        _ => {}
    }
    if let Some((key, node)) = input.deliver {
        if read.count > 1 || input.each.is_some() {
            let other = if input.each.is_some() { "each" } else { "callers" };
            let message = format!("`deliver` cannot be combined with `{other}`");
            reader.report_with_help(key.span, message, "keep one of them");
        } else if let Some((times, together)) = read_deliver(reader, node) {
            if together {
                read.count = times;
            } else {
                read.redeliveries = times - 1;
            }
        }
    }
    read.barrier = (read.count > 1 && meets).then_some(options);
    read
}

/// The number of callers. Sets `barrier` and `meets`: where they wait for each other, and whether they do.
fn read_count(
    reader: &Reader,
    known: &KnownServices,
    node: &Node,
    (barrier, meets): (&mut BarrierOptions, &mut bool),
    timeout: Duration,
) -> Option<u32> {
    let number = |node: &Node| reader.integer(node, 1..=MAX_CALLERS);
    if !matches!(node.kind, NodeKind::Map(_)) {
        return number(node);
    }
    let [count, meet, within] = reader.fields(node, "`callers`", &MEETING)?;
    let count = count.and_then(number);
    *meets = !meet.is_some_and(is_none);
    let operation = meet.filter(|node| !is_none(node)).and_then(|node| known.operation(reader, node));
    barrier.meet = operation.map(|operation| operation.name.to_string());
    if let Some(node) = within.filter(|_| !*meets) {
        reader.report_with_help(node.span, "`within` has no effect with `meet: none`", "remove `within`");
    }
    if let Some((node, time)) = within.and_then(|node| Some((node, reader.duration(node)?))) {
        within_timeout(reader, node.span, "the wait for other callers", time, timeout);
        barrier.within = time;
    }
    if count == Some(1) && meet.or(within).is_some() {
        reader.report_with_help(
            node.span,
            "a single caller has no other caller to wait for",
            "write a larger `count`, or `callers: 1`",
        );
    }
    count
}

/// Whether `meet` is `none`.
fn is_none(node: &Node) -> bool {
    matches!(&node.kind, NodeKind::Text(word) if word == MEET_NONE)
}

/// Reports a duration that is not shorter than the time limit.
pub(crate) fn within_timeout(reader: &Reader, span: Span, what: &str, time: Duration, timeout: Duration) {
    if time >= timeout {
        let write = yaml_reader::write_duration;
        let message = format!("{what} takes {}, but the time limit is {}", write(time), write(timeout));
        reader.report_with_help(span, message, "shorten it, or increase `timeout`");
    }
}

/// How many times, and whether concurrently.
fn read_deliver(reader: &Reader, node: &Node) -> Option<(u32, bool)> {
    let [times, how] = reader.fields(node, "`deliver`", &DELIVER)?;
    let times = times.and_then(|node| reader.integer(node, 2..=MAX_CALLERS));
    let how = how.and_then(|node| reader.one_of(node, &DELIVERY_WORDS));
    Some((times?, how?))
}
