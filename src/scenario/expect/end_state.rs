//! Reads `invariants` and `live` of `expect`.

use mock_services::catalog::StoreKind;
use yaml_reader::shape::{Count, MapShape, Rule, Shape, optional};
use yaml_reader::{Node, NodeKind, Reader, shown};

use crate::scenario::{Invariant, LiveDue, NumberRange, ServiceSetup};

/// The largest number of records in an invariant.
const MAX_KEYS: usize = 100;
/// The word of `sum` for a sum that stays as it was.
const STAYS: &str = "stays";
const RANGE: Shape = Shape::OneOf(&[
    Shape::Integer(i64::MIN, i64::MAX),
    Shape::Pattern("^-?[0-9]+\\.\\.(-?[0-9]+)?$|^\\.\\.-?[0-9]+$"),
]);

static INVARIANT: MapShape<4> = MapShape::new([
    optional("records", Shape::List(&Shape::Text, Count(1, MAX_KEYS))).about("The keys of the records."),
    optional("counters", Shape::List(&Shape::Text, Count(1, MAX_KEYS))).about("The names of the counters."),
    optional("sum", Shape::OneOf(&[Shape::Word(STAYS), RANGE])).about(
        "Their sum: `stays` if it is at the end what it was at the start, or where it must be after each write: 0.. is \
         never below zero.",
    ),
    optional("each", RANGE).about("Where each of them must be after each write: 0.. is never below zero."),
])
.needs(Rule::OneOf(&["records", "counters"]));
pub(super) const INVARIANTS: Shape = Shape::List(&INVARIANT.shape(), Count::ANY);
pub(super) const LIVE: Shape =
    Shape::MapOf(&Shape::Any, &Shape::Types(&["string", "integer", "null"]), Count::ANY);

/// The rules over several records or counters.
pub(super) fn read_invariants(reader: &Reader, node: &Node, setups: &[ServiceSetup]) -> Vec<Invariant> {
    reader
        .list(node)
        .unwrap_or_default()
        .iter()
        .filter_map(|node| read_invariant(reader, node, setups))
        .collect()
}

fn read_invariant(reader: &Reader, node: &Node, setups: &[ServiceSetup]) -> Option<Invariant> {
    let [records, counters, sum, each] = reader.fields(node, "an invariant", &INVARIANT)?;
    let (list, kind) = match (records, counters) {
        (Some(list), None) => (list, StoreKind::Record),
        (None, Some(list)) => (list, StoreKind::Counter),
        _ => {
            let help = "for example {records: [checking, savings], sum: stays}";
            reader.report_with_help(node.place(), "an invariant names either `records` or `counters`", help);
            return None;
        }
    };
    if sum.is_none() && each.is_none() {
        let help = "for example {records: [checking, savings], sum: stays} or {records: [stock], each: 0..}";
        reader.report_with_help(node.place(), "an invariant says what must hold: `sum` or `each`", help);
    }
    let items = reader.list(list).unwrap_or_default();
    let mut keys: Vec<String> = Vec::new();
    for item in items {
        let key = reader.text(item)?.to_owned();
        if keys.contains(&key) {
            let message = format!("`{}` is in the invariant twice", shown(&key));
            reader.report_with_help(item.span, message, "name each record once");
        }
        keys.push(key);
    }
    let start =
        |key: &String| setups.iter().find_map(|setup| setup.service.stored(kind, key)).unwrap_or_default();
    let starts: Vec<serde_json::Value> = keys.iter().map(start).collect();
    for ((item, key), start) in items.iter().zip(&keys).zip(&starts) {
        if !start.is_null() && start.as_i64().is_none() {
            let message = format!("the record `{}` is not a whole number at the start", shown(key));
            reader.report_with_help(item.span, message, "invariants are about whole numbers");
        }
    }
    let sum_stays = sum.is_some_and(|node| node.as_text() == Some(STAYS));
    let sum = sum.filter(|_| !sum_stays).and_then(|node| read_range(reader, node, " or `stays`"));
    let each_range = each.and_then(|node| read_range(reader, node, ""));
    Some(Invariant { keys, counter: kind == StoreKind::Counter, starts, sum_stays, sum, each: each_range })
}

