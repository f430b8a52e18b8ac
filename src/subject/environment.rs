//! The environment variables of a subject. Pure, except for [`write_values_to_files`]: the caller passes
//! in the environment of hapax itself.

use std::io;
use std::net::SocketAddr;
use std::path::Path;

use mock_services::catalog;

use super::before::BeforeCommand;
use super::template::{self, StartValue, Template};
use super::{ServiceAddress, Settings, Start};
use crate::domain::Answer;
use crate::trust::Trust;

/// The variables of the parent that every program gets; also those that start with `LC_`.
const PASSED_VARIABLES: [&str; 9] =
    ["PATH", "HOME", "LANG", "TZ", "TMPDIR", "USER", "LOGNAME", "SHELL", "TERM"];
const PROXY_VARIABLES: [&str; 6] =
    ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"];
/// The variables of further clients that name all that they trust.
const MORE_BUNDLE_VARIABLES: [&str; 3] = ["AWS_CA_BUNDLE", "DENO_CERT", "GIT_SSL_CAINFO"];
/// The variable with the folder for temporary files.
pub(super) const TEMPORARY: &str = "TMPDIR";
/// The services are on this machine; all other requests go to the recorder.
const NO_PROXY: &str = "127.0.0.1,localhost,::1";

/// The user name for the mail server, as in SendGrid. Any name is accepted; the password is the key of the
/// service.
pub(crate) const SMTP_USER: &str = "apikey";

/// The longest value of a variable, in bytes: Linux does not start a program with one of 128 KiB.
const MAX_VARIABLE_BYTES: usize = 100 * 1000;
/// The variables that can be longer than that: the variable, the variable that names the file, the file, and
/// whether the file is there also if the value is short.
const LONG_VALUES: [(&str, &str, &str, bool); 2] = [
    ("HAPAX_TASK", "HAPAX_TASK_FILE", TASK_FILE, true),
    ("HAPAX_STEPS", "HAPAX_STEPS_FILE", "steps.json", false),
];
/// The file with the task, in the state directory.
pub(super) const TASK_FILE: &str = "task.txt";

/// The address of the mail server for a caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MailAddress {
    /// `smtp://USER:KEY@127.0.0.1:PORT`: in plain text, with STARTTLS.
    pub url: String,
    /// `smtps://USER:KEY@127.0.0.1:PORT`: with implicit TLS.
    pub tls_url: Option<String>,
    /// The files that a client needs to verify the server.
    pub trust: Option<Trust>,
}

impl MailAddress {
    pub(crate) fn new(plain: SocketAddr, tls: Option<SocketAddr>, key: &str, trust: Option<Trust>) -> Self {
        let url = |scheme: &str, address: SocketAddr| format!("{scheme}://{SMTP_USER}:{key}@{address}");
        MailAddress { url: url("smtp", plain), tls_url: tls.map(|address| url("smtps", address)), trust }
    }

    /// The environment variables with the address.
    pub(crate) fn variables(&self) -> Vec<(String, String)> {
        let mut variables = vec![("HAPAX_SMTP_URL".to_owned(), self.url.clone())];
        variables.extend(self.tls_url.clone().map(|url| ("HAPAX_SMTPS_URL".to_owned(), url)));
        variables
    }
}

