//! Reads `hapax.yaml`. Each problem has its position and a hint.

use std::path::Path;

use mock_services::catalog::{self, ServedHost};
use yaml_reader::shape::{Count, MapShape, Rule, Shape, optional, required, words_of};
use yaml_reader::{Key, Node, NodeKind, Problems, Reader, Source, listed, nearest, parse, shown};

use super::http::{HTTP, read_http};
use super::values::{
    CLAIM, WATCH_OF_STARTED, read_claim, read_command, read_env, read_fields, read_home, read_hosts,
    read_operations, read_passed, read_served, read_time, read_tools, read_watch,
};
use super::{Suite, SuiteSelection};
use crate::scenario::{FilterExpression, Promise, ServiceSetup, own_file, read_shipped_service};
use crate::subject::assumption::{ASSUME, read_assumptions};
use crate::subject::command_words;
use crate::subject::{
    AddedServices, HostError, HostPattern, Hosts, Receives, Recipe, RecipeFacts, Settings, Signal,
    StandardInput, Subject, SubjectKind,
};

const COMMAND: Shape = Shape::OneOf(&[Shape::Sentence, Shape::List(&Shape::Text, Count::SOME)]);
const SUITE: Shape = Shape::OneOf(&[Shape::Sentence, Shape::List(&Shape::Text, Count::SOME)]);
const HOSTS: Shape = Shape::MapOf(&Shape::Any, &Shape::TEXTS, Count::ANY);
const ABOUT_HOSTS: &str = "Further hosts that services stand for in sealed runs.";
const ABOUT_ASSUME: &str = "What is known of a real provider: {SERVICE: {idempotency: stripe}}. Cases that \
                            assume otherwise are skipped; those that say nothing use it.";
const VIA_WORDS: [(&str, bool); 1] = [("mcp", true)];

/// The file.
pub(super) static CONFIG: MapShape<7> = MapShape::new([
    required("subjects", Shape::MapOf(&Shape::Any, &Shape::Ref("subject"), Count::SOME))
        .about("The subjects by name."),
    optional("default", Shape::Text).about("The subject that `hapax run` tests if no other is named."),
    optional("allow", Shape::TEXTS).about("Hosts outside of a trial that every subject may call."),
    optional("ignore", Shape::TEXTS).about("Hosts whose requests are refused and do not count."),
    optional("hosts", HOSTS).about(ABOUT_HOSTS),
    optional("assume", ASSUME).about(ABOUT_ASSUME),
    optional("suites", Shape::MapOf(&Shape::Any, &SUITE, Count::ANY)).about(
        "Cases by name, for `hapax run --suite NAME`: an expression as after -E, or a list of filters.",
    ),
]);

