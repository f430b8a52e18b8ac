use yaml_reader::{Reader, Source, parse};

use super::*;

fn read(yaml: &str) -> Result<Idempotency, String> {
    let source = Source::new("keys.yaml", yaml);
    let reader = Reader::new(&source);
    let files = |name: &str| match name {
        "acme.yaml" => Ok(Source::new(name, "extends: checkout\nlifetime: 5m\n")),
        "loop.yaml" => Ok(Source::new(name, "extends: loop.yaml\n")),
        _ => Err("no such file".to_owned()),
    };
    let found = read_idempotency(&reader, &parse(&source).unwrap(), &files);
    reader.finish(found).map_err(|problems| problems.render(false))
}

#[test]
fn every_file_of_a_profile_can_be_read() {
    for (name, text) in FILES {
        let rules = read::read_shipped(name).unwrap_or_else(|problems| panic!("{problems}"));
        assert!(rules.about.len() > 10 && rules.about.ends_with('.'), "{name}: {}", rules.about);
        assert!(rules.source.len() > 10, "{name} names no source");
        assert!(text.lines().all(|line| line.len() <= 130), "{name}");
    }
    for (profile, (name, _)) in Profile::ALL.iter().zip(FILES) {
        assert_eq!((profile.as_str(), profile.idempotency().name()), (*name, *name));
    }
}

#[test]
fn at_least_25_profiles_are_shipped_and_they_differ() {
    assert!(Profile::ALL.len() >= 25);
    let mut seen: Vec<(String, Profile)> = Vec::new();
    for profile in Profile::ALL {
        let rules = profile.idempotency().rules();
        let facts = KeyRules {
            about: String::new(),
            source: String::new(),
            unverified: Vec::new(),
            hosts: Vec::new(),
            ..rules.clone()
        };
        let facts = serde_json::to_string(&facts).unwrap();
        let same = seen.iter().find(|(other, _)| *other == facts);
        assert!(same.is_none(), "{profile} is as {:?}", same.map(|(_, other)| other));
        seen.push((facts, profile));
    }
}

#[test]
fn no_host_belongs_to_two_profiles() {
    let hosts = Profile::ALL.into_iter().flat_map(|profile| &profile.idempotency().rules().hosts);
    for host in hosts {
        let example = host.replace('*', "shop");
        let owners = Profile::ALL.into_iter().filter(|profile| {
            let all = &profile.idempotency().rules().hosts;
            all.iter().any(|other| other == host || Profile::of_host(&example) == Some(*profile))
        });
        assert_eq!(owners.count(), 1, "{host}");
    }
    assert_eq!(Profile::of_host("api.xero.com"), Some(Profile::Xero));
    assert_eq!(Profile::of_host("acme.zendesk.com"), Some(Profile::Zendesk));
    assert_eq!(Profile::of_host("zendesk.com"), None);
}

#[test]
fn a_name_a_map_and_a_file_are_read_by_the_same_code() {
    assert_eq!(read("stripe").unwrap(), Idempotency::new(Profile::Stripe));
    let lifetime = After::Requests(2);
    let short = Idempotency::new(Profile::Stripe).with_lifetime(lifetime);
    for spelling in
        ["{profile: stripe, lifetime: {requests: 2}}", "{extends: stripe, lifetime: {requests: 2}}"]
    {
        assert_eq!(read(spelling).unwrap(), short, "{spelling}");
    }
    assert!(short.is_shipped() && short.to_string() == "stripe");
    let own = read("acme.yaml").unwrap();
    assert_eq!((own.name(), own.rules().stores), ("acme", StorageRule::Success));
    assert_eq!(own.rules().lifetime, Lifetime::For(After::Time(std::time::Duration::from_secs(300))));
    assert!(own.rules().only_there && !own.is_shipped());
    let changed = read("{extends: stripe, mismatch: replay}").unwrap();
    assert_eq!((changed.to_string().as_str(), changed.rules().only_there), ("stripe (changed)", false));
    let moved = read("{extends: stripe, key: body.nonce}").unwrap();
    assert_eq!((moved.place().unwrap().to_string().as_str(), moved.rules().only_there), ("body.nonce", true));
}

