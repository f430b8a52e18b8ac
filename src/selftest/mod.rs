//! Who tests the test: the controls, whose verdicts are known in advance, run over the scenarios, and what they come to is compared.

mod judge;
mod show;

use std::future::Future;
use std::path::Path;
use std::sync::Mutex;

use futures_util::FutureExt;
use futures_util::future::try_join_all;

use crate::run::{self, Folder, Happened, Options, Pace, Plan, RunError};
use crate::scenario::Case;
use crate::subject::Subject;

pub use judge::{Judged, Row, Wrong, judge};
pub use show::render;

/// The control that must pass everywhere, listed or not.
pub const CAREFUL: &str = "careful";

/// Runs every control over the cases that list it, and `careful` over all.
///
/// # Errors
/// When the folder cannot be written.
pub async fn run(
    cases: &[Case],
    options: &Options,
    folder: &Path,
    pace: &Pace,
    stop: impl Future<Output = ()>,
    on: &mut dyn FnMut(Happened<'_>),
) -> Result<Judged, RunError> {
    let stop = stop.shared();
    let on = Mutex::new(on);
    let runs = controls(cases).into_iter().map(|control| {
        let (stop, on) = (stop.clone(), &on);
        async move {
            let mine = cases.iter().filter(|case| expected(case, control).is_some()).cloned().collect();
            let subject = Subject::control(control);
            let options = Options { subject_words: format!("--subject {control}"), ..options.clone() };
            let plan = Plan::new(mine, &subject, &options)?;
            let folder = Folder::at(&folder.join(control))?;
            let mut tell = |happened: Happened<'_>| {
                if let Ok(mut on) = on.lock() {
                    on(happened);
                }
            };
            let report = run::run(plan, subject, options, &folder, pace, stop, &mut tell).await?;
            folder.sync()?;
            folder.complete();
            Ok::<_, RunError>((control, report))
        }
    });
    let reports = try_join_all(runs).await?;
    Ok(judge(cases, &reports))
}

/// The controls that any of the cases needs.
fn controls(cases: &[Case]) -> Vec<&str> {
    let mut names: Vec<&str> = cases.iter().flat_map(|case| &case.controls).map(|term| term.control.as_str()).collect();
    names.push(CAREFUL);
    names.sort_unstable();
    names.dedup();
    names
}

/// What a control is to come to in a case; `None` where it is not run there.
fn expected(case: &Case, control: &str) -> Option<crate::scenario::Come> {
    let listed = case.controls.iter().find(|term| term.control == control).map(|term| term.is);
    listed.or((control == CAREFUL).then_some(crate::scenario::Come::Pass))
}
