//! What was true when a caller made its claim, and what the caller could know. A claim is about the task of
//! its start. It is compared with the entries before it: the commits, the replies to the caller, and the
//! results of its reads.

use mock_services::catalog::{self, StoredValue};
use mock_services::ledger::CommitTiming;

use super::answers::{reported_success, was_stale};
use super::assignment::{Assignment, IntentEffects, assignment};
use super::end_state::not_live;
use super::history::Effect;
use super::history::{Attempt, TrialHistory, service_of};
use super::records::mismatches;
use super::recovery::{AmbiguousWrite, FollowUp, ambiguous_writes, follow_ups};
use super::showing_reads::could_show;
use crate::fit::Rule;
use crate::scenario::{Intent, Terms};

/// The maximum number of ambiguous writes of a caller that are checked, the last ones first.
const MAX_AMBIGUOUS_WRITES: usize = 64;

/// The moment of a claim.
#[derive(Debug, Clone, Copy)]
pub(super) struct ClaimMoment<'s, 'a> {
    pub(super) terms: &'s Terms,
    pub(super) history: &'s TrialHistory<'a>,
    pub(super) caller: u32,
    /// The turn of the caller, from 0.
    pub(super) turn: u32,
    /// The entry of its start.
    pub(super) since: u64,
    /// The entry of the claim.
    pub(super) at: u64,
}

