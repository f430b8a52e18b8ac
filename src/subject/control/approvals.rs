//! How the controls ask a person: where the trial has a service for it, they ask there and wait, and elsewhere they end
//! and are started again with the answer. Each stores its question before it asks, and the answer before it acts on it. A
//! step needs an approval if a sentence of the task says so: "A refund needs an approval."

use std::cell::RefCell;
use std::fs;
use std::path::PathBuf;

use mock_services::catalog;
use mock_services::service::{Fields, Value};
use serde::{Deserialize, Serialize};

use super::claim::StepClaim;
use super::environment::Environment;
use super::intent::identity;
use super::tools::approval as service;
use super::wire::Wire;
use crate::domain::{ControlName, Decision, Question};
use crate::scenario::{ClaimedOutcome, Step};

/// How often a control that does not accept a denial asks.
const MAX_INSISTED: u32 = 3;
/// The id of a control that has one question for everything.
const ONE_ID: &str = "agent";
/// The number of characters of an id.
const ID_LENGTH: usize = 12;

/// How a control treats questions and answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AskingManner {
    /// Each question has its own answer, and the last one counts.
    Exact,
    /// The first answer counts, also after another one.
    FirstAnswer,
    /// One approval is enough for everything.
    OneForAll,
    /// An approval is used up before the act, also if the act never happens.
    UsedUp,
    /// It asks again after a denial.
    Insisting,
    /// It does something else than it asked for, also after a denial.
    Rewriting,
    /// It does not ask.
    Silent,
}

impl AskingManner {
    const fn of(control: ControlName) -> Self {
        match control {
            ControlName::Naive | ControlName::SdkRetry | ControlName::Failover | ControlName::Overclaimer => {
                AskingManner::FirstAnswer
            }
            ControlName::ConstantKey => AskingManner::OneForAll,
            ControlName::Timid => AskingManner::UsedUp,
            ControlName::Storm => AskingManner::Insisting,
            ControlName::Rewriter => AskingManner::Rewriting,
            ControlName::Unasking => AskingManner::Silent,
            ControlName::Keyed
            | ControlName::BodyKeyed
            | ControlName::Rollback
            | ControlName::VerifyFirst
            | ControlName::Careful
            | ControlName::Racer
            | ControlName::Bookkeeper
            | ControlName::Leaseholder
            | ControlName::MarkBefore
            | ControlName::MarkAfter
            | ControlName::ByEventId
            | ControlName::ByObject
            | ControlName::DropsRetries
            | ControlName::Onlooker => AskingManner::Exact,
        }
    }
}

/// The questions of one caller.
#[derive(Debug)]
pub(super) struct Approvals<'e> {
    manner: AskingManner,
    folder: Option<PathBuf>,
    caller: String,
    /// The sentences of the task that are about approvals, in lower case.
    rules: Vec<String>,
    /// The answers that this start got.
    answers: RefCell<Vec<(String, Decision)>>,
    /// The environment, if it has a service that can be asked.
    service: Option<&'e Environment>,
}

/// What may be done about a step.
#[derive(Debug, PartialEq)]
pub(super) enum Permission {
    /// This may be done.
    Granted(Step),
    /// It must not be done.
    Denied,
    /// A person must be asked first.
    Open(Question),
}

/// A question as it is stored.
#[derive(Debug, Serialize, Deserialize)]
struct StoredQuestion {
    id: String,
    step: Step,
    decision: Option<String>,
    used: bool,
    /// Whether a service has confirmed the question.
    asked: bool,
}

impl StoredQuestion {
    fn decision(&self) -> Option<Decision> {
        self.decision.as_deref().and_then(|word| word.parse().ok())
    }

    fn question(&self) -> Question {
        let Step { operation, with } = self.step.clone();
        Question { id: self.id.clone(), operation, fields: with }
    }
}

impl<'e> Approvals<'e> {
    pub(super) fn new(environment: &'e Environment, control: ControlName) -> Self {
        let sentences = environment.task().split(". ").map(str::to_lowercase);
        Approvals {
            manner: AskingManner::of(control),
            folder: environment.state_dir(),
            caller: environment.caller(),
            rules: sentences.filter(|sentence| sentence.contains("approval")).collect(),
            answers: RefCell::new(environment.answers()),
            service: Some(environment).filter(|environment| service::is_there(environment)),
        }
    }