/// A subject. The services that can be added are keys as well.
pub(super) static SUBJECT: MapShape<30> = MapShape::new([
    optional("command", COMMAND).about("The command that starts the subject."),
    optional("http", HTTP).about(
        "The URL at which the subject takes tasks; ${port} is a port that hapax chooses. As a map, also what \
         hapax sends and where the response has the claim.",
    ),
    optional("directory", Shape::Text).about("The folder in which it starts, relative to this file."),
    optional("env", Shape::TEXT_MAP)
        .about("Variables to set. ${SERVICE.url} stands for the URL of a service."),
    optional("pass", Shape::TEXTS).about("Variables of your environment to pass to it."),
    optional("fields", Shape::TEXT_MAP)
        .about("Where the subject stores fields that scenarios name: {order: metadata.order_id}."),
    optional("can", Shape::TEXTS)
        .about("The services or operations that it can use. Cases that need others are skipped."),
    optional("claim", CLAIM).about("Where its claim is."),
    optional("tools", Shape::TEXT_MAP).about("The tool of the subject for an operation."),
    optional("assume", ASSUME).about(ABOUT_ASSUME),
    optional("timeout", Shape::DURATION).about("The time limit of one start."),
    optional("grace", Shape::DURATION).about("The time that it has to end after a signal."),
    optional("cancel", Shape::Words(|| Signal::ALL.map(Signal::name).to_vec()))
        .about("The signal that cancels it."),
    optional("promise", Shape::Words(|| Promise::ALL.map(Promise::as_str).to_vec()))
        .about("What it promises."),
    optional("watch", Shape::DURATION)
        .about("How long requests are watched for after the response of a subject over HTTP."),
    optional("stdin", Shape::Words(|| words_of(&StandardInput::WORDS)))
        .about("Its standard input: closed, an open pipe, or the task."),
    optional("client_timeout", Shape::DURATION)
        .about("The time after which its clients give up on a request."),
    optional("allow", Shape::TEXTS).about("Hosts outside of a trial that it may call."),
    optional("ignore", Shape::TEXTS).about("Hosts whose requests are refused and do not count."),
    optional("before", COMMAND).about("A command that runs once before the first trial."),
    optional("hosts", HOSTS).about(ABOUT_HOSTS),
    optional("sealed", Shape::Flag)
        .about("Whether it runs sealed: it calls the real hosts and reaches only the services."),
    optional("intercept", Shape::Flag)
        .about("Whether its requests to the real hosts are intercepted without a seal."),
    optional("via", Shape::Words(|| words_of(&VIA_WORDS))).about("How it gets its tools."),
    optional("home", Shape::TEXT_MAP).about(
        "Gives it a home directory of its own, with these files: {.config/agent.json: \"...\"}. ${home} stands for it.",
    ),
    optional("resume", COMMAND)
        .about("The command that starts it again after an interrupt, if that is another one."),
    optional("agent", Shape::Text)
        .about("A published agent program, by the name of its recipe, instead of `command`; all other keys override it."),
    optional("approvals", NO_OPTIONS.shape())
        .about("It asks a person for approvals: it runs the scenarios that require them. {}"),
    optional("receives", RECEIVES.shape()).about(
        "It receives events: it runs the scenarios that require them. {}, or the path of an agent over HTTP for events.",
    ),
    optional("finds_work", Shape::Flag).about(
        "Whether it finds by itself what it has accepted before, if it is restarted without its task.",
    ),
])
.needs(Rule::AnyOf(&["command", "http", "agent"]));

/// How it receives events.
static RECEIVES: MapShape<1> = MapShape::new([optional("path", Shape::Pattern("^/"))]);

/// A map without keys.
static NO_OPTIONS: MapShape<0> = MapShape::new([]);

/// What a file has.
pub(super) struct ConfigContent {
    pub(super) subjects: Vec<Subject>,
    /// The name of the default subject.
    pub(super) default: Option<String>,
    pub(super) suites: Vec<Suite>,
}

pub(super) fn read(file: &Source, folder: &Path) -> Result<ConfigContent, Problems> {
    let tree = parse(file)?;
    let reader = Reader::new(file);
    let value = read_all(&reader, &tree, folder);
    reader.finish(value)
}

fn read_all(reader: &Reader, tree: &Node, folder: &Path) -> Option<ConfigContent> {
    let [subjects, default, allow, ignore, hosts, assume, suites] =
        reader.fields(tree, "hapax.yaml", &CONFIG)?;
    let assumed = assume.map(|node| read_assumptions(reader, node, folder)).unwrap_or_default();
    let for_all = Hosts {
        allow: allow.map(|node| read_hosts(reader, node, HostPattern::allowed)).unwrap_or_default(),
        ignore: ignore.map(|node| read_hosts(reader, node, HostPattern::ignored)).unwrap_or_default(),
    };
    let served = hosts.map(|node| read_served(reader, node, &[])).unwrap_or_default();
    let entries = reader.entries(subjects?)?;
    if entries.is_empty() {
        reader.report_with_help(
            tree.span,
            "`subjects` is empty",
            "add one: agent: {command: python agent.py}",
        );
    }
    let names = || entries.iter().map(|(key, _)| key.name.as_str());
    let default = default.and_then(|node| Some((node, reader.text(node)?)));
    if let Some((node, name)) = default.filter(|(_, name)| !names().any(|known| known == *name)) {
        let help = match nearest(name, names()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("expected one of {}", listed(names())),
        };
        reader.report_with_help(node.span, format!("unknown subject `{}`", shown(name)), help);
    }
    let mut subjects: Vec<Subject> =
        entries.iter().filter_map(|(key, node)| read_subject(reader, key, node, folder, &served)).collect();
    for subject in &mut subjects {
        subject.settings.hosts.allow.extend(for_all.allow.iter().cloned());
        subject.settings.hosts.ignore.extend(for_all.ignore.iter().cloned());
        subject.settings.assume.extend(assumed.iter().cloned());
    }
    let suites = suites.map(|node| read_suites(reader, node)).unwrap_or_default();
    Some(ConfigContent { subjects, default: default.map(|(_, name)| name.to_owned()), suites })
}