/// A number, `0..`, `..10` or `0..10`.
fn read_range(reader: &Reader, node: &Node, or: &str) -> Option<NumberRange> {
    if let NodeKind::Integer(_) = node.kind {
        let number = reader.integer(node, i64::MIN..=i64::MAX)?;
        return Some(NumberRange { least: Some(number), most: Some(number) });
    }
    let bound = |text: &str| if text.is_empty() { Some(None) } else { text.parse::<i64>().ok().map(Some) };
    let read = node.as_text().and_then(|text| {
        let (least, most) = text.split_once("..")?;
        Some(NumberRange { least: bound(least)?, most: bound(most)? })
    });
    let Some(range) = read.filter(|range| range.least.is_some() || range.most.is_some()) else {
        let message = format!("expected a number or a range{or}, found {}", node.describe());
        reader.report_with_help(
            node.span,
            message,
            "write 0.. for never below zero, 0..10, ..10, or one number",
        );
        return None;
    };
    if let (Some(least), Some(most)) = (range.least, range.most)
        && least > most
    {
        let message = format!("the lower bound {least} is greater than the upper bound {most}");
        reader.report_with_help(node.span, message, format!("write {most}..{least}"));
    }
    Some(range)
}

/// What must be live at each place.
pub(super) fn read_live(reader: &Reader, node: &Node, setups: &[ServiceSetup]) -> Vec<LiveDue> {
    let entries = reader.entries(node).unwrap_or_default();
    if entries.is_empty() {
        let help = "for example: live: {production: v3}";
        reader.report_with_help(node.place(), "`live` names no place", help);
    }
    let read = entries.iter().filter_map(|(key, node)| {
        let value = match &node.kind {
            NodeKind::Null => None,
            NodeKind::Integer(number) => Some(number.to_string()),
            _ => Some(reader.text(node)?.to_owned()),
        };
        let start = setups.iter().find_map(|setup| setup.service.live(&key.name));
        Some(LiveDue { place: key.name.clone(), value, start })
    });
    read.collect()
}

#[cfg(test)]
mod tests {
    use yaml_reader::Source;

    use super::*;
    use crate::scenario::{Case, read_scenario};

    fn read(expect: &str) -> Result<Vec<Case>, String> {
        let text = format!(
            "about: A transfer.\ntask: Move 5.\nsteps:\n  - {{do: records.put, with: {{key: a, add: -5}}}}\n\
             services:\n  records: {{records: {{a: 60, b: many}}}}\n\
             expect:\n  claim: done\n{expect}\n"
        );
        read_scenario(&Source::new("scenarios/records/test.yaml", text), "records/test")
            .map_err(|problems| problems.to_string())
    }

    #[test]
    fn an_invariant_has_the_values_of_the_start_and_a_range() {
        let cases = read("  invariants: [{records: [a, c], sum: stays, each: -5..}]").unwrap();
        let invariant = &cases[0].terms.invariants[0];
        assert_eq!((&invariant.keys[..], invariant.sum_stays), (&["a".to_owned(), "c".to_owned()][..], true));
        assert_eq!(invariant.starts, [serde_json::json!(60), serde_json::Value::Null]);
        assert_eq!(invariant.each, Some(NumberRange { least: Some(-5), most: None }));
        let cases = read("  invariants: [{counters: [hits], sum: 7}]").unwrap();
        assert_eq!(cases[0].terms.invariants[0].sum, Some(NumberRange { least: Some(7), most: Some(7) }));
    }

    #[test]
    fn problems_of_invariants_are_shown_at_their_positions() {
        for (wrong, place, why) in [
            ("{records: [a]}", "test.yaml:9:16", "what must hold"),
            ("{sum: stays}", "test.yaml:9:16", "either `records` or `counters`"),
            ("{records: [a], counters: [c], sum: 1}", "test.yaml:9:16", "either `records` or `counters`"),
            ("{records: [a, a], sum: stays}", "test.yaml:9:30", "twice"),
            ("{records: [b], sum: stays}", "test.yaml:9:27", "not a whole number"),
            ("{records: [a], sum: stay}", "test.yaml:9:36", "or `stays`"),
            ("{records: [a], each: 9..1}", "test.yaml:9:37", "write 1..9"),
            ("{record: [a], sum: stays}", "test.yaml:9:17", "did you mean `records`?"),
        ] {
            let problems = read(&format!("  invariants: [{wrong}]")).unwrap_err();
            assert!(problems.contains(why) && problems.contains(place), "{wrong}: {problems}");
        }
        let problems = read("  live: {}").unwrap_err();
        assert!(problems.contains("`live` names no place"), "{problems}");
    }
}
