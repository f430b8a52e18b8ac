//! The durable record of what a caller means to do: written and synced before the first attempt, kept across
//! restarts and turns. It knows no service.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::intent::is_about_the_same;
use crate::scenario::Step;

/// One intent as it stands on the disk.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Record {
    /// What tells it from other intents.
    pub(super) id: String,
    /// What was to be done when it was first heard of, or what is left of it.
    pub(super) step: Step,
    /// What was read before the first attempt, and what an attempt is built on.
    #[serde(default)]
    pub(super) facts: Option<Value>,
    /// How many attempts may have been sent, counted before each.
    pub(super) attempts: u32,
    /// Which key it goes under; another one only after the last proved useless.
    pub(super) key: u32,
    /// Whether it is done, and was seen to be.
    pub(super) done: bool,
}

impl Record {
    fn new(id: &str, step: &Step) -> Self {
        Record { id: id.to_owned(), step: step.clone(), facts: None, attempts: 0, key: 1, done: false }
    }

    /// The key that attempts go under: the same for every caller, restart and retry.
    pub(super) fn idempotency_key(&self) -> String {
        if self.key == 1 { self.id.clone() } else { format!("{}-{}", self.id, self.key) }
    }
}

/// The records of one caller.
#[derive(Debug)]
pub(super) struct Journal {
    folder: Option<PathBuf>,
}

impl Journal {
    /// The journal in a folder; one that forgets where there is none.
    pub(super) fn new(folder: Option<PathBuf>) -> Self {
        Journal { folder }
    }

    /// The record of an intent; a new one, which is on the disk already, where there was none.
    pub(super) fn open(&self, id: &str, step: &Step) -> io::Result<Record> {
        if let Some(record) = self.path(id).and_then(|path| read(&path)) {
            return Ok(record);
        }
        let record = Record::new(id, step);
        self.save(&record)?;
        Ok(record)
    }

    /// Puts a record on the disk, whole or not at all.
    pub(super) fn save(&self, record: &Record) -> io::Result<()> {
        let (Some(folder), Some(path)) = (&self.folder, self.path(&record.id)) else { return Ok(()) };
        let draft = path.with_extension("draft");
        let mut file = File::create(&draft)?;
        file.write_all(&serde_json::to_vec(record)?)?;
        file.sync_all()?;
        fs::rename(&draft, &path)?;
        File::open(folder)?.sync_all()
    }

    /// What was begun before in other words, where this step is about the same thing; `others` are the
    /// intents of the whole task, each of which is to be done as well. What is done counts only where the
    /// start before was broken off: whoever came to an end and is then asked for something else means
    /// something else.
    pub(super) fn begun_before(&self, step: &Step, others: &[String], broken_off: bool) -> Option<Record> {
        let begun =
            self.records().into_iter().filter(|record| record.attempts > 0 && (broken_off || !record.done));
        begun
            .filter(|record| !others.contains(&record.id))
            .find(|record| is_about_the_same(step, &record.step))
    }

    /// Whether there is a record of an intent.
    pub(super) fn knows(&self, id: &str) -> bool {
        self.path(id).is_some_and(|path| path.exists())
    }

    /// Notes that a start came to its end.
    pub(super) fn end(&self, start: u32) {
        if let Some(path) = self.end_of(start) {
            // Without the note, the next start takes this one for broken off and is the more careful for it.
            let _ = File::create(path);
        }
    }

    /// Whether a start came to its end.
    pub(super) fn has_ended(&self, start: u32) -> bool {
        self.end_of(start).is_some_and(|path| path.exists())
    }

    fn end_of(&self, start: u32) -> Option<PathBuf> {
        self.folder.as_ref().map(|folder| folder.join(format!("start-{start}.ended")))
    }

    fn records(&self) -> Vec<Record> {
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

fn read(path: &Path) -> Option<Record> {
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
    fn what_was_begun_is_found_again_after_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        let journal = Journal::new(Some(folder.path().to_owned()));
        let mut record = journal.open("a", &charge(1)).unwrap();
        assert_eq!(record.attempts, 0);
        (record.attempts, record.key) = (2, 3);
        journal.save(&record).unwrap();
        let again = Journal::new(Some(folder.path().to_owned())).open("a", &charge(7)).unwrap();
        assert_eq!(again, record, "the step is as it was first heard of");
        assert_eq!(again.idempotency_key(), "a-3");
    }

    #[test]
    fn a_step_that_was_begun_in_other_words_is_that_step() {
        let folder = tempfile::tempdir().unwrap();
        let journal = Journal::new(Some(folder.path().to_owned()));
        let mut record = journal.open("a", &charge(1)).unwrap();
        assert!(journal.knows("a") && !journal.knows("b"));
        let (both, this) = (["a".to_owned(), "b".to_owned()], ["b".to_owned()]);
        assert_eq!(journal.begun_before(&charge(2), &this, true), None, "nothing was sent yet");
        record.attempts = 1;
        journal.save(&record).unwrap();
        assert_eq!(journal.begun_before(&charge(2), &this, false), Some(record.clone()));
        assert_eq!(journal.begun_before(&charge(2), &both, true), None, "both are to be done");
        record.done = true;
        journal.save(&record).unwrap();
        assert_eq!(
            journal.begun_before(&charge(2), &this, false),
            None,
            "that one is done, so this is another"
        );
        assert_eq!(
            journal.begun_before(&charge(2), &this, true),
            Some(record),
            "nobody came to ask for another"
        );
    }

    #[test]
    fn a_start_has_ended_when_it_was_noted() {
        let folder = tempfile::tempdir().unwrap();
        let journal = Journal::new(Some(folder.path().to_owned()));
        journal.end(1);
        assert!(journal.has_ended(1) && !journal.has_ended(2));
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_told_before_anything_is_sent() {
        let journal = Journal::new(Some("/nowhere/at/all".into()));
        assert!(journal.open("a", &charge(1)).is_err());
        assert!(Journal::new(None).open("a", &charge(1)).is_ok());
    }
}
