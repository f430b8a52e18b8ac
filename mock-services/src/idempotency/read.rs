//! Reads how keys are treated: the name of a profile, a file, or a map. The files of the shipped profiles are read
//! by the same code as those of users.

use yaml_reader::shape::{Count, MapShape, Shape, optional};
use yaml_reader::{
    Key, Node, NodeKind, Problem, Problems, Reader, Source, Span, listed, nearest, parse, shown,
};

use super::no_key::no_key_there;
use super::place::KeyPlace;
use super::rules::{
    ConcurrencyRule, ExpiryRule, KeyRules, KeyScope, Lifetime, MismatchRule, RateLimitPlace, RefusalRules,
    Refusals, ReplayRule, StorageRule, WhileOpen,
};
use super::{FILES, Idempotency, Profile};
use crate::after::{AFTER_REQUESTS, After, read_after};

/// Reads a file that a value names. The error says why it cannot be read.
pub type ReadFile<'a> = &'a dyn Fn(&str) -> Result<Source, String>;

/// How many files can extend each other.
const MAX_DEPTH: u32 = 8;
const WHILE_OPEN: &str = "while-open";
const FOREVER: &str = "forever";

/// The shape of `idempotency`: the name of a profile, a file, or a map.
pub const IDEMPOTENCY: Shape = Shape::Ref("idempotency");
/// The definition `idempotency` of the schemas.
pub const IDEMPOTENCY_DEFINITION: Shape = Shape::OneOf(&[PROFILE, OWN_FILE, RULES.shape()]);
/// The shape of a profile by its name.
const PROFILE: Shape = Shape::Words(|| Profile::ALL.map(Profile::as_str).to_vec());
const OWN_FILE: Shape = Shape::Pattern(r"\.ya?ml$");

/// A map, and the file of a profile.
static RULES: MapShape<28> = MapShape::new([
    optional("extends", Shape::OneOf(&[PROFILE, OWN_FILE]))
        .about("The profile, or the file of one, whose values are used for what is left out here."),
    optional("profile", Shape::OneOf(&[PROFILE, OWN_FILE])).about("The same as `extends`."),
    optional("about", Shape::Sentence).about("What it is, in one sentence."),
    optional("position", Shape::POSITIVE).about("Its place in lists of profiles."),
    optional("source", Shape::Sentence).about("Where the facts are from."),
    optional("unverified", Shape::Set(&FIELD_NAME, Count::ANY))
        .about("The fields whose values the source does not confirm. Facts that are left out are not confirmed either."),
    optional("hosts", Shape::TEXTS).about("The hosts of the provider; `*` stands for any characters."),
    optional("key", Shape::Sentence)
        .about("Where the key is: header.X, body.x, query.x, mime.X, id (the client chooses it) or content."),
    optional("with", Shape::TEXT_MAP)
        .about("The key counts only in requests with this value: {header.If-None-Match: \"*\"}."),
    optional("quoted", Shape::Flag).about("Whether the key can be in quotes."),
    optional("required", Shape::Flag).about("Whether a write without a key is refused."),
    optional("min", LENGTH).about("The shortest key, in characters."),
    optional("max", LENGTH).about("The longest key, in characters."),
    optional("scope", Shape::Words(|| KeyScope::ALL.map(KeyScope::as_str).to_vec()))
        .about("Which requests share keys: all of the account, or those of one endpoint."),
    optional("identity", Shape::Set(&Shape::Sentence, Count::ANY))
        .about("Fields that belong to the key: with another value, it is another key."),
    optional("stores", Shape::Words(|| StorageRule::ALL.map(StorageRule::as_str).to_vec())).about(
        "Which answers are stored: all, only a success, or those of requests that started to execute.",
    ),
    optional("replay", Shape::Words(|| ReplayRule::ALL.map(ReplayRule::as_str).to_vec()))
        .about("What a repeated request gets: the first answer, the latest state, or a refusal."),
    optional("replay_status", Shape::Integer(200, 299)).about("The status of a replayed success."),
    optional("marker", Shape::TEXT_MAP).about("The headers of a replayed answer."),
    optional("mismatch", Shape::Words(|| MismatchRule::ALL.map(MismatchRule::as_str).to_vec()))
        .about("What another request with a used key gets: a refusal, the old answer, or its execution."),
    optional("concurrent", Shape::Words(|| ConcurrencyRule::ALL.map(ConcurrencyRule::as_str).to_vec()))
        .about("What a request gets while another one with its key runs."),
    optional("lifetime", LIFETIME).about("How long a key is kept after its answer."),
    optional("budget", Shape::Integer(0, u32::MAX as i64))
        .about("How many answers are stored at one time; further requests are executed and not stored."),
    optional("after", Shape::Words(|| ExpiryRule::ALL.map(ExpiryRule::as_str).to_vec()))
        .about("What a request gets whose key is older than its lifetime."),
    optional("rate_limit", Shape::Words(|| RateLimitPlace::ALL.map(RateLimitPlace::as_str).to_vec()))
        .about("Whether requests are limited before or after the key is looked up."),
    optional("content_type", Shape::Sentence).about("The type of the body of a refusal."),
    optional("body", Shape::Any)
        .about("The body of a refusal; it can name {status}, {code}, {type}, {message} and {id}."),
    optional("refusals", REFUSALS.shape()).about("How each refusal looks."),
]);
const LENGTH: Shape = Shape::Integer(1, 100_000);
const LIFETIME: Shape = Shape::OneOf(&[
    Shape::Words(|| vec!["settle", FOREVER, WHILE_OPEN]),
    Shape::DURATION,
    AFTER_REQUESTS.shape(),
]);
/// The fields with facts about a provider.
const FIELD_NAME: Shape = Shape::Words(fact_names);

