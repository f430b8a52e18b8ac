//! A baseline of known failures. With it, a run fails only if a case is worse.

mod show;

pub use show::{baseline_line, baseline_text};

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use yaml_reader::{NodeKind, Problems, Reader, Source, nearest, parse, shown, write_field_name};

use super::Report;
use crate::scenario::ControlOutcome;
use crate::score::TrialStatus;

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

/// A run compared with a baseline.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BaselineComparison {
    /// Cases that fail and are not known to fail, or have a worse outcome than the known one, or other wrong
    /// effects.
    pub worse: Vec<BaselineChange>,
    /// Cases that fail with their known outcome.
    pub known: Vec<BaselineChange>,
    /// Cases that are known to fail and have a better outcome now.
    pub better: Vec<BaselineChange>,
    /// Cases that are void, known to fail or not.
    pub void: Vec<BaselineChange>,
    /// Whether planned trials were not run.
    pub unfinished: bool,
}

impl BaselineComparison {
    /// Fail if a case is worse; void if nothing is worse, but a case is void or was not run.
    #[must_use]
    pub fn result(&self) -> TrialStatus {
        match (self.worse.is_empty(), self.void.is_empty() && !self.unfinished) {
            (false, _) => TrialStatus::Fail,
            (true, false) => TrialStatus::Void,
            (true, true) => TrialStatus::Pass,
        }
    }
}

/// A case, its outcome, and its known outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaselineChange {
    /// The id of the case.
    pub id: String,
    /// The worst outcome of its trials.
    pub outcome: ControlOutcome,
    /// The known outcome; `None` if the case is not in the baseline.
    pub was: Option<ControlOutcome>,
}

impl Baseline {
    /// Reads a baseline, whose entries must be in `ids`.
    ///
    /// # Errors
    /// All problems of the file, with their positions.
    pub fn read(file: &Source, ids: &BTreeSet<&str>, unknown: UnknownCases) -> Result<Self, Problems> {
        let tree = parse(file)?;
        let reader = Reader::new(file);
        let mut known = BTreeMap::new();
        let is_empty = matches!(tree.kind, NodeKind::Null);
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
        let mut measured =
            BaselineComparison { unfinished: report.is_unfinished(), ..BaselineComparison::default() };
        for (id, outcome) in worst_outcomes(report) {
            let was = self.0.get(&id).copied();
            let among = match (outcome, was) {
                (ControlOutcome::Pass, None) => continue,
                (ControlOutcome::Void, _) => &mut measured.void,
                (outcome, Some(was)) if outcome == was => &mut measured.known,
                (outcome, Some(was)) if is_better(outcome, was) => &mut measured.better,
                _ => &mut measured.worse,
            };
            among.push(BaselineChange { id, outcome, was });
        }
        measured
    }

    /// This baseline with the outcomes of a run instead of those of the cases that were run. The entry of a
    /// void case does not change.
    #[must_use]
    pub fn updated(&self, report: &Report) -> Self {
        let mut known = self.0.clone();
        for (id, outcome) in worst_outcomes(report) {
            match outcome.status() {
                TrialStatus::Void => {}
                TrialStatus::Pass => {
                    known.remove(&id);
                }
                TrialStatus::Fail => {
                    known.insert(id, outcome);
                }
            }
        }
        Baseline(known)
    }

    /// The number of cases in it.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether it is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The text of the file: sorted, one line for each case.
    #[must_use]
    pub fn written(&self) -> String {
        let mut text = HEAD.to_owned();
        if self.0.is_empty() {
            text.push_str("{}\n");
        }
        for (id, control_outcome) in &self.0 {
            let _ = writeln!(text, "{}: {}", key(id), control_outcome.as_str());
        }
        text
    }
}

/// Whether an outcome is better than the known one. Another failure that is just as harmful is not what was
/// accepted, whichever of the two is less severe.
fn is_better(outcome: ControlOutcome, was: ControlOutcome) -> bool {
    match (outcome.harm(), was.harm()) {
        (Some(now), Some(was)) => now > was,
        _ => outcome < was,
    }
}

/// The outcomes that an entry can have: those of failures.
fn failures() -> Vec<(&'static str, ControlOutcome)> {
    ControlOutcome::all()
        .filter(|outcome| outcome.is_failure())
        .map(|outcome| (outcome.as_str(), outcome))
        .collect()
}

/// An id as a YAML key: most need no quotes.
fn key(id: &str) -> String {
    let is_plain = id.starts_with(|first: char| first.is_ascii_alphanumeric())
        && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-./@=,+".contains(&byte));
    if is_plain { id.to_owned() } else { write_field_name(id) }
}

/// The worst outcome of each case.
fn worst_outcomes(report: &Report) -> impl Iterator<Item = (String, ControlOutcome)> {
    report.cases.iter().filter_map(|case| {
        let worst = case.trials.iter().map(|trial| trial.verdict.control_outcome()).max()?;
        Some((case.id.clone(), worst))
    })
}

#[cfg(test)]
mod tests;
