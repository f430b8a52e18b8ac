//! Reads some cases of a run without the others. Whatever is unusual about them is left to the reader of the whole run:
//! only it says what is wrong.

use std::fmt;
use std::fs::File;
use std::io::{BufReader, Read as _};
use std::path::Path;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use super::consistency::check_cases;
use super::ledger_index::LedgerIndex;
use super::{
    IndexedLedgers, LEDGER_FILE, MAX_REPORT_BYTES, REPORT_FILE, SavedRun, StoreError, judge_run,
    read_rescored,
};
use crate::results::model::{CaseReport, REPORT_VERSION, Report};
use crate::results::rescore::rescore_trial;

/// Reads the case with this id, or all whose id contains this text: what [`super::read_rescored`] says of them, whose
/// report has only these cases. Where the folder has an index of its ledgers, the others are neither read nor checked.
///
/// # Errors
/// As those of [`super::read_run`].
pub fn read_cases(folder: &Path, wanted: &str) -> Result<SavedRun<IndexedLedgers>, StoreError> {
    let mut run = match read_indexed(folder, wanted) {
        Some(run) => run,
        None => read_rescored(folder)?,
    };
    let Report { cases, planned, .. } = &mut run.report;
    let is_exact = cases.iter().any(|case| case.id == wanted);
    cases.retain(|case| is_chosen(&case.id, wanted, is_exact));
    // Trials that are missing have made the run an interrupted one.
    *planned = cases.iter().map(|case| case.trials.len() as u64).sum();
    Ok(run)
}

fn is_chosen(id: &str, wanted: &str, is_exact: bool) -> bool {
    if is_exact { id == wanted } else { id.contains(wanted) }
}

/// The cases by the index; `None` if there is none, or something is not as it should be.
fn read_indexed(folder: &Path, wanted: &str) -> Option<SavedRun<IndexedLedgers>> {
    let index = LedgerIndex::read(folder)?;
    let is_exact = index.cases().any(|id| id == wanted);
    let is_wanted = |id: &str| is_chosen(id, wanted, is_exact);
    let mut report = read_report_of(folder, &is_wanted)?;
    let copied = tempfile::tempdir().ok()?;
    index.copy(&folder.join(LEDGER_FILE), &copied.path().join(LEDGER_FILE), &is_wanted).ok()?;
    let mut scanned = judge_run(copied.path(), &mut report, rescore_trial).ok()?;
    check_cases(&report, scanned.plans.as_ref().ok()?, scanned.compared()).ok()?;
    let is_whole = scanned.openings.values().all(|saved| saved.torn.is_none());
    scanned.ledgers.keep_unpacked(Some(copied));
    (is_whole && !report.cases.is_empty()).then_some(SavedRun { report, ledgers: scanned.ledgers })
}

/// The report with only these cases. It is interrupted if trials of any case are missing.
fn read_report_of(folder: &Path, is_wanted: &dyn Fn(&str) -> bool) -> Option<Report> {
    let file = BufReader::new(File::open(folder.join(REPORT_FILE)).ok()?.take(MAX_REPORT_BYTES));
    let mut json = serde_json::Deserializer::from_reader(file);
    let report = ReportOf(is_wanted).deserialize(&mut json).ok()?;
    json.end().ok()?;
    (report.report == REPORT_VERSION).then_some(report)
}

/// Why a report is left to the reader of whole reports.
const TWICE: &str = "a field comes twice";

/// Reads a report with only the cases that are wanted.
struct ReportOf<'f>(&'f dyn Fn(&str) -> bool);

/// Reads its cases, and counts the trials of all cases.
struct CasesOf<'f>(&'f dyn Fn(&str) -> bool);

/// Reads one case if it is wanted, and counts its trials.
struct CaseOf<'f>(&'f dyn Fn(&str) -> bool);

impl<'de> DeserializeSeed<'de> for ReportOf<'_> {
    type Value = Report;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Report, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for ReportOf<'_> {
    type Value = Report;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a report")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Report, A::Error> {
        let (mut rest, mut cases) = (Map::new(), None);
        while let Some(key) = map.next_key::<String>()? {
            let is_second = match key.as_str() {
                "cases" => cases.replace(map.next_value_seed(CasesOf(self.0))?).is_some(),
                _ => rest.insert(key, map.next_value()?).is_some(),
            };
            if is_second {
                return Err(A::Error::custom(TWICE));
            }
        }
        let (cases, made) = cases.ok_or_else(|| A::Error::missing_field("cases"))?;
        rest.insert("cases".to_owned(), Value::Array(Vec::new()));
        let report: Report = serde_json::from_value(Value::Object(rest)).map_err(A::Error::custom)?;
        Ok(Report { interrupted: report.interrupted || made < report.planned, cases, ..report })
    }
}

impl<'de> DeserializeSeed<'de> for CasesOf<'_> {
    type Value = (Vec<CaseReport>, u64);

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for CasesOf<'_> {
    type Value = (Vec<CaseReport>, u64);

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("cases")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let (mut cases, mut made) = (Vec::new(), 0);
        while let Some((case, trials)) = seq.next_element_seed(CaseOf(self.0))? {
            cases.extend(case);
            made += trials as u64;
        }
        Ok((cases, made))
    }
}

impl<'de> DeserializeSeed<'de> for CaseOf<'_> {
    type Value = (Option<CaseReport>, usize);

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for CaseOf<'_> {
    type Value = (Option<CaseReport>, usize);

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a case with its id before its trials")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let (mut rest, mut is_wanted, mut trials, mut count) = (Map::new(), None, Vec::new(), None);
        while let Some(key) = map.next_key::<String>()? {
            let is_second = match (key.as_str(), is_wanted) {
                ("trials", Some(true)) => {
                    trials = map.next_value()?;
                    count.replace(trials.len()).is_some()
                }
                ("trials", Some(false)) => {
                    count.replace(map.next_value::<Vec<IgnoredAny>>()?.len()).is_some()
                }
                ("trials", None) => return Err(A::Error::missing_field("id")),
                (_, Some(false)) => {
                    map.next_value::<IgnoredAny>()?;
                    key == "id"
                }
                _ => {
                    let value: Value = map.next_value()?;
                    if key == "id" {
                        is_wanted = Some(value.as_str().is_some_and(self.0));
                    }
                    rest.insert(key, value).is_some()
                }
            };
            if is_second {
                return Err(A::Error::custom(TWICE));
            }
        }
        let count = count.ok_or_else(|| A::Error::missing_field("trials"))?;
        if is_wanted != Some(true) {
            return Ok((None, count));
        }
        rest.insert("trials".to_owned(), Value::Array(Vec::new()));
        let case: CaseReport = serde_json::from_value(Value::Object(rest)).map_err(A::Error::custom)?;
        Ok((Some(CaseReport { trials, ..case }), count))
    }
}
