//! The log of a search: every trial with what it showed, one line each. A search that is resumed, or that is put
//! together from its parts, takes from it what is known and makes the same decisions again.

use std::collections::{BTreeSet, HashMap};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::ExploreError;
use super::observation::{TriedResult, TriedTrial};
use super::schedule::Schedule;
use crate::results::DerivedSettings;

/// The name of the log in the folder of a search.
pub const LOG_FILE: &str = "explore.jsonl";

/// What identifies a search: its parts and what continues it have the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SearchIdentity {
    /// The version of hapax.
    pub hapax: String,
    /// The name of the subject.
    pub subject: String,
    /// The digest of its program.
    pub digest: String,
    /// The digest of its settings, without those that the probe derived.
    pub settings: String,
    /// The digest of the case without faults.
    pub case: String,
    /// The seed.
    pub seed: u64,
    /// The other options that decide what is tried.
    pub options: String,
    /// Which part it is: its number, from 1, and how many there are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<(u32, u32)>,
}

impl SearchIdentity {
    /// That of the whole search.
    pub(super) fn whole(self) -> Self {
        SearchIdentity { part: None, ..self }
    }
}

/// One line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum LogLine {
    Search(SearchIdentity),
    Derived(DerivedSettings),
    Tried(TriedLine),
}

/// A trial: its number, what was planned, how often that was repeated before, and what it showed.
#[derive(Debug, Serialize, Deserialize)]
struct TriedLine {
    trial: u32,
    schedule: Schedule,
    repeat: u32,
    observed: TriedTrial,
}

/// The trials of a search that are known, by schedule and by how often it was repeated before.
pub(super) struct SearchLog {
    file: Option<File>,
    known: HashMap<(String, u32), TriedLine>,
    /// The number of the last trial.
    last: u32,
}

impl SearchLog {
    /// A new log in this folder; or the one that is there, if the search is resumed.
    pub(super) fn open(
        folder: &Path,
        identity: &SearchIdentity,
        derived: &DerivedSettings,
        resumes: bool,
    ) -> Result<Self, ExploreError> {
        let path = folder.join(LOG_FILE);
        let failed = |error: io::Error| ExploreError::Log { path: path.clone(), error };
        if !resumes {
            fs::create_dir_all(folder).map_err(failed)?;
            // A log of two searches would take what one of them showed for what the other one would show.
            let new = OpenOptions::new().create_new(true).append(true).open(&path);
            let mut file = new.map_err(|error| match error.kind() {
                io::ErrorKind::AlreadyExists => ExploreError::HasSearch { folder: folder.to_owned() },
                _ => failed(error),
            })?;
            for line in [LogLine::Search(identity.clone()), LogLine::Derived(derived.clone())] {
                write(&mut file, &line).map_err(failed)?;
            }
            return Ok(SearchLog { file: Some(file), known: HashMap::new(), last: 0 });
        }
        let LogContents { tried, bytes, .. } = of_search(&path, identity)?;
        let file = OpenOptions::new().append(true).open(&path).map_err(failed)?;
        file.set_len(bytes).map_err(failed)?;
        let last = tried.iter().map(|line| line.trial).max().unwrap_or_default();
        // What showed nothing may show something now.
        let known = tried.into_iter().filter(|line| line.observed.result != TriedResult::Void);
        Ok(SearchLog { file: Some(file), known: known.map(TriedLine::by_schedule).collect(), last })
    }

