//! What a process finds when it is started says nothing about its fault, and differs between runs.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::kit::workspace::{Workspace, charge};

/// Records everything that it can see of its start, then makes one charge and waits for the answer.
const AGENT: &str = r#"
env | grep -v -e '^_=' -e '^SHLVL=' | sort
# The report hides keys and numbers of cards; a hash in letters can be seen.
echo "KEY_HASH=$(printf %s "$HAPAX_PAYMENT_KEY" | md5sum | cut -c1-16 | tr 0-9 g-p)"
echo "length of the key ${#HAPAX_PAYMENT_KEY}"
for fd in /proc/$$/fd/*; do echo "fd ${fd##*/} $(readlink "$fd")"; done
echo "cwd $(pwd)"
echo "arguments $# $*"
echo "parent $(tr '\0' ' ' < /proc/$PPID/cmdline) $(tr '\0' ' ' 2>/dev/null < /proc/$PPID/environ | wc -c)"
echo "limits $(ulimit -a | tr -s ' \n' ' ')"
echo "beside $(ls "$HAPAX_STATE_DIR/.." "$HAPAX_SHARED_DIR" | wc -l)"
echo "claims $(ls "${HAPAX_RESULT%/*}" | wc -l)"
echo end
body='amount=4999&currency=usd&customer=cus_42&metadata[order]=ord_1001'
exec 3<>"/dev/tcp/127.0.0.1/${HAPAX_PAYMENT_URL##*:}"
head='POST /v1/charges HTTP/1.1\r\nHost: x\r\nConnection: close\r\n'
head="${head}Authorization: Bearer $HAPAX_PAYMENT_KEY\r\nContent-Length: ${#body}\r\n"
printf '%b%s' "${head}Content-Type: application/x-www-form-urlencoded\r\n\r\n" "$body" >&3
cat <&3 >/dev/null
"#;

/// The variables whose values are random.
const RANDOM: [&str; 7] = [
    "HAPAX_TRIAL",
    "HAPAX_CALLER",
    "HAPAX_STATE_DIR",
    "HAPAX_SHARED_DIR",
    "HAPAX_RESULT",
    "KEY_HASH",
    "TMPDIR",
];

/// One start: the case, the caller, the number of the start, and what it recorded.
struct Seen {
    whose: (String, u64, u64),
    lines: Vec<String>,
}

impl Seen {
    fn variable(&self, name: &str) -> &str {
        let found = self.lines.iter().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
        found.unwrap_or_else(|| panic!("{:?} has no {name}: {:#?}", self.whose, self.lines))
    }

    /// The random values, by the name of the variable; of a path, all parts that hapax made.
    fn tokens(&self) -> BTreeMap<&'static str, Vec<String>> {
        let parts = |name: &'static str| {
            let value = self.variable(name);
            let made = value.split_once("/hapax-").map_or(value, |(_, rest)| rest);
            (name, made.split(['/', '.']).filter(|part| *part != "json").map(str::to_owned).collect())
        };
        RANDOM.into_iter().map(parts).collect()
    }

    /// What it recorded, with random values, ports and numbers of pipes masked.
    fn masked(&self) -> String {
        let mut text = self.lines.join("\n");
        for (name, parts) in self.tokens() {
            for part in parts {
                text = text.replace(&part, &format!("<{name} {}>", part.len()));
            }
        }
        for mark in ["127.0.0.1:", "pipe:[", "[redacted "] {
            let mut pieces = text.split(mark);
            let first = pieces.next().unwrap().to_owned();
            text = pieces.fold(first, |text, rest| {
                text + mark + "N" + rest.trim_start_matches(|digit: char| digit.is_ascii_digit())
            });
        }
        text
    }
}

fn seen(workspace: &Workspace) -> Vec<Seen> {
    let report = workspace.report();
    let mut all = Vec::new();
    for case in report["cases"].as_array().unwrap() {
        for output in
            case["trials"].as_array().unwrap().iter().flat_map(|trial| trial["output"].as_array().unwrap())
        {
            let number = |name: &str| output[name].as_u64().unwrap();
            let whose = (case["id"].as_str().unwrap().to_owned(), number("caller"), number("start"));
            let lines: Vec<String> = output["stdout"]
                .as_str()
                .unwrap()
                .lines()
                .take_while(|line| *line != "end")
                .map(str::to_owned)
                .collect();
            all.push(Seen { whose, lines });
        }
    }
    all
}

fn workspace() -> Workspace {
    let workspace = Workspace::new();
    workspace.write("agent.sh", AGENT);
    workspace.write("scenarios/plain.yaml", &charge(""));
    let lost = "matrix: { reply: [drop, { status: 503 }], commit: [now, never] }\n\
                faults: [{ on: payment.charge, commit: \"${commit}\", reply: \"${reply}\" }]\n";
    workspace.write("scenarios/lost.yaml", &charge(lost));
    let struck = |interrupts: &str, then: &str| {
        let interrupt = format!("{{ when: {{ received: payment.charge }}, do: \"${{blow}}\"{then} }}");
        charge(&format!("matrix: {{ blow: [{interrupts}] }}\ninterrupts: [{interrupt}]\n"))
    };
    workspace.write("scenarios/struck.yaml", &struck("kill, stop, cancel", ", then: restart"));
    workspace.write("scenarios/frozen.yaml", &struck("freeze, { freeze: 10ms }", ""));
    let many = "matrix: { reply: [ok, drop] }\ncallers: 3\n\
                faults: [{ on: payment.charge, reply: \"${reply}\", commit: never, optional: true }]\n";
    workspace.write("scenarios/many.yaml", &charge(many));
    workspace
}

fn run(workspace: &Workspace, more: &[&str]) {
    let called =
        workspace.call(&[&["run", "scenarios"], more, &["--", "bash", "agent.sh", "a", "b"]].concat());
    assert!([1, 3].contains(&called.status), "{}{}", called.stdout, called.stderr);
}

#[test]
fn a_process_finds_nothing_that_names_its_case_its_caller_or_its_start() {
    let workspace = workspace();
    run(&workspace, &[]);
    let all = seen(&workspace);
    let starts = |case: &str| all.iter().filter(|seen| seen.whose.0 == case).count();
    assert_eq!(
        (starts("struck@blow=kill"), starts("struck@blow=cancel"), starts("many@reply=drop")),
        (2, 2, 3)
    );
    let is_first = |seen: &&Seen| seen.whose.2 == 1;
    // With one caller, a case with a fault, one with an interrupt and one with neither look the same. With
    // three callers there are more directories.
    for callers in [1, 3] {
        let of = |seen: &&Seen| seen.whose.0.starts_with("many") == (callers == 3);
        let first: Vec<&Seen> = all.iter().filter(of).filter(is_first).collect();
        assert!(first.len() >= 6, "{}", first.len());
        for seen in &first {
            assert_eq!(seen.masked(), first[0].masked(), "{:?} and {:?}", seen.whose, first[0].whose);
        }
    }
    // A restarted caller finds the same as before, and its own files.
    for again in all.iter().filter(|seen| seen.whose.2 == 2) {
        let before = all.iter().find(|seen| is_first(seen) && seen.whose.0 == again.whose.0).unwrap();
        assert_eq!(again.masked(), before.masked(), "{:?}", again.whose);
        for name in ["HAPAX_TRIAL", "HAPAX_CALLER", "HAPAX_STATE_DIR"] {
            assert_eq!(again.variable(name), before.variable(name), "{:?}", again.whose);
        }
        assert_ne!(again.variable("HAPAX_RESULT"), before.variable("HAPAX_RESULT"));
    }
    for seen in &all {
        // The folder of each run has another name.
        for (name, parts) in seen.tokens() {
            let made = if parts.len() > 1 { &parts[1..] } else { &parts[..] };
            let is_hash =
                |part: &String| part.len() == 16 && part.bytes().all(|byte| byte.is_ascii_lowercase());
            assert!(made.iter().all(is_hash), "{:?} {name} {made:?}", seen.whose);
        }
    }
    let plain = all.iter().find(|seen| seen.whose.0 == "plain").unwrap();
    assert!(plain.lines.contains(&"fd 0 /dev/null".to_owned()), "{:#?}", plain.lines);
    assert!(!plain.lines.iter().any(|line| line.starts_with("HAPAX_START=")));
    assert!(
        plain.lines.iter().any(|line| line.starts_with("parent ") && line.ends_with(" supervise  0")),
        "{:#?}",
        plain.lines
    );
}

#[test]
fn an_input_that_is_kept_open_is_open_in_every_case() {
    let workspace = workspace();
    workspace.write("hapax.yaml", "subjects: { mine: { command: [bash, agent.sh], stdin: open } }\n");
    let files = ["struck", "plain", "lost"].map(|name| format!("scenarios/{name}.yaml"));
    workspace.call(&["run", &files[0], &files[1], &files[2]]);
    let all = seen(&workspace);
    assert_eq!(all.len(), 11, "three cases with two starts each, and five");
    for seen in &all {
        let input = seen.lines.iter().find(|line| line.starts_with("fd 0 ")).unwrap();
        assert!(input.starts_with("fd 0 pipe:["), "{:?} has {input}", seen.whose);
    }
}

/// All random values of a run, by start and variable.
fn random(workspace: &Workspace) -> BTreeMap<(String, u64, u64, &'static str), Vec<String>> {
    let mut values = BTreeMap::new();
    for seen in seen(workspace) {
        for (name, mut parts) in seen.tokens() {
            if parts.len() > 1 {
                // The folder of the run, whose name is random.
                parts.remove(0);
            }
            let (case, caller, start) = seen.whose.clone();
            values.insert((case, caller, start, name), parts);
        }
    }
    values
}

#[test]
fn two_runs_differ_in_every_name_and_a_seed_makes_them_agree() {
    let workspace = workspace();
    let mut runs = Vec::new();
    let mut seeds = Vec::new();
    for _ in 0..2 {
        run(&workspace, &[]);
        runs.push(random(&workspace));
        seeds.push(workspace.report()["seed"].as_u64().unwrap());
    }
    assert_ne!(seeds[0], seeds[1]);
    assert!(runs[0].len() >= 60 && runs[0].keys().eq(runs[1].keys()), "{:?}", runs[0].keys());
    let parts = |run: &BTreeMap<_, Vec<String>>| {
        run.values().flatten().cloned().collect::<std::collections::BTreeSet<String>>()
    };
    assert!(parts(&runs[0]).is_disjoint(&parts(&runs[1])));
    run(&workspace, &["--seed", &seeds[0].to_string()]);
    assert_eq!(random(&workspace), runs[0]);
}

#[test]
fn the_random_seed_is_printed_and_every_replay_line_has_its_own() {
    let workspace = workspace();
    let called = workspace.call(&["run", "plain", "--", "true"]).expect(1);
    let report = workspace.report();
    let expected = format!(", seed {}, subject true", report["seed"]);
    assert!(called.stdout.contains(&expected), "{expected} in {}", called.stdout);
    assert!(workspace.read("reports/latest/summary.md").contains(&format!("seed {}", report["seed"])));
    let trial = &report["cases"][0]["trials"][0];
    let replay = format!("hapax replay plain --seed {} -- true", trial["seed"]);
    assert_eq!(trial["replay"], replay);
    assert!(called.stdout.contains(&replay), "{}", called.stdout);
}

#[test]
fn a_replay_gives_the_subject_the_same_names() {
    let workspace = workspace();
    run(&workspace, &["--trials", "2"]);
    let report = workspace.report();
    let trial = report["cases"]
        .as_array()
        .unwrap()
        .iter()
        .find(|case| case["id"] == "many@reply=drop")
        .unwrap()["trials"][1]
        .clone();
    let names = |trial: &Value| -> Vec<String> {
        let outputs = trial["output"]
            .as_array()
            .unwrap()
            .iter()
            .map(|output| output["stdout"].as_str().unwrap().to_owned());
        let lines = outputs.flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>());
        lines
            .filter(|line| {
                ["HAPAX_TRIAL=", "HAPAX_CALLER=", "KEY_HASH="].iter().any(|name| line.starts_with(name))
            })
            .collect()
    };
    let words: Vec<&str> = trial["replay"].as_str().unwrap().split_whitespace().skip(1).collect();
    workspace.call(&words);
    let again = &workspace.report()["cases"][0]["trials"][0];
    assert_eq!(names(again), names(&trial));
    assert_eq!(names(again).len(), 9);
    // The ledger maps such a name from a log to its trial.
    let ledger = workspace.read("reports/latest/ledger.jsonl");
    let given = names(again).into_iter().filter(|line| !line.starts_with("KEY_HASH")).collect::<Vec<_>>();
    assert!(
        given.iter().all(|line| ledger.contains(line.split_once('=').unwrap().1)),
        "{given:?} in {ledger}"
    );
}

#[test]
fn a_replay_and_a_partition_without_a_seed_are_refused_with_a_hint() {
    let workspace = workspace();
    let replay = workspace.call(&["replay", "plain", "--", "true"]).expect(2);
    assert!(replay.stderr.contains("add --seed N"), "{}", replay.stderr);
    let part = workspace.call(&["run", "scenarios", "--partition", "1/2", "--", "true"]).expect(2);
    assert!(!workspace.path().join("reports").exists(), "nothing ran");
    let seed = part.stderr.rsplit("--seed ").next().unwrap().trim();
    seed.parse::<u64>().unwrap_or_else(|error| panic!("{error}: {}", part.stderr));
    workspace.call(&["run", "plain", "--partition", "1/1", "--seed", seed, "--", "true"]).expect(1);
    assert_eq!(workspace.report()["seed"].to_string(), seed);
}