fn read_suites(reader: &Reader, node: &Node) -> Vec<Suite> {
    let entries = reader.entries(node).unwrap_or_default();
    let read = |(key, node): &(Key, Node)| {
        let selection = match &node.kind {
            NodeKind::List(_) => SuiteSelection::Filters(read_filters(reader, node)?),
            _ => SuiteSelection::Expression(read_expression(reader, node)?),
        };
        Some(Suite { name: key.name.clone(), selection })
    };
    entries.iter().filter_map(read).collect()
}

fn read_filters(reader: &Reader, node: &Node) -> Option<Vec<String>> {
    let filters = reader.list(node)?;
    if filters.is_empty() {
        reader.report_with_help(node.span, "the suite is empty", "name a tag, a folder or a case");
        return None;
    }
    filters.iter().map(|filter| reader.text(filter).map(str::to_owned)).collect()
}

fn read_expression(reader: &Reader, node: &Node) -> Option<String> {
    let text = reader.text(node)?;
    let Err(problems) = FilterExpression::parse(text) else { return Some(text.to_owned()) };
    for problem in problems {
        reader.report_with_help(node.span, problem.message, problem.help.unwrap_or_default());
    }
    None
}

/// The keys of a subject that change what its recipe says.
fn keys_beside_agent(reader: &Reader, subject: &Node) -> Vec<String> {
    let entries = reader.entries(subject).unwrap_or_default();
    entries.iter().map(|(key, _)| key.name.clone()).filter(|key| key != "agent").collect()
}

/// The subject of a recipe in this folder.
pub(in crate::subject) fn read_recipe_subject(
    reader: &Reader,
    key: &Key,
    node: &Node,
    folder: &Path,
) -> Option<Subject> {
    if let Some(node) = node.get("agent") {
        reader.report_with_help(node.span, "a recipe cannot refer to another recipe", "write its `command`");
        return None;
    }
    read_subject(reader, key, node, folder, &[])
}

/// The subject that a recipe of this project or of hapax describes.
fn read_agent(reader: &Reader, node: &Node, folder: &Path) -> Option<Subject> {
    let name = reader.text(node)?;
    match Recipe::find(name, &[folder.to_owned()]) {
        Ok(recipe) => Some(recipe.subject),
        Err(error) => {
            reader.report_with_help(node.span, error.to_string(), error.help());
            None
        }
    }
}

/// Reads `receives` of a subject that is over HTTP, or has a command.
fn read_receives(reader: &Reader, node: &Node, (is_http, has_command): (bool, bool)) -> Option<Receives> {
    let [path] = reader.fields(node, "`receives`", &RECEIVES)?;
    if is_http && !has_command {
        let help =
            "add the command that starts the agent (`command`): hapax tells it the addresses of the services";
        reader.report_with_help(node.place(), "`receives` needs a `command`", help);
    }
    let path = path.and_then(|node| {
        let path = reader.text(node)?;
        if !path.starts_with('/') {
            let help = "write the path of the URL, as in `/hooks/stripe`";
            reader.report_with_help(node.span, format!("`{}` is not a path", shown(path)), help);
        } else if !is_http {
            let help = "remove it: a command gets each event in the file HAPAX_EVENT_FILE";
            reader.report_with_help(node.span, "a path is for an agent over HTTP", help);
        }
        Some(path.to_owned())
    });
    Some(Receives { path })
}

