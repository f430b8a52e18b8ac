use super::*;
use proptest::prelude::*;

fn tree(text: &str) -> Node {
    parse(&Source::new("file.yaml", text)).unwrap_or_else(|problem| panic!("{problem}"))
}

fn refused(text: &str) -> String {
    match parse(&Source::new("file.yaml", text)) {
        Ok(node) => panic!("{text:?} was read as {node:?}"),
        Err(problem) => problem.to_string(),
    }
}

fn written(text: &str, node: &Node) -> String {
    text[node.span.range()].to_owned()
}

#[test]
fn every_value_knows_where_it_stood() {
    let text = "faults:\n  - on: payment.charge\n    where: {order: \"o 1\", ünï: [1, 2]}\n\nnext: 1\n";
    let file = tree(text);
    let faults = file.get("faults").unwrap();
    assert_eq!(written(text, faults), "- on: payment.charge\n    where: {order: \"o 1\", ünï: [1, 2]}");
    let NodeKind::List(items) = &faults.kind else { panic!("{faults:?}") };
    assert_eq!(written(text, items[0].get("on").unwrap()), "payment.charge");
    let condition = items[0].get("where").unwrap();
    assert_eq!(written(text, condition), "{order: \"o 1\", ünï: [1, 2]}");
    assert_eq!(written(text, condition.get("order").unwrap()), "\"o 1\"");
    assert_eq!(written(text, condition.get("ünï").unwrap()), "[1, 2]");
    let NodeKind::Map(entries) = &condition.kind else { panic!("{condition:?}") };
    assert_eq!(&text[entries[1].0.span.range()], "ünï");
}

#[test]
fn every_scalar_can_be_a_key() {
    let NodeKind::Map(entries) = tree("{on: no, 404: 1, true: 2, \"\": 3, null: 4}").kind else {
        panic!("not a map")
    };
    assert_eq!(
        entries.iter().map(|(key, _)| key.name.as_str()).collect::<Vec<_>>(),
        ["on", "404", "true", "", "null"]
    );
    assert_eq!(entries[0].1.kind, NodeKind::Text("no".to_owned()));
}

#[test]
fn quotes_make_a_text_of_anything() {
    let NodeKind::List(items) = tree("[4999, \"4999\", '4999', 0x10, 1e3, 1..3, ~, 'true']").kind else {
        panic!("not a list")
    };
    let text = |text: &str| NodeKind::Text(text.to_owned());
    let kinds: Vec<NodeKind> = items.into_iter().map(|node| node.kind).collect();
    let number = NodeKind::Integer(4999);
    let expected = [
        number,
        text("4999"),
        text("4999"),
        NodeKind::Integer(16),
        NodeKind::Float(1000.0),
        text("1..3"),
        NodeKind::Null,
        text("true"),
    ];
    assert_eq!(kinds, expected);
}

#[test]
fn json_is_read_with_its_tabs_and_escapes() {
    let json = "{\n\t\"a\":\t[true,null],\n\t\"b\":\"\\u00e9\\ud83d\\ude00\\/\",\"c\":{}\n}";
    let file = tree(json);
    assert_eq!(file.get("b").and_then(Node::as_text), Some("é😀/"));
    assert_eq!(file.get("c").unwrap().kind, NodeKind::Map(Vec::new()));
}

#[test]
fn a_file_with_nothing_in_it_is_nothing() {
    for text in ["", "\n\n", "# only words\n", "---\n", "\u{feff}"] {
        assert_eq!(tree(text).kind, NodeKind::Null, "{text:?}");
    }
}

#[test]
fn a_byte_order_mark_is_not_part_of_the_first_key() {
    let text = "\u{feff}a: 1";
    assert_eq!(written(text, tree(text).get("a").unwrap()), "1");
}

#[test]
fn a_second_key_of_one_name_is_shown_with_the_line_of_the_first() {
    let picture = "\
error: the key `on` occurs a second time
 --> file.yaml:3:1
  |
3 | on: b
  | ^^
  |
  = help: the first is on line 1; keep one of the two";
    assert_eq!(refused("on: a\nreply: drop\non: b\n"), picture);
}

