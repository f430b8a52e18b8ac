//! The durable record of the intents of a caller: written and synced before the first attempt, and kept
//! across restarts and turns.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::intent::is_about_the_same;
use crate::scenario::Step;

/// One intent as it is stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct IntentRecord {
    /// Its identity.
    pub(super) id: String,
    /// The step as it was first given, or the rest of it.
    pub(super) step: Step,
    /// The facts that were read before the first attempt, and that an attempt is based on.
    #[serde(default)]
    pub(super) facts: Option<Value>,
    /// The number of attempts that may have been sent; increased before each.
    pub(super) attempts: u32,
    /// The number of its key; increased only when the last key cannot succeed any more.
    pub(super) key: u32,
    /// Whether it is done and was verified.
    pub(super) done: bool,
}

impl IntentRecord {
    fn new(id: &str, step: &Step) -> Self {
        IntentRecord { id: id.to_owned(), step: step.clone(), facts: None, attempts: 0, key: 1, done: false }
    }

    /// The idempotency key: the same for every caller, restart and retry.
    pub(super) fn idempotency_key(&self) -> String {
        if self.key == 1 { self.id.clone() } else { format!("{}-{}", self.id, self.key) }
    }
}

/// The records of one caller.
#[derive(Debug)]
pub(super) struct Journal {
    folder: Option<PathBuf>,
    /// The extension of files that are not complete: several callers can share a folder.
    draft: String,
}

impl Journal {
    /// The journal in a folder; without a folder, it stores nothing.
    pub(super) fn new(folder: Option<PathBuf>, caller: &str) -> Self {
        Journal { folder, draft: format!("{caller}.draft") }
    }

    /// The record of an intent. Creates and stores it where there is none.
    pub(super) fn open(&self, id: &str, step: &Step) -> io::Result<IntentRecord> {
        if let Some(record) = self.path(id).and_then(|path| read(&path)) {
            return Ok(record);
        }
        let record = IntentRecord::new(id, step);
        self.save(&record)?;
        Ok(record)
    }

    /// Stores a record atomically.
    pub(super) fn save(&self, record: &IntentRecord) -> io::Result<()> {
        let (Some(folder), Some(path)) = (&self.folder, self.path(&record.id)) else { return Ok(()) };
        let draft = path.with_extension(&self.draft);
        let mut file = File::create(&draft)?;
        file.write_all(&serde_json::to_vec(record)?)?;
        file.sync_all()?;
        fs::rename(&draft, &path)?;
        File::open(folder)?.sync_all()
    }

    /// The record of an intent about the same object that an earlier start began with another wording.
    /// `others` are the intents of the whole task, which are separate intents. Intents that are done are
    /// included only where the earlier start was interrupted: a task after a finished start is a new task.
    pub(super) fn find_started(
        &self,
        step: &Step,
        others: &[String],
        was_interrupted: bool,
    ) -> Option<IntentRecord> {
        let started = self
            .records()
            .into_iter()
            .filter(|record| record.attempts > 0 && (was_interrupted || !record.done));
        started
            .filter(|record| !others.contains(&record.id))
            .find(|record| is_about_the_same(step, &record.step))
    }

    /// Whether there is a record of an intent.
    pub(super) fn knows(&self, id: &str) -> bool {
        self.path(id).is_some_and(|path| path.exists())
    }

    /// Stores the steps of the task before anything is done.
    pub(super) fn accept(&self, steps: &[Step]) -> io::Result<()> {
        let Some(path) = self.task_path() else { return Ok(()) };
        let draft = path.with_extension(&self.draft);
        fs::write(&draft, serde_json::to_vec(steps)?)?;
        fs::rename(&draft, &path)
    }

    /// The steps of the task that an earlier start has stored.
    pub(super) fn accepted_steps(&self) -> Vec<Step> {
        let stored = self.task_path().and_then(|path| fs::read(path).ok());
        stored.and_then(|stored| serde_json::from_slice(&stored).ok()).unwrap_or_default()
    }

    fn task_path(&self) -> Option<PathBuf> {
        self.folder.as_ref().map(|folder| folder.join("task.json"))
    }

