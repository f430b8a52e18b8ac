//! Help, completions and the man page.

use crate::kit::workspace::Workspace;

/// The verbs that help lists.
fn verbs(workspace: &Workspace) -> Vec<String> {
    let help = workspace.call(&["--help"]).expect(0).stdout;
    let list = help.split("Commands:").nth(1).unwrap().split("Options:").next().unwrap();
    let name = |line: &str| {
        line.strip_prefix("  ").filter(|line| !line.starts_with(' '))?.split(' ').next().map(str::to_owned)
    };
    list.lines().filter_map(name).filter(|verb| verb != "help").collect()
}

#[test]
fn help_lists_every_verb() {
    insta::assert_snapshot!(Workspace::new().call(&["--help"]).expect(0).stdout);
}

#[test]
fn the_first_screen_of_the_help_has_the_verbs_of_every_day() {
    let workspace = Workspace::new();
    let help = workspace.command(&["--help"]).env("COLUMNS", "80").output().unwrap().stdout;
    let help = String::from_utf8(help).unwrap();
    let screen: Vec<&str> = help.lines().take(24).collect();
    for verb in ["demo", "init", "run", "replay", "report", "list", "certify", "doctor"] {
        assert!(screen.iter().any(|line| line.starts_with(&format!("  {verb} "))), "{verb}\n{help}");
    }
    assert!(screen.contains(&"More commands:"), "{help}");
    assert!(help.lines().all(|line| line.chars().count() <= 80), "{help}");
}

#[test]
fn the_help_of_every_verb_has_examples() {
    let workspace = Workspace::new();
    let verbs = verbs(&workspace);
    assert!(verbs.len() >= 11, "{verbs:?}");
    for verb in verbs {
        let help = workspace.call(&[&verb, "--help"]).expect(0).stdout;
        assert!(help.contains("Examples:") && help.contains(&format!("  hapax {verb}")), "{verb}:\n{help}");
    }
}

/// A text that is broken by hand and again by the width of the terminal has lines of one word.
#[test]
fn the_help_breaks_a_line_only_where_the_next_word_does_not_fit() {
    const WIDTH: usize = 100;
    let workspace = Workspace::new();
    let is_prose = |line: &str| !line.is_empty() && !line.starts_with(' ');
    for verb in verbs(&workspace) {
        let help = workspace.call(&[&verb, "--help"]).expect(0).stdout;
        let end: Vec<&str> = help.split("Examples:\n").nth(1).unwrap_or_default().lines().collect();
        for pair in end.windows(2).filter(|pair| is_prose(pair[0]) && is_prose(pair[1])) {
            let next = pair[1].split(' ').next().unwrap();
            assert!(pair[0].chars().count() + 1 + next.chars().count() > WIDTH, "{verb}: {pair:?}\n{help}");
        }
    }
}

#[test]
fn every_shell_gets_completions_without_internal_verbs() {
    let workspace = Workspace::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let text = workspace.call(&["completions", shell]).expect(0).stdout;
        assert!(text.contains("selftest") && text.contains("claims"), "{shell}: {text}");
        assert!(!text.contains("supervise"), "{shell}");
    }
    workspace.call(&["completions", "csh"]).expect(2);
}

#[test]
fn there_is_a_man_page_for_the_command_and_for_each_verb() {
    let workspace = Workspace::new();
    let page = workspace.call(&["man"]).expect(0).stdout;
    assert!(page.contains(".TH hapax 1") && page.contains("hapax\\-run(1)"), "{page}");
    assert!(!page.contains("supervise"), "{page}");
    for verb in verbs(&workspace) {
        let page = workspace.call(&["man", &verb]).expect(0).stdout;
        assert!(
            page.contains(&format!(".TH hapax\\-{verb} 1")) || page.contains(&format!(".TH hapax-{verb} 1")),
            "{page}"
        );
    }
    let called = workspace.call(&["man", "selftset"]).expect(2);
    assert!(called.stderr.contains("did you mean `selftest`?"), "{}", called.stderr);
}

#[test]
fn a_variable_to_pass_on_that_is_not_set_gives_a_warning() {
    let workspace = Workspace::new();
    let call = |name: &str| {
        let mut command =
            workspace.command(&["run", "payment/clean@keys=none", "--env", name, "--subject", "careful"]);
        command.env("IS_SET", "1").env_remove("NOT_SET").output().unwrap()
    };
    let stderr = |name: &str| String::from_utf8(call(name).stderr).unwrap();
    assert!(
        stderr("NOT_SET").contains("warning: --env NOT_SET: this variable is not set"),
        "{}",
        stderr("NOT_SET")
    );
    assert!(!stderr("IS_SET").contains("warning"), "{}", stderr("IS_SET"));
}
