use super::*;
use mock_services::yaml::{Source, parse};
use proptest::prelude::*;

fn words(list: &str) -> Vec<String> {
    let node = parse(&Source::new("list", list)).unwrap();
    let NodeKind::List(values) = node.kind else { panic!("{list} is no list") };
    words_of(&values)
}

#[test]
fn plain_values_are_written_as_they_are() {
    assert_eq!(words("[drop, 5, -1.5, true, null, 800ms]"), ["drop", "5", "-1.5", "true", "null", "800ms"]);
}

#[test]
fn a_map_of_one_key_is_its_value() {
    assert_eq!(words("[drop, {status: 502}, {delay: 2s}]"), ["drop", "502", "2s"]);
}

#[test]
fn a_map_of_one_key_is_written_in_full_where_its_value_alone_is_ambiguous() {
    assert_eq!(words("[{delay: 2s}, {drip: 2s}]"), ["delay-2s", "drip-2s"]);
    assert_eq!(words("[502, {status: 502}]"), ["502", "status-502"]);
}

#[test]
fn larger_values_are_their_words() {
    assert_eq!(
        words("[{status: 429, retry_after: 1}, [1, 2], {later: {requests: 2}}, [], {}]"),
        ["status-429-retry_after-1", "1-2", "later-requests-2", "empty", "empty-2"]
    );
}

#[test]
fn what_a_shell_would_read_is_a_dash() {
    assert_eq!(words("['a b', 'x;y', '$(z)', é, '']"), ["a-b", "x-y", "--z-", "-", "empty"]);
}

#[test]
fn words_that_would_be_the_same_are_numbered_by_their_place() {
    assert_eq!(words("['a b', 'a;b', 'a-b-2', 'a/b']"), ["a-b", "a-b-3", "a-b-2", "a-b-4"]);
    assert_eq!(words("[1, '1']"), ["1", "1-2"]);
}

proptest! {
    #[test]
    fn words_are_unique_and_typeable(
        values in proptest::collection::vec("[-a-c1-3 ;é]{0,3}", 1..12),
        wrapped in any::<bool>(),
    ) {
        let span = mock_services::yaml::Span::default();
        let text = |value: &String| Node::new(NodeKind::Text(value.clone()), span);
        let key = |name: &str| mock_services::yaml::Key { name: name.to_owned(), span };
        let node = |(index, value)| match wrapped && index % 2 == 0 {
            true => Node::new(NodeKind::Map(vec![(key("k"), text(value))]), span),
            false => text(value),
        };
        let nodes: Vec<Node> = values.iter().enumerate().map(node).collect();
        let words = words_of(&nodes);
        let unique: HashSet<&String> = words.iter().collect();
        prop_assert_eq!(unique.len(), nodes.len());
        prop_assert!(words.iter().all(|word| !word.is_empty() && word.chars().all(is_typeable)));
    }
}
