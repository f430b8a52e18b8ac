use super::super::parse;
use super::*;

/// All problems that reading gives, as they are shown.
fn problems(text: &str, read: impl Fn(&Reader, &Node)) -> String {
    let file = Source::new("file.yaml", text);
    let tree = parse(&file).unwrap();
    let reader = Reader::new(&file);
    read(&reader, &tree);
    match reader.finish(Some(())) {
        Ok(()) => String::new(),
        Err(problems) => problems.to_string(),
    }
}

fn fault(reader: &Reader, node: &Node) {
    let Some(mut map) = reader.map(node, "a fault") else { return };
    map.required("on").and_then(|node| reader.text(node));
    map.optional("attempt").and_then(|node| reader.integer(node, 1..=9u32));
    map.optional("optional").and_then(|node| reader.boolean(node));
    map.finish();
}

#[test]
fn all_problems_of_a_file_are_shown_at_once_in_its_order() {
    let text = "onn: payment.charge\nattempt: 12\noptional: yes\ncolour: red\n";
    let picture = "\
error: a fault has no key `onn`
 --> file.yaml:1:1
  |
1 | onn: payment.charge
  | ^^^ unknown key
  |
  = help: did you mean `on`? it can have `on`, `attempt` or `optional`

error: expected a whole number from 1 to 9, found 12
 --> file.yaml:2:10
  |
2 | attempt: 12
  |          ^^

error: expected `true` or `false`, found the text \"yes\"
 --> file.yaml:3:11
  |
3 | optional: yes
  |           ^^^
  |
  = help: write `true` or `false`; other words are texts

error: a fault has no key `colour`
 --> file.yaml:4:1
  |
4 | colour: red
  | ^^^^^^ unknown key
  |
  = help: it can have `on`, `attempt` or `optional`";
    assert_eq!(problems(text, fault), picture);
}

#[test]
fn a_missing_key_is_shown_at_the_beginning_of_its_map() {
    let picture = "\
error: a fault needs the key `on`
 --> file.yaml:2:3
  |
2 |   attempt: 1
  |   ^^^^^^^";
    let read = |reader: &Reader, node: &Node| fault(reader, node.get("fault").unwrap());
    assert_eq!(problems("fault:\n  attempt: 1\n", read), picture);
    assert!(problems("fault: {attempt: 1}", read).contains("file.yaml:1:8\n"));
    assert!(problems("fault: {}", read).contains("a fault needs the key `on`"));
}

#[test]
fn a_value_of_another_kind_is_named() {
    assert!(problems("[1]", fault).contains("expected a fault (a map of keys and values), found a list"));
    assert!(problems("", fault).contains("expected a fault (a map of keys and values), found nothing"));
    let problem = problems("on: 5\n", fault);
    assert!(problem.contains("expected a text, found the whole number 5"), "{problem}");
    assert!(problem.contains("help: put it in quotes: \"5\""), "{problem}");
}

#[test]
fn a_duration_needs_its_unit() {
    let duration = |reader: &Reader, node: &Node| {
        reader.duration(node);
    };
    let problem = problems("5", duration);
    assert!(problem.contains("expected a duration, found the whole number 5"), "{problem}");
    assert!(problem.contains("help: add a unit: 5ms, 5s or 5m"), "{problem}");
    assert!(problems("soon", duration).contains("help: write it as a number with the unit ms, s or m"));
    assert_eq!(problems("1.5s", duration), "");
}

#[test]
fn a_word_that_is_not_among_those_allowed_is_shown_with_the_nearest() {
    let word = |reader: &Reader, node: &Node| {
        reader.one_of(node, &[("drop", 1), ("reset", 2)]);
    };
    let problem = problems("rest", word);
    assert!(problem.contains("expected `drop` or `reset`, found the text \"rest\""), "{problem}");
    assert!(problem.contains("help: did you mean `reset`?"), "{problem}");
    assert!(!problems("3", word).contains("help"));
    assert_eq!(problems("drop", word), "");
}

#[test]
fn numbers_may_be_whole_or_not() {
    let file = Source::new("file.yaml", "[1, 0.5, x]");
    let tree = parse(&file).unwrap();
    let reader = Reader::new(&file);
    let numbers: Vec<_> = reader.list(&tree).unwrap().iter().map(|node| reader.number(node)).collect();
    assert_eq!(numbers, [Some(1.0), Some(0.5), None]);
    assert_eq!(reader.count(), 1);
}

#[test]
fn foreign_text_can_do_nothing_to_a_terminal() {
    let problem = problems("\"a\\e[31m\": 1", fault);
    assert!(!problem.contains('\u{1b}'), "{problem:?}");
}

#[test]
fn more_than_a_hundred_problems_are_cut_short() {
    let text: String = (0..150).map(|number| format!("key{number}: 1\n")).collect();
    let shown = problems(&text, fault);
    assert!(shown.ends_with("and 51 more"), "{}", &shown[shown.len() - 100..]);
}

#[test]
fn colour_is_only_there_when_asked_for() {
    let problem = Problem::new(&Source::new("f", "abc"), Span::new(1, 2), "m").with_label("l");
    assert!(problem.render(true).contains('\u{1b}'));
    assert!(!problem.render(false).contains('\u{1b}'));
}

#[test]
fn a_place_outside_the_text_or_inside_a_character_is_still_shown() {
    let file = Source::new("f", "é\n");
    for (start, end) in [(0, 99), (1, 1), (1, 0), (3, 3), (99, 99), (2, 3)] {
        let problem = Problem::new(&file, Span::new(start, end), "m");
        assert!(problem.to_string().contains("--> f:"), "{start} {end}");
        assert!(problem.position().0 >= 1);
    }
    assert!(Problem::new(&Source::new("f", ""), Span::default(), "m").to_string().contains("f:1:1"));
}