    /// The logs of all parts of one search, together; nothing is added to it.
    pub(super) fn of_parts(folders: &[PathBuf]) -> Result<(SearchIdentity, Self), ExploreError> {
        let (mut identity, mut known) = (None, HashMap::new());
        let (mut parts, mut of) = (BTreeSet::new(), 1);
        for folder in folders {
            let path = folder.join(LOG_FILE);
            let LogContents { identity: found, tried, .. } = read(&path)?;
            let (part, parts_of_search) = found.part.unwrap_or((1, 1));
            let found = found.whole();
            if identity.as_ref().is_some_and(|identity| (identity, of) != (&found, parts_of_search)) {
                return Err(ExploreError::OtherSearch { path });
            }
            (identity, of) = (Some(found), parts_of_search);
            parts.insert(part);
            known.extend(tried.into_iter().map(TriedLine::by_schedule));
        }
        let identity = identity.ok_or(ExploreError::NoParts)?;
        let missing: Vec<String> =
            (1..=of).filter(|part| !parts.contains(part)).map(|part| part.to_string()).collect();
        if !missing.is_empty() {
            return Err(ExploreError::MissingParts { of, missing: missing.join(", ") });
        }
        Ok((identity, SearchLog { file: None, known, last: 0 }))
    }

    /// What the probe before the search in this folder derived.
    pub(super) fn derived(folder: &Path) -> Result<DerivedSettings, ExploreError> {
        Ok(read(&folder.join(LOG_FILE))?.derived)
    }

    /// The schedule of a trial of the search in this folder.
    pub(super) fn schedule(
        folder: &Path,
        identity: &SearchIdentity,
        trial: u32,
    ) -> Result<Schedule, ExploreError> {
        let path = folder.join(LOG_FILE);
        let LogContents { tried, .. } = of_search(&path, identity)?;
        let trials = tried.len();
        let line = tried.into_iter().find(|line| line.trial == trial);
        line.map(|line| line.schedule).ok_or(ExploreError::NoTrial { path, trial, trials })
    }

    /// What is known of a schedule.
    pub(super) fn get(&self, schedule: &Schedule, repeat: u32) -> Option<&TriedTrial> {
        self.known.get(&(schedule.key(), repeat)).map(|line| &line.observed)
    }

    /// The number of the first trial of a schedule; 0 if it has none.
    pub(super) fn number_of(&self, schedule: &Schedule) -> u32 {
        self.known.get(&(schedule.key(), 0)).map_or(0, |line| line.trial)
    }

    /// The schedules of all parts that failed, with what they showed. A subject that is not deterministic can have failed
    /// one that the search over all parts does not get to. None in a search that is being made.
    pub(super) fn failed_elsewhere(&self) -> Vec<(Schedule, TriedTrial)> {
        let is_failure = |line: &&TriedLine| line.repeat == 0 && line.observed.result == TriedResult::Fail;
        let mut failed: Vec<&TriedLine> =
            self.known.values().filter(|_| self.file.is_none()).filter(is_failure).collect();
        failed.sort_by_key(|line| (line.trial, line.schedule.key()));
        failed.into_iter().map(|line| (line.schedule.clone(), line.observed.clone())).collect()
    }

    /// Whether trials can be added.
    pub(super) fn is_open(&self) -> bool {
        self.file.is_some()
    }

    /// The number of the next trial.
    pub(super) fn next_number(&mut self) -> u32 {
        self.last = self.last.saturating_add(1);
        self.last
    }

    /// Adds a trial.
    pub(super) fn add(
        &mut self,
        trial: u32,
        schedule: &Schedule,
        repeat: u32,
        observed: TriedTrial,
    ) -> io::Result<()> {
        let line = LogLine::Tried(TriedLine { trial, schedule: schedule.clone(), repeat, observed });
        if let Some(file) = &mut self.file {
            write(file, &line)?;
        }
        if let LogLine::Tried(line) = line {
            self.known.extend([line.by_schedule()]);
        }
        Ok(())
    }
}

impl TriedLine {
    fn by_schedule(self) -> ((String, u32), Self) {
        ((self.schedule.key(), self.repeat), self)
    }
}

fn write(file: &mut File, line: &LogLine) -> io::Result<()> {
    let mut text = serde_json::to_string(line)?;
    text.push('\n');
    file.write_all(text.as_bytes())
}

/// What a log has.
struct LogContents {
    identity: SearchIdentity,
    derived: DerivedSettings,
    tried: Vec<TriedLine>,
    /// The bytes of its whole lines: the last one can be cut where the machine stopped.
    bytes: u64,
}

