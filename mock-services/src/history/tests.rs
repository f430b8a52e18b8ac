use std::time::Duration;

use stateright::semantics::register::{Register, RegisterOp, RegisterRet};
use stateright::semantics::{ConsistencyTester as _, LinearizabilityTester, SequentialSpec};

use super::search::{Explanation, OpenCalls, explain};
use super::*;
use crate::service::mix;

/// Registers and counters by name, all 0 at first.
struct Cells;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cell {
    Write(&'static str, i64),
    Read(&'static str),
    /// Adds one and returns the sum.
    Add(&'static str),
    /// All values, by name.
    List,
}

type Values = std::collections::BTreeMap<&'static str, i64>;

impl HistoryModel for Cells {
    type Input = Cell;
    type Seen = Vec<i64>;
    type State = Values;
    type Digest = Values;

    fn start(&self) -> Values {
        Values::new()
    }

    fn step(&self, state: &Values, input: &Cell, seen: Option<&Vec<i64>>) -> Option<Values> {
        let mut state = state.clone();
        let value = |name: &str| state.get(name).copied().unwrap_or_default();
        let answer = match input {
            Cell::Write(name, value) => {
                state.insert(name, *value);
                Vec::new()
            }
            Cell::Read(name) => vec![value(name)],
            Cell::Add(name) => {
                let sum = value(name) + 1;
                state.insert(name, sum);
                vec![sum]
            }
            Cell::List => state.values().copied().collect(),
        };
        seen.is_none_or(|seen| *seen == answer).then_some(state)
    }

    fn digest(&self, state: &Values) -> Values {
        state.clone()
    }

    fn touched(&self, input: &Cell) -> Touched {
        match input {
            Cell::Write(name, _) | Cell::Read(name) | Cell::Add(name) => {
                Touched::Objects(vec![(*name).to_owned()])
            }
            Cell::List => Touched::Everything,
        }
    }

    fn can_change(&self, input: &Cell) -> bool {
        matches!(input, Cell::Write(..) | Cell::Add(_))
    }

    fn words(&self, input: &Cell, seen: Option<&Vec<i64>>) -> String {
        let seen = seen.map_or_else(|| "any answer, or none".to_owned(), |seen| format!("{seen:?}"));
        format!("{input:?} → {seen}")
    }
}

/// A call: who, when it began, when it returned with what, and what it was.
type Row = (u32, u64, Option<(u64, &'static [i64])>, Cell);

fn conclusion(rows: &[Row]) -> HistoryConclusion {
    let seen: Vec<Option<(u64, Vec<i64>)>> =
        rows.iter().map(|(_, _, answer, _)| answer.map(|(at, seen)| (at, seen.to_vec()))).collect();
    let calls: Vec<HistoryCall<'_, Cells>> = rows
        .iter()
        .zip(&seen)
        .map(|((caller, called, _, input), seen)| HistoryCall {
            caller: *caller,
            called: *called,
            input,
            answer: seen.as_ref().map(|(at, seen)| (*at, seen)),
        })
        .collect();
    check(&Cells, &calls, in_a_minute())
}

fn in_a_minute() -> Instant {
    Instant::now() + Duration::from_secs(60)
}

#[track_caller]
fn drawing(rows: &[Row]) -> String {
    match conclusion(rows) {
        HistoryConclusion::Unexplained { drawing } => drawing,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn is_explained(rows: &[Row]) {
    assert_eq!(conclusion(rows), HistoryConclusion::Explained);
}

#[test]
fn calls_at_the_same_time_take_effect_in_either_order() {
    for first in [1, 2] {
        let first: &[i64] = if first == 1 { &[1] } else { &[2] };
        is_explained(&[
            (1, 1, Some((5, &[])), Cell::Write("x", 1)),
            (2, 2, Some((6, &[])), Cell::Write("x", 2)),
            (1, 7, Some((8, first)), Cell::Read("x")),
        ]);
    }
}

#[test]
fn a_read_during_a_write_sees_the_value_before_or_after_it_but_does_not_go_back() {
    let rows = |earlier: &'static [i64], later: &'static [i64]| -> [Row; 3] {
        [
            (1, 1, Some((9, &[])), Cell::Write("x", 1)),
            (2, 2, Some((3, earlier)), Cell::Read("x")),
            (2, 4, Some((5, later)), Cell::Read("x")),
        ]
    };
    is_explained(&rows(&[0], &[0]));
    is_explained(&rows(&[0], &[1]));
    is_explained(&rows(&[1], &[1]));
    insta::assert_snapshot!(drawing(&rows(&[1], &[0])));
}

#[test]
fn a_stale_read_is_not_explained() {
    insta::assert_snapshot!(drawing(&[
        (1, 1, Some((2, &[])), Cell::Write("x", 1)),
        (1, 3, Some((4, &[])), Cell::Write("x", 2)),
        (2, 5, Some((6, &[1])), Cell::Read("x")),
    ]));
}

#[test]
fn a_lost_update_is_not_explained_and_unrelated_calls_are_not_drawn() {
    insta::assert_snapshot!(drawing(&[
        (4, 1, Some((2, &[])), Cell::Write("y", 7)),
        (3, 1, Some((2, &[1])), Cell::Add("x")),
        (3, 3, Some((4, &[1])), Cell::Read("x")),
        (1, 5, Some((8, &[2])), Cell::Add("x")),
        (2, 6, Some((7, &[2])), Cell::Add("x")),
        (4, 9, Some((10, &[7])), Cell::Read("y")),
        (3, 11, Some((12, &[2])), Cell::Read("x")),
    ]));
}

#[test]
fn an_open_call_takes_effect_where_that_is_needed_and_nowhere_else() {
    let rows = |seen: &'static [i64]| -> [Row; 3] {
        [
            (1, 1, None, Cell::Add("x")),
            (2, 5, Some((6, &[0])), Cell::Read("x")),
            (2, 7, Some((8, seen)), Cell::Read("x")),
        ]
    };
    is_explained(&rows(&[0]));
    is_explained(&rows(&[1]));
    insta::assert_snapshot!(drawing(&rows(&[2])));
}

#[test]
fn an_open_call_does_not_take_effect_before_it_is_called() {
    let rows = |called: u64| -> [Row; 2] {
        [(1, called, None, Cell::Write("x", 1)), (2, 3, Some((4, &[1])), Cell::Read("x"))]
    };
    is_explained(&rows(2));
    insta::assert_snapshot!(drawing(&rows(5)));
}

#[test]
fn an_open_call_does_not_take_effect_twice() {
    drawing(&[
        (1, 1, None, Cell::Write("x", 1)),
        (2, 2, Some((3, &[1])), Cell::Read("x")),
        (2, 4, Some((5, &[])), Cell::Write("x", 2)),
        (3, 6, Some((7, &[1])), Cell::Read("x")),
    ]);
}

#[test]
fn a_call_about_all_objects_is_checked_together_with_them() {
    let rows = |seen: &'static [i64]| -> [Row; 3] {
        [
            (1, 1, Some((2, &[])), Cell::Write("x", 1)),
            (2, 3, Some((4, &[])), Cell::Write("y", 2)),
            (3, 3, Some((5, seen)), Cell::List),
        ]
    };
    is_explained(&rows(&[1]));
    is_explained(&rows(&[1, 2]));
    drawing(&rows(&[2]));
}

#[test]
fn objects_are_checked_one_by_one() {
    let calls: Vec<Cell> = vec![Cell::Add("x"), Cell::Add("y"), Cell::Read("x"), Cell::Write("z", 1)];
    let history: Vec<HistoryCall<'_, Cells>> =
        calls.iter().map(|input| HistoryCall { caller: 1, called: 1, input, answer: None }).collect();
    let parts = split::split(&Cells, &history);
    let inputs: Vec<Vec<Cell>> =
        parts.iter().map(|part| part.iter().map(|call| *call.input).collect()).collect();
    assert_eq!(inputs, [vec![calls[0], calls[2]], vec![calls[1]], vec![calls[3]]]);
}

#[test]
fn a_search_without_time_says_that_it_does_not_know() {
    let read = Cell::Read("x");
    let calls: [HistoryCall<'_, Cells>; 1] =
        [HistoryCall { caller: 1, called: 1, input: &read, answer: Some((2, &vec![0])) }];
    let conclusion = check(&Cells, &calls, Instant::now());
    assert_eq!(conclusion, HistoryConclusion::Unknown { why: "the time for the search was over".to_owned() });
}

/// Random numbers, the same for the same seed.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(1);
        mix(self.0) % limit
    }
}

/// One event of a random history: a call, or the return of the last call of that caller.
#[derive(Debug, Clone, Copy)]
enum Step {
    Call(u32, Cell),
    Return(u32, Option<i64>),
}

/// A history of callers that really share one cell, in which now and then one sees something else. Some last
/// calls do not return.
fn random_steps(numbers: &mut Numbers, counts: bool) -> Vec<Step> {
    let (callers, calls) = (2 + numbers.below(3), 3 + numbers.below(6));
    let (mut value, mut steps) = (0, Vec::new());
    // Of each caller: its call, and what it will see once it took effect.
    let mut pending: Vec<Option<(Cell, Option<Option<i64>>)>> = vec![None; callers as usize];
    let mut left = calls;
    for _ in 0..60 {
        let caller = numbers.below(callers) as usize;
        match pending[caller] {
            None if left > 0 => {
                left -= 1;
                let call = match numbers.below(2) {
                    0 => Cell::Read("x"),
                    _ if counts => Cell::Add("x"),
                    _ => Cell::Write("x", numbers.below(3) as i64),
                };
                pending[caller] = Some((call, None));
                steps.push(Step::Call(caller as u32, call));
            }
            None => {}
            Some((call, None)) => {
                let seen = match call {
                    Cell::Write(_, new) => {
                        value = new;
                        None
                    }
                    Cell::Add(_) => {
                        value += 1;
                        Some(value)
                    }
                    Cell::Read(_) | Cell::List => Some(value),
                };
                let is_lie = numbers.below(4) == 0;
                let seen = seen.map(|seen| if is_lie { numbers.below(3) as i64 } else { seen });
                pending[caller] = Some((call, Some(seen)));
            }
            Some((_, Some(seen))) => {
                pending[caller] = None;
                steps.push(Step::Return(caller as u32, seen));
            }
        }
    }
    steps
}

fn own_verdict(steps: &[Step]) -> bool {
    /// Who, when it began, what it was, and when it returned with what.
    type OwnRow = (u32, u64, Cell, Option<(u64, Vec<i64>)>);
    let mut rows: Vec<OwnRow> = Vec::new();
    for (at, step) in (1..).zip(steps) {
        match step {
            Step::Call(caller, call) => rows.push((*caller, at, *call, None)),
            Step::Return(caller, seen) => {
                let row = rows.iter_mut().rfind(|row| row.0 == *caller).unwrap();
                row.3 = Some((at, seen.iter().copied().collect()));
            }
        }
    }
    let calls: Vec<HistoryCall<'_, Cells>> = rows
        .iter()
        .map(|(caller, called, input, answer)| HistoryCall {
            caller: *caller,
            called: *called,
            input,
            answer: answer.as_ref().map(|(at, seen)| (*at, seen)),
        })
        .collect();
    let found = explain(&Cells, &calls, OpenCalls::Last, in_a_minute());
    assert_ne!(found, Explanation::OutOfTime);
    let conclusion = check(&Cells, &calls, in_a_minute());
    assert_eq!(conclusion == HistoryConclusion::Explained, found != Explanation::Impossible);
    conclusion == HistoryConclusion::Explained
}

/// A counter for stateright.
#[derive(Debug, Clone, Default)]
struct Counter(i64);

impl SequentialSpec for Counter {
    /// Whether to add one.
    type Op = bool;
    type Ret = i64;

    fn invoke(&mut self, adds: &bool) -> i64 {
        self.0 += i64::from(*adds);
        self.0
    }
}

fn verdict_of_stateright(steps: &[Step], counts: bool) -> bool {
    if counts {
        let mut tester = LinearizabilityTester::new(Counter::default());
        for step in steps {
            match *step {
                Step::Call(caller, call) => tester.on_invoke(caller, matches!(call, Cell::Add(_))).map(drop),
                Step::Return(caller, seen) => tester.on_return(caller, seen.unwrap_or_default()).map(drop),
            }
            .unwrap();
        }
        return tester.is_consistent();
    }
    let mut tester = LinearizabilityTester::new(Register(0));
    for step in steps {
        match *step {
            Step::Call(caller, Cell::Write(_, value)) => {
                tester.on_invoke(caller, RegisterOp::Write(value)).map(drop)
            }
            Step::Call(caller, _) => tester.on_invoke(caller, RegisterOp::Read).map(drop),
            Step::Return(caller, Some(value)) => {
                tester.on_return(caller, RegisterRet::ReadOk(value)).map(drop)
            }
            Step::Return(caller, None) => tester.on_return(caller, RegisterRet::WriteOk).map(drop),
        }
        .unwrap();
    }
    tester.is_consistent()
}

#[test]
fn a_thousand_random_histories_have_the_verdict_of_stateright() {
    let mut explained = 0;
    for seed in 0..1_000 {
        let counts = seed % 2 == 0;
        let steps = random_steps(&mut Numbers(seed << 32), counts);
        let verdict = own_verdict(&steps);
        assert_eq!(verdict, verdict_of_stateright(&steps, counts), "seed {seed}: {steps:?}");
        explained += u32::from(verdict);
    }
    assert!((300..=700).contains(&explained), "{explained} of 1000 can be explained");
}

#[test]
fn a_part_is_not_made_smaller_when_the_time_is_over() {
    let (write, read) = (Cell::Write("x", 1), Cell::Read("x"));
    let (one, two) = (vec![7], vec![0]);
    let call = |caller, called, input, answer| HistoryCall::<'_, Cells> { caller, called, input, answer };
    let calls = vec![
        call(1, 1, &write, None),
        call(2, 2, &read, Some((3, &two))),
        call(2, 4, &read, Some((5, &one))),
    ];
    let callers = |calls: &[HistoryCall<'_, Cells>]| calls.iter().map(|call| call.caller).collect::<Vec<_>>();
    assert_eq!(callers(&super::shrink::smallest(&Cells, calls.clone(), in_a_minute())), [2]);
    assert_eq!(callers(&super::shrink::smallest(&Cells, calls, Instant::now())), [1, 2, 2]);
}
