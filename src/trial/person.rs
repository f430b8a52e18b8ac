//! The person of a trial, who answers the questions of the subject as the scenario says. A caller that has ended and
//! waits for answers is resumed with them: by a new start on the same state directory, or by several workers at once,
//! each a caller of its own on the state directory of the one that asked.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mock_services::catalog::{AnswerPlan, DecisionTime, PlannedDecision, PlannedStep};
use mock_services::service::After;
use tokio::sync::watch;

use super::event_log::EventLog;
use crate::domain::{Answer, Decision, Question};
use crate::fit::Rule;
use crate::scenario::{AnswerDelay, Approval, ApprovalTerm, Case, PlannedAnswer, Terms};

/// The caller that asks, if several resume it at once.
const FIRST: u32 = 1;
/// The maximum number of questions of a caller that are answered.
const MAX_QUESTIONS: usize = 10;

pub(super) struct Person<'t> {
    approvals: &'t [Approval],
    terms: &'t Terms,
    log: &'t EventLog,
    /// How many callers get an answer at once; 1 if it comes to the caller that asked.
    resumers: u32,
    desks: Mutex<BTreeMap<u32, Desk>>,
    /// What the other workers get: nothing yet, nothing any more, or answers.
    others: watch::Sender<Others>,
}

#[derive(Debug, Clone)]
enum Others {
    Wait,
    Never,
    Resume(Answers),
}

/// The questions of one caller.
#[derive(Debug, Default)]
struct Desk {
    questions: Vec<OpenQuestion>,
}

#[derive(Debug)]
struct OpenQuestion {
    question: Question,
    /// The answers that have not come yet.
    answers: VecDeque<PlannedAnswer>,
}

/// Answers that come at the same time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Answers {
    /// The caller that asked.
    asked_by: u32,
    /// Each with the number of its question, from 1.
    given: Vec<(u32, Answer)>,
    /// How long after the question they come.
    pub(super) after: Duration,
}

impl Answers {
    /// The answers as the subject gets them.
    pub(super) fn list(&self) -> Vec<Answer> {
        self.given.iter().map(|(_, answer)| answer.clone()).collect()
    }
}

/// The answers to a question: those of the entry that it fits. A later question that fits the same entry gets its last
/// answer. A question that fits none is approved if it fits an effect that is due.
fn planned(
    approvals: &[Approval],
    terms: &Terms,
    question: &Question,
    before: &[&Question],
) -> Vec<PlannedAnswer> {
    if before.len() >= MAX_QUESTIONS {
        return Vec::new();
    }
    let rule = Rule::new(terms);
    let entry_of = |question: &Question| {
        approvals.iter().position(|approval| {
            let intent = ApprovalTerm::from(approval).as_intent();
            rule.fit(&intent, &question.operation, &question.fields).is_some()
        })
    };
    let Some(entry) = entry_of(question) else {
        let mut due = terms.intents.iter().filter(|intent| intent.times > 0);
        let is_wanted = due.any(|intent| {
            rule.fit(intent, &question.operation, &question.fields).is_some_and(|fit| fit.agrees)
        });
        return vec![PlannedAnswer::once(if is_wanted { Decision::Approved } else { Decision::Denied })];
    };
    let is_first = !before.iter().any(|earlier| entry_of(earlier) == Some(entry));
    let answers = &approvals[entry].answers;
    match answers.last() {
        Some(last) if !is_first => vec![PlannedAnswer::once(last.decision)],
        _ => answers.clone(),
    }
}

/// What the same person answers to a subject that asks a service and waits there. An answer to several workers is one
/// answer there.
pub(super) fn answer_plan(case: &Case, terms: &Terms) -> AnswerPlan {
    let (approvals, terms) = (case.approvals.clone(), terms.clone());
    let question = |step: &PlannedStep| Question {
        id: String::new(),
        operation: step.operation.clone(),
        fields: step.fields.clone(),
    };
    Arc::new(move |step, before| {
        let before: Vec<Question> = before.iter().map(question).collect();
        let planned = planned(&approvals, &terms, &question(step), &before.iter().collect::<Vec<_>>());
        planned.iter().flat_map(decisions).collect()
    })
}

/// The decisions that an answer is at a service, one after another.
fn decisions(answer: &PlannedAnswer) -> impl Iterator<Item = PlannedDecision> {
    let times = if answer.together { 1 } else { answer.times };
    let decision = answer.decision.as_str();
    let time = match answer.after {
        AnswerDelay::None => DecisionTime::Next,
        AnswerDelay::Time(time) => DecisionTime::After(After::Time(time)),
        AnswerDelay::Requests(requests) => DecisionTime::After(After::Requests(requests)),
        AnswerDelay::Questions(questions) => DecisionTime::Questions(questions),
    };
    (0..times).map(move |index| PlannedDecision {
        decision: decision.to_owned(),
        time: if index == 0 { time } else { DecisionTime::Next },
    })
}