#[test]
fn an_unverified_fact_that_a_map_replaces_is_no_longer_unverified() {
    let stripe = Profile::Stripe.idempotency().rules();
    assert!(stripe.unverified.contains(&"concurrent".to_owned()));
    let changed = read("{extends: stripe, concurrent: wait}").unwrap();
    assert!(!changed.rules().unverified.contains(&"concurrent".to_owned()));
}

#[test]
fn what_contradicts_itself_is_explained_with_its_place_and_a_way_out() {
    for (yaml, message, help) in [
        ("strip", "expected an idempotency profile, found `strip`", "did you mean `stripe`?"),
        ("7", "expected an idempotency profile, found", "it is one of `stripe`"),
        ("gone.yaml", "cannot read `gone.yaml`: no such file", "relative to the folder"),
        ("loop.yaml", "extends too many files", "does one of them extend itself?"),
        ("{lifetime: 5m}", "it is not said where the key is", "add `extends: stripe`"),
        ("{extends: stripe, profile: ietf}", "`extends` and `profile` are the same", "remove one"),
        ("{extends: stripe, min: 20, max: 10}", "the shortest key has 20 characters", "`min` must not"),
        ("{extends: mangopay, replay_status: 200}", "nothing is replayed", "write `replay: first`"),
        ("{extends: mangopay, marker: {X-A: b}}", "nothing is replayed", "write `replay: first`"),
        ("{extends: increase, after: refuse}", "the key is kept for ever", "give a lifetime that ends"),
        ("{key: content, mismatch: replay}", "the content is the key", "`key: header.Idempotency-Key`"),
        ("{extends: stripe, identity: [amount], mismatch: execute}", "is another key already", "`identity`"),
        ("{extends: stripe, key: cookie.a}", "cannot be the place of the key", "body.nonce"),
        ("{key: header.User-Agent}", "`User-Agent` cannot have the key", "key: header.Idempotency-Key"),
        ("{key: authorization, stores: all}", "the same value with every request", "is `scope`"),
        ("{extends: stripe, key: X-Api-Key}", "`X-Api-Key` cannot have the key", "is `scope`"),
        ("{extends: stripe, replay: last}", "expected `first`, `latest` or `refuse`", "last"),
        ("{extends: stripe, stores: sucess}", "expected `all`, `success` or `started`", "`success`?"),
        ("{extends: stripe, refusals: {used: {status: 200}}}", "400", "200"),
        ("{extends: stripe, with: {header.A: a, header.B: b}}", "one place and its value", "If-None-Match"),
        ("{extends: stripe, lifetime: 5}", "expected a time", "{requests: 2}"),
    ] {
        let text = read(yaml).expect_err(yaml);
        assert!(text.contains(message) && text.contains(help), "{yaml}:\n{text}");
        assert!(text.contains("keys.yaml:1:") || text.contains("loop.yaml:1:"), "{yaml}:\n{text}");
    }
}

#[test]
fn what_keeps_accounts_apart_can_stand_beside_the_key() {
    let own = read("{key: Idempotency-Key, scope: account, identity: [header.Authorization]}").unwrap();
    assert_eq!(own.identity(), ["header.Authorization"]);
    assert!(read("{key: Idempotency-Key, with: {header.Content-Type: application/json}}").is_ok());
}

#[test]
fn the_table_marks_what_is_not_verified() {
    let page = profiles_page();
    let row = |name: &str| page.lines().find(|line| line.starts_with(&format!("| `{name}` |"))).unwrap();
    assert!(row("stripe").contains("| 409 ? |") && row("stripe").contains("| 24 h |"), "{}", row("stripe"));
    assert!(row("qonto").contains("| 30 min |") && row("qonto").contains("| replay |"), "{}", row("qonto"));
    assert!(row("none").contains("| – |"));
    // What a file does not say is not known.
    assert!(
        row("brevo").contains("up to 255 ? | account ? | 15 min | started ? | first ? |"),
        "{}",
        row("brevo")
    );
    assert!(row("monday").contains("30 min, at most 1000 answers ? |"), "{}", row("monday"));
    assert_eq!(profiles_json().lines().count(), Profile::ALL.len());
}
