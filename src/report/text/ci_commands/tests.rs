use proptest::prelude::*;

use super::*;

/// Whether a runner finds a command in the text, once its colors are taken out.
pub(crate) fn acts(printed: &str) -> bool {
    let plain = anstream::adapter::strip_str(printed).to_string();
    plain.split(['\n', '\r']).any(|line| {
        let hashes = ["##[", "##vso[", "##teamcity["].iter().any(|command| line.contains(command));
        line.trim_start().starts_with("::") || hashes
    })
}

#[test]
fn what_would_be_a_command_is_shown_and_does_nothing() {
    for (wrote, shown) in [
        ("::error::x", "\\::error::x"),
        ("a\n  ::set-output name=a::b", "a\n  \\::set-output name=a::b"),
        ("a\r::stop-commands::x", "a\r\\::stop-commands::x"),
        ("\u{a0}\u{1b}[1m ::debug::x", "\u{a0}\u{1b}[1m \\::debug::x"),
        ("a ##[group]b ##vso[task.x]c", "a ##\\[group]b ##vso\\[task.x]c"),
        (":\u{1b}[1m:debug::#\u{1b}[0m#[x]", "\\:\u{1b}[1m:debug::#\u{1b}[0m#\\[x]"),
        ("###[x] ####[y]", "###\\[x] ####\\[y]"),
    ] {
        assert!(acts(wrote), "{wrote:?}");
        assert_eq!(text(wrote), shown);
    }
    for harmless in ["std::fs::read", "a :: b", "## Heading", "[1] # 2", "", "x ::1"] {
        assert_eq!(text(harmless), harmless);
        assert_eq!(markup(harmless), harmless);
    }
}

#[test]
fn other_formats_say_the_same_in_their_own_way() {
    let wrote = "::error::x ##[group]y";
    let written = serde_json::to_string(wrote).unwrap();
    let inert = json(&written);
    assert!(!acts(&inert), "{inert}");
    assert_eq!(serde_json::from_str::<String>(&inert).unwrap(), wrote);
    assert_eq!(markup("a\n::error::x ##[b]"), "a\n&#58;:error::x ##&#91;b]");
}

proptest! {
    #[test]
    fn nothing_that_is_printed_acts(wrote in "(::|#|##|\\[|vso|\\n|\\r| |a|\u{1b}\\[1m|:){0,12}") {
        prop_assert!(!acts(&text(&wrote)), "{:?}", text(&wrote));
        prop_assert!(!acts(&markup(&wrote)), "{:?}", markup(&wrote));
        let written = serde_json::to_string(&wrote).unwrap();
        prop_assert!(!acts(&json(&written)));
        prop_assert_eq!(serde_json::from_str::<String>(&json(&written)).unwrap(), wrote);
    }
}
