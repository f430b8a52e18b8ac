//! Which intents belong to a task, if callers or turns have different tasks: a claim is only about its own
//! task.

use mock_services::catalog;

use crate::scenario::{Intent, Step, TaskTerm, Work};

/// The tasks that are not about all intents. `each` has the first tasks of the callers, where they differ.
pub(super) fn tasks(work: &Work, each: &[Work], turns: &[Work], intents: &[Intent]) -> Vec<TaskTerm> {
    let differ = !each.is_empty() || turns.iter().any(|turn| turn.steps != work.steps);
    if !differ {
        return Vec::new();
    }
    let term = |caller: Option<u32>, turn: u32, work: &Work| {
        let about: Vec<usize> =
            (0..intents.len()).filter(|index| is_about(&work.steps, &intents[*index])).collect();
        (about.len() < intents.len()).then_some(TaskTerm { caller, turn, intents: about })
    };
    let shared = each.is_empty().then(|| term(None, 0, work)).flatten();
    let own = (1..).zip(each).filter_map(|(caller, work)| term(Some(caller), 0, work));
    let later = (1..).zip(turns).filter_map(|(turn, work)| term(None, turn, work));
    shared.into_iter().chain(own).chain(later).collect()
}

/// Whether one of the steps produces this effect.
fn is_about(steps: &[Step], intent: &Intent) -> bool {
    steps.iter().any(|step| {
        catalog::effect_made_by(&step.operation) == intent.effect
            && intent
                .selector
                .iter()
                .all(|(name, wanted)| step.with.get(name).is_none_or(|actual| actual.meets(wanted)))
    })
}

#[cfg(test)]
mod tests {
    use mock_services::service::Fields;

    use super::*;

    fn charge(order: &str) -> Work {
        let step = Step { operation: "payment.charge".to_owned(), with: Fields::new().with("order", order) };
        Work { task: order.to_owned(), steps: vec![step] }
    }

    fn intent(order: &str) -> Intent {
        Intent {
            effect: "payment.charge".to_owned(),
            selector: Fields::new().with("order", order),
            expected: Fields::new(),
            defaults: Fields::new(),
            times: 1,
            at_least: None,
            approval: false,
            stands: false,
        }
    }

    fn term(caller: Option<u32>, turn: u32, intents: &[usize]) -> TaskTerm {
        TaskTerm { caller, turn, intents: intents.to_vec() }
    }

    #[test]
    fn a_task_is_about_what_its_steps_ask_for() {
        let intents = [intent("o1"), intent("o2")];
        let (one, two, empty) = (charge("o1"), charge("o2"), Work::default());
        assert_eq!(
            tasks(&one, &[], std::slice::from_ref(&two), &intents),
            [term(None, 0, &[0]), term(None, 1, &[1])]
        );
        let each = [one.clone(), two];
        assert_eq!(tasks(&empty, &each, &[], &intents), [term(Some(1), 0, &[0]), term(Some(2), 0, &[1])]);
        assert_eq!(tasks(&one, &[], &[empty], &intents[..1]), [term(None, 1, &[])], "unknown without steps");
    }

    #[test]
    fn the_same_task_again_is_about_everything() {
        let both = Work { steps: [charge("o1").steps, charge("o2").steps].concat(), task: String::new() };
        assert_eq!(tasks(&both, &[], std::slice::from_ref(&both), &[intent("o1"), intent("o2")]), []);
        assert_eq!(tasks(&Work::default(), &[], &[], &[intent("o1")]), []);
    }
}