    /// What may be done about a step. Where there is a service, it is asked as `act` does any other step, and the answer
    /// is read there, and read again right before the step is done.
    ///
    /// # Errors
    /// The claim, if nobody could be asked.
    pub(super) fn decided(
        &self,
        step: &Step,
        mut act: impl FnMut(&Step) -> StepClaim,
    ) -> Result<Permission, StepClaim> {
        let Some(environment) = self.service.filter(|_| self.asks_about(step)) else {
            return Ok(self.permission(step));
        };
        let wire = Wire::new(environment);
        let before = self.stored(&self.id_of(step), step);
        if before.asked && self.manner != AskingManner::FirstAnswer {
            // An earlier start asked, and the person may have changed the answer.
            let last = service::answer(&wire, &service::asking(&before.question()));
            self.answers.borrow_mut().extend(last.map(|decision| (before.id, decision)));
        }
        loop {
            let question = match self.permission(step) {
                Permission::Open(question) => question,
                permission => return Ok(permission),
            };
            let asking = service::asking(&question);
            let mut stored = self.stored(&question.id, step);
            if !stored.asked {
                let claim = act(&asking);
                if claim.outcome != ClaimedOutcome::Done {
                    return Err(claim);
                }
                stored.asked = true;
                self.store(&stored);
            }
            let first = service::answer(&wire, &asking);
            let last = first.and_then(|_| service::answer(&wire, &asking));
            let counted = if self.manner == AskingManner::FirstAnswer { first } else { last.or(first) };
            let Some(decision) = counted else { return Ok(Permission::Open(question)) };
            self.answers.borrow_mut().push((question.id, decision));
        }
    }

    /// What may be done about a step. Stores the question before it is asked.
    pub(super) fn permission(&self, step: &Step) -> Permission {
        if !self.asks_about(step) {
            return Permission::Granted(step.clone());
        }
        let id = self.id_of(step);
        let tries = if self.manner == AskingManner::Insisting { MAX_INSISTED } else { 1 };
        for number in 1..=tries {
            let id = if number == 1 { id.clone() } else { format!("{id}-{number}") };
            let mut stored = self.stored(&id, step);
            match stored.decision() {
                None => return Permission::Open(StoredQuestion { step: step.clone(), ..stored }.question()),
                Some(Decision::Approved) if self.manner == AskingManner::UsedUp => {
                    let was_used = std::mem::replace(&mut stored.used, true);
                    self.store(&stored);
                    return if was_used { Permission::Denied } else { Permission::Granted(step.clone()) };
                }
                Some(Decision::Approved) if self.manner != AskingManner::Rewriting => {
                    return Permission::Granted(step.clone());
                }
                Some(_) if self.manner == AskingManner::Rewriting => {
                    return Permission::Granted(rewritten(step));
                }
                Some(_) => {}
            }
        }
        Permission::Denied
    }

    fn id_of(&self, step: &Step) -> String {
        match self.manner {
            AskingManner::OneForAll => ONE_ID.to_owned(),
            _ => identity(step, "").chars().take(ID_LENGTH).collect(),
        }
    }

    /// The question about a step, with the answer that has come.
    fn stored(&self, id: &str, step: &Step) -> StoredQuestion {
        let path = self.path(id);
        let before = path.and_then(|path| serde_json::from_slice(&fs::read(path).ok()?).ok());
        let is_new = before.is_none();
        let mut stored: StoredQuestion = before.unwrap_or_else(|| StoredQuestion {
            id: id.to_owned(),
            step: step.clone(),
            decision: None,
            used: false,
            asked: false,
        });
        let keeps_first = self.manner == AskingManner::FirstAnswer && stored.decision.is_some();
        let answers = self.answers.borrow();
        let answer = answers.iter().rfind(|(of, _)| of == id).filter(|_| !is_new && !keeps_first);
        if let Some((_, decision)) = answer {
            stored.decision = Some(decision.as_str().to_owned());
        }
        if self.manner == AskingManner::OneForAll && stored.decision() == Some(Decision::Denied) {
            // It is the question about everything, so the next step asks it anew.
            let _ = self.path(id).map(fs::remove_file);
            return stored;
        }
        if is_new || answer.is_some() {
            self.store(&stored);
        }
        stored
    }

