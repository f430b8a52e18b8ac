//! What is known to fail. Measured against it, a run fails only by what got worse.

use std::collections::BTreeMap;
use std::fmt::Write;

use mock_services::yaml::{Problems, Reader, Source, nearest, parse, shown};

use super::Report;
use crate::scenario::Come;

/// What stands at the top of every baseline.
const HEAD: &str = "\
# Cases that are known to fail, and what each comes to. A run with --baseline fails only by what is worse than this.
# Written by `hapax run --baseline FILE --update-baseline`.
";

/// What is known to fail: cases, and what each comes to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Baseline(BTreeMap<String, Come>);

/// A run measured against a baseline.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Measured {
    /// Cases that fail and were not known to, or fail worse than they were known to.
    pub worse: Vec<(String, Come)>,
    /// Cases that fail as they were known to.
    pub known: Vec<(String, Come)>,
    /// Cases that were known to fail and came to something better.
    pub better: Vec<(String, Come)>,
}

impl Baseline {
    /// Reads a baseline. An entry whose case is none of `ids` is an error: it would hide nothing, and nobody would notice.
    ///
    /// # Errors
    /// All that is wrong with the file, each with its place.
    pub fn read(file: &Source, ids: &[&str]) -> Result<Self, Problems> {
        let tree = parse(file)?;
        let reader = Reader::new(file);
        let words: Vec<(&str, Come)> =
            Come::ALL.into_iter().filter(|come| *come != Come::Pass).map(|come| (come.word(), come)).collect();
        let mut known = BTreeMap::new();
        let is_empty = matches!(tree.kind, mock_services::yaml::Kind::Null);
        for (key, node) in (!is_empty).then(|| reader.entries(&tree)).flatten().unwrap_or_default() {
            if !ids.contains(&key.name.as_str()) {
                let help = match nearest(&key.name, ids.iter().copied()) {
                    Some(near) => format!("did you mean `{near}`? if it is gone, take the line out, or use --update-baseline"),
                    None => "take the line out, or use --update-baseline".to_owned(),
                };
                reader.report_with_help(key.span, format!("there is no case `{}`", shown(&key.name)), help);
            }
            if let Some(come) = reader.one_of(node, &words) {
                known.insert(key.name.clone(), come);
            }
        }
        reader.finish(Some(Baseline(known)))
    }

    /// What a run comes to, measured against this.
    #[must_use]
    pub fn measure(&self, report: &Report) -> Measured {
        let mut measured = Measured::default();
        for (id, came) in came_to(report) {
            match self.0.get(&id).copied() {
                _ if came == Come::Pass && !self.0.contains_key(&id) => {}
                Some(known) if came == known => measured.known.push((id, came)),
                Some(known) if came < known => measured.better.push((id, came)),
                _ => measured.worse.push((id, came)),
            }
        }
        measured
    }

    /// This baseline with what a run came to in place of what it says of the cases that were run.
    #[must_use]
    pub fn updated(&self, report: &Report) -> Self {
        let mut known = self.0.clone();
        for (id, came) in came_to(report) {
            if came == Come::Pass {
                known.remove(&id);
            } else {
                known.insert(id, came);
            }
        }
        Baseline(known)
    }

    /// As a file: small, sorted, a line for each case.
    #[must_use]
    pub fn written(&self) -> String {
        let mut text = HEAD.to_owned();
        if self.0.is_empty() {
            text.push_str("{}\n");
        }
        for (id, come) in &self.0 {
            let _ = writeln!(text, "{id}: {}", come.word());
        }
        text
    }
}

/// The worst that each case came to.
fn came_to(report: &Report) -> impl Iterator<Item = (String, Come)> {
    report.cases.iter().filter_map(|case| {
        let worst = case.trials.iter().map(|trial| trial.verdict.come()).max()?;
        Some((case.id.clone(), worst))
    })
}
