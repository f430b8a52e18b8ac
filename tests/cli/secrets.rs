//! Secrets that a subject prints or claims: none of them is in the files or the output of a run.

use std::collections::HashSet;
use std::path::Path;

use crate::kit::workspace::{Called, LOOK, Workspace, charge};

/// Texts with a secret in place of `¤`.
const FORMS: [&str; 58] = [
    "password=¤",
    "PASSWORD=¤ and more",
    "Password: ¤",
    "password : ¤",
    "password := ¤",
    "passwd=¤",
    "passphrase: ¤",
    "DB_PASSWORD=¤",
    "export PGPASSWORD='¤'",
    "MYSQL_ROOT_PASSWORD: \"¤\"",
    "dbPassword = \"¤\";",
    "my.password.old = ¤",
    "{\"password\": \"¤\", \"a\": 1}",
    "{\"user\":{\"passWord\":\"¤\"}}",
    "{\\\"password\\\":\\\"¤\\\"}",
    "{\\\\\\\"password\\\\\\\":\\\\\\\"¤\\\\\\\"}",
    "{'password': '¤'}",
    "{password: ¤}",
    "password: |\n  ¤\nuser: ann",
    "user[password]=¤&x=1",
    "a=1&password=¤&b=2",
    "a%3D1%26password%3D¤%26b",
    "<password>¤</password>",
    "<add key=\"password\" value=\"¤\"/>",
    "- name: DB_PASSWORD\n  value: ¤\n",
    "{\"name\":\"DB_PASSWORD\",\"value\":\"¤\"}",
    "the password is ¤.",
    "logged in with password ¤ as ann",
    "machine h.example login ann password ¤",
    "$env:DB_PASSWORD = \"¤\"",
    "mysql --password=¤ -h x",
    "tool --password ¤ --verbose",
    "token=¤",
    "TOKEN=¤",
    "access_token=¤&x=1",
    "refreshToken: ¤",
    "\"id_token\" : \"¤\"",
    "x-auth-token: ¤",
    "secret=¤",
    "client_secret=¤;x=1",
    "CLIENT_SECRET: ¤",
    "aws_secret_access_key = ¤",
    "aws_session_token=¤",
    "api_key=¤",
    "API key: ¤",
    "X-Api-Key: ¤",
    "AccountKey=¤;EndpointSuffix=x",
    "Authorization: Bearer ¤",
    "authorization: ¤",
    "curl -H 'Authorization: token ¤' https://h.example",
    "Proxy-Authorization: Basic ¤",
    "it sent Bearer ¤ once more",
    "Cookie: a=b; session=¤",
    "curl -u ann:¤ https://h.example",
    "postgres://ann:¤@h.example:5432/db",
    "redis://:¤@h.example:6379",
    "https://¤@h.example/x.git",
    "amqp://ann:¤@h.example/%2f?x=1",
];

/// Secrets that are recognized by their form, and some that need a special text.
const LOOKS: [(&str, &str); 16] = [
    ("sk_live_51HxZqYbNcMdLeKfJgI", "¤"),
    ("sk_test_51AxSqDbFcGdHeJfKgL", "key¤"),
    ("sk-Zx1Cv2Bn3Ma4Sd5Fg6Hj7Kl8Qw9Er0Ty1Ui2Op3", "(¤)"),
    ("sk-proj-Zx1Cv2Bn3Ma4Sd5Fg6Hj7Kl8", "x¤y"),
    ("sk-ant-api03-Qw9Er0Ty1Ui2Op3As4Df5", "[¤]"),
    ("AKIAIOSFODNN7EXAMPLE", "id ¤"),
    ("ASIAQWERTYUIOPASDFGH", "x¤ "),
    ("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "with ¤ it works"),
    ("ghp_1a2B3c4D5e6F7g8H9i0JkLmNoPqRsTuVwXyZ", "a¤"),
    ("github_pat_11ABCDE0000aBcDeFgHiJkLmNoP", "¤"),
    ("xoxb-123456789012-abcDEF123456ghi", "¤"),
    ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI0MiJ9.c2lnbmF0dXJlLWhlcmU", "¤"),
    ("correct horse battery staple", "password: ¤"),
    ("purple monkey dishwasher", "SMTP_PASSWORD=¤"),
    ("p@ss/word#with:signs", "mongodb://ann:¤@h.example/db"),
    ("it is \\\"quoted\\\" hunter2", "{\"password\": \"¤\"}"),
];

const PEM: &str = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n\
    MzEfYyjiWA4R4/M2bS1GB4t7NXp98C3SC6dVMvDuictGeurT8jNbvJZHtCSuYEvu";

/// All secrets, each with its text.
fn planted() -> Vec<(String, String)> {
    let forms =
        FORMS.iter().enumerate().map(|(place, form)| (format!("Zq{place:02}vTx8LmWk{place:02}RbN4"), *form));
    let looks = LOOKS.iter().map(|(secret, form)| ((*secret).to_owned(), *form));
    let mut all: Vec<(String, String)> =
        forms.chain(looks).map(|(secret, form)| (secret.clone(), form.replace('¤', &secret))).collect();
    for label in ["PRIVATE KEY", "RSA PRIVATE KEY", "OPENSSH PRIVATE KEY"] {
        let block = format!("-----BEGIN {label}-----\n{PEM}\n-----END {label}-----");
        all.extend(PEM.split('\n').map(|line| (line.to_owned(), block.clone())));
        all.extend(
            PEM.split('\n')
                .map(|line| (line.to_owned(), format!("{{\"key\": \"{}\"}}", block.replace('\n', "\\n")))),
        );
    }
    all
}

/// Every file below a folder, with its bytes; links are not followed.
fn files(folder: &Path, all: &mut Vec<(String, Vec<u8>)>) {
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            files(&entry.path(), all);
        } else if kind.is_file() {
            all.push((entry.path().display().to_string(), std::fs::read(entry.path()).unwrap()));
        }
    }
}