/// Whether an intent happened at least this often and as expected.
pub(super) fn is_met(
    terms: &Terms,
    intent: &Intent,
    taken: &IntentEffects,
    effects: &[Effect<'_>],
    times: u32,
) -> bool {
    let rule = Rule::new(terms);
    let here = taken.counted.iter().chain(&taken.surplus);
    let as_asked =
        here.filter(|index| rule.contradictions(intent, effects[**index].fields).next().is_none()).count();
    as_asked >= usize::try_from(times).unwrap_or(usize::MAX)
}

/// Whether a change of a record is not seen any more after a later one, which can be told from it.
fn is_hidden(earlier: &Effect<'_>, later: &Effect<'_>) -> bool {
    match catalog::store_change(later.name).map(|change| change.value) {
        Some(StoredValue::Set { to, .. }) => earlier.fields.get(to) != later.fields.get(to),
        Some(StoredValue::Added { .. } | StoredValue::Removed) | None => false,
    }
}

impl<'s, 'a> ClaimMoment<'s, 'a> {
    /// Whether everything that the task of this start requires had happened. A write that the service
    /// accepted with a success status and committed later counts as happened.
    pub(super) fn is_done(&self) -> bool {
        let (terms, effects) =
            (self.terms, self.effects(|effect| effect.n < self.at || self.was_accepted(effect)));
        let assignment = assignment(terms, &effects);
        let met = |index: usize| {
            let (intent, taken) = (&terms.intents[index], &assignment.intents[index]);
            is_met(terms, intent, taken, &effects, self.due_by_now(intent))
        };
        let mut all = 0..terms.intents.len();
        match self.task() {
            None => {
                all.all(met)
                    && (terms.turns > 0
                        || (mismatches(terms, &effects).is_empty() && not_live(terms, &effects).is_empty()))
            }
            // Without steps, the intents of the turn are not known.
            Some([]) => {
                all.clone().all(|index| terms.intents[index].times == 0)
                    || all.any(|index| terms.intents[index].times > 0 && met(index))
            }
            Some(indexes) => {
                indexes.iter().filter(|index| **index < terms.intents.len()).all(|index| met(*index))
            }
        }
    }

    /// Whether each effect of the task of this start had happened at least once: where several callers share a task,
    /// each may speak for its own part of it.
    pub(super) fn has_begun(&self) -> bool {
        let (terms, effects) =
            (self.terms, self.effects(|effect| effect.n < self.at || self.was_accepted(effect)));
        let assignment = assignment(terms, &effects);
        let is_due = |index: &usize| terms.intents.get(*index).is_some_and(|intent| intent.done_at() > 0);
        let has_begun = |index: usize| {
            let (intent, taken) = (&terms.intents[index], &assignment.intents[index]);
            is_met(terms, intent, taken, &effects, 1)
        };
        match self.task() {
            None => (0..terms.intents.len()).filter(is_due).all(has_begun),
            // Without steps, the intents of the turn are not known.
            Some([]) => true,
            Some(indexes) => indexes.iter().copied().filter(is_due).all(has_begun),
        }
    }

    /// Whether nothing had happened that the caller could know of.
    pub(super) fn has_no_known_effect(&self) -> bool {
        let is_there = |effect: &Effect<'_>| effect.reverted.is_none_or(|reverted| reverted.n > self.at);
        let effects = self.effects(|effect| effect.n < self.at && is_there(effect));
        let assignment = assignment(self.terms, &effects);
        !self
            .remaining_effects(&assignment, &effects)
            .into_iter()
            .any(|index| self.could_know(&effects[index]))
    }

    /// Whether other callers caused all effects, and this caller could not know of them when it made its
    /// claim.
    pub(super) fn has_only_unknown_effects_of_others(&self, assignment: &Assignment) -> bool {
        let effects = &self.history.effects;
        !self.remaining_effects(assignment, effects).into_iter().any(|index| self.could_know(&effects[index]))
    }

    /// Whether what the task of this start requires had been done when a fault reverted it, after this start had begun.
    pub(super) fn is_done_but_reverted(&self) -> bool {
        let is_after = |effect: &Effect<'_>| effect.reverted.is_some_and(|reverted| reverted.n > self.since);
        self.history.effects.iter().any(is_after) && self.is_done()
    }

    /// Whether all that had been done for the task of this start was reverted by then.
    pub(super) fn has_lost_everything(&self, assignment: &Assignment) -> bool {
        let effects = &self.history.effects;
        let mut made = self.remaining_effects(assignment, effects);
        made.extend(assignment.intents.iter().flat_map(|taken| &taken.reverted));
        let is_gone = |index: &usize| effects[*index].reverted.is_some_and(|reverted| reverted.n < self.at);
        !made.is_empty() && made.iter().all(is_gone)
    }

    /// Whether there was a write whose result the caller could not know, even with all its reads.
    pub(super) fn is_ambiguous(&self) -> bool {
        let mut own: Vec<_> = ambiguous_writes(self.history)
            .into_iter()
            .filter(|ambiguous| self.is_own(ambiguous.attempt))
            .collect();
        own.retain(|ambiguous| ambiguous.ambiguity.n < self.at);
        own.reverse();
        own.into_iter().take(MAX_AMBIGUOUS_WRITES).any(|ambiguous| {
            let next = follow_ups(self.terms, self.history, ambiguous);
            !next.iter().any(|next| self.reveals_result(ambiguous, next))
        })
    }

    /// Whether a write had been accepted with a success status, and no part of it was committed yet.
    pub(super) fn has_accepted_write_without_commit(&self) -> bool {
        let asked_for = |attempt: &Attempt<'_>| {
            self.terms.intents.iter().any(|intent| intent.effect == attempt.operation())
        };
        let is_there = |attempt: &Attempt<'_>| {
            attempt.effects.iter().any(|index| self.history.effects[*index].n < self.at)
        };
        self.history.attempts.iter().any(|attempt| {
            attempt.write
                && !attempt.received.replay
                && asked_for(attempt)
                && self.got_success(attempt)
                && !is_there(attempt)
        })
    }

    /// Whether a write had been accepted with a success status and was committed only after the claim.
    pub(super) fn precedes_accepted_commit(&self) -> bool {
        let asked_for = |attempt: &Attempt<'_>| {
            self.terms.intents.iter().any(|intent| intent.effect == attempt.operation())
        };
        let comes_later = |index: &usize| {
            let effect = &self.history.effects[*index];
            effect.n > self.at && effect.timing == Some(CommitTiming::Later)
        };
        self.history.attempts.iter().any(|attempt| {
            let made = &attempt.effects;
            attempt.write
                && asked_for(attempt)
                && self.got_success(attempt)
                && !made.is_empty()
                && made.iter().all(comes_later)
        })
    }

    /// Whether nothing showed the caller that the task is done: no successful write of its own for the task,
    /// and no read that shows an effect of the task. Other writes, such as a lock, show nothing about the
    /// task.
    pub(super) fn has_no_evidence_of_success(&self) -> bool {
        let (terms, history) = (self.terms, self.history);
        let is_about = |name: &str| {
            terms.intents.iter().any(|intent| intent.effect == name)
                || (terms.expects_state()
                    && catalog::find(service_of(name))
                        .is_some_and(|service| service.is_store() || service.has_live()))
                || (terms.intents.is_empty() && !terms.expects_state())
        };
        !history
            .attempts
            .iter()
            .any(|attempt| attempt.write && is_about(attempt.operation()) && self.got_success(attempt))
            && !history
                .effects
                .iter()
                .any(|effect| effect.n < self.at && is_about(effect.name) && self.could_know(effect))
    }

    /// A start need not find out what a fault reverts after it has begun.
    fn effects(&self, is_one: impl Fn(&Effect<'a>) -> bool) -> Vec<Effect<'a>> {
        let known = |effect: &Effect<'a>| Effect {
            reverted: effect.reverted.filter(|reverted| reverted.n < self.since),
            ..*effect
        };
        self.history.effects.iter().filter(|effect| is_one(effect)).map(known).collect()
    }

    /// How often an intent is due by the end of this turn: turns that repeat a task can share it.
    fn due_by_now(&self, intent: &Intent) -> u32 {
        if self.terms.turns == 0 {
            intent.done_at()
        } else {
            intent.done_at().min(self.turn.saturating_add(1))
        }
    }

    /// The intents of the task of this start; `None` for all, an empty list if they are not known.
    fn task(&self) -> Option<&'s [usize]> {
        let is_own = |caller: Option<u32>| caller.is_none_or(|caller| caller == self.caller);
        let found = self.terms.tasks.iter().find(|task| task.turn == self.turn && is_own(task.caller));
        found.map(|task| task.intents.as_slice())
    }

    /// The indexes of the effects that were not undone and belong to the task of this start.
    fn remaining_effects(&self, assignment: &Assignment, effects: &[Effect<'_>]) -> Vec<usize> {
        let mut indexes: Vec<usize> =
            assignment.unintended.iter().chain(&assignment.by_record).copied().collect();
        let of =
            |taken: &IntentEffects| taken.counted.iter().chain(&taken.surplus).copied().collect::<Vec<_>>();
        match self.task() {
            None => indexes.extend(assignment.intents.iter().flat_map(of)),
            // Effects before this start belong to earlier turns.
            Some([]) => indexes = (0..effects.len()).filter(|index| effects[*index].n > self.since).collect(),
            Some(intents) => {
                indexes.extend(intents.iter().filter_map(|index| assignment.intents.get(*index)).flat_map(of))
            }
        }
        indexes
    }

    fn is_own(&self, attempt: &Attempt<'_>) -> bool {
        attempt.caller() == self.caller
    }

    /// Whether a request of this caller had been answered with success by then.
    fn got_success(&self, attempt: &Attempt<'_>) -> bool {
        self.is_own(attempt)
            && reported_success(attempt)
            && attempt.answer.is_some_and(|answer| answer.n < self.at)
    }

    fn was_accepted(&self, effect: &Effect<'_>) -> bool {
        self.history.attempt(effect.attempt).is_some_and(|attempt| {
            attempt.write
                && reported_success(attempt)
                && attempt.answer.is_some_and(|answer| answer.n < self.at)
        })
    }

    /// Whether the caller could know of an effect: it caused the effect, it made a fresh read afterwards, or
    /// the service answered its own request with the earlier effect.
    fn could_know(&self, effect: &Effect<'_>) -> bool {
        let Some(cause) = self.history.attempt(effect.attempt) else { return true };
        self.is_own(cause)
            || self.history.attempts.iter().any(|own| {
                let shows = if own.write {
                    own.received.replay
                } else {
                    !was_stale(own) && could_show(self.history, own, cause)
                };
                own.n > effect.n && shows && self.got_success(own)
            })
    }

    /// Whether another caller, too, changed what this write changed, after this caller first started and before this
    /// entry: a read of it does not show whose changes it has. A value that is written as a whole hides those before it,
    /// unless they are equal.
    fn another_changed(&self, write: &Attempt<'_>, before: u64) -> bool {
        let effects = &self.history.effects;
        // The write can be one of an earlier start.
        let own_starts = self.history.starts().filter(|start| start.caller == Some(self.caller));
        let since = own_starts.map(|start| start.n).min().unwrap_or(self.since);
        write.effects.iter().map(|index| &effects[*index]).any(|own| {
            effects.iter().any(|other| {
                other.id == own.id
                    && service_of(other.name) == service_of(own.name)
                    && (since..before).contains(&other.n)
                    && !(other.n < own.n && is_hidden(other, own))
                    && self.history.attempt(other.attempt).is_some_and(|cause| !self.is_own(cause))
            })
        })
    }

    /// Whether the caller learned the result of an ambiguous write before its claim: by a fresh read that
    /// showed all of it, or by a success reply for the same key. A read that shows nothing leaves open whether
    /// the write is still in flight.
    fn reveals_result(&self, ambiguous: AmbiguousWrite<'_, '_>, next: &FollowUp<'_, '_>) -> bool {
        match next {
            FollowUp::Read(read) => {
                let seen_at = read.answer.map_or(read.n, |answer| answer.n);
                let is_later = |effect: &Effect<'_>| {
                    effect.n > seen_at && effect.timing != Some(CommitTiming::LeftBehind)
                };
                let mut committed =
                    ambiguous.attempt.effects.iter().map(|index| &self.history.effects[*index]).peekable();
                let showed_all = committed.peek().is_some() && !committed.any(is_later);
                seen_at < self.at
                    && !was_stale(read)
                    && showed_all
                    && !self.another_changed(ambiguous.attempt, seen_at)
            }
            FollowUp::RetriedWrite(again) => {
                again.key.is_some()
                    && again.key == ambiguous.attempt.received.key.as_deref()
                    && again.attempt.is_some_and(|attempt| {
                        self.got_success(attempt) && super::answers::ambiguity(attempt).is_none()
                    })
            }
        }
    }
}

#[cfg(test)]
#[path = "caller_knowledge_tests.rs"]
mod tests;
