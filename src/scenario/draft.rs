//! One case as the text of a scenario of its own, without faults and interrupts, to which others are added. What is
//! found with it is what its file does: it is run as it is read.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use yaml_reader::{Key, Node, NodeKind, Problem, Reader, Source, Span, parse, write_flow};

use super::files::{BUILT_IN, Folder, read_text, shipped_text};
use super::matrix::{MAX_VALUES, Matrix};
use super::quick::Quick;
use super::read::read_in;
use super::{Case, ClaimedOutcome, LoadError};

/// What a draft does not take over from its case: what fails, how often it is repeated, and who was seen to fail it.
const LEFT_OUT: [&str; 8] =
    ["matrix", "controls", "found", "faults", "interrupts", "callers", "deliver", "about"];

/// What a draft does not take over from `expect`: how many attempts there are, and what is claimed, depends on what
/// fails.
const ATTEMPTS: &str = "attempts";
const CLAIM: &str = "claim";

/// One case without faults and interrupts.
#[derive(Debug, Clone)]
pub struct Draft {
    entries: Vec<(Key, Node)>,
    folder: Folder,
    /// The id of the case; empty for a task without a file.
    of: String,
}

/// What is added to a draft, each as it is written in YAML.
#[derive(Debug, Clone, Default)]
pub struct Additions {
    /// The sentence about the scenario.
    pub about: String,
    /// Tags besides those of the case.
    pub tags: Vec<String>,
    /// The lines of comments above it.
    pub comments: Vec<String>,
    /// The value of `callers`; empty for one caller.
    pub callers: String,
    /// The entries of `faults`.
    pub faults: Vec<String>,
    /// The entries of `interrupts`.
    pub interrupts: Vec<String>,
    /// The entries of `controls`: a name and an outcome.
    pub controls: Vec<(String, String)>,
    /// The value of `found`; empty if there is none.
    pub found: String,
}

impl Draft {
    /// The draft of a case, from its file.
    ///
    /// # Errors
    /// When the file cannot be read any more, or no longer has the case.
    pub fn of_case(case: &Case) -> Result<Self, LoadError> {
        let shipped = case.file.strip_prefix(BUILT_IN).map(Path::new);
        let read = match shipped {
            Some(path) => shipped_text(path),
            None => read_text(Path::new(&case.file)),
        };
        let source = Source::new(case.file.as_str(), read.as_deref().unwrap_or_default());
        let failed =
            |message: String| LoadError::Problems(Problem::new(&source, Span::default(), message).into());
        read.as_ref().map_err(|message| failed(message.clone()))?;
        let folder = match shipped {
            Some(path) => Folder::Shipped(path.parent().unwrap_or(Path::new("")).to_owned()),
            None => disk_folder(Path::new(&case.file)),
        };
        let entries = entries_of(&source, |variant| *variant == case.variant)?;
        let mut entries = entries.ok_or_else(|| failed(format!("it has no case {} any more", case.id)))?;
        if let Folder::Disk { folder, .. } = &folder {
            let services = entries.iter_mut().filter(|(key, _)| key.name == "services");
            services.for_each(|(_, node)| name_files_from_anywhere(node, folder));
        }
        Ok(Draft { entries, folder, of: case.id.clone() })
    }

    /// The draft of a task without a file.
    ///
    /// # Errors
    /// When its scenario cannot be read.
    pub fn of_quick(quick: &Quick) -> Result<Self, LoadError> {
        let source = Source::new("the scenario of --task and --expect", quick.text());
        let entries = entries_of(&source, |_| true)?.unwrap_or_default();
        Ok(Draft { entries, folder: disk_folder(Path::new("")), of: String::new() })
    }

    /// The id of the case that it was made from; empty for a task without a file.
    #[must_use]
    pub fn of(&self) -> &str {
        &self.of
    }

    /// Whether it has steps, which controls need.
    #[must_use]
    pub fn has_steps(&self) -> bool {
        self.entries.iter().any(|(key, _)| ["steps", "each"].contains(&key.name.as_str()))
    }

