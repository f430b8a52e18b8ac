use std::sync::Arc;
use std::time::Duration;

use super::model::{RecordedStep, SeenAnswer, ServiceModel};
use crate::clock::Clock;
use crate::delivery::{ClientGone, Origin};
use crate::engine::{Access, Engine, EngineOptions};
use crate::fault::{Plan, SharedPlan};
use crate::history::HistoryConclusion;
use crate::history::HistoryModel as _;
use crate::idempotency::{Idempotency, Profile};
use crate::ledger::Ledger;
use crate::records::{Records, RecordsOptions};
use crate::service::Request;

/// Eight callers of a record store that keeps keys as Stripe does.
struct Callers(Arc<Engine<Records>>);

impl Callers {
    fn new(faults: &[&str]) -> Self {
        Self::with_keys(Profile::Stripe, faults)
    }

    /// The same, with a store that treats keys so.
    fn with_keys(profile: Profile, faults: &[&str]) -> Self {
        let clock = Clock::default();
        let faults = faults.iter().map(|line| line.parse().unwrap()).collect();
        let options = RecordsOptions { counters: vec![("seats".to_owned(), 5)], ..RecordsOptions::default() };
        Callers(Engine::new(
            Records::new(options),
            EngineOptions {
                seed: 1,
                clock,
                callers: 8,
                access: Access::Open,
                idempotency: Some(Idempotency::new(profile)),
                ledger: Ledger::new("trial", 1, clock),
                plan: Arc::new(SharedPlan::new(Plan::new(1, faults))),
                intended: None,
                barrier: None,
                longest_silence: None,
                records_history: true,
                late_senders: None,
            },
        ))
    }

    /// One call; a reply that is not delivered by a fault is not delivered.
    async fn call(&self, caller: u32, request: Request) -> u16 {
        let origin = Origin { caller, connection: u64::from(caller) };
        let delivery = self.0.handle(request, origin, &ClientGone::default()).await;
        if let Some(pending) = &delivery.pending {
            pending.record_reply(
                1,
                delivery.how.reply.is_true() || delivery.how.reply.forced_status().is_some(),
            );
        }
        delivery.answer.status
    }

    async fn conclusion(&self) -> HistoryConclusion {
        self.0.settle().await;
        Arc::clone(&self.0).check_history(Duration::from_secs(60)).await.unwrap().conclusion
    }

    async fn drawing(&self) -> String {
        match self.conclusion().await {
            HistoryConclusion::Unexplained { drawing } => drawing,
            other => panic!("{other:?}"),
        }
    }

    /// Changes what was seen in the call at this place of the recording.
    fn edit(&self, place: usize, change: impl FnOnce(&mut SeenAnswer)) {
        let mut core = self.0.lock();
        change(&mut core.recording().unwrap().calls[place].seen.as_mut().unwrap().1);
    }

    /// Changes what was seen in this call to what its caller would have seen if it had been the first of all calls.
    fn edit_as_first(&self, place: usize) {
        let (job, age) = match &self.0.lock().recording().unwrap().calls[place].step {
            RecordedStep::Request { job, age, .. } => (Arc::clone(job), *age),
            _ => panic!("not a request"),
        };
        let model = ServiceModel { service: self.0.service(), ids: self.0.setting.ids };
        let (answer, _) = model.requested(&model.start(), (&job, age, 0), None);
        self.edit(place, |seen| *seen = answer);
    }

    /// What was seen in the call at this place of the recording.
    fn seen(&self, place: usize) -> SeenAnswer {
        self.0.lock().recording().unwrap().calls[place].seen.clone().unwrap().1
    }
}

