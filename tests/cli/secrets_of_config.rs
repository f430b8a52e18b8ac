//! Secrets in a `hapax.yaml` with a problem: the error shows the line without them.

use crate::kit::workspace::{Workspace, charge};

#[test]
fn a_secret_in_a_bad_line_of_hapax_yaml_is_not_printed() {
    for (line, place) in [
        ("env: { SHOP_TOKEN: pa55phr4se-of-the-shop, SHOP_TOKEN: pa55phr4se-of-the-shop }", "hapax.yaml:4:"),
        ("env: { SHOP_TOKEN: [pa55phr4se-of-the-shop] }", "hapax.yaml:4:"),
        ("env: { SHOP_TOKEN: \"pa55phr4se-of-the-shop${nothing}\" }", "hapax.yaml:4:"),
        ("env: { SHOP_TOKEN: \"pa55phr4se-of-the-shop }", "hapax.yaml:"),
        ("env:\\n      SHOP_TOKEN: pa55phr4se-of-the-shop: x", "hapax.yaml:5:"),
        ("timeout: pa55phr4se-of-the-shop # SHOP_TOKEN=pa55phr4se-of-the-shop", "hapax.yaml:4:"),
        ("env: SHOP_TOKEN=pa55phr4se-of-the-shop", "hapax.yaml:4:"),
        ("comand: agent --token pa55phr4se-of-the-shop", "hapax.yaml:4:"),
    ] {
        let workspace = Workspace::new();
        workspace.write("scenarios/a.yaml", &charge(""));
        let line = line.replace("\\n", "\n");
        workspace.write("hapax.yaml", &format!("subjects:\n  shop:\n    command: agent\n    {line}\n"));
        for verb in [&["run", "scenarios"][..], &["lint", "hapax.yaml"]] {
            let called = workspace.call(verb);
            let said = called.stdout + &called.stderr;
            assert!(called.status != 0, "{line}: {said}");
            assert!(!said.contains("pa55phr4"), "{line}: {said}");
            assert!(said.contains(place), "{line}: {said}");
        }
    }
}