/// The variables of the `before` command of a trial: without services, task and proxy.
pub(super) fn before_environment(
    before: &BeforeCommand,
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

/// The variables of a command-line tool: without services, task and proxy. `directory` is its home directory
/// and its directory for temporary files.
pub(super) fn tool_environment(
    directory: &Path,
    pass: &[String],
    parent: &[(String, String)],
) -> Vec<(String, String)> {
    let settings = Settings { pass: pass.to_vec(), ..Settings::default() };
    let mut all = std::collections::BTreeMap::new();
    all.extend(parent.iter().filter(|(name, _)| is_passed(name, &settings)).cloned());
    let directory = directory.to_string_lossy().into_owned();
    all.extend(["HOME", "TMPDIR"].map(|name| (name.to_owned(), directory.clone())));
    all.into_iter().collect()
}

fn is_passed(name: &str, settings: &Settings) -> bool {
    PASSED_VARIABLES.contains(&name) || name.starts_with("LC_") || settings.passes(name)
}

/// The variables, sorted and without repetitions. Later sources have priority: the parent, the variables that
/// hapax sets, the settings.
pub(super) fn environment(
    start: &Start,
    settings: &Settings,
    parent: &[(String, String)],
) -> Vec<(String, String)> {
    let mut all = std::collections::BTreeMap::new();
    all.extend(parent.iter().filter(|(name, _)| is_passed(name, settings)).cloned());
    match &start.sealed {
        Some(sealed) => all.extend(sealed.variables()),
        None => {
            all.insert(TEMPORARY.to_owned(), lossy(start.machine.temporary()));
            all.extend(PROXY_VARIABLES.map(|name| (name.to_owned(), start.proxy.clone())));
            all.extend(["NO_PROXY", "no_proxy"].map(|name| (name.to_owned(), NO_PROXY.to_owned())));
        }
    }
    if let Some(trust) = &start.intercepted {
        all.extend(trust.variables());
        let bundle = trust.bundle.to_string_lossy();
        all.extend(MORE_BUNDLE_VARIABLES.map(|name| (name.to_owned(), bundle.clone().into_owned())));
        all.insert("NODE_USE_ENV_PROXY".to_owned(), "1".to_owned());
    }
    all.extend(settings.home.iter().map(|_| ("HOME".to_owned(), lossy(&start.home()))));
    all.extend(start_variables(start));
    all.extend(start.event.iter().map(|_| ("HAPAX_EVENT_FILE".to_owned(), lossy(&start.event_file()))));
    all.extend(start.webhook_secrets.iter().cloned());
    all.extend(
        start.answers.iter().map(|_| ("HAPAX_ANSWER".to_owned(), value_of(StartValue::Answer, start))),
    );
    all.extend(start.mcp.iter().map(|url| ("HAPAX_MCP_URL".to_owned(), url.clone())));
    for service in &start.services {
        let stem = format!("HAPAX_{}", service.name.to_uppercase().replace('-', "_"));
        all.insert(format!("{stem}_URL"), service.url.clone());
        all.insert(format!("{stem}_KEY"), service.key.clone());
        if let Some(smtp) = &service.smtp {
            all.extend(smtp.variables());
            let trust = smtp.trust.iter().filter(|_| start.sealed.is_none());
            all.extend(trust.flat_map(crate::trust::Trust::variables));
        }
        let client = client_variables(&service.name, &service.url, &service.key);
        if settings.calls_real_hosts() {
            // The client calls the real host, with the key of the user if there is one.
            let keys =
                client.into_iter().filter(|(name, value)| *value == service.key && !all.contains_key(name));
            all.extend(keys.collect::<Vec<_>>());
        } else {
            all.extend(client);
        }
    }
    all.extend(missing_keys(start).filter(|(name, _)| !all.contains_key(name)).collect::<Vec<_>>());
    for (name, template) in &settings.env {
        let Some(value) = filled(template, settings, start) else { continue };
        // Clients read either spelling, and `ALL_PROXY` as a fallback, so a setting for one applies to all of
        // them.
        let same = PROXY_VARIABLES
            .into_iter()
            .filter(|other| other.eq_ignore_ascii_case(name) || is_fallback(name, &value, other));
        all.extend(same.map(|other| (other.to_owned(), value.clone())));
        all.insert(name.clone(), value);
    }
    // A program cannot be started with a zero byte in a variable.
    all.into_iter().map(|(name, value)| (name, value.replace('\0', "\u{fffd}"))).collect()
}

/// Keys for the services that the case does not have. Many programs read all their keys when they start, and would end
/// there without them; nothing accepts these keys.
fn missing_keys(start: &Start) -> impl Iterator<Item = (String, String)> {
    let is_there = |name: &str| start.services.iter().any(|service| service.name == name);
    let missing = catalog::services().iter().filter(move |service| !is_there(&service.name));
    missing.flat_map(|service| {
        let value = format!("{}-is-not-a-service-of-this-task", service.name);
        service.key_variables().map(move |name| (name.to_owned(), value.clone()))
    })
}

/// The text of a template for this start; `None` if it refers to something that the start does not have.
pub(super) fn filled(template: &Template, settings: &Settings, start: &Start) -> Option<String> {
    template.fill_request(&addresses(start), |value| match value {
        StartValue::Home => settings.home.as_ref().map(|_| lossy(&start.home())),
        value => Some(value_of(value, start)),
    })
}

/// A value of a start.
pub(super) fn value_of(value: StartValue, start: &Start) -> String {
    match value {
        StartValue::Task => start.task.clone(),
        StartValue::Steps => start.steps.clone(),
        StartValue::Answer => Answer::list(start.answers.as_deref().unwrap_or_default()).to_string(),
        StartValue::Trial => start.trial.clone(),
        StartValue::Caller => start.name.clone(),
        StartValue::Home => lossy(&start.home()),
    }
}

fn lossy(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// The addresses that templates can refer to: the services, and the MCP endpoint.
pub(super) fn addresses(start: &Start) -> Vec<ServiceAddress> {
    let tools = start.mcp.iter().map(|url| ServiceAddress {
        name: template::TOOLS.to_owned(),
        url: url.clone(),
        smtp: None,
        key: String::new(),
    });
    start.services.iter().cloned().chain(tools).collect()
}

/// Whether `other` is the fallback of a proxy variable that is set to an empty value.
fn is_fallback(name: &str, value: &str, other: &str) -> bool {
    value.is_empty()
        && PROXY_VARIABLES.iter().any(|proxy| proxy.eq_ignore_ascii_case(name))
        && other.eq_ignore_ascii_case("all_proxy")
}

fn start_variables(start: &Start) -> [(String, String); 7] {
    [
        ("HAPAX_TASK", start.task.clone()),
        ("HAPAX_STEPS", start.steps.clone()),
        ("HAPAX_STATE_DIR", lossy(&start.state_dir)),
        ("HAPAX_SHARED_DIR", lossy(&start.shared_dir)),
        ("HAPAX_RESULT", lossy(&start.result)),
        ("HAPAX_TRIAL", start.trial.clone()),
        ("HAPAX_CALLER", start.name.clone()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
}

/// Writes the task, and values that are too long for a variable, to files in `directory`, and sets a variable that
/// names each file.
pub(super) fn write_values_to_files(env: &mut Vec<(String, String)>, directory: &Path) -> io::Result<()> {
    for (variable, file_variable, file, is_always_written) in LONG_VALUES {
        let Some(index) = env.iter().position(|(name, _)| name == variable) else { continue };
        let value = &env[index].1;
        let is_long = value.len() > MAX_VARIABLE_BYTES;
        if !is_long && !is_always_written {
            continue;
        }
        let path = directory.join(file);
        std::fs::write(&path, value)?;
        if is_long {
            env.swap_remove(index);
        }
        env.push((file_variable.to_owned(), path.to_string_lossy().into_owned()));
    }
    Ok(())
}

/// The variables that real clients of a service read, for its URL and its key.
pub(crate) fn client_variables(service: &str, url: &str, key: &str) -> Vec<(String, String)> {
    catalog::find(service).map(|service| service.client_variables(url, key).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::{Limits, MailAddress, ServiceAddress, Template, Trust};
    use super::*;

    fn start() -> Start {
        Start {
            rate: None,
            intercepted: None,
            sealed: None,
            supervisor: super::super::SupervisorId::default(),
            accepted: super::super::AcceptedTask::default(),
            client_timeout: std::time::Duration::from_secs(10),
            trial: "5d1c0f0e6a1b2c3d".to_owned(),
            name: "0a1b2c3d4e5f6071".to_owned(),
            caller: 2,
            start: 3,
            resumes: false,
            answers: None,
            event: None,
            deliveries: None,
            webhook_secrets: Vec::new(),
            task: "Charge\0 cus_42.".to_owned(),
            steps: "[{\"do\": \"payment.charge\"}]".to_owned(),
            services: vec![
                ServiceAddress {
                    name: "payment".into(),
                    url: "http://127.0.0.1:4001".into(),
                    smtp: None,
                    key: "sk_1".into(),
                },
                ServiceAddress {
                    name: "email".into(),
                    url: "http://127.0.0.1:4002".into(),
                    smtp: Some(MailAddress::new(
                        ([127, 0, 0, 1], 2525).into(),
                        Some(([127, 0, 0, 1], 2465).into()),
                        "re_1",
                        Some(Trust {
                            ca: "/trial/ca.pem".into(),
                            bundle: "/trial/all.pem".into(),
                            extra: "/trial/ca.pem".into(),
                        }),
                    )),
                    key: "re_1".into(),
                },
                ServiceAddress {
                    name: "deploy".into(),
                    url: "http://127.0.0.1:4003".into(),
                    smtp: None,
                    key: "gh_1".into(),
                },
                ServiceAddress {
                    name: "seat-map".into(),
                    url: "http://127.0.0.1:4004".into(),
                    smtp: None,
                    key: "st_1".into(),
                },
            ],
            mcp: Some("http://127.0.0.1:4009/mcp".into()),
            state_dir: "/trial/state".into(),
            shared_dir: "/trial/shared".into(),
            machine: crate::subject::Machine::named(),
            first_process: 300,
            result: "/trial/result.json".into(),
            proxy: "http://127.0.0.1:5000".to_owned(),
            limits: Limits::default(),
            before_stop: None,
            before_time_up: None,
            hide: crate::subject::Hide::default(),
        }
    }

    fn parent() -> Vec<(String, String)> {
        [
            ("PATH", "/usr/bin"),
            ("LC_ALL", "C.UTF-8"),
            ("AWS_SECRET_ACCESS_KEY", "secret"),
            ("OPENAI_API_KEY", "sk-real"),
            ("STRIPE_API_KEY", "sk_live_real"),
            ("HTTPS_PROXY", "http://proxy.example"),
            ("HAPAX_TOKEN", "token"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .to_vec()
    }

    #[test]
    fn a_subject_sees_what_is_listed_and_nothing_else() {
        let lines: Vec<String> = environment(&start(), &Settings::default(), &parent())
            .into_iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        insta::assert_snapshot!(lines.join("\n"));
    }

    #[test]
    fn a_variable_can_be_passed_on() {
        let settings = Settings { pass: vec!["OPENAI_API_KEY".to_owned()], ..Settings::default() };
        let all = environment(&start(), &settings, &parent());
        assert!(all.contains(&("OPENAI_API_KEY".to_owned(), "sk-real".to_owned())));
    }

    #[test]
    fn a_key_for_the_real_service_never_takes_the_place_of_ours() {
        let settings = Settings {
            pass: vec!["STRIPE_API_KEY".to_owned(), "HTTPS_PROXY".to_owned()],
            ..Settings::default()
        };
        let all = environment(&start(), &settings, &parent());
        assert!(all.contains(&("STRIPE_API_KEY".to_owned(), "sk_1".to_owned())));
        assert!(all.contains(&("HTTPS_PROXY".to_owned(), "http://127.0.0.1:5000".to_owned())));
    }

    #[test]
    fn templates_are_filled_and_have_the_last_word() {
        let template = |text: &str| Template::parse(text).unwrap();
        let settings = Settings {
            env: vec![
                ("PAY_HOST".to_owned(), template("${payment.host}")),
                ("RESEND_BASE_URL".to_owned(), template("${email.url}/api")),
                ("RECORDS".to_owned(), template("${records.url}")),
                ("TOOLS".to_owned(), template("${mcp.url} ${mcp.port}")),
            ],
            ..Settings::default()
        };
        let all = environment(&start(), &settings, &parent());
        let value =
            |wanted: &str| all.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_str());
        assert_eq!(value("PAY_HOST"), Some("127.0.0.1"));
        assert_eq!(value("RESEND_BASE_URL"), Some("http://127.0.0.1:4002/api"));
        assert_eq!(value("RECORDS"), None);
        assert_eq!(value("TOOLS"), Some("http://127.0.0.1:4009/mcp 4009"));
    }

    #[test]
    fn who_opens_one_proxy_opens_all_that_a_client_would_read_in_its_place() {
        let env = vec![("HTTPS_PROXY".to_owned(), Template::parse("").unwrap())];
        let all = environment(&start(), &Settings { env, ..Settings::default() }, &parent());
        let value = |name: &str| all.iter().find(|(have, _)| have == name).map(|(_, value)| value.as_str());
        for open in ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"] {
            assert_eq!(value(open), Some(""), "{open}");
        }
        assert_eq!([value("HTTP_PROXY"), value("http_proxy")], [Some("http://127.0.0.1:5000"); 2]);
    }

    #[test]
    fn the_command_before_a_trial_sees_the_trial_and_nothing_of_the_case() {
        let before = BeforeCommand {
            trial: "5d1c0f0e6a1b2c3d".to_owned(),
            shared_dir: "/trial/shared".into(),
            hide: crate::subject::Hide::default(),
        };
        let env = [("DATABASE_URL", "postgres://localhost/test"), ("PAY", "${payment.url}")];
        let env = env.map(|(name, value)| (name.to_owned(), Template::parse(value).unwrap())).to_vec();
        let settings = Settings { env, ..Settings::default() };
        let all = before_environment(&before, &settings, &parent());
        let names: Vec<&str> = all.iter().map(|(name, _)| name.as_str()).collect();
        assert!(names.contains(&"DATABASE_URL") && names.contains(&"PATH"), "{names:?}");
        let own: Vec<&str> = names.iter().copied().filter(|name| name.starts_with("HAPAX_")).collect();
        assert_eq!(own, ["HAPAX_SHARED_DIR", "HAPAX_TRIAL"]);
        assert!(
            !names.iter().any(|name| *name == "PAY" || name.to_lowercase().contains("proxy")),
            "{names:?}"
        );
    }
}
