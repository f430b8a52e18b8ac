//! Reads `callers`, `each` and `deliver`: how many callers there are, where they wait for each other, and how
//! often the same task is delivered, one after another, together or overlapping.

use std::time::Duration;

use mock_services::service::OperationKind;
use mock_services::{BarrierOptions, examples};
use yaml_reader::shape::{Count, MapShape, Shape, optional, required, words_of};
use yaml_reader::{Key, Node, NodeKind, Reader, Span};

use crate::scenario::known::KnownServices;
use crate::scenario::{Overlap, Planned, ServiceSetup};

/// The largest number of callers in a trial.
pub(crate) const MAX_CALLERS: u32 = 1000;
/// The largest number of entries of an order.
const MAX_ORDER: usize = 1000;
/// The value of `meet` for callers that do not wait for each other.
const MEET_NONE: &str = "none";
/// How a task is delivered more than once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DeliveryOrder {
    Together,
    OneAfterAnother,
    Overlapping,
}

/// The words of `how`.
const DELIVERY_WORDS: [(&str, DeliveryOrder); 3] = [
    ("together", DeliveryOrder::Together),
    ("one-after-another", DeliveryOrder::OneAfterAnother),
    (OVERLAPPING, DeliveryOrder::Overlapping),
];
const OVERLAPPING: &str = "overlapping";

static MEETING: MapShape<4> = MapShape::new([
    required("count", COUNT),
    optional("meet", Shape::OneOf(&[Shape::Ref("operation"), Shape::Word(MEET_NONE)])),
    optional("within", Shape::DURATION),
    optional("order", Shape::List(&COUNT, Count(0, MAX_ORDER))),
]);
const COUNT: Shape = Shape::Integer(1, MAX_CALLERS as i64);
pub(super) const CALLERS: Shape = Shape::OneOf(&[COUNT, MEETING.shape()]);
pub(super) static DELIVER: MapShape<3> = MapShape::new([
    required("times", Shape::Integer(2, MAX_CALLERS as i64)),
    required("how", Shape::Words(|| words_of(&DELIVERY_WORDS))),
    optional("freeze", FREEZE.shape()),
]);
static FREEZE: MapShape<3> = MapShape::new([
    required("received", Shape::Ref("operation")),
    optional("attempt", Shape::POSITIVE),
    optional("within", Shape::DURATION),
]);

/// The callers of a case.
#[derive(Debug)]
pub(crate) struct Callers {
    pub(crate) count: u32,
    pub(crate) barrier: Option<BarrierOptions>,
    /// The callers in the order in which their requests are let in, if there is one.
    pub(crate) order: Option<Vec<u32>>,
    /// How many further times the same work is delivered, one after another.
    pub(crate) redeliveries: u32,
    /// How the second delivery overlaps with the first, and the place of `freeze`.
    pub(crate) overlap: Option<(Overlap, Span)>,
}

/// The parts of a scenario that describe its callers.
pub(crate) struct CallersInput<'n> {
    pub(crate) callers: Option<&'n Node>,
    /// The key `each`, and the length of its list.
    pub(crate) each: Option<(&'n Key, usize)>,
    pub(crate) deliver: Option<(&'n Key, &'n Node)>,
    /// The keys `interrupts` and `turns`, where they are not empty.
    pub(crate) apart: Vec<&'n Key>,
    pub(crate) timeout: Duration,
}

/// Reads the callers.
pub(crate) fn read_callers(reader: &Reader, known: &KnownServices, input: &CallersInput<'_>) -> Callers {
    let mut read = Callers { count: 1, barrier: None, order: None, redeliveries: 0, overlap: None };
    let mut options = BarrierOptions {
        within: BarrierOptions::default().within.min(input.timeout / 2),
        ..BarrierOptions::default()
    };
    let mut meets = true;
    let count =
        input.callers.map(|node| read_count(reader, known, node, (&mut options, &mut meets), input.timeout));
    read.count = count.flatten().unwrap_or(1);
    read.order = input.callers.and_then(|node| read_order(reader, node, read.count));
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
        } else {
            match read_deliver(reader, known, node, (options.within, input.timeout)) {
                Some((times, Delivery::Together)) => read.count = times,
                Some((times, Delivery::OneAfterAnother)) => read.redeliveries = times - 1,
                Some((_, Delivery::Overlapping(overlap, span))) => {
                    read.count = 2;
                    read.overlap = Some((overlap, span));
                    input.apart.iter().for_each(|key| {
                        let message = format!("`{}` cannot be combined with `how: {OVERLAPPING}`", key.name);
                        reader.report_with_help(key.span, message, "keep one of them");
                    });
                }
                None => {}
            }
        }
    }
    read.barrier =
        (read.count > 1 && meets && read.overlap.is_none() && read.order.is_none()).then_some(options);
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
    let [count, meet, within, order] = reader.fields(node, "`callers`", &MEETING)?;
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
    if let (Some(_), Some(other)) = (order, meet.or(within)) {
        let message = "callers that are let in in an order do not meet";
        reader.report_with_help(other.span, message, "keep either `order`, or `meet` and `within`");
    }
    if count == Some(1) && meet.or(within).or(order).is_some() {
        reader.report_with_help(
            node.span,
            "a single caller has no other caller to wait for",
            "write a larger `count`, or `callers: 1`",
        );
    }
    count
}