    /// Notes that a start has finished.
    pub(super) fn end(&self, start: u32) {
        if let Some(path) = self.finish_note(start) {
            // Without the note, the next start assumes that this one was interrupted, which is the safe
            // assumption.
            let _ = File::create(path);
        }
    }

    /// Whether a start has finished.
    pub(super) fn has_finished(&self, start: u32) -> bool {
        self.finish_note(start).is_some_and(|path| path.exists())
    }

    fn finish_note(&self, start: u32) -> Option<PathBuf> {
        self.folder.as_ref().map(|folder| folder.join(format!("start-{start}.ended")))
    }

    fn records(&self) -> Vec<IntentRecord> {
        let entries = self.folder.as_ref().and_then(|folder| fs::read_dir(folder).ok());
        let mut paths: Vec<PathBuf> =
            entries.into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path())).collect();
        paths.sort();
        paths
            .iter()
            .filter(|path| path.extension().is_some_and(|end| end == "intent"))
            .filter_map(|path| read(path))
            .collect()
    }

    fn path(&self, id: &str) -> Option<PathBuf> {
        self.folder.as_ref().map(|folder| folder.join(format!("{id}.intent")))
    }
}

fn read(path: &Path) -> Option<IntentRecord> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use mock_services::service::Fields;

    fn charge(amount: i64) -> Step {
        Step {
            operation: "payment.charge".to_owned(),
            with: Fields::new().with("order", "ord_1").with("amount", amount),
        }
    }

    #[test]
    fn a_record_is_found_after_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        let journal = Journal::new(Some(folder.path().to_owned()), "c1");
        let mut record = journal.open("a", &charge(1)).unwrap();
        assert_eq!(record.attempts, 0);
        (record.attempts, record.key) = (2, 3);
        journal.save(&record).unwrap();
        let again = Journal::new(Some(folder.path().to_owned()), "c1").open("a", &charge(7)).unwrap();
        assert_eq!(again, record, "the step is as it was first given");
        assert_eq!(again.idempotency_key(), "a-3");
    }

    #[test]
    fn a_started_step_with_another_wording_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let journal = Journal::new(Some(folder.path().to_owned()), "c1");
        let mut record = journal.open("a", &charge(1)).unwrap();
        assert!(journal.knows("a") && !journal.knows("b"));
        let (both, this) = (["a".to_owned(), "b".to_owned()], ["b".to_owned()]);
        assert_eq!(journal.find_started(&charge(2), &this, true), None, "nothing was sent");
        record.attempts = 1;
        journal.save(&record).unwrap();
        assert_eq!(journal.find_started(&charge(2), &this, false), Some(record.clone()));
        assert_eq!(journal.find_started(&charge(2), &both, true), None, "both are separate intents");
        record.done = true;
        journal.save(&record).unwrap();
        assert_eq!(journal.find_started(&charge(2), &this, false), None, "it is done, so this is a new task");
        assert_eq!(
            journal.find_started(&charge(2), &this, true),
            Some(record),
            "the earlier start was interrupted"
        );
    }

    #[test]
    fn the_task_is_found_after_a_restart_without_it() {
        let folder = tempfile::tempdir().unwrap();
        let journal = Journal::new(Some(folder.path().to_owned()), "c1");
        assert!(journal.accepted_steps().is_empty());
        journal.accept(&[charge(1)]).unwrap();
        assert_eq!(Journal::new(Some(folder.path().to_owned()), "c1").accepted_steps(), [charge(1)]);
    }

    #[test]
    fn a_start_has_finished_when_it_was_noted() {
        let folder = tempfile::tempdir().unwrap();
        let journal = Journal::new(Some(folder.path().to_owned()), "c1");
        journal.end(1);
        assert!(journal.has_finished(1) && !journal.has_finished(2));
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_an_error() {
        let journal = Journal::new(Some("/nowhere/at/all".into()), "c1");
        assert!(journal.open("a", &charge(1)).is_err());
        assert!(Journal::new(None, "c1").open("a", &charge(1)).is_ok());
    }
}