/// The length of the pieces of a secret that are searched for. Every planted secret is longer.
const PIECE: usize = 12;

/// Fails if a secret, or a piece of it, is in the files or the output of a run.
fn nothing_of(secrets: &[&str], workspace: &Workspace, called: &Called) {
    let mut left = vec![
        ("stdout".to_owned(), called.stdout.clone().into_bytes()),
        ("stderr".to_owned(), called.stderr.clone().into_bytes()),
    ];
    files(&workspace.path().join("reports"), &mut left);
    let names: Vec<&str> = left.iter().filter_map(|(name, _)| name.rsplit('/').next()).collect();
    for wanted in ["ledger.jsonl", "report.json", "junit.xml", "summary.md", "index.html"] {
        assert!(names.contains(&wanted), "{wanted} is not in {names:?}");
    }
    let pieces: HashSet<&[u8]> = secrets.iter().flat_map(|secret| secret.as_bytes().windows(PIECE)).collect();
    for (name, bytes) in &left {
        let piece = bytes.windows(PIECE).find(|window| pieces.contains(window));
        assert_eq!(piece.map(String::from_utf8_lossy), None, "a piece of a secret is in {name}");
    }
}

#[test]
fn no_planted_secret_is_in_the_files_or_the_output_of_a_run() {
    let planted = planted();
    assert!(planted.len() >= 60, "{}", planted.len());
    let texts: Vec<&str> = planted.iter().map(|(_, text)| text.as_str()).collect();
    let secrets: Vec<&str> = planted.iter().map(|(secret, _)| secret.as_str()).collect();
    let all = texts.join("\n\n") + "\n";
    // Both outputs and the claim, with as many secrets at a time as fit into its message.
    for part in texts.chunks(20) {
        let workspace = Workspace::new();
        let claim = serde_json::json!({ "outcome": "done", "message": part.join("\n\n") });
        workspace
            .write("scenarios/plain.yaml", &charge(""))
            .write("all.txt", &all)
            .write("claim.json", &claim.to_string());
        // In pieces of 7 bytes, so that few secrets are written at once.
        let agent = format!(
            "{LOOK}\ndd if=all.txt bs=7 status=none\ndd if=all.txt bs=7 status=none >&2\n\
             cp claim.json \"$HAPAX_RESULT\""
        );
        workspace.write("agent", &agent);
        let mut command = workspace.command(&["run", "plain", "-v", "--", "bash", "agent"]);
        let called: Called = command
            .env("GITHUB_ACTIONS", "true")
            .env("GITHUB_STEP_SUMMARY", "reports/step.md")
            .output()
            .unwrap()
            .into();
        let called = called.expect(1);
        assert!(called.stdout.contains("[redacted "), "the output is shown:\n{}", called.stdout);
        nothing_of(&secrets, &workspace, &called);
        let claimed = workspace.report()["cases"][0]["trials"][0]["verdict"]["claims"][0]["message"]
            .as_str()
            .unwrap()
            .to_owned();
        assert!(claimed.contains("[redacted "), "{claimed}");
    }
}

/// The length of a value of which all but one character once was in a ledger.
const VALUE: &str = "forty-three-characters-of-a-value-0123456789";

#[test]
fn a_secret_across_a_cut_is_hidden() {
    // How much of each output is kept (half of it from the beginning), and how much of a message.
    const HALF: usize = 32 * 1024;
    const MESSAGE: usize = 4000;
    for (inside, filler) in [(1, 40_000), (42, 400_000), (20, 400_000)] {
        let workspace = Workspace::new();
        let output = |inside: usize| {
            let begins = format!("{}{VALUE}{}", "a".repeat(HALF - inside), "b".repeat(filler));
            format!("{begins}{VALUE}{}", "c".repeat(HALF - VALUE.len() + inside))
        };
        let message = format!("{}{VALUE} and more", "m".repeat(MESSAGE - inside));
        let claim = serde_json::json!({ "outcome": "done", "message": message });
        workspace
            .write("scenarios/plain.yaml", &charge(""))
            .write("out.txt", &output(inside))
            .write("err.txt", &output(43 - inside));
        workspace.write("claim.json", &claim.to_string());
        workspace.write(
            "agent",
            &format!("{LOOK}\ncat out.txt\ncat err.txt >&2\ncp claim.json \"$HAPAX_RESULT\""),
        );
        let mut command =
            workspace.command(&["run", "plain", "-v", "--env", "MY_VALUE", "--", "bash", "agent"]);
        let called: Called = command.env("MY_VALUE", VALUE).output().unwrap().into();
        nothing_of(&[VALUE], &workspace, &called.expect(1));
        assert!(workspace.read("reports/latest/report.json").contains("aaa[redacted "));
        assert!(workspace.read("reports/latest/ledger.jsonl").contains("mmm[redacted "));
    }
}