/// The drawing without times of day.
fn without_times(drawing: &str) -> String {
    let mut parts = drawing.split(r#""updated_at":""#);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + r#""updated_at":"TIME"# + &part[part.find('"').unwrap()..])
}

fn put(name: &str, value: u64) -> Request {
    let body = format!(r#"{{"value":{value}}}"#);
    Request::new("PUT", &format!("/records/{name}")).header("Content-Type", "application/json").body(body)
}

fn keyed(request: Request, key: &str) -> Request {
    request.header("Idempotency-Key", key)
}

fn get(path: &str) -> Request {
    Request::new("GET", path)
}

fn increment(counter: &str) -> Request {
    Request::new("POST", &format!("/counters/{counter}/increment"))
        .header("Content-Type", "application/json")
        .body(r#"{"by":1}"#)
}

#[tokio::test]
async fn what_the_engine_answers_is_explained() {
    let callers = Callers::new(&[]);
    let mut statuses = Vec::new();
    for round in 0..4 {
        for caller in 1..=8 {
            let request = match (round + caller) % 4 {
                0 => put("a", caller.into()),
                1 => increment("seats"),
                2 => get("/records/a"),
                _ => get("/counters/seats"),
            };
            statuses.push(callers.call(caller, request).await);
        }
    }
    assert!(statuses.contains(&201) && statuses.contains(&200), "{statuses:?}");
    assert_eq!(callers.call(1, get("/records")).await, 200);
    let report = Arc::clone(&callers.0).check_history(Duration::from_secs(60)).await.unwrap();
    assert_eq!((report.callers, report.conclusion), (8, HistoryConclusion::Explained));
    assert_eq!(callers.0.lock().recording().unwrap().calls.len(), 33);
}

#[tokio::test]
async fn two_callers_that_were_both_told_created_are_drawn() {
    let callers = Callers::new(&[]);
    assert_eq!(callers.call(3, put("other", 1)).await, 201);
    assert_eq!(callers.call(1, put("a", 1)).await, 201);
    assert_eq!(callers.call(2, put("a", 1)).await, 200);
    assert_eq!(callers.call(3, get("/records/a")).await, 200);
    callers.edit_as_first(2);
    insta::assert_snapshot!(without_times(&callers.drawing().await));
}

#[tokio::test]
async fn an_increment_that_was_lost_is_not_explained() {
    let callers = Callers::new(&[]);
    callers.call(1, increment("seats")).await;
    callers.call(2, increment("seats")).await;
    let first = callers.seen(0);
    callers.edit(1, |seen| *seen = first);
    insta::assert_snapshot!(callers.drawing().await);
}

#[tokio::test]
async fn a_key_makes_one_record_and_its_second_use_is_a_replay() {
    let callers = Callers::new(&[]);
    assert_eq!(callers.call(1, keyed(put("a", 1), "k")).await, 201);
    assert_eq!(callers.call(2, keyed(put("a", 1), "k")).await, 201);
    assert_eq!(callers.call(2, keyed(put("a", 2), "k")).await, 400, "another payload");
    assert_eq!(callers.conclusion().await, HistoryConclusion::Explained);
    assert!(callers.seen(1).replay);
    callers.edit_as_first(1);
    insta::assert_snapshot!(without_times(&callers.drawing().await));
}

#[tokio::test]
async fn what_faults_did_is_explained_and_what_they_answered_is_left_out() {
    for (fault, key, read) in [
        ("records.put#1 commit=now reply=drop", "k", 200),
        ("records.put#1 commit=never reply=ok", "k", 404),
        ("records.put#1 commit=never reply={status: 503}", "k", 404),
        ("records.put#1 commit=now reply={status: 503}", "k", 200),
        ("records.put#1 commit=twice reply=ok", "k", 200),
        ("records.put#1 commit=twice reply=ok", "", 200),
        ("records.put#1 commit={later: {requests: 2}} reply=drop", "", 404),
        ("records.put#1 commit={later: {requests: 3}} reply={status: 504}", "k", 404),
        ("records.get#1 commit=now reply={stale: {reads: 1}}", "", 404),
    ] {
        let callers = Callers::new(&[fault]);
        let request = || if key.is_empty() { put("a", 1) } else { keyed(put("a", 1), key) };
        callers.call(1, request()).await;
        let seen = callers.call(2, get("/records/a")).await;
        assert_eq!(seen, read, "{fault}");
        callers.call(3, request()).await;
        callers.call(2, get("/records/a")).await;
        callers.call(1, request()).await;
        callers.call(2, get("/records/a")).await;
        assert_eq!(callers.conclusion().await, HistoryConclusion::Explained, "{fault}, key {key:?}");
    }
}

#[tokio::test]
async fn a_late_commit_of_a_request_whose_key_is_ignored_is_explained() {
    let callers = Callers::with_keys(
        Profile::None,
        &["records.put#1 commit={later: {requests: 1}} reply={status: 504}"],
    );
    callers.call(1, keyed(put("a", 1), "k")).await;
    assert_eq!(callers.call(2, get("/records/a")).await, 404);
    assert_eq!(callers.call(2, get("/records/a")).await, 200);
    assert_eq!(callers.conclusion().await, HistoryConclusion::Explained);
}

#[tokio::test]
async fn a_read_that_goes_back_is_not_explained_whatever_the_fault_did() {
    let callers = Callers::new(&["records.increment#1 commit=now reply=drop"]);
    callers.call(1, increment("seats")).await;
    callers.call(2, get("/counters/seats")).await;
    callers.call(2, get("/counters/seats")).await;
    assert_eq!(callers.conclusion().await, HistoryConclusion::Explained);
    callers.edit(2, |seen| seen.answer.set_body(br#"{"counter":"seats","value":5}"#.to_vec()));
    insta::assert_snapshot!(callers.drawing().await);
}

#[tokio::test]
async fn what_a_fault_took_back_is_not_judged() {
    let callers = Callers::new(&["records.put#1 commit={reverts: {requests: 1}} reply=ok"]);
    callers.call(1, put("a", 1)).await;
    let why = "a fault took back what was committed".to_owned();
    assert_eq!(callers.conclusion().await, HistoryConclusion::Unknown { why });
}

#[test]
fn the_search_does_not_run_on_a_worker_of_the_runtime() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().max_blocking_threads(1).build();
    runtime.unwrap().block_on(async {
        let callers = Callers::new(&[]);
        callers.call(1, put("a", 1)).await;
        callers.call(2, get("/records/a")).await;
        // The only thread for what blocks is taken until this is dropped.
        let (taken, freed) = std::sync::mpsc::channel::<()>();
        let other = tokio::task::spawn_blocking(move || freed.recv().is_err());
        let mut check = std::pin::pin!(callers.conclusion());
        for _ in 0..3 {
            tokio::select! {
                biased;
                found = &mut check => panic!("{found:?} was found by the worker"),
                () = tokio::task::yield_now() => {}
            }
        }
        drop(taken);
        assert!(other.await.unwrap());
        assert_eq!(check.await, HistoryConclusion::Explained);
    });
}