impl<'t> Person<'t> {
    pub(super) fn new(case: &'t Case, terms: &'t Terms, log: &'t EventLog) -> Self {
        let together =
            case.approvals.iter().flat_map(|approval| &approval.answers).find(|answer| answer.together);
        Person {
            approvals: &case.approvals,
            terms,
            log,
            resumers: together.map_or(1, |answer| answer.times),
            desks: Mutex::default(),
            others: watch::Sender::new(Others::Wait),
        }
    }

    /// Whether the caller only resumes what another one has asked.
    pub(super) fn is_resumer(&self, caller: u32) -> bool {
        self.resumers > 1 && caller != FIRST
    }

    /// The caller whose state directory this one uses.
    pub(super) fn state_of(&self, caller: u32) -> u32 {
        if self.is_resumer(caller) { FIRST } else { caller }
    }

    /// Waits until this caller resumes what another one has asked; `None` if it never does.
    pub(super) async fn resumption(&self) -> Option<Answers> {
        let mut others = self.others.subscribe();
        let others = others.wait_for(|others| !matches!(others, Others::Wait)).await;
        match others.as_deref() {
            Ok(Others::Resume(answers)) => Some(answers.clone()),
            Ok(Others::Wait | Others::Never) | Err(_) => None,
        }
    }

    /// A caller has ended: nobody resumes it any more.
    pub(super) fn caller_ended(&self, caller: u32) {
        if caller == FIRST {
            self.others.send_if_modified(|others| {
                let waits = matches!(others, Others::Wait);
                if waits {
                    *others = Others::Never;
                }
                waits
            });
        }
    }

    /// A start ended and waits for these answers. A question that it has asked before is the same one.
    pub(super) fn asked(&self, caller: u32, start: u32, questions: &[Question]) {
        let mut desks = self.desks();
        let desk = desks.entry(caller).or_default();
        for question in questions {
            if desk.questions.iter().any(|asked| asked.question == *question) {
                continue;
            }
            let number = u32::try_from(desk.questions.len() + 1).unwrap_or(u32::MAX);
            self.log.asked(caller, start, number, question);
            for earlier in &mut desk.questions {
                earlier.another_question_came();
            }
            let answers = if self.is_resumer(caller) {
                VecDeque::new()
            } else {
                let before: Vec<&Question> = desk.questions.iter().map(|asked| &asked.question).collect();
                planned(self.approvals, self.terms, question, &before).into()
            };
            desk.questions.push(OpenQuestion { question: question.clone(), answers });
        }
    }

    /// The answers that come next for a caller; `None` if nothing is answered.
    pub(super) fn next(&self, caller: u32) -> Option<Answers> {
        let mut desks = self.desks();
        let desk = desks.get_mut(&caller)?;
        let (mut given, mut after) = (Vec::new(), Duration::ZERO);
        for (number, asked) in (1..).zip(&mut desk.questions) {
            let Some(answer) = asked.next_answer() else { continue };
            if let AnswerDelay::Time(time) = answer.after {
                after = after.max(time);
            }
            given.push((number, Answer { id: asked.question.id.clone(), decision: answer.decision }));
        }
        let answers = Answers { asked_by: caller, given, after };
        (!answers.given.is_empty()).then_some(answers)
    }

    /// Whether several callers get the answer at once. Resumes the others.
    pub(super) fn resume_others(&self, answers: &Answers) -> bool {
        let is_together = self.resumers > 1 && answers.asked_by == FIRST;
        if is_together {
            self.others.send_replace(Others::Resume(answers.clone()));
        }
        is_together
    }

    /// A start of a caller gets these answers.
    pub(super) fn answered(&self, caller: u32, start: u32, answers: &Answers) {
        for (number, answer) in &answers.given {
            self.log.answered(caller, start, (answers.asked_by, *number), answer);
        }
    }

