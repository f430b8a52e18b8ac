//! The answers of the model that a careful control keeps: written and synced before their calls are executed,
//! so that a second answer to the same question never changes what was decided.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::PathBuf;

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::model_turn::ModelTurn;

/// The stored answers of one caller.
#[derive(Debug)]
pub(in crate::subject::control) struct GenerationStore {
    folder: Option<PathBuf>,
}

impl GenerationStore {
    /// The store in a folder; without a folder, it stores nothing.
    pub(in crate::subject::control) fn new(folder: Option<PathBuf>) -> Self {
        GenerationStore { folder }
    }

    /// The stored answer to a question.
    pub(super) fn find(&self, question: &Value) -> Option<ModelTurn> {
        serde_json::from_slice(&fs::read(self.path(question)?).ok()?).ok()
    }

    /// Stores an answer atomically.
    pub(super) fn save(&self, question: &Value, turn: &ModelTurn) -> io::Result<()> {
        let (Some(folder), Some(path)) = (&self.folder, self.path(question)) else { return Ok(()) };
        let draft = path.with_extension("draft");
        let mut file = File::create(&draft)?;
        file.write_all(&serde_json::to_vec(turn)?)?;
        file.sync_all()?;
        fs::rename(&draft, &path)?;
        File::open(folder)?.sync_all()
    }

    fn path(&self, question: &Value) -> Option<PathBuf> {
        let digest = Sha256::digest(question.to_string());
        let name = format!("{}.generation", hex::encode(&digest[..16]));
        self.folder.as_ref().map(|folder| folder.join(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_first_answer_to_a_question_is_found_after_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        let store = || GenerationStore::new(Some(folder.path().to_owned()));
        let turn = ModelTurn { text: "Hi".to_owned(), calls: Vec::new() };
        store().save(&json!({"messages": [1]}), &turn).unwrap();
        assert_eq!(store().find(&json!({"messages": [1]})), Some(turn.clone()));
        assert_eq!(store().find(&json!({"messages": [2]})), None);
        assert!(GenerationStore::new(Some("/nowhere/at/all".into())).save(&json!(1), &turn).is_err());
        assert_eq!(GenerationStore::new(None).find(&json!(1)), None);
    }
}
