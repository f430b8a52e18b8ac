//! What a subject asks a person, and what the person answers.

use mock_services::service::Fields;
use mock_services::word_enum;
use serde::{Deserialize, Serialize};

/// The word of `requires`, `--with` and hapax.yaml for subjects that ask for approvals.
pub const APPROVALS: &str = "approvals";

/// A question: whether an operation with these fields is approved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// The id that the subject gave it.
    pub id: String,
    /// The full name of the operation.
    pub operation: String,
    /// What the operation is about.
    #[serde(default)]
    pub fields: Fields,
}

word_enum! {
    /// What a person answers.
    pub enum Decision {
        /// It may be done.
        Approved => "approved",
        /// It must not be done.
        Denied => "denied",
        /// Nobody answered in time. The subject gets `denied`, with the reason `expired`.
        Expired => "expired",
    }
}

/// An answer as the subject gets it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The id of the question.
    pub id: String,
    /// What the person decided.
    pub decision: Decision,
}

impl Answer {
    /// The answers as JSON, for `HAPAX_ANSWER` and the body for an agent over HTTP.
    #[must_use]
    pub fn list(answers: &[Answer]) -> serde_json::Value {
        let one = |Answer { id, decision }: &Answer| match decision {
            Decision::Expired => {
                serde_json::json!({"id": id, "decision": Decision::Denied.as_str(), "reason": decision.as_str()})
            }
            Decision::Approved | Decision::Denied => {
                serde_json::json!({"id": id, "decision": decision.as_str()})
            }
        };
        answers.iter().map(one).collect()
    }
}

/// A caller asked a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskEvent {
    /// Which start of the caller asked, from 1.
    pub start: u32,
    /// The number of the question among those of its caller, from 1.
    pub question: u32,
    /// The id that the subject gave it.
    pub id: String,
    /// The full name of the operation.
    pub operation: String,
    /// What the operation is about, as JSON.
    #[serde(with = "super::subject_notes::fields_as_text")]
    pub fields: Fields,
}

/// A person answered a question, and a start of a caller gets the answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerEvent {
    /// Which start of the caller gets it, from 1.
    pub start: u32,
    /// The caller that asked.
    pub asked_by: u32,
    /// The number of the question among those of the caller that asked.
    pub question: u32,
    /// The id of the question.
    pub id: String,
    /// What the person decided.
    pub decision: Decision,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_says_approved_or_denied_and_why_it_is_denied_if_nobody_answered() {
        let answer = |decision| Answer { id: "a1".to_owned(), decision };
        let list = Answer::list(&Decision::ALL.map(answer));
        assert_eq!(
            list.to_string(),
            r#"[{"decision":"approved","id":"a1"},{"decision":"denied","id":"a1"},{"decision":"denied","id":"a1","reason":"expired"}]"#
        );
    }
}