    fn desks(&self) -> MutexGuard<'_, BTreeMap<u32, Desk>> {
        self.desks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OpenQuestion {
    /// The next answer, if it comes now.
    fn next_answer(&mut self) -> Option<PlannedAnswer> {
        let first = self.answers.front_mut()?;
        if matches!(first.after, AnswerDelay::Questions(_)) {
            return None;
        }
        let answer = first.clone();
        if first.times > 1 && !first.together {
            (first.times, first.after) = (first.times - 1, AnswerDelay::None);
        } else {
            self.answers.pop_front();
        }
        Some(answer)
    }

    /// An answer that waits for other questions comes one question earlier.
    fn another_question_came(&mut self) {
        if let Some(first) = self.answers.front_mut()
            && let AnswerDelay::Questions(left) = &mut first.after
        {
            *left -= 1;
            if *left == 0 {
                first.after = AnswerDelay::None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use mock_services::Clock;
    use mock_services::ledger::Ledger;
    use mock_services::service::Fields;
    use yaml_reader::Source;

    use super::*;
    use crate::scenario::read_scenario;

    fn case(approvals: &str) -> Case {
        let text = format!(
            "about: Refunds.\ntask: Refund.\nsteps: [{{do: payment.refund, with: {{order: o1, amount: 10}}}}]\n\
             expect: {{effects: [{{effect: payment.refund, where: {{order: o1}}, with: {{amount: 10}}, times: 0..1}}], \
             claim: [done, not-done]}}\n{approvals}"
        );
        read_scenario(&Source::new("test.yaml", text), "test").unwrap().remove(0)
    }

    fn question(id: &str, order: &str) -> Question {
        let fields = Fields::new().with("order", order).with("amount", 10);
        Question { id: id.to_owned(), operation: "payment.refund".to_owned(), fields }
    }

    /// The decisions that a caller gets, one list for each start, if it asks these questions at the first ones.
    fn given(approvals: &str, asks: &[&[Question]]) -> Vec<Vec<(String, Decision)>> {
        let (case, log) = (case(approvals), EventLog::new(Ledger::new("t", 1, Clock::default())));
        let person = Person::new(&case, &case.terms, &log);
        let (mut all, mut asks) = (Vec::new(), (1..).zip(asks));
        loop {
            let asked = asks.next();
            if let Some((start, questions)) = asked {
                person.asked(1, start, questions);
            }
            match person.next(1) {
                Some(answers) => {
                    all.push(answers.list().into_iter().map(|answer| (answer.id, answer.decision)).collect())
                }
                None if asked.is_none() => return all,
                None => all.push(Vec::new()),
            }
        }
    }

    #[test]
    fn without_a_plan_a_question_about_what_is_due_is_approved_once_and_others_are_denied() {
        let both = [question("a", "o1"), question("b", "o2")];
        let decisions = vec![("a".to_owned(), Decision::Approved), ("b".to_owned(), Decision::Denied)];
        assert_eq!(given("", &[&both]), [decisions]);
    }

    #[test]
    fn answers_come_one_after_another_and_a_question_that_is_repeated_is_the_same() {
        let plan = "approvals: [{of: payment.refund, answers: [{decision: approved, times: 2}, {decision: denied}]}]\n";
        let [one, other] = [question("a", "o1"), question("b", "o1")];
        let answer = |decision| vec![("a".to_owned(), decision)];
        let (approved, denied) = (answer(Decision::Approved), answer(Decision::Denied));
        let asked_twice: [&[Question]; 2] = [std::slice::from_ref(&one); 2];
        assert_eq!(given(plan, &asked_twice), [approved.clone(), approved.clone(), denied.clone()]);
        let again: [&[Question]; 4] = [&[one], &[], &[], &[other]];
        let last = vec![("b".to_owned(), Decision::Denied)];
        assert_eq!(given(plan, &again), [approved.clone(), approved, denied, last]);
    }

    #[test]
    fn an_answer_can_wait_for_another_question_and_nobody_answers_more_than_ten() {
        let plan = "approvals: [{of: payment.refund, where: {order: o1}, answers: [{decision: expired}, {decision: \
                    approved, after: {questions: 1}}]}, {of: payment.refund, where: {order: o2}, answers: never}]\n";
        let answers = given(plan, &[&[question("a", "o1")], &[], &[question("b", "o2")]]);
        let of_a = |decision| vec![("a".to_owned(), decision)];
        assert_eq!(answers, [of_a(Decision::Expired), vec![], of_a(Decision::Approved)]);
        let many: Vec<Question> = (0..11).map(|number| question(&format!("q{number}"), "o1")).collect();
        let asks: Vec<&[Question]> = many.iter().map(std::slice::from_ref).collect();
        let answers = given("", &asks);
        assert_eq!(answers.iter().filter(|list| !list.is_empty()).count(), 10);
    }

    #[tokio::test]
    async fn an_answer_reaches_the_other_workers_and_none_waits_when_the_first_has_ended() {
        let plan =
            "approvals: [{of: payment.refund, answers: [{decision: approved, times: 3, how: together}]}]\n";
        let (case, log) = (case(plan), EventLog::new(Ledger::new("t", 1, Clock::default())));
        let person = Person::new(&case, &case.terms, &log);
        assert!(person.is_resumer(2) && !person.is_resumer(1) && person.state_of(3) == 1);
        person.asked(1, 1, &[question("a", "o1")]);
        let answers = person.next(1).unwrap();
        assert!(person.resume_others(&answers));
        assert_eq!(person.resumption().await, Some(answers));
        assert_eq!(person.next(1), None, "it comes to all of them once");
        let other = Person::new(&case, &case.terms, &log);
        other.caller_ended(1);
        assert_eq!(other.resumption().await, None);
    }
}