#[test]
fn values_from_hapax_yaml_are_hidden_and_templates_are_not() {
    let workspace = Workspace::new();
    workspace.write("scenarios/plain.yaml", &charge("")).write(
        "hapax.yaml",
        "subjects:\n  mine:\n    command: [bash, agent]\n    env:\n      MY_TOKEN: hunter2-token\n      \
         LONG: a-value-of-more-than-twenty-bytes\n      \
         MODE: careful-mode\n      WHERE: \"${payment.url}/v1/charges/all\"\n",
    );
    let print = "echo \"1 $MY_TOKEN 2 $LONG 3 $MODE 4 $WHERE\"\n";
    workspace.write(
        "agent",
        &format!(
            "{LOOK}\n{print}echo \"x$MY_TOKEN\" >&2\nprintf '{{\"outcome\": \
             \"done\", \"message\": \"%s %s\"}}' \"$MY_TOKEN\" \"$LONG\" > \"$HAPAX_RESULT\""
        ),
    );
    let called = workspace.call(&["run", "plain", "-v"]).expect(1);
    nothing_of(&["hunter2-token", "a-value-of-more-than-twenty-bytes"], &workspace, &called);
    assert!(called.stdout.contains("3 careful-mode 4 http://127.0.0.1:"), "{}", called.stdout);
    assert!(called.stdout.contains("/v1/charges/all"), "{}", called.stdout);
}

#[test]
fn ordinary_words_and_effects_are_not_hidden() {
    let workspace = Workspace::new();
    let subject = "Your password reset, token_count=5";
    workspace.write(
        "scenarios/mail.yaml",
        &format!(
            "about: A mail.\ntags: [mine]\ntask: Send it.\nsteps:\n  - {{ do: email.send, with: {{ to: \
             ann@example.com, subject: \"{subject}\", text: \"password: ask Ann\" }} }}\n\
             expect:\n  effects:\n    - {{ effect: email.send, where: {{ to: ann@example.com }}, with: {{ \
             subject: \"{subject}\" }} }}\n"
        ),
    );
    workspace.call(&["run", "scenarios/mail.yaml", "--subject", "careful"]).expect(0);
    assert!(workspace.read("reports/latest/ledger.jsonl").contains(subject));
    let words = "password reset mail sent, token_count=5, total_tokens: 812";
    workspace.write(
        "agent",
        &format!(
            "{LOOK}\necho '{words}'\nprintf '{{\"outcome\": \"not-done\", \"message\": \"%s\"}}' '{words}' \
             > \"$HAPAX_RESULT\""
        ),
    );
    workspace.write("scenarios/plain.yaml", &charge(""));
    let called = workspace.call(&["run", "plain", "-v", "--", "bash", "agent"]).expect(1);
    assert!(called.stdout.contains(words), "{}", called.stdout);
    assert!(workspace.read("reports/latest/ledger.jsonl").contains(words));
}

#[test]
fn a_secret_of_the_command_is_not_in_the_name_of_the_subject_and_warned_about() {
    let workspace = Workspace::new();
    workspace.write("scenarios/plain.yaml", &charge("")).write("agent", &format!("{LOOK}\necho \"got $2\""));
    let secret = "qwertyuiop-secret";
    let called = workspace.call(&["run", "plain", "-v", "--", "bash", "agent", "--token", secret]).expect(1);
    assert_eq!(workspace.report()["subject"], "bash agent --token [hidden]");
    assert!(called.stderr.contains("warning: --token: "), "{}", called.stderr);
    assert!(called.stdout.contains("got [redacted "), "{}", called.stdout);
    assert!(!workspace.read("reports/latest/ledger.jsonl").contains(secret));
}

#[test]
fn a_password_that_the_scenario_names_is_compared() {
    let workspace = Workspace::new();
    workspace.write(
        "scenarios/mail.yaml",
        "about: A mail.\ntags: [mine]\ntask: Send it.\nsteps:\n  - { do: email.send, with: { to: \
         ann@example.com, subject: \"password: hunter2\", text: \"x\" } }\n\
         expect:\n  effects:\n    - { effect: email.send, where: { to: ann@example.com }, with: { subject: \
         \"password: hunter2\" } }\n",
    );
    workspace.call(&["run", "scenarios/mail.yaml", "--subject", "careful"]).expect(0);
    assert!(workspace.read("reports/latest/ledger.jsonl").contains("password: hunter2"));
}
