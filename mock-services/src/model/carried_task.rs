//! How much of the scenario's task a conversation carries. A fault on a generation waits for one that carries
//! it, so that no agent can use the fault up with a question about something else.

use super::arguments::telling_values;
use super::conversation::{Question, Turn};
use super::side_job::SideJob;
use crate::description::PlannedTask;
use crate::service::TaskShare;

/// The share of these tasks that the conversation carries: nothing unless it holds the values of a step that
/// the text of its task names (an order, a customer, a recipient), and only a part if it offers no tools or is about the
/// conversation itself.
pub(super) fn task_share(tasks: &[PlannedTask], question: &Question) -> TaskShare {
    let cannot_act = question.tools.is_empty() || SideJob::of(question, tasks).is_some();
    match (holds_a_task(tasks, question), cannot_act) {
        (false, _) => TaskShare::None,
        (true, true) => TaskShare::Part,
        (true, false) => TaskShare::Full,
    }
}

fn holds_a_task(tasks: &[PlannedTask], question: &Question) -> bool {
    let conversation = question.turns.iter().map(text_of).collect::<Vec<_>>().join("\n").to_lowercase();
    let mut steps = tasks.iter().flat_map(named_values).peekable();
    steps.peek().is_none() || steps.any(|values| values.iter().all(|value| conversation.contains(value)))
}

/// For each step of a task, the values that the text of the task names; steps without such values are left
/// out.
fn named_values(task: &PlannedTask) -> Vec<Vec<String>> {
    let text = task.text.to_lowercase();
    let is_named = |value: &String| !value.contains(char::is_whitespace) && text.contains(value.as_str());
    let of_step = task.steps.iter().map(|step| {
        let values = telling_values(&step.fields).into_iter().map(|value| value.to_lowercase());
        values.filter(is_named).collect::<Vec<_>>()
    });
    of_step.filter(|values| !values.is_empty()).collect()
}

fn text_of(turn: &Turn) -> String {
    match turn {
        Turn::System(text) | Turn::User(text) => text.clone(),
        Turn::Assistant(generation) => {
            let arguments = generation.calls.iter().map(|call| call.arguments.to_string());
            [generation.text.clone()].into_iter().chain(arguments).collect::<Vec<_>>().join("\n")
        }
        Turn::ToolResult(result) => result.text.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::description::PlannedStep;
    use crate::model::api;
    use crate::model::conversation::ModelApi;
    use crate::service::{Fields, Request};

    fn share(task: &str, system: &str, says: &str, tools: bool) -> TaskShare {
        let fields = Fields::new().with("customer", "cus_42").with("amount", 4999).with("order", "ord_1001");
        let step = PlannedStep { operation: "payment.charge".to_owned(), fields, nouns: Vec::new() };
        let tasks = [PlannedTask { text: task.to_owned(), steps: vec![step], ..PlannedTask::default() }];
        let tool = json!({"type": "function", "function": {"name": "charge", "parameters": {}}});
        let body = json!({
            "model": "gpt-5-mini",
            "messages": [{"role": "system", "content": system}, {"role": "user", "content": says}],
            "tools": if tools { vec![tool] } else { Vec::new() },
        });
        let request = Request::new("POST", "/v1/chat/completions").body(body.to_string());
        task_share(&tasks, &api::read(ModelApi::Chat, &request).unwrap())
    }

    #[test]
    fn a_conversation_carries_the_task_if_it_holds_the_values_that_the_task_names() {
        let task = "Charge customer cus_42 $49.99 for order ord_1001.";
        assert_eq!(share(task, "You are a cashier.", task, true), TaskShare::Full);
        assert_eq!(share(task, "Order ORD_1001 of cus_42 is due.", "Go on.", true), TaskShare::Full);
        assert_eq!(share(task, "You are a cashier.", task, false), TaskShare::Part);
        assert_eq!(share(task, "You are a cashier.", "Hello.", true), TaskShare::None);
        assert_eq!(share(task, "You are a cashier.", "What is ord_1001?", true), TaskShare::None);
        assert_eq!(share(task, "", "Hello.", false), TaskShare::None);
    }

    #[test]
    fn a_task_that_names_no_value_is_carried_by_every_conversation() {
        assert_eq!(share("Charge the customer.", "", "Hello.", true), TaskShare::Full);
        let question = Request::new("POST", "/v1/chat/completions").body(
            json!({"model": "gpt-5-mini", "messages": [{"role": "user", "content": "Hello."}]}).to_string(),
        );
        let question = api::read(ModelApi::Chat, &question).unwrap();
        assert_eq!(task_share(&[], &question), TaskShare::Part);
    }
}