#[test]
fn everything_beyond_plain_data_is_refused_at_its_place() {
    for (text, message, place) in [
        ("a: &x 1", "anchors are not read", "1:4"),
        ("- a\n- *x", "aliases are not read", "2:3"),
        ("<<: {a: 1}", "merge keys are not read", "1:1"),
        ("a: !!str 1", "tags are not read", "1:4"),
        ("a: !x [1]", "tags are not read", "1:4"),
        ("a: 1\n---\nb: 2", "a second document begins here", "2:1"),
        ("%YAML 1.2\n---\na: 1", "directives are not read", "1:1"),
        ("? [a]\n: b", "a key must be a text", "1:3"),
        (": 1", "a key is missing here", "1:1"),
        ("a:\n\tb: 1", "a tab cannot be used to indent", "2:1"),
        ("a: b\n\tc: 1", "a tab cannot be used to indent", "2:1"),
        ("a:\n  - b: c\n  \td: 1", "a tab cannot be used to indent", "3:3"),
        ("a: b\0c", "the file has a NUL byte", "1:5"),
        ("a: 1e999", "the number 1e999 is too large", "1:4"),
    ] {
        let problem = refused(text);
        assert!(problem.contains(message) && problem.contains(&format!("file.yaml:{place}\n")), "{problem}");
    }
}

#[test]
fn a_placeholder_without_quotes_in_braces_is_refused_with_the_way_out() {
    let problem = refused("faults:\n  - {on: a, reply: ${reply}}\n");
    assert!(problem.contains("file.yaml:2:") && problem.contains("\"${name}\""), "{problem}");
}

#[test]
fn invalid_yaml_is_reported_at_its_place() {
    let picture = "\
error: this is not YAML: unclosed bracket '['
 --> file.yaml:2:4
  |
2 | b: [1, 2
  |    ^
  |
  = help: close it, or put quotes around the text";
    assert_eq!(refused("a: 1\nb: [1, 2"), picture);
}

#[test]
fn a_file_that_is_too_long_is_not_even_parsed() {
    let problem = refused(&"[".repeat(MAX_BYTES + 1));
    assert!(problem.contains("the file has 1048577 bytes, and at most 1048576 are read"), "{problem}");
}

#[test]
fn depth_and_number_of_values_are_bounded() {
    tree(&format!("{}{}", "[".repeat(MAX_DEPTH), "]".repeat(MAX_DEPTH)));
    for text in ["[".repeat(100_000), "- ".repeat(100_000), "{a: ".repeat(50_000)] {
        let problem = refused(&text);
        assert!(problem.contains("64 deep"), "{problem}");
    }
    assert!(refused(&format!("[{}]", "1,".repeat(MAX_NODES + 1))).contains("more than 100000 values"));
}

#[test]
fn a_part_of_a_text_keeps_its_place_in_the_whole() {
    let file = Source::new("line", "é reply={drip: 2s}");
    let node = parse_part(&file, Span::new(9, file.text().len())).unwrap();
    assert_eq!(&file.text()[node.get("drip").unwrap().span.range()], "2s");
    let problem = parse_part(&file, Span::new(9, 12)).unwrap_err();
    assert_eq!(problem.position(), (1, 9));
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "\\PC*") {
        if let Err(problem) = parse(&Source::new("any.yaml", text)) {
            let _ = (problem.to_string(), problem.position());
        }
    }

    #[test]
    fn no_jumble_of_yaml_marks_makes_it_panic(text in "[-\\[\\]{}:,?&*!|>'\"%@#\\\\ \
        \t\r\na1é\u{feff}\u{85}~.<]{0,60}") {
        if let Err(problem) = parse(&Source::new("any.yaml", text)) {
            let _ = (problem.to_string(), problem.position());
        }
    }
}