static REFUSALS: MapShape<7> = MapShape::new([
    optional("missing", REFUSAL.shape()),
    optional("length", REFUSAL.shape()),
    optional("in_flight", REFUSAL.shape()),
    optional("other_body", REFUSAL.shape()),
    optional("other_endpoint", REFUSAL.shape()),
    optional("used", REFUSAL.shape()),
    optional("ended", REFUSAL.shape()),
]);
static REFUSAL: MapShape<6> = MapShape::new([
    optional("status", Shape::Integer(400, 599)),
    optional("code", Shape::Text),
    optional("type", Shape::Text),
    optional("message", Shape::Text),
    optional("headers", Shape::TEXT_MAP),
    optional("body", Shape::Any),
]);

/// The names of the fields with facts.
fn fact_names() -> Vec<&'static str> {
    let about = ["extends", "profile", "about", "position", "source", "unverified", "hosts"];
    RULES.fields().iter().map(|field| field.name).filter(|name| !about.contains(name)).collect()
}

/// The rules of a provider of which nothing is known: the facts that every provider has are not verified.
fn unknown() -> KeyRules {
    let facts = [
        "max",
        "scope",
        "stores",
        "replay",
        "mismatch",
        "concurrent",
        "lifetime",
        "after",
        "rate_limit",
        "body",
        "refusals",
    ];
    KeyRules { unverified: facts.map(str::to_owned).to_vec(), ..KeyRules::default() }
}

/// Reads `idempotency`; problems are reported to the reader.
pub fn read_idempotency(reader: &Reader, node: &Node, files: ReadFile<'_>) -> Option<Idempotency> {
    if let Some(Ok(profile)) = node.as_text().map(str::parse) {
        return Some(Idempotency::new(profile));
    }
    match &node.kind {
        NodeKind::Map(_) => {
            let base = base(reader, node, files, MAX_DEPTH)?;
            let (name, rules) = base.unwrap_or_else(|| ("own".to_owned(), unknown()));
            let hosts = rules.hosts.clone();
            let rules = read_rules(reader, node, rules)?;
            let rules = KeyRules {
                only_there: rules.only_there || node.get("key").is_some(),
                hosts: if node.get("hosts").is_some() { rules.hosts } else { hosts },
                ..rules
            };
            Some(Idempotency::from_rules(name, rules))
        }
        _ => {
            let (name, rules) = named(reader, node, files, MAX_DEPTH)?;
            Some(Idempotency::from_rules(name, rules))
        }
    }
}

