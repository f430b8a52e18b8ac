//! Tests the scenarios: runs the controls, whose outcomes are known in advance, and compares.

mod judge;
mod show;

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::path::Path;
use std::sync::{Arc, Mutex};

use futures_util::FutureExt;
use futures_util::future::try_join_all;
use mock_services::catalog;

use crate::domain::ControlName;
use crate::run::{self, ConcurrencyLimiter, HistoryLog, Plan, RunError, RunEvent, RunFolder, RunOptions};
use crate::scenario::{Case, ServiceSetup, not_offered_as_tools};
use crate::subject::Subject;

pub use judge::{SelftestProblem, SelftestResult, SelftestRow, judge};
pub use show::render;

/// The control that must pass everywhere, listed or not.
pub const CAREFUL: &str = ControlName::Careful.as_str();

/// Runs every control over the cases that list it, and `careful` over all.
///
/// # Errors
/// When the folder cannot be written.
pub async fn run(
    cases: &[Case],
    options: &RunOptions,
    folder: &Path,
    limiter: &ConcurrencyLimiter,
    stop: impl Future<Output = ()>,
    on: &mut dyn FnMut(RunEvent<'_>),
) -> Result<SelftestResult, RunError> {
    let stop = stop.shared();
    let on = Mutex::new(on);
    let runs = controls(cases).into_iter().map(|control| {
        let (stop, on) = (stop.clone(), &on);
        async move {
            let is_mine = |case: &&Case| expected(case, control).is_some() && own_service(case).is_none();
            let mine = cases.iter().filter(is_mine).cloned().collect();
            let mut subject = Subject::control(control);
            subject.settings.via_mcp = options.via_mcp;
            let via = if options.via_mcp { "--via mcp " } else { "" };
            let subject_words = format!("{via}--subject {control}");
            let histories = Arc::new(HistoryLog::default());
            let log = Some(Arc::clone(&histories));
            let options = RunOptions { subject_words, histories: log, ..options.clone() };
            let plan = Plan::new(mine, &subject, &options)?;
            let folder = RunFolder::at(&folder.join(control))?;
            let mut on_event = |event: RunEvent<'_>| {
                if let Ok(mut on) = on.lock() {
                    on(event);
                }
            };
            let report = run::run(plan, subject, options, &folder, limiter, stop, &mut on_event).await?;
            folder.sync()?;
            folder.complete();
            Ok::<_, RunError>(((control, report), histories.take()))
        }
    });
    let (reports, histories): (Vec<_>, Vec<_>) = try_join_all(runs).await?.into_iter().unzip();
    let controls = reports.iter().map(|(control, _)| *control);
    let mut result = judge(cases, &reports);
    for (control, histories) in controls.zip(histories) {
        result.add_histories(control, histories);
    }
    Ok(result)
}

/// Removes the cases that cannot be done with MCP tools; says how many, of which scenarios, and what they
/// need.
pub fn keep_offered_as_tools(cases: &mut Vec<Case>) -> String {
    let mut needs = BTreeMap::<String, (usize, BTreeSet<String>)>::new();
    cases.retain(|case| match not_offered_as_tools(case) {
        Some(missing) => {
            let (count, scenarios) = needs.entry(missing).or_default();
            *count += 1;
            scenarios.insert(case.scenario.clone());
            false
        }
        None => true,
    });
    let lines = needs.iter().map(|(missing, (count, scenarios))| {
        let scenarios = scenarios.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        let cases = if *count == 1 { "1 case that needs" } else { &format!("{count} cases that need") };
        format!("skipped {cases} {missing}, for which there is no MCP tool: {scenarios}")
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The controls that any of the cases needs.
fn controls(cases: &[Case]) -> Vec<&str> {
    let mut names: Vec<&str> =
        cases.iter().flat_map(|case| &case.controls).map(|term| term.control.as_str()).collect();
    names.push(CAREFUL);
    names.sort_unstable();
    names.dedup();
    names
}

/// The service of the user that the case uses, if there is one: no control can use it.
fn own_service(case: &Case) -> Option<&str> {
    let works = || std::iter::once(&case.work).chain(&case.each).chain(&case.turns);
    let done = works().flat_map(|work| &work.steps).map(|step| step.operation.as_str());
    let due =
        case.terms.intents.iter().filter(|intent| intent.times > 0).map(|intent| intent.effect.as_str());
    let used: Vec<&str> = done.chain(due).filter_map(|operation| operation.split('.').next()).collect();
    let own = case.services.iter().filter(|service| is_own(service)).map(|service| service.name.as_str());
    own.into_iter().find(|name| used.contains(name))
}

/// Whether it is not a shipped service.
fn is_own(service: &ServiceSetup) -> bool {
    let declaration = service.service.declaration();
    declaration.is_some_and(|source| !catalog::is_shipped_declaration(source.text()))
}

/// The expected outcome of a control in a case; `None` if it is not run.
fn expected(case: &Case, control: &str) -> Option<crate::scenario::ControlOutcome> {
    let listed = case.controls.iter().find(|term| term.control == control).map(|term| term.is);
    // A schedule that was found with another subject need not fit what a control does.
    listed.or((control == CAREFUL && case.found.is_none()).then_some(crate::scenario::ControlOutcome::Pass))
}