/// The log of this search.
fn of_search(path: &Path, identity: &SearchIdentity) -> Result<LogContents, ExploreError> {
    let contents = read(path)?;
    if contents.identity == *identity {
        Ok(contents)
    } else {
        Err(ExploreError::OtherSearch { path: path.to_owned() })
    }
}

fn read(path: &Path) -> Result<LogContents, ExploreError> {
    let failed = |error: io::Error| ExploreError::Log { path: path.to_owned(), error };
    let text = fs::read(path).map_err(failed)?;
    let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
    let (mut identity, mut derived, mut tried) = (None, DerivedSettings::default(), Vec::new());
    for line in text[..whole].split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        match serde_json::from_slice(line).map_err(|error| failed(io::Error::other(error)))? {
            LogLine::Search(found) => identity = Some(found),
            LogLine::Derived(found) => derived = found,
            LogLine::Tried(line) => tried.push(line),
        }
    }
    let identity = identity.ok_or_else(|| failed(io::Error::other("it does not say what it is about")))?;
    Ok(LogContents { identity, derived, tried, bytes: whole as u64 })
}

#[cfg(test)]
mod tests {
    use super::super::Cell;
    use super::super::testing::{failure, tried};
    use super::*;

    fn identity(part: Option<(u32, u32)>) -> SearchIdentity {
        let text = || "x".to_owned();
        SearchIdentity {
            hapax: text(),
            subject: text(),
            digest: text(),
            settings: text(),
            case: text(),
            seed: 1,
            options: text(),
            part,
        }
    }

    fn schedule() -> Schedule {
        failure(Cell::LostReply, (4, 4)).schedule
    }

    #[test]
    fn a_folder_has_one_search() {
        let folder = tempfile::tempdir().unwrap();
        let open =
            |resumes| SearchLog::open(folder.path(), &identity(None), &DerivedSettings::default(), resumes);
        assert!(matches!(open(true), Err(ExploreError::Log { .. })));
        assert!(open(false).is_ok());
        assert!(matches!(open(false), Err(ExploreError::HasSearch { .. })));
        assert!(open(true).is_ok());
    }

    #[test]
    fn what_showed_nothing_is_tried_again_when_a_search_is_continued() {
        let folder = tempfile::tempdir().unwrap();
        let open =
            |resumes| SearchLog::open(folder.path(), &identity(None), &DerivedSettings::default(), resumes);
        let (passed, void) = (schedule(), Schedule::without_faults(1));
        let mut log = open(false).unwrap();
        log.add(1, &passed, 0, tried(TriedResult::Pass)).unwrap();
        log.add(2, &void, 0, tried(TriedResult::Void)).unwrap();
        drop(log);
        let mut log = open(true).unwrap();
        assert!(log.get(&passed, 0).is_some() && log.get(&void, 0).is_none());
        assert_eq!(log.next_number(), 3);
        assert!(log.failed_elsewhere().is_empty());
    }

    #[test]
    fn a_failure_of_a_part_is_known_in_the_whole() {
        let parts = [1, 2].map(|part| {
            let folder = tempfile::tempdir().unwrap();
            let identity = identity(Some((part, 2)));
            let mut log =
                SearchLog::open(folder.path(), &identity, &DerivedSettings::default(), false).unwrap();
            let result = if part == 2 { TriedResult::Fail } else { TriedResult::Pass };
            log.add(1, &Schedule::without_faults(part), 0, tried(TriedResult::Pass)).unwrap();
            log.add(2, &schedule(), part - 1, tried(result)).unwrap();
            log.add(3, &schedule(), 0, tried(result)).unwrap();
            folder
        });
        let folders = parts.each_ref().map(|folder| folder.path().to_owned());
        let (found, log) = SearchLog::of_parts(&folders).unwrap();
        assert_eq!(found, identity(None));
        let failed: Vec<Schedule> =
            log.failed_elsewhere().into_iter().map(|(schedule, _)| schedule).collect();
        assert_eq!(failed, [schedule()]);
    }
}