fn read_subject(
    reader: &Reader,
    key: &Key,
    node: &Node,
    folder: &Path,
    served: &[(String, ServedHost)],
) -> Option<Subject> {
    let mut map = reader.map(node, "a subject")?;
    let [
        command,
        http,
        directory,
        env,
        pass,
        fields,
        can,
        claim,
        tools,
        assume,
        timeout,
        grace,
        cancel,
        promise,
        watch,
        stdin,
        client_timeout,
        allow,
        ignore,
        prepare,
        hosts,
        sealed,
        intercept,
        via,
        home,
        resume,
        agent,
        approvals,
        receives,
        finds_work,
    ] = map.fields(&SUBJECT);
    let added: Vec<_> = catalog::services()
        .iter()
        .filter(|service| service.can_be_added)
        .filter_map(|service| Some((service, map.optional(&service.name)?)))
        .collect();
    let place = map.place();
    let before = reader.count();
    map.finish();
    // An unknown key may be a misspelled `command` or `http`; it is reported once.
    let is_known = reader.count() == before;

    let command_node = command;
    let read_words = |node: &Node| {
        let words = read_command(reader, node)?;
        if let Err(error) = command_words::check(&words, http.is_some()) {
            reader.report_with_help(node.span, error.message, error.help);
        }
        Some(words)
    };
    let command = command.map(read_words);
    if let Some(node) = resume.filter(|_| http.is_some()) {
        let help = "remove `resume`: an agent over HTTP is started with `command` again";
        reader.report_with_help(node.span, "`resume` is only for subjects with a command", help);
    }
    if let Some(node) = home.filter(|_| command_node.is_none()) {
        let help = "remove `home`, or add the command that starts the agent (`command`)";
        reader.report_with_help(node.span, "`home` needs a `command`: hapax does not start this agent", help);
    }
    let recipe = agent.map(|node| read_agent(reader, node, folder));
    if let Some(node) = agent.filter(|_| command_node.is_some() || http.is_some()) {
        let help = "remove one of them; `hapax list --agents NAME` prints a recipe, to be copied and changed";
        reader.report_with_help(node.span, "a subject has either `agent`, or `command` and `http`", help);
    }
    let http_value = http.map(|node| read_http(reader, node, command.is_some()));
    let kind = match (command, http_value) {
        _ if recipe.is_some() => recipe.as_ref().and_then(|recipe| Some(recipe.as_ref()?.kind.clone())),
        (Some(program), None) => program.map(|program| SubjectKind::Command { program }),
        (None, Some(http)) => http.map(|(url, exchange)| SubjectKind::Http { url, command: None, exchange }),
        (Some(command), Some(http)) => http
            .zip(command)
            .map(|((url, exchange), command)| SubjectKind::Http { url, command: Some(command), exchange }),
        (None, None) if is_known => {
            let help = "add the command that starts it (`command: python agent.py`), the URL at which it runs (`http: \
                        http://127.0.0.1:8080/task`), or a published program (`agent: claude`)";
            reader.report_with_help(
                place,
                format!("the subject `{}` has neither `command` nor `http` nor `agent`", shown(&key.name)),
                help,
            );
            None
        }
        (None, None) => None,
    };
    if let Some(claim) = claim.filter(|_| http.is_some()) {
        let help = "remove `claim` and respond with {\"outcome\": \"done\", \"message\": \"...\"}, or write where \
                    the response has the claim: `http: {url: ..., claim: ...}`";
        reader.report_with_help(claim.span, "a subject over HTTP makes its claim in its response", help);
    }
    if let Some(watch) = watch.filter(|_| http.is_none()) {
        let help = "remove `watch`; processes that a program leaves running are watched for a second anyway";
        reader.report_with_help(watch.span, "`watch` is only for subjects over HTTP", help);
    }
    if let Some(stdin) = stdin.filter(|_| http.is_some() && command_node.is_none()) {
        let help = "remove `stdin`, or add the command that starts the agent (`command`)";
        reader.report_with_help(
            stdin.span,
            "`stdin` needs a `command`: hapax does not start this agent",
            help,
        );
    }
    let is_set = |node: Option<&Node>| node.and_then(|node| reader.boolean(node)).unwrap_or_default();
    let (is_sealed, is_intercepted) = (is_set(sealed), is_set(intercept));
    if let Some(node) = intercept.filter(|_| is_sealed && is_intercepted) {
        let help = "remove `intercept`: a sealed subject calls the real hosts anyway";
        reader.report_with_help(node.span, "a subject is sealed or intercepted, not both", help);
    }
    let finds_its_work = is_set(finds_work);
    if let Some(node) = finds_work.filter(|_| finds_its_work && command_node.is_none()) {
        let help = "add the command that starts the agent (`command`), or remove `finds_work`";
        reader.report_with_help(
            node.span,
            "`finds_work` needs a `command`: hapax cannot restart this agent",
            help,
        );
    }
    let mut defaults = recipe.flatten().map(|recipe| recipe.settings).unwrap_or_default();
    let own_env = env.map(|node| read_env(reader, node)).unwrap_or_default();
    defaults.env.retain(|(name, _)| !own_env.iter().any(|(own, _)| own == name));
    let settings = Settings {
        directory: match directory.and_then(|node| reader.text(node)) {
            Some(text) => Some(folder.join(text)),
            // It starts beside its home directory.
            None => (home.is_none() && defaults.home.is_none()).then(|| folder.to_owned()),
        },
        env: defaults.env.into_iter().chain(own_env).collect(),
        pass: pass.map(|node| read_passed(reader, node)).unwrap_or(defaults.pass),
        time: timeout.and_then(|node| read_time(reader, node)).or(defaults.time),
        client_timeout: client_timeout.and_then(|node| read_time(reader, node)).or(defaults.client_timeout),
        fields: fields.map(|node| read_fields(reader, node)).unwrap_or(defaults.fields),
        tools: tools.map(|node| read_tools(reader, node)).unwrap_or(defaults.tools),
        can: can.map(|node| read_operations(reader, node)).unwrap_or(defaults.can),
        assume: assume.map(|node| read_assumptions(reader, node, folder)).unwrap_or(defaults.assume),
        promise: promise
            .and_then(|node| reader.one_of(node, &Promise::ALL.map(|promise| (promise.as_str(), promise))))
            .unwrap_or(defaults.promise),
        claim: claim.and_then(|node| read_claim(reader, node)).unwrap_or(defaults.claim),
        input: stdin.and_then(|node| reader.one_of(node, &StandardInput::WORDS)).unwrap_or(defaults.input),
        cancel: cancel
            .and_then(|node| reader.one_of(node, &Signal::ALL.map(|signal| (signal.name(), signal))))
            .unwrap_or(defaults.cancel),
        grace: grace.and_then(|node| reader.duration(node)).unwrap_or(defaults.grace),
        watch: watch.and_then(|node| read_watch(reader, node)).unwrap_or(
            if http.is_some() && command_node.is_some() { WATCH_OF_STARTED } else { defaults.watch },
        ),
        finds_work: finds_its_work,
        approvals: approvals.is_some_and(|node| reader.fields(node, "`approvals`", &NO_OPTIONS).is_some())
            || defaults.approvals,
        receives: receives
            .and_then(|node| read_receives(reader, node, (http.is_some(), command_node.is_some())))
            .or(defaults.receives),
        before: prepare.and_then(|node| read_command(reader, node)).or(defaults.before),
        hosts: {
            let read = |node: Option<&Node>, parse: fn(&str) -> Result<HostPattern, HostError>| {
                node.map(|node| read_hosts(reader, node, parse)).unwrap_or_default()
            };
            let Hosts { allow: allowed, ignore: ignored } = defaults.hosts;
            Hosts {
                allow: allowed.into_iter().chain(read(allow, HostPattern::allowed)).collect(),
                ignore: ignored.into_iter().chain(read(ignore, HostPattern::ignored)).collect(),
            }
        },
        served_hosts: {
            let own = hosts.map(|node| read_served(reader, node, served)).unwrap_or(defaults.served_hosts);
            own.into_iter().chain(served.iter().cloned()).collect()
        },
        services: {
            let own = added.into_iter().filter_map(|(service, node)| {
                read_shipped_service(reader, service, node, &|path| own_file(folder, path))
            });
            let mut services: Vec<ServiceSetup> = own.collect();
            for setup in defaults.services.0 {
                if !services.iter().any(|own| own.name == setup.name) {
                    services.push(setup);
                }
            }
            AddedServices(services)
        },
        sealed: if sealed.is_some() { is_sealed } else { defaults.sealed && !is_intercepted },
        via_mcp: via.and_then(|node| reader.one_of(node, &VIA_WORDS)).unwrap_or(defaults.via_mcp),
        intercept: is_intercepted,
        home: home.map(|node| read_home(reader, node)).or(defaults.home),
        resume: resume.and_then(read_words).or(defaults.resume),
        recipe: defaults
            .recipe
            .map(|facts| RecipeFacts { changed_by_subject: keys_beside_agent(reader, node), ..facts }),
        hapax: None,
    };
    Some(Subject { name: key.name.clone(), kind: kind?, settings })
}