    /// The text of a scenario file with these additions.
    #[must_use]
    pub fn text(&self, added: &Additions) -> String {
        let mut out = String::new();
        for line in &added.comments {
            // Writing into a string cannot fail.
            let _ = writeln!(out, "# {line}");
        }
        let about = Node::new(NodeKind::Text(added.about.clone()), Span::default());
        let _ = writeln!(out, "about: {}", write_flow(&about));
        let is_end = |key: &Key| key.name == "expect";
        let tags = self.tags(&added.tags);
        if !tags.is_empty() {
            let _ = writeln!(out, "tags: [{}]", tags.join(", "));
        }
        let is_tags = |key: &Key| key.name == "tags";
        for (key, node) in self.entries.iter().filter(|(key, _)| !is_end(key) && !is_tags(key)) {
            push_entry(&mut out, &key.name, node);
        }
        if !added.callers.is_empty() {
            let _ = writeln!(out, "\ncallers: {}", added.callers);
        }
        for (name, list) in [("faults", &added.faults), ("interrupts", &added.interrupts)] {
            if !list.is_empty() {
                let _ = writeln!(out, "\n{name}:");
                list.iter().for_each(|item| _ = writeln!(out, "  - {item}"));
            }
        }
        out.push('\n');
        for (key, node) in self.entries.iter().filter(|(key, _)| is_end(key)) {
            push_entry(&mut out, &key.name, node);
        }
        if !added.controls.is_empty() {
            let _ = writeln!(out, "\ncontrols:");
            added.controls.iter().for_each(|(name, outcome)| _ = writeln!(out, "  {name}: {outcome}"));
        }
        if !added.found.is_empty() {
            let _ = writeln!(out, "\nfound: {}", added.found);
        }
        out
    }

    /// The tags of the case, without `clean`, and these.
    fn tags(&self, more: &[String]) -> Vec<String> {
        let own = self.entries.iter().find(|(key, _)| key.name == "tags").map(|(_, node)| &node.kind);
        let items = if let Some(NodeKind::List(items)) = own { items.as_slice() } else { &[] };
        let own = items.iter().filter_map(Node::as_text).filter(|tag| *tag != "clean").map(str::to_owned);
        let mut tags: Vec<String> = own.collect();
        tags.extend(more.iter().filter(|tag| !items.iter().any(|item| item.as_text() == Some(tag))).cloned());
        tags
    }

    /// The case of a scenario with these additions.
    ///
    /// # Errors
    /// When it cannot be read: an addition does not fit the case.
    pub fn case(&self, name: &str, added: &Additions) -> Result<Case, LoadError> {
        let file = format!("{name}.yaml");
        let source = Source::new(file.as_str(), self.text(added));
        let mut cases = read_in(&source, name, &self.folder).map_err(LoadError::Problems)?;
        match cases.pop() {
            Some(case) => Ok(Case { file, ..case }),
            None => {
                let problem = Problem::new(&source, Span::default(), "it has no case");
                Err(LoadError::Problems(problem.into()))
            }
        }
    }
}

/// The text of a draft is written into another folder: the files that it names have their full paths there.
fn name_files_from_anywhere(node: &mut Node, folder: &Path) {
    match &mut node.kind {
        NodeKind::Text(text) if text.ends_with(".yaml") || text.ends_with(".yml") => {
            if let Ok(path) = std::path::absolute(folder.join(text.as_str()))
                && path.is_file()
            {
                *text = path.display().to_string();
            }
        }
        NodeKind::List(items) => items.iter_mut().for_each(|item| name_files_from_anywhere(item, folder)),
        NodeKind::Map(entries) => {
            entries.iter_mut().for_each(|(_, value)| name_files_from_anywhere(value, folder));
        }
        _ => {}
    }
}

fn disk_folder(file: &Path) -> Folder {
    let folder = file.parent().unwrap_or(Path::new("")).to_owned();
    Folder::Disk { base: PathBuf::new(), folder }
}

/// The entries of the first case that is wanted, with the values of its matrix.
fn entries_of(
    source: &Source,
    is_wanted: impl Fn(&Vec<(String, String)>) -> bool,
) -> Result<Option<Vec<(Key, Node)>>, LoadError> {
    let tree = parse(source).map_err(|problem| LoadError::Problems(problem.into()))?;
    let reader = Reader::new(source);
    let matrix = tree.get("matrix").map(|node| Matrix::read(&reader, node)).unwrap_or_default();
    let choice = matrix.combinations().into_iter().find(|choice| is_wanted(&matrix.variant(choice)));
    let NodeKind::Map(entries) = tree.kind else { return Ok(None) };
    let kept = entries.into_iter().filter(|(key, _)| !LEFT_OUT.contains(&key.name.as_str()));
    let body = Node::new(NodeKind::Map(kept.collect()), tree.span);
    let filled = choice.and_then(|choice| matrix.fill(&body, &choice, &mut MAX_VALUES.clone()));
    Ok(filled.and_then(|filled| match filled.kind {
        NodeKind::Map(mut entries) => {
            let expect = entries.iter_mut().filter(|(key, _)| key.name == "expect");
            expect.for_each(|(_, node)| expect_whatever_fails(node));
            Some(entries)
        }
        _ => None,
    }))
}

