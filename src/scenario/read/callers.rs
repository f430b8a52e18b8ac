//! How many copies of the subject there are, where they meet, and how often the same task comes.

use std::time::Duration;

use mock_services::BarrierOptions;
use mock_services::yaml::{Key, Kind, Node, Reader, Span};

use crate::scenario::known::Known;

/// The most callers that a trial can have.
pub(crate) const MOST_CALLERS: u32 = 64;
/// The word for `meet` where callers do not wait for each other.
pub(crate) const NOWHERE: &str = "none";
/// The words for `how` a task is delivered more than once.
pub(crate) const HOW: [&str; 2] = ["together", "one-after-another"];

/// Who calls.
#[derive(Debug)]
pub(crate) struct Callers {
    pub(crate) count: u32,
    pub(crate) door: Option<BarrierOptions>,
    /// How often the same work comes again afterwards.
    pub(crate) again: u32,
}

/// What a scenario says of its callers.
pub(crate) struct CallersInput<'n> {
    pub(crate) callers: Option<&'n Node>,
    /// The key of the list of what each caller does, and how long the list is.
    pub(crate) each: Option<(&'n Key, usize)>,
    pub(crate) deliver: Option<(&'n Key, &'n Node)>,
    pub(crate) timeout: Duration,
}

/// Reads who calls.
pub(crate) fn read_callers(reader: &Reader, known: &Known, said: &CallersInput<'_>) -> Callers {
    let mut read = Callers { count: 1, door: None, again: 0 };
    let mut options = BarrierOptions {
        within: BarrierOptions::default().within.min(said.timeout / 2),
        ..BarrierOptions::default()
    };
    let mut meets = true;
    let count =
        said.callers.map(|node| read_count(reader, known, node, (&mut options, &mut meets), said.timeout));
    read.count = count.flatten().unwrap_or(1);
    match (said.each, count) {
        (Some((_, length)), None) if (1..=MOST_CALLERS as usize).contains(&length) => {
            read.count = u32::try_from(length).unwrap_or(1);
        }
        (Some((key, length)), None) => {
            let message =
                format!("`each` has {length} entries, and there can be 1 to {MOST_CALLERS} callers");
            reader.report_with_help(key.span, message, "list one `{task, steps}` for each caller");
        }
        (Some((key, length)), Some(Some(count))) if length != count as usize => {
            let message = format!("`each` has {length} entries, and `callers` says {count}");
            reader.report_with_help(
                key.span,
                message,
                "list one `{task, steps}` for each caller, or leave `callers` out",
            );
        }
        _ => {}
    }
    if let Some((key, node)) = said.deliver {
        if read.count > 1 || said.each.is_some() {
            let other = if said.each.is_some() { "each" } else { "callers" };
            let message =
                format!("`deliver` and `{other}` cannot stand together: whose task would come twice?");
            reader.report_with_help(key.span, message, "keep one of the two");
        } else if let Some((times, together)) = read_deliver(reader, node) {
            if together {
                read.count = times;
            } else {
                read.again = times - 1;
            }
        }
    }
    read.door = (read.count > 1 && meets).then_some(options);
    read
}

/// How many, and, into `door` and `meets`, where they meet and whether they do.
fn read_count(
    reader: &Reader,
    known: &Known,
    node: &Node,
    (door, meets): (&mut BarrierOptions, &mut bool),
    timeout: Duration,
) -> Option<u32> {
    let number = |node: &Node| reader.integer(node, 1..=MOST_CALLERS);
    if !matches!(node.kind, Kind::Map(_)) {
        return number(node);
    }
    let mut map = reader.map(node, "`callers`")?;
    let (count, meet, within) = (map.required("count"), map.optional("meet"), map.optional("within"));
    map.finish();
    let count = count.and_then(number);
    *meets = !meet.is_some_and(is_none);
    let operation = meet.filter(|node| !is_none(node)).and_then(|node| known.operation(reader, node));
    door.meet = operation.map(|operation| operation.name.to_string());
    if let Some(node) = within.filter(|_| !*meets) {
        reader.report_with_help(
            node.span,
            "with `meet: none` no caller waits for another",
            "leave `within` out",
        );
    }
    if let Some((node, time)) = within.and_then(|node| Some((node, reader.duration(node)?))) {
        within_timeout(reader, node.span, "the wait at the door", time, timeout);
        door.within = time;
    }
    if count == Some(1) && meet.or(within).is_some() {
        reader.report_with_help(
            node.span,
            "a single caller meets nobody",
            "write a larger `count`, or `callers: 1`",
        );
    }
    count
}

/// Whether callers are to meet nowhere.
fn is_none(node: &Node) -> bool {
    matches!(&node.kind, Kind::Text(word) if word == NOWHERE)
}

/// Reports a time that is not shorter than the time limit.
pub(crate) fn within_timeout(reader: &Reader, span: Span, what: &str, time: Duration, timeout: Duration) {
    if time >= timeout {
        let write = mock_services::yaml::write_duration;
        let message = format!("{what} takes {}, and the time limit is {}", write(time), write(timeout));
        reader.report_with_help(span, message, "make it shorter, or raise `timeout`");
    }
}

/// How often, and whether together.
fn read_deliver(reader: &Reader, node: &Node) -> Option<(u32, bool)> {
    let mut map = reader.map(node, "`deliver`")?;
    let (times, how) = (map.required("times"), map.required("how"));
    map.finish();
    let times = times.and_then(|node| reader.integer(node, 2..=MOST_CALLERS));
    let how = how.and_then(|node| reader.one_of(node, &[(HOW[0], true), (HOW[1], false)]));
    Some((times?, how?))
}
