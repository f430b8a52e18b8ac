//! The environment variables of a subject. Pure, except for [`write_long_values_to_files`]: the caller passes
//! in the environment of hapax itself.

use std::io;
use std::path::Path;

use super::before::Before;
use super::{Settings, Start, client_variables};

/// What every program may see of the parent's environment; beside these all that begins with `LC_`.
const PASSED: [&str; 9] = ["PATH", "HOME", "LANG", "TZ", "TMPDIR", "USER", "LOGNAME", "SHELL", "TERM"];
const PROXIES: [&str; 6] =
    ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"];
/// The services are here; everything else is for the recorder.
const LOCAL: &str = "127.0.0.1,localhost,::1";

/// The longest value of a variable, in bytes: Linux does not start a program with one of 128 KiB.
const MAX_VARIABLE_BYTES: usize = 100 * 1000;
/// The variables that can be longer than that: the variable, the variable that names the file instead, and the
/// file.
const LONG_VALUES: [(&str, &str, &str); 2] =
    [("HAPAX_TASK", "HAPAX_TASK_FILE", "task.txt"), ("HAPAX_STEPS", "HAPAX_STEPS_FILE", "steps.json")];

/// The variables of the command that is run before a trial: no service, no task and no proxy is among them.
pub(super) fn before_environment(
    before: &Before,
    settings: &Settings,
    parent: &[(String, String)],
) -> Vec<(String, String)> {
    let mut all = std::collections::BTreeMap::new();
    all.extend(parent.iter().filter(|(name, _)| is_passed(name, settings)).cloned());
    all.extend(settings.env.iter().filter_map(|(name, template)| Some((name.clone(), template.fill(&[])?))));
    all.insert("HAPAX_TRIAL".to_owned(), before.trial.clone());
    all.insert("HAPAX_SHARED_DIR".to_owned(), before.shared_dir.to_string_lossy().into_owned());
    all.into_iter().map(|(name, value)| (name, value.replace('\0', "\u{fffd}"))).collect()
}

fn is_passed(name: &str, settings: &Settings) -> bool {
    PASSED.contains(&name) || name.starts_with("LC_") || settings.pass.iter().any(|passed| passed == name)
}

/// The variables, each name once, sorted. Later sources win: the parent's, what is passed on, what hapax
/// sets, what the settings say.
pub(super) fn environment(
    start: &Start,
    settings: &Settings,
    parent: &[(String, String)],
) -> Vec<(String, String)> {
    let mut all = std::collections::BTreeMap::new();
    all.extend(parent.iter().filter(|(name, _)| is_passed(name, settings)).cloned());
    all.extend(PROXIES.map(|name| (name.to_owned(), start.proxy.clone())));
    all.extend(["NO_PROXY", "no_proxy"].map(|name| (name.to_owned(), LOCAL.to_owned())));
    all.extend(of_the_start(start));
    for service in &start.services {
        let stem = format!("HAPAX_{}", service.name.to_uppercase().replace('-', "_"));
        all.insert(format!("{stem}_URL"), service.url.clone());
        all.insert(format!("{stem}_KEY"), service.key.clone());
        if let Some(smtp) = &service.smtp {
            all.extend(smtp.variables());
            all.extend(smtp.trust.iter().flat_map(crate::trust::Trust::variables));
        }
        all.extend(client_variables(&service.name, &service.url, &service.key));
    }
    for (name, template) in &settings.env {
        let Some(value) = template.fill(&start.services) else { continue };
        // Clients read either spelling, and the general one where there is no other: who sets one for HTTPS
        // means all of these.
        let alike = PROXIES
            .into_iter()
            .filter(|other| other.eq_ignore_ascii_case(name) || leads_past(name, &value, other));
        all.extend(alike.map(|other| (other.to_owned(), value.clone())));
        all.insert(name.clone(), value);
    }
    // The system ends a variable at the first zero byte, and refuses to start a program with one.
    all.into_iter().map(|(name, value)| (name, value.replace('\0', "\u{fffd}"))).collect()
}

/// Whether emptying one proxy would be in vain while the general one leads to the recorder.
fn leads_past(name: &str, value: &str, other: &str) -> bool {
    value.is_empty()
        && PROXIES.iter().any(|proxy| proxy.eq_ignore_ascii_case(name))
        && other.eq_ignore_ascii_case("all_proxy")
}

fn of_the_start(start: &Start) -> [(String, String); 7] {
    let path = |path: &Path| path.to_string_lossy().into_owned();
    [
        ("HAPAX_TASK", start.task.clone()),
        ("HAPAX_STEPS", start.steps.clone()),
        ("HAPAX_STATE_DIR", path(&start.state_dir)),
        ("HAPAX_SHARED_DIR", path(&start.shared_dir)),
        ("HAPAX_RESULT", path(&start.result)),
        ("HAPAX_TRIAL", start.trial.clone()),
        ("HAPAX_CALLER", start.name.clone()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
}

/// Writes values that are too long for a variable to files in `directory`, and sets a variable that names the
/// file instead.
pub(super) fn write_long_values_to_files(
    env: &mut Vec<(String, String)>,
    directory: &Path,
) -> io::Result<()> {
    for (variable, file_variable, file) in LONG_VALUES {
        let is_long = |(name, value): &(String, String)| name == variable && value.len() > MAX_VARIABLE_BYTES;
        let Some(index) = env.iter().position(is_long) else { continue };
        let (_, value) = env.swap_remove(index);
        let path = directory.join(file);
        std::fs::write(&path, value)?;
        env.push((file_variable.to_owned(), path.to_string_lossy().into_owned()));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
