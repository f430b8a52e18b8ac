//! `hapax demo`: what someone sees first.

use crate::kit::workspace::Workspace;

#[test]
fn the_demo_shows_the_effects_of_each_agent_and_leaves_no_files() {
    let (workspace, scratch) = (Workspace::new(), tempfile::tempdir().unwrap());
    let called: crate::kit::workspace::Called =
        workspace.command(&["demo"]).env("TMPDIR", scratch.path()).output().unwrap().into();
    let called = called.expect(0);
    insta::assert_snapshot!(called.stdout);
    let readme = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md")).unwrap();
    assert!(readme.contains(called.stdout.trim_end()), "README.md shows another demo");
    assert_eq!(called.stderr, "");
    for folder in [workspace.path(), scratch.path()] {
        let left: Vec<_> = std::fs::read_dir(folder).unwrap().collect();
        assert!(left.is_empty(), "left behind: {left:?}");
    }
}