/// The callers in the order in which their requests are let in.
fn read_order(reader: &Reader, node: &Node, count: u32) -> Option<Vec<u32>> {
    let order = node.get("order")?;
    let items = reader.list(order)?;
    if items.len() > MAX_ORDER {
        reader
            .report(order.span, format!("the order has {} entries; the maximum is {MAX_ORDER}", items.len()));
        return None;
    }
    items.iter().map(|item| reader.integer(item, 1..=count)).collect()
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

/// How a task is delivered more than once, with the details of an overlap.
enum Delivery {
    Together,
    OneAfterAnother,
    Overlapping(Overlap, Span),
}

/// How many times, and how. `limits` are the usual maximum time of a freeze, and the time limit.
fn read_deliver(
    reader: &Reader,
    known: &KnownServices,
    node: &Node,
    limits: (Duration, Duration),
) -> Option<(u32, Delivery)> {
    let [times, how, freeze] = reader.keyed_fields(node, "`deliver`", &DELIVER)?;
    let times = times.and_then(|(_, node)| Some((node.span, reader.integer(node, 2..=MAX_CALLERS)?)));
    let how = how.and_then(|(_, node)| reader.one_of(node, &DELIVERY_WORDS));
    let overlap = freeze.map(|(key, node)| (key, read_freeze(reader, known, node, limits)));
    let delivery = match (how?, overlap) {
        (DeliveryOrder::Overlapping, Some((key, overlap))) => Delivery::Overlapping(overlap?, key.span),
        (DeliveryOrder::Overlapping, None) => {
            let help = format!(
                "add the request at which the first worker is frozen: `freeze: {{received: {}}}`",
                examples::OPERATION
            );
            let message = format!("`how: {OVERLAPPING}` needs the key `freeze`");
            reader.report_with_help(node.place(), message, help);
            return None;
        }
        (_, Some((key, _))) => {
            let message = format!("`freeze` has no effect without `how: {OVERLAPPING}`");
            reader.report_with_help(
                key.span,
                message,
                format!("write `how: {OVERLAPPING}`, or remove `freeze`"),
            );
            return None;
        }
        (DeliveryOrder::Together, None) => Delivery::Together,
        (DeliveryOrder::OneAfterAnother, None) => Delivery::OneAfterAnother,
    };
    let (span, times) = times?;
    if times != 2 && matches!(delivery, Delivery::Overlapping(..)) {
        let message = "only two deliveries can overlap: the first is frozen while the second runs";
        reader.report_with_help(span, message, "write `times: 2`");
    }
    Some((times, delivery))
}

fn read_freeze(
    reader: &Reader,
    known: &KnownServices,
    node: &Node,
    (usual, timeout): (Duration, Duration),
) -> Option<Overlap> {
    let [received, attempt, within] = reader.fields(node, "`freeze`", &FREEZE)?;
    let attempt = attempt.map_or(Some(1), |node| reader.integer(node, 1..=u32::MAX));
    let within = match within {
        Some(node) => {
            let time = reader.duration(node)?;
            within_timeout(reader, node.span, "the freeze", time, timeout);
            time
        }
        None => usual,
    };
    let node = received?;
    let operation = known.operation(reader, node)?;
    if operation.kind == OperationKind::Read {
        let message =
            format!("{} is a read: a worker that is frozen there can do no harm later", operation.name);
        reader.report_with_help(node.span, message, "name the write that must not happen twice");
        return None;
    }
    Some(Overlap { operation: operation.name.to_string(), attempt: attempt?, within })
}

/// Reports an overlap at a service where no subject can prevent the second effect: it has neither keys nor conditions.
pub(crate) fn check_overlap(
    reader: &Reader,
    overlap: &Overlap,
    span: Span,
    known: &KnownServices,
    setups: &[ServiceSetup],
) {
    let Some(service) = known.service_of(&overlap.operation) else { return };
    let named =
        setups.iter().find(|setup| setup.name == service.name).and_then(|setup| setup.idempotency.as_ref());
    let has_condition = named.is_none() && service.is_store();
    if !named.unwrap_or(&service.profile).takes_keys() && !has_condition {
        let message = format!(
            "no worker that continues late can be kept from a second effect: `{}` ignores idempotency keys",
            service.name
        );
        let help =
            format!("give it keys, for example `services: {{{}: {{idempotency: ietf}}}}`", service.name);
        reader.report_with_help(span, message, help);
    }
}

impl Overlap {
    /// The overlap on one line: `payment.charge#1 arrived: freeze while the second runs`.
    pub(crate) fn planned(&self) -> Planned {
        let text = format!("{}#{} arrived: freeze while the second runs", self.operation, self.attempt);
        Planned { text, operation: self.operation.clone(), optional: false, fault: None }
    }
}