    fn store(&self, stored: &StoredQuestion) {
        let Some(path) = self.path(&stored.id) else { return };
        // Several workers can resume one question, each with a draft of its own.
        let draft = path.with_extension(format!("{}.draft", self.caller));
        // Without it, the control asks again, which is safe.
        let _ = fs::write(&draft, serde_json::to_vec(stored).unwrap_or_default())
            .and_then(|()| fs::rename(&draft, &path));
    }

    fn path(&self, id: &str) -> Option<PathBuf> {
        self.folder.as_ref().map(|folder| folder.join(format!("{id}.question")))
    }

    /// Whether it asks about such a step: the task says that it needs an approval.
    fn asks_about(&self, step: &Step) -> bool {
        if self.manner == AskingManner::Silent {
            return false;
        }
        let (one, several) = catalog::nouns(&step.operation);
        let is_word = |word: &str| [one.as_str(), several.as_str()].contains(&word);
        self.rules.iter().any(|rule| rule.split(|c: char| !c.is_alphanumeric()).any(is_word))
    }
}

/// The step with half of its first number.
fn rewritten(step: &Step) -> Step {
    let mut is_changed = false;
    let with = step.with.iter().fold(Fields::new(), |fields, (name, value)| match value {
        Value::Number(number) if !std::mem::replace(&mut is_changed, true) => fields.with(name, *number / 2),
        other => fields.with(name, other.clone()),
    });
    Step { with, ..step.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refund() -> Step {
        let with = Fields::new().with("order", "ord_7").with("amount", 1000);
        Step { operation: "payment.refund".to_owned(), with }
    }

    /// What each start may do that gets these answers to the question that the first asked.
    fn permissions(control: ControlName, answers: &[Option<&str>]) -> Vec<Permission> {
        let folder = tempfile::tempdir().unwrap();
        let mut id = String::new();
        let start = |answer: &Option<&str>| {
            let given = answer.map(|word| format!(r#"[{{"id": "{id}", "decision": "{word}"}}]"#));
            let variables = [
                ("HAPAX_TASK", Some("Refund ord_7. A refund needs an approval.".to_owned())),
                ("HAPAX_STEPS", Some("[]".to_owned())),
                ("HAPAX_STATE_DIR", Some(folder.path().to_string_lossy().into_owned())),
                ("HAPAX_ANSWER", given),
            ];
            let variables = variables.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
            let permission =
                Approvals::new(&Environment::read(variables).unwrap(), control).permission(&refund());
            if let Permission::Open(question) = &permission {
                id.clone_from(&question.id);
            }
            permission
        };
        answers.iter().map(start).collect()
    }

    #[test]
    fn a_step_is_done_when_it_was_approved_and_the_last_answer_counts() {
        let start = permissions(ControlName::Careful, &[None, Some("approved"), None, Some("denied"), None]);
        assert!(matches!(&start[0], Permission::Open(question) if question.fields == refund().with));
        let granted = Permission::Granted(refund());
        assert_eq!(
            start[1..],
            [granted, Permission::Granted(refund()), Permission::Denied, Permission::Denied]
        );
    }

    #[test]
    fn the_other_controls_have_one_fault_each() {
        let granted = || Permission::Granted(refund());
        let of = |control, answers: &[Option<&str>]| permissions(control, answers).pop().unwrap();
        assert_eq!(of(ControlName::Naive, &[None, Some("approved"), Some("denied")]), granted());
        assert_eq!(of(ControlName::Timid, &[None, Some("approved"), Some("approved")]), Permission::Denied);
        assert_eq!(of(ControlName::Unasking, &[None]), granted());
        assert!(matches!(of(ControlName::Storm, &[None, Some("denied")]), Permission::Open(_)));
        let half = Step { with: Fields::new().with("order", "ord_7").with("amount", 500), ..refund() };
        for answer in ["approved", "denied"] {
            assert_eq!(of(ControlName::Rewriter, &[None, Some(answer)]), Permission::Granted(half.clone()));
        }
    }
}
