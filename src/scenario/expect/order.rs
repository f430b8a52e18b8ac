//! Reads `order` of `expect`: the effects whose order matters, the first first.

use mock_services::examples;
use mock_services::fault::read_fields;
use mock_services::service::Fields;
use yaml_reader::shape::{MapShape, Shape, optional, required};
use yaml_reader::{Node, NodeKind, Reader};

use super::{PlacedIntent, check_carried};
use crate::scenario::OrderStep;
use crate::scenario::field_values::in_recorded_form;
use crate::scenario::known::KnownServices;

static STEP: MapShape<2> = MapShape::new([
    required("effect", Shape::Ref("effect")),
    optional("where", Shape::Ref("fields")).about("The fields that tell the effect from others of its name."),
]);
pub(super) const ORDER_STEP: Shape = Shape::OneOf(&[Shape::Ref("effect"), STEP.shape()]);

/// The steps of the order: at least two different ones, each of which is expected.
pub(super) fn read_order(
    reader: &Reader,
    known: &KnownServices,
    node: &Node,
    intents: &[PlacedIntent],
) -> Vec<OrderStep> {
    let mut order: Vec<OrderStep> = Vec::new();
    let items = reader.list(node).unwrap_or_default();
    for item in items {
        let Some(step) = read_step(reader, known, item) else { continue };
        let effect = &step.effect;
        // Without fields, a step is about all effects of its name.
        let is_same = |before: &OrderStep| {
            before.effect == *effect
                && (before.selector == step.selector
                    || before.selector.is_empty()
                    || step.selector.is_empty())
        };
        if order.iter().any(is_same) {
            let message = format!("{effect} is in the order twice");
            let help = "name each effect once, the first first, or tell them apart: {effect: …, where: {order: ord_1}}";
            reader.report_with_help(item.place(), message, help);
        } else if !intents.iter().any(|placed| is_expected(placed, &step)) {
            let message = format!("the order names {effect}{}, which is not expected", with(&step.selector));
            reader.report_with_help(item.place(), message, "name effects of `effects` that are due");
        } else {
            order.push(step);
        }
    }
    if let [_] | [] = items {
        let help = format!("for example: order: {}", examples::ORDER);
        reader.report_with_help(node.span, "an order needs at least two effects", help);
    }
    order
}

fn read_step(reader: &Reader, known: &KnownServices, node: &Node) -> Option<OrderStep> {
    if !matches!(node.kind, NodeKind::Map(_)) {
        let (effect, _) = known.effect(reader, node)?;
        return Some(OrderStep { effect: effect.to_owned(), selector: Fields::new() });
    }
    let [effect, which] = reader.fields(node, "an effect of the order", &STEP)?;
    let (effect, carried) = known.effect(reader, effect?)?;
    let selector = match which {
        Some(node) => {
            for (key, _) in reader.entries(node).unwrap_or_default() {
                check_carried(reader, effect, carried, key);
            }
            in_recorded_form(effect, &read_fields(reader, node)?)
        }
        None => Fields::new(),
    };
    Some(OrderStep { effect: effect.to_owned(), selector })
}

/// Whether an expected effect can be the one of a step: it is due, and no field differs.
fn is_expected(placed: &PlacedIntent, step: &OrderStep) -> bool {
    let intent = &placed.intent;
    let differs = |name: &str, wanted| {
        let own = intent.selector.get(name).or_else(|| intent.expected.get(name));
        own.is_some_and(|own| !own.meets(wanted))
    };
    intent.effect == step.effect
        && intent.times > 0
        && !step.selector.iter().any(|(name, wanted)| differs(name, wanted))
}

fn with(selector: &Fields) -> String {
    let parts: Vec<String> = selector
        .iter()
        .map(|(name, value)| format!("{name} {}", yaml_reader::shown(&value.to_string())))
        .collect();
    if parts.is_empty() { String::new() } else { format!(" with {}", parts.join(", ")) }
}
