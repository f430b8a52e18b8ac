//! The cases of a server with what is needed to judge their trials. They are saved with the evidence, so that the
//! trials can be judged again when a certificate is verified.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufReader};
use std::path::Path;

use mock_services::ledger::read_ledgers;
use serde::{Deserialize, Serialize};

use super::judge::{BackendFault, ToolFacts, judge};
use super::observed::ObservedTrial;
use super::scenarios::ServerScenario;
use super::startup::{StartupWrite, excused};
use crate::certify::runs::RunNames;
use crate::certify::trials::TrialRecord;
use crate::certify::version_1;
use crate::results::{LEDGER_FILE, Report};
use crate::run::{RunError, RunFolder};

/// The folders of version 1 of certificates.
pub(in crate::certify) const RUN_NAMES_1: RunNames =
    RunNames { cases: "questions", second_try: "second-tries", callers: "callers-" };
/// The file with the cases.
const CASES_FILE: &str = "cases.json";
/// The same of version 1.
const CASES_FILE_1: &str = "asked.json";
/// The file with what the driver printed in each trial of a run.
const OUTPUTS_FILE: &str = "outputs.json";

/// A case of a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ServerCase {
    pub(super) scenario: String,
    pub(super) kind: ServerScenario,
    pub(super) tool: ToolFacts,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) fault: Option<BackendFault>,
    /// What the server writes at its start, without a call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) startup: Vec<StartupWrite>,
}

/// All cases, by their ids.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(in crate::certify) struct ServerCases(pub(super) BTreeMap<String, ServerCase>);

/// What the driver printed in a trial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SavedOutput {
    case: String,
    trial: u32,
    ledger: String,
    starts: Vec<String>,
}

impl ServerCases {
    pub(super) fn save(&self, folder: &Path) -> io::Result<()> {
        std::fs::write(folder.join(CASES_FILE), serde_json::to_vec(self)?)
    }

    pub(in crate::certify) fn load(folder: &Path) -> io::Result<Self> {
        Ok(serde_json::from_slice(&std::fs::read(folder.join(CASES_FILE))?)?)
    }

    pub(in crate::certify) fn load_version_1(folder: &Path) -> io::Result<Self> {
        let asked = serde_json::from_slice(&std::fs::read(folder.join(CASES_FILE_1))?)?;
        Ok(serde_json::from_value(version_1::server_cases(asked))?)
    }

    /// The trials of the run in this folder, judged. `callers` is their number, if the run tries how many pass.
    pub(in crate::certify) fn judge_run(
        &self,
        folder: &Path,
        callers: Option<u32>,
    ) -> Result<Vec<TrialRecord>, String> {
        let observed =
            observed_in(folder).map_err(|error| format!("cannot read {}: {error}", folder.display()))?;
        let judged = observed.iter().filter_map(|(id, number, seen)| {
            let mut case = self.0.get(id)?.clone();
            if let Some(count) = callers {
                case.tool.callers = usize::try_from(count).unwrap_or(usize::MAX);
            }
            let judgment = judge(&case, seen);
            let evidence = seen.evidence(&excused(seen, &case.startup));
            Some(TrialRecord {
                scenario: case.scenario,
                case: id.clone(),
                trial: *number,
                second_try: false,
                verdict: judgment.verdict,
                finding: judgment.finding,
                void: judgment.void,
                message: judgment.message,
                evidence,
            })
        });
        Ok(judged.collect())
    }
}

/// Saves what the driver printed. The verdicts of the report are not those of the certificate, so it is not written.
pub(super) fn save_outputs(report: Report, folder: &RunFolder) -> Result<bool, RunError> {
    let outputs: Vec<SavedOutput> = report
        .cases
        .iter()
        .flat_map(|case| {
            case.trials.iter().map(|trial| SavedOutput {
                case: case.id.clone(),
                trial: trial.trial,
                ledger: trial.ledger.clone(),
                starts: trial.output.iter().map(|output| output.stdout.clone()).collect(),
            })
        })
        .collect();
    folder.sync()?;
    folder.complete();
    let path = folder.path().join(OUTPUTS_FILE);
    let written = serde_json::to_vec(&outputs).map_err(io::Error::from);
    written
        .and_then(|text| std::fs::write(&path, text))
        .map_err(|error| RunError::Output { path: path.clone(), error })?;
    Ok(report.interrupted)
}

/// The places of the declared answers that a request of any run below this folder matched.
pub(super) fn matched_answers(folder: &Path) -> io::Result<BTreeSet<usize>> {
    let mut matched = BTreeSet::new();
    if folder.join(OUTPUTS_FILE).is_file() {
        let observed = observed_in(folder)?.into_iter();
        matched.extend(observed.flat_map(|(_, _, seen)| seen.matched_answers));
        return Ok(matched);
    }
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            matched.extend(matched_answers(&entry.path())?);
        }
    }
    Ok(matched)
}

/// What the trials of a run show: the case, the number and the trial.
pub(super) fn observed_in(folder: &Path) -> io::Result<Vec<(String, u32, ObservedTrial)>> {
    let outputs: Vec<SavedOutput> = serde_json::from_slice(&std::fs::read(folder.join(OUTPUTS_FILE))?)?;
    let ledgers = read_ledgers(BufReader::new(std::fs::File::open(folder.join(LEDGER_FILE))?))?;
    let observed = outputs.into_iter().filter_map(|output| {
        let ledger = ledgers.get(&output.ledger)?;
        Some((output.case, output.trial, ObservedTrial::new(&output.starts, &ledger.entries)))
    });
    Ok(observed.collect())
}
