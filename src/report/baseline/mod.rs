//! Known failures. Measured against them, a run fails only when a case got worse.

mod show;

pub use show::baseline_text;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use mock_services::yaml::{Kind, Problems, Reader, Source, nearest, parse, shown, write_field_name};

use super::Report;
use crate::scenario::ControlOutcome;

/// The comment at the top of every baseline.
const HEAD: &str = "\
# Known failures, with the outcome of each case. A run with --baseline fails only when a case is worse.
# Written by `hapax run --baseline FILE --update-baseline`.
";

/// Known failures: cases, and the outcome of each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Baseline(BTreeMap<String, ControlOutcome>);

/// What to do with an entry whose case does not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnknownCases {
    /// Report an error: a misspelled entry would go unnoticed.
    Reject,
    /// Leave the entry out, because the file is about to be written again.
    Drop,
}

/// A run measured against a baseline.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BaselineComparison {
    /// Cases that fail and were not known to, or fail worse than they were known to.
    pub worse: Vec<BaselineChange>,
    /// Cases that fail as they were known to.
    pub known: Vec<BaselineChange>,
    /// Cases that were known to fail and have a better outcome now.
    pub better: Vec<BaselineChange>,
    /// Cases that prove nothing, known to fail or not.
    pub void: Vec<BaselineChange>,
}

/// A case, its outcome, and its known outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaselineChange {
    /// The id of the case.
    pub id: String,
    /// The worst outcome of its trials.
    pub outcome: ControlOutcome,
    /// What the baseline says; nothing where it was to pass.
    pub was: Option<ControlOutcome>,
}

impl Baseline {
    /// Reads a baseline, whose entries are to be among `ids`.
    ///
    /// # Errors
    /// All that is wrong with the file, each with its place.
    pub fn read(file: &Source, ids: &BTreeSet<&str>, unknown: UnknownCases) -> Result<Self, Problems> {
        let tree = parse(file)?;
        let reader = Reader::new(file);
        let mut known = BTreeMap::new();
        let is_empty = matches!(tree.kind, Kind::Null);
        for (key, node) in (!is_empty).then(|| reader.entries(&tree)).flatten().unwrap_or_default() {
            if !ids.contains(key.name.as_str()) {
                if unknown == UnknownCases::Reject {
                    let help = match nearest(&key.name, ids.iter().copied()) {
                        Some(near) => {
                            format!(
                                "did you mean `{near}`? if the case was removed, remove the line, or use \
                                 --update-baseline"
                            )
                        }
                        None => "remove the line, or use --update-baseline".to_owned(),
                    };
                    reader.report_with_help(
                        key.span,
                        format!("there is no case `{}`", shown(&key.name)),
                        help,
                    );
                }
                continue;
            }
            if let Some(control_outcome) = reader.one_of(node, &failures()) {
                known.insert(key.name.clone(), control_outcome);
            }
        }
        reader.finish(Some(Baseline(known)))
    }

    /// Compares a run with this baseline.
    #[must_use]
    pub fn measure(&self, report: &Report) -> BaselineComparison {
        let mut measured = BaselineComparison::default();
        for (id, outcome) in came_to(report) {
            let was = self.0.get(&id).copied();
            let among = match (outcome, was) {
                (ControlOutcome::Pass, None) => continue,
                (ControlOutcome::Void, _) => &mut measured.void,
                (outcome, Some(was)) if outcome == was => &mut measured.known,
                (outcome, Some(was)) if outcome < was => &mut measured.better,
                _ => &mut measured.worse,
            };
            among.push(BaselineChange { id, outcome, was });
        }
        measured
    }

    /// This baseline with what a run came to in place of what it says of the cases that were run. A case that
    /// is void proves nothing, so it stays as it was.
    #[must_use]
    pub fn updated(&self, report: &Report) -> Self {
        let mut known = self.0.clone();
        for (id, outcome) in came_to(report) {
            match outcome {
                ControlOutcome::Void => {}
                ControlOutcome::Pass => {
                    known.remove(&id);
                }
                _ => {
                    known.insert(id, outcome);
                }
            }
        }
        Baseline(known)
    }

    /// How many cases it names.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether it names none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// As a file: small, sorted, a line for each case.
    #[must_use]
    pub fn written(&self) -> String {
        let mut text = HEAD.to_owned();
        if self.0.is_empty() {
            text.push_str("{}\n");
        }
        for (id, control_outcome) in &self.0 {
            let _ = writeln!(text, "{}: {}", key(id), control_outcome.word());
        }
        text
    }
}

/// What a case can be known to come to. A void one proves nothing, so there is nothing to know.
fn failures() -> Vec<(&'static str, ControlOutcome)> {
    let fails = |control_outcome: &ControlOutcome| {
        !matches!(control_outcome, ControlOutcome::Pass | ControlOutcome::Void)
    };
    ControlOutcome::ALL
        .into_iter()
        .filter(fails)
        .map(|control_outcome| (control_outcome.word(), control_outcome))
        .collect()
}

/// An id as it is written before a colon: most need no quotes.
fn key(id: &str) -> String {
    let is_plain = id.starts_with(|first: char| first.is_ascii_alphanumeric())
        && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-./@=,+".contains(&byte));
    if is_plain { id.to_owned() } else { write_field_name(id) }
}

/// The worst outcome of each case.
fn came_to(report: &Report) -> impl Iterator<Item = (String, ControlOutcome)> {
    report.cases.iter().filter_map(|case| {
        let worst = case.trials.iter().map(|trial| trial.verdict.control_outcome()).max()?;
        Some((case.id.clone(), worst))
    })
}

#[cfg(test)]
mod tests;
