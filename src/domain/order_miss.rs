//! Why the requests of several callers could not be let in in the order of the scenario.

use serde::{Deserialize, Serialize};

/// Why the callers could not be let in in the order of the scenario.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "why", rename_all = "kebab-case", deny_unknown_fields)]
pub enum OrderMiss {
    /// A client gave up while its request was held, so the request has no effect.
    GaveUp {
        /// Its caller.
        caller: u32,
    },
    /// A caller had ended when it was its turn.
    Ended {
        /// The caller.
        caller: u32,
        /// The number of the request, from 1.
        request: u32,
    },
    /// A caller waited for something else when it was its turn.
    Waited {
        /// The caller.
        caller: u32,
        /// The number of the request, from 1.
        request: u32,
    },
    /// A request was held for too long, because others neither sent a request nor ended.
    HeldForAbsent {
        /// The caller of the request.
        caller: u32,
        /// The others.
        #[serde(with = "super::subject_notes::numbers_as_texts")]
        absent: Vec<u32>,
        /// How long it was held.
        held_ms: u64,
    },
    /// A request was held for too long, because it was the turn of others.
    HeldForOthers {
        /// The caller of the request.
        caller: u32,
        /// How long it was held.
        held_ms: u64,
    },
    /// All callers had ended before the order was used up.
    RequestsMissing {
        /// How many requests were let in.
        made: u32,
        /// How many entries the order has.
        planned: u32,
    },
}

impl OrderMiss {
    /// Why, as a clause.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            OrderMiss::GaveUp { caller } => {
                format!("the client of caller {caller} gave up while its request was held")
            }
            OrderMiss::Ended { caller, request } => {
                format!("caller {caller} had ended when it was its turn, at request {request}")
            }
            OrderMiss::Waited { caller, request } => {
                format!(
                    "caller {caller} waited for something else when it was its turn, at request {request}"
                )
            }
            OrderMiss::HeldForAbsent { caller, absent, held_ms } => {
                let (callers, neither) = match absent.as_slice() {
                    [one] => (format!("caller {one}"), "neither sent a request nor ended"),
                    several => {
                        let numbers: Vec<String> = several.iter().map(u32::to_string).collect();
                        (format!("callers {}", numbers.join(", ")), "did not all send a request or end")
                    }
                };
                let time = seconds(*held_ms);
                format!("the request of caller {caller} was held for {time} while {callers} {neither}")
            }
            OrderMiss::HeldForOthers { caller, held_ms } => {
                let time = seconds(*held_ms);
                format!("the request of caller {caller} was held for {time} while others were let in")
            }
            OrderMiss::RequestsMissing { made, planned } => {
                let requests = if *made == 1 { "1 request".to_owned() } else { format!("{made} requests") };
                format!("the callers made only {requests}, and the order has {planned}")
            }
        }
    }
}

fn seconds(milliseconds: u64) -> String {
    format!("{}.{:03} s", milliseconds / 1_000, milliseconds % 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_miss_in_words_names_who_was_held_and_who_was_missing() {
        let all = [
            OrderMiss::GaveUp { caller: 2 },
            OrderMiss::Ended { caller: 1, request: 3 },
            OrderMiss::Waited { caller: 1, request: 3 },
            OrderMiss::HeldForAbsent { caller: 2, absent: vec![1], held_ms: 1_500 },
            OrderMiss::HeldForAbsent { caller: 2, absent: vec![1, 3], held_ms: 120 },
            OrderMiss::HeldForOthers { caller: 2, held_ms: 15_020 },
            OrderMiss::RequestsMissing { made: 1, planned: 4 },
        ];
        insta::assert_snapshot!(all.map(|miss| miss.words()).join("\n"), @r"
        the client of caller 2 gave up while its request was held
        caller 1 had ended when it was its turn, at request 3
        caller 1 waited for something else when it was its turn, at request 3
        the request of caller 2 was held for 1.500 s while caller 1 neither sent a request nor ended
        the request of caller 2 was held for 0.120 s while callers 1, 3 did not all send a request or end
        the request of caller 2 was held for 15.020 s while others were let in
        the callers made only 1 request, and the order has 4
        ");
    }
}