/// The rules that a word on the command line names: a profile, or a file.
///
/// # Errors
/// If there is no such profile, or the file cannot be read or has problems.
pub fn parse_idempotency(text: &str, files: ReadFile<'_>) -> Result<Idempotency, String> {
    if is_file(text) {
        let source = files(text).map_err(|error| format!("cannot read `{}`: {error}", shown(text)))?;
        let rules = read_file(&source, files, MAX_DEPTH - 1).map_err(|problems| problems.render(false))?;
        return Ok(Idempotency::from_rules(stem(text), KeyRules { only_there: true, ..rules }));
    }
    let words = || Profile::ALL.iter().map(|profile| profile.as_str());
    text.parse::<Profile>().map(Idempotency::new).map_err(|_| {
        let near = nearest(text, words()).map(|near| format!("; did you mean `{near}`?"));
        let near = near.unwrap_or_default();
        format!("unknown profile `{}`: expected {}, or a file{near}", shown(text), listed(words()))
    })
}

/// What a map extends; `None` inside if it stands for itself.
fn base(reader: &Reader, node: &Node, files: ReadFile<'_>, depth: u32) -> Option<Option<(String, KeyRules)>> {
    match (node.entry("extends"), node.entry("profile")) {
        (Some((key, _)), Some(_)) => {
            let help = "remove one of them: both name the profile that the others are based on";
            reader.report_with_help(key.span, "`extends` and `profile` are the same", help);
            None
        }
        (Some((_, name)), None) | (None, Some((_, name))) => named(reader, name, files, depth).map(Some),
        (None, None) if node.get("key").is_none() && depth == MAX_DEPTH => {
            let help = format!(
                "add `extends: {}` for the values of a profile, or `key: header.Idempotency-Key`",
                Profile::ALL[0]
            );
            reader.report_with_help(node.place(), "it is not said where the key is", help);
            None
        }
        (None, None) => Some(None),
    }
}

/// The rules that a value names: a profile, or a file.
fn named(reader: &Reader, node: &Node, files: ReadFile<'_>, depth: u32) -> Option<(String, KeyRules)> {
    let words = || Profile::ALL.iter().map(|profile| profile.as_str());
    let Some(name) = node.as_text().filter(|text| is_file(text)) else {
        let found = node.as_text().and_then(|text| text.parse::<Profile>().ok());
        let Some(profile) = found else {
            let found = node.as_text().map_or_else(|| node.describe(), |text| format!("`{}`", shown(text)));
            let help = match node.as_text().and_then(|text| nearest(text, words())) {
                Some(near) => format!("did you mean `{near}`? `hapax list --profiles` shows them all"),
                None => format!("it is one of {}, or the path of your own: keys.yaml", listed(words())),
            };
            reader.report_with_help(
                node.span,
                format!("expected an idempotency profile, found {found}"),
                help,
            );
            return None;
        };
        // Read again and not looked up: this may be a shipped profile that extends another one.
        let rules = read_shipped(profile.as_str()).unwrap_or_default();
        return Some((profile.as_str().to_owned(), rules));
    };
    if depth == 0 {
        let help =
            format!("at most {MAX_DEPTH} files can extend each other; does one of them extend itself?");
        reader.report_with_help(node.span, format!("`{}` extends too many files", shown(name)), help);
        return None;
    }
    let source = match files(name) {
        Ok(source) => source,
        Err(error) => {
            let help = "the path is relative to the folder of the file that names it";
            reader.report_with_help(node.span, format!("cannot read `{}`: {error}", shown(name)), help);
            return None;
        }
    };
    match read_file(&source, files, depth - 1) {
        Ok(rules) => Some((stem(name), KeyRules { only_there: true, ..rules })),
        Err(problems) => {
            problems.iter().for_each(|problem| reader.add(problem.clone()));
            None
        }
    }
}