/// Keeps of what a case expects that which holds whatever fails: a claim must be made if the case names claims, and any
/// that is true will do.
fn expect_whatever_fails(expect: &mut Node) {
    let NodeKind::Map(entries) = &mut expect.kind else { return };
    entries.retain(|(key, _)| key.name != ATTEMPTS);
    for (_, claim) in entries.iter_mut().filter(|(key, _)| key.name == CLAIM) {
        let word = |outcome: ClaimedOutcome| NodeKind::Text(outcome.as_str().to_owned());
        let all = ClaimedOutcome::FINAL.map(|outcome| Node::new(word(outcome), Span::default()));
        claim.kind = NodeKind::List(all.to_vec());
    }
}

/// A key of a file: a list has a line for each item, a map one for each key.
fn push_entry(out: &mut String, name: &str, node: &Node) {
    match &node.kind {
        NodeKind::List(items) if items.iter().any(|item| matches!(item.kind, NodeKind::Map(_))) => {
            let _ = writeln!(out, "{name}:");
            items.iter().for_each(|item| _ = writeln!(out, "  - {}", write_flow(item)));
        }
        NodeKind::Map(entries) if !entries.is_empty() => {
            let _ = writeln!(out, "{name}:");
            for (key, value) in entries {
                let key = yaml_reader::write_field_name(&key.name);
                match &value.kind {
                    NodeKind::List(items)
                        if items.iter().any(|item| matches!(item.kind, NodeKind::Map(_))) =>
                    {
                        let _ = writeln!(out, "  {key}:");
                        items.iter().for_each(|item| _ = writeln!(out, "    - {}", write_flow(item)));
                    }
                    _ => _ = writeln!(out, "  {key}: {}", write_flow(value)),
                }
            }
        }
        _ => _ = writeln!(out, "{name}: {}", write_flow(node)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shipped_case_is_read_back_from_its_draft() {
        for case in super::super::shipped().unwrap() {
            let draft = Draft::of_case(&case).unwrap();
            let added = Additions { about: case.about.clone(), ..Additions::default() };
            // Expectations and requirements can be about the faults and callers that a draft leaves out.
            match draft.case("draft", &added) {
                Ok(read) => {
                    assert_eq!(read.work, case.work, "{}", case.id);
                    assert!(read.faults.is_empty() && read.interrupts.is_empty(), "{}", case.id);
                }
                Err(error) => assert!(
                    !case.faults.is_empty() || !case.interrupts.is_empty() || case.callers > 1,
                    "{}: {}",
                    case.id,
                    error.advice(false)
                ),
            }
        }
    }

    #[test]
    fn what_is_added_is_in_the_text_and_in_the_case() {
        let expects = ["payment.charge:order=7,amount=500".to_owned()];
        let quick = Quick::new("Charge order 7.", &expects, &[], &[]).unwrap();
        let added = Additions {
            about: "The reply to the first charge is lost.".to_owned(),
            comments: vec!["Found by a search.".to_owned()],
            faults: vec!["{ on: payment.charge, attempt: 1, commit: now, reply: drop }".to_owned()],
            interrupts: vec!["{ when: { committed: payment.charge, attempt: 2 }, do: kill }".to_owned()],
            controls: vec![("careful".to_owned(), "pass".to_owned())],
            tags: vec!["found".to_owned()],
            found: String::new(),
            callers: String::new(),
        };
        let draft = Draft::of_quick(&quick).unwrap();
        insta::assert_snapshot!(draft.text(&added));
        let without = Additions { controls: Vec::new(), ..added };
        let case = draft.case("order-7", &without).unwrap();
        assert_eq!((case.id.as_str(), case.faults.len(), case.interrupts.len()), ("order-7", 1, 1));
    }
}
