//! Compares the card of a tool with what the trials show of it.

use super::asked_cases::AskedTrial;
use super::card::{CardRemark, SeenOfTool, remarks};
use super::judge::{ToolFacts, says_try_again};
use super::known_tools::KnownTool;
use super::questions::McpQuestion;
use super::text::short;
use crate::certify::ProbeOutcome;
use crate::mcp::client::CallOutcome;

impl KnownTool {
    /// The remarks about its card. `verify` is the read that the tools file names.
    pub(super) fn card_remarks(
        &self,
        facts: &ToolFacts,
        asked: &[&AskedTrial],
        reads: &[String],
        verify: Option<String>,
    ) -> Vec<CardRemark> {
        let of = |question: McpQuestion| asked.iter().filter(move |trial| trial.question == question);
        let repeating = if facts.keyed { McpQuestion::OneKeyTwice } else { McpQuestion::SameCallTwice };
        let has_more = |trial: &&&AskedTrial| facts.made(&trial.seen) > facts.effects;
        let repeats = of(repeating).any(|trial| has_more(&trial));
        let after_effect = of(McpQuestion::ReplyLost).chain(of(McpQuestion::ErrorAfterEffect));
        let asked_to_try_again = after_effect
            .filter(|trial| !facts.keyed && facts.made(&trial.seen) > 0)
            .filter_map(|trial| trial.seen.calls.first())
            .find(|call| call.outcome != CallOutcome::Ok && says_try_again(&call.text))
            .map(|call| short(&call.text, 80));
        let is_false = |trial: &&&AskedTrial| {
            trial.outcome == ProbeOutcome::Failed
                && facts.made(&trial.seen) < facts.effects
                && trial.seen.last_is_ok()
        };
        let false_success = asked.iter().any(|trial| is_false(&trial));
        let calls = asked.iter().flat_map(|trial| &trial.seen.calls);
        let error_in_text = calls
            .filter(|call| call.outcome == CallOutcome::ErrorInText)
            .map(|call| short(&call.text, 80))
            .next();
        let name = &self.card.name;
        let verifying_tool =
            verify.or_else(|| reads.iter().find(|read| is_about(read, name, reads)).cloned());
        let seen = SeenOfTool {
            writes: true,
            repeats,
            key_is_ignored: facts.keyed && repeats,
            asked_to_try_again,
            error_in_text,
            false_success,
            verifying_tool,
            has_reads: !reads.is_empty(),
        };
        remarks(&self.card, self.call.key.as_ref(), &seen)
    }
}

/// Whether the names of two tools share a word that is not a verb, and that does not stand in the name of every read.
fn is_about(read: &str, write: &str, reads: &[String]) -> bool {
    const VERBS: [&str; 14] = [
        "get", "list", "read", "search", "find", "fetch", "create", "send", "add", "update", "delete",
        "post", "api", "retrieve",
    ];
    let words = |name: &str| -> Vec<String> {
        let plain = name.to_lowercase();
        let words = plain
            .split(|letter: char| !letter.is_ascii_alphanumeric())
            .map(|word| word.trim_end_matches('s'));
        words.filter(|word| word.len() > 2 && !VERBS.contains(word)).map(str::to_owned).collect()
    };
    let is_common = |word: &String| reads.len() > 1 && reads.iter().all(|read| words(read).contains(word));
    let write = words(write);
    words(read).iter().any(|word| write.contains(word) && !is_common(word))
}