/// Whether a text is the path of a file and not the name of a profile.
fn is_file(text: &str) -> bool {
    [".yaml", ".yml"].iter().any(|ending| text.ends_with(ending))
}

/// The name of a file without its folder and its ending.
fn stem(path: &str) -> String {
    let file = path.rsplit(['/', '\\']).next().unwrap_or(path);
    file.rsplit_once('.').map_or(file, |(stem, _)| stem).to_owned()
}

/// Reads the file of a profile.
pub(super) fn read_file(source: &Source, files: ReadFile<'_>, depth: u32) -> Result<KeyRules, Problems> {
    let node = parse(source)?;
    let reader = Reader::new(source);
    let rules = base(&reader, &node, files, depth)
        .and_then(|base| read_rules(&reader, &node, base.map_or_else(unknown, |(_, rules)| rules)));
    reader.finish(rules)
}

/// The rules of a shipped profile.
pub(super) fn read_shipped(name: &str) -> Result<KeyRules, Problems> {
    let (name, text) = FILES.iter().find(|(known, _)| *known == name).copied().unwrap_or((name, ""));
    let source = Source::new(format!("{name}.yaml"), text);
    read_file(&source, &|_| Err("a shipped profile extends no file".to_owned()), MAX_DEPTH - 1)
}

/// The rules of a map, with those of `base` for what it leaves out.
fn read_rules(reader: &Reader, node: &Node, base: KeyRules) -> Option<KeyRules> {
    let [
        _,
        _,
        about,
        _,
        source,
        unverified,
        hosts,
        key,
        with,
        quoted,
        required,
        min,
        max,
        scope,
        identity,
        stores,
        replay,
        replay_status,
        marker,
        mismatch,
        concurrent,
        lifetime,
        budget,
        after,
        rate_limit,
        content_type,
        body,
        refusals,
    ] = reader.keyed_fields(node, "`idempotency`", &RULES)?;
    let before = reader.count();
    let of = |entry: Option<(&Key, &'_ Node)>| entry.map(|(_, node)| node.clone());
    let text =
        |entry: Option<(&Key, &Node)>| entry.and_then(|(_, node)| reader.text(node)).map(str::to_owned);
    let flag = |entry: Option<(&Key, &Node)>| entry.and_then(|(_, node)| reader.boolean(node));
    let length =
        |entry: Option<(&Key, &Node)>| entry.and_then(|(_, node)| reader.integer::<usize>(node, 1..=100_000));
    let place = |entry: Option<(&Key, &Node)>| entry.and_then(|(_, node)| read_place(reader, node));
    let mut unverified_names = unverified.map_or_else(Vec::new, |(_, node)| read_names(reader, node));
    let given = |name: &str| node.get(name).is_some();
    let inherited = base.unverified.iter().filter(|name| !given(name) && !unverified_names.contains(name));
    unverified_names.extend(inherited.cloned().collect::<Vec<_>>());
    let rules = KeyRules {
        about: text(about).unwrap_or(base.about),
        source: text(source).unwrap_or(base.source),
        unverified: unverified_names,
        hosts: hosts.map_or(Vec::new(), |(_, node)| read_texts(reader, node)),
        key: place(key).or(base.key),
        only_there: base.only_there,
        with: with.and_then(|(_, node)| read_with(reader, node)).or(base.with),
        quoted: flag(quoted).unwrap_or(base.quoted),
        required: flag(required).unwrap_or(base.required),
        min: length(min).unwrap_or(base.min),
        max: length(max).unwrap_or(base.max),
        scope: word(reader, scope, &KeyScope::ALL, KeyScope::as_str).unwrap_or(base.scope),
        identity: identity.map_or(base.identity, |(_, node)| read_texts(reader, node)),
        stores: word(reader, stores, &StorageRule::ALL, StorageRule::as_str).unwrap_or(base.stores),
        replay: word(reader, replay, &ReplayRule::ALL, ReplayRule::as_str).unwrap_or(base.replay),
        replay_status: replay_status
            .and_then(|(_, node)| reader.integer(node, 200..=299))
            .or(base.replay_status),
        marker: marker.map_or(base.marker, |(_, node)| read_headers(reader, node)),
        mismatch: word(reader, mismatch, &MismatchRule::ALL, MismatchRule::as_str).unwrap_or(base.mismatch),
        concurrent: word(reader, concurrent, &ConcurrencyRule::ALL, ConcurrencyRule::as_str)
            .unwrap_or(base.concurrent),
        lifetime: lifetime.and_then(|(_, node)| read_lifetime(reader, node)).unwrap_or(base.lifetime),
        budget: budget.and_then(|(_, node)| reader.integer(node, 0..=u32::MAX as usize)).or(base.budget),
        after: word(reader, after, &ExpiryRule::ALL, ExpiryRule::as_str).unwrap_or(base.after),
        rate_limit: word(reader, rate_limit, &RateLimitPlace::ALL, RateLimitPlace::as_str)
            .unwrap_or(base.rate_limit),
        content_type: text(content_type).or(base.content_type),
        body: of(body).unwrap_or(base.body),
        refusals: match refusals {
            Some((_, node)) => read_refusals(reader, node, base.refusals)?,
            None => base.refusals,
        },
    };
    if reader.count() == before {
        check(reader, node, &rules);
    }
    Some(rules)
}

/// Reports fields that contradict each other.
fn check(reader: &Reader, node: &Node, rules: &KeyRules) {
    let place = |name: &str| node.entry(name).map(|(key, _)| key.span);
    let object = |name: &str, is_wrong: bool, message: &str, help: &str| {
        if is_wrong && let Some(span) = place(name) {
            reader.report_with_help(span, message, help);
        }
    };
    let at_length: Span = place("max").or(place("min")).unwrap_or_default();
    if rules.min > rules.max {
        let message = format!("the shortest key has {} characters, the longest {}", rules.min, rules.max);
        reader.report_with_help(at_length, message, "`min` must not be greater than `max`");
    }
    let refuses = rules.replay == ReplayRule::Refuse;
    let refused = "a repeated request is refused, so nothing is replayed";
    let help = "remove it, or write `replay: first`; the refusal is `refusals: {used: {status: 409}}`";
    object("replay_status", refuses, refused, help);
    object("marker", refuses, refused, help);
    let is_endless = rules.lifetime == Lifetime::For(After::Settled);
    let help = "remove it, or give a lifetime that ends: 30m, {requests: 3}, while-open";
    object("after", is_endless, "the key is kept for ever, so nothing comes after its lifetime", help);
    if rules.key.is_none() && place("extends").or(place("profile")).is_none() {
        let help = "add where the key is: `key: header.Idempotency-Key`";
        for name in fact_names() {
            object(name, true, &format!("keys are ignored, so `{name}` has no meaning"), help);
        }
    }
    if rules.key == Some(KeyPlace::Content) {
        let help = "remove it, or give a key that the client sends: `key: header.Idempotency-Key`";
        for name in ["required", "min", "max", "mismatch", "quoted"] {
            let message = format!("the content is the key, so `{name}` has no meaning");
            object(name, true, &message, help);
        }
    }
    let executes = rules.mismatch == MismatchRule::Execute;
    let help = "remove `identity`, or write `mismatch: refuse` for fields that are not among them";
    object("identity", executes, "every other body is another key already (`mismatch: execute`)", help);
}

fn word<T: Copy>(
    reader: &Reader,
    entry: Option<(&Key, &Node)>,
    all: &[T],
    as_str: fn(T) -> &'static str,
) -> Option<T> {
    let words: Vec<(&str, T)> = all.iter().map(|value| (as_str(*value), *value)).collect();
    entry.and_then(|(_, node)| reader.one_of(node, &words))
}

fn read_place(reader: &Reader, node: &Node) -> Option<KeyPlace> {
    let text = reader.text(node)?;
    match KeyPlace::parse(text) {
        Ok(place) => match no_key_there(&place) {
            None => Some(place),
            Some((message, help)) => {
                reader.report_with_help(node.span, message, help);
                None
            }
        },
        Err((what, help)) => {
            reader.report_with_help(node.span, format!("`{}` cannot be {what}", shown(text)), help);
            None
        }
    }
}

/// `{header.If-None-Match: "*"}`.
fn read_with(reader: &Reader, node: &Node) -> Option<(KeyPlace, String)> {
    let entries = reader.entries(node)?;
    let [(key, value)] = entries else {
        let help = "for example {header.If-None-Match: \"*\"}";
        reader.report_with_help(node.span, "`with` has one place and its value", help);
        return None;
    };
    match KeyPlace::parse(&key.name) {
        Ok(place) => Some((place, reader.text(value)?.to_owned())),
        Err((what, help)) => {
            let message = format!("`{}` cannot be {what}", shown(&key.name));
            reader.add(Problem::new(reader.file(), key.span, message).with_help(help));
            None
        }
    }
}

fn read_lifetime(reader: &Reader, node: &Node) -> Option<Lifetime> {
    match node.as_text() {
        Some(WHILE_OPEN) => Some(Lifetime::WhileOpen(WhileOpen::Word)),
        Some(FOREVER) => Some(Lifetime::For(After::Settled)),
        _ => read_after(reader, node).map(Lifetime::For),
    }
}

fn read_texts(reader: &Reader, node: &Node) -> Vec<String> {
    let items = reader.list(node).unwrap_or_default();
    items.iter().filter_map(|item| reader.text(item)).map(str::to_owned).collect()
}

/// The names of fields.
fn read_names(reader: &Reader, node: &Node) -> Vec<String> {
    let names: Vec<(&str, &str)> = fact_names().into_iter().map(|name| (name, name)).collect();
    let items = reader.list(node).unwrap_or_default();
    items.iter().filter_map(|item| reader.one_of(item, &names)).map(str::to_owned).collect()
}

fn read_headers(reader: &Reader, node: &Node) -> Vec<(String, String)> {
    let entries = reader.entries(node).unwrap_or_default();
    entries.iter().filter_map(|(key, node)| Some((key.name.clone(), reader.text(node)?.to_owned()))).collect()
}

fn read_refusals(reader: &Reader, node: &Node, base: Refusals) -> Option<Refusals> {
    let [missing, length, in_flight, other_body, other_endpoint, used, ended] =
        reader.fields(node, "the refusals of a profile", &REFUSALS)?;
    let read = |node: Option<&Node>, base: RefusalRules| match node {
        Some(node) => read_refusal(reader, node, &base),
        None => Some(base),
    };
    let read_own = |node: Option<&Node>, base: Option<RefusalRules>, like: &RefusalRules| match node {
        Some(node) => read_refusal(reader, node, base.as_ref().unwrap_or(like)).map(Some),
        None => Some(base),
    };
    let length = read(length, base.length)?;
    let other_body = read(other_body, base.other_body)?;
    Some(Refusals {
        missing: read_own(missing, base.missing, &length)?,
        other_endpoint: read_own(other_endpoint, base.other_endpoint, &other_body)?,
        length,
        other_body,
        in_flight: read(in_flight, base.in_flight)?,
        used: read(used, base.used)?,
        ended: read(ended, base.ended)?,
    })
}

/// A refusal. A new message is not one of the code of another message.
fn read_refusal(reader: &Reader, node: &Node, base: &RefusalRules) -> Option<RefusalRules> {
    let [status, code, kind, message, headers, body] = reader.fields(node, "a refusal", &REFUSAL)?;
    let text = |node: Option<&Node>| node.and_then(|node| reader.text(node)).map(str::to_owned);
    let is_new = message.is_some();
    Some(RefusalRules {
        status: status.map_or(Some(base.status), |node| reader.integer(node, 400..=599))?,
        code: text(code).or_else(|| base.code.clone().filter(|_| !is_new)),
        kind: text(kind).or_else(|| base.kind.clone().filter(|_| !is_new)),
        message: text(message).unwrap_or_else(|| base.message.clone()),
        headers: headers.map_or_else(|| base.headers.clone(), |node| read_headers(reader, node)),
        body: body.cloned().or_else(|| base.body.clone()),
    })
}
