use super::*;
use crate::report::View;

fn done(words: &str, wrong: bool) -> Option<CustomerEffect> {
    Some(CustomerEffect { words: words.to_owned(), wrong })
}

fn demo() -> Demo {
    let row =
        |about: &str, careless, careful| DemoRow { about: about.to_owned(), did: vec![careless, careful] };
    Demo {
        agents: vec!["careless".to_owned(), "careful".to_owned()],
        rows: vec![
            row(
                "The charge goes through, and the reply is lost.",
                done("charged twice: $99.98 instead of $49.99", true),
                done("charged once: $49.99", false),
            ),
            row(
                "The service says 200, and nothing happened. Only a look afterwards tells.",
                done("not charged, and said it was done", true),
                None,
            ),
        ],
        next_command: Some("hapax run payment/lost-reply --subject naive -v".to_owned()),
    }
}

fn shown(width: usize, color: bool) -> String {
    render(&demo(), &View { width, color, verbose: false })
}

#[test]
fn a_wide_terminal_shows_both_side_by_side() {
    insta::assert_snapshot!(shown(100, false));
}

#[test]
fn a_narrow_terminal_shows_one_below_the_other() {
    insta::assert_snapshot!(shown(50, false));
}

#[test]
fn no_width_is_exceeded_and_none_is_too_small() {
    for width in 0..130 {
        let text = shown(width, false);
        let table = text.split("What to do next").next().unwrap_or_default();
        let widest = table.lines().map(|line| line.chars().count()).max().unwrap_or_default();
        assert!(width < 30 || widest <= width, "{widest} columns for {width}:\n{table}");
    }
}

#[test]
fn colors_do_not_change_the_demo() {
    let painted = anstream::adapter::strip_str(&shown(100, true)).to_string();
    assert_eq!(painted, shown(100, false));
}

#[test]
fn every_case_of_the_demo_is_shipped() {
    let ids: Vec<String> = cases().unwrap().into_iter().map(|case| case.id).collect();
    assert_eq!(ids, CASES);
}
