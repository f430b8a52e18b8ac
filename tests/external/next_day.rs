//! A restart on the next day: a key with the date is another one then.

use serde_json::Value;

use crate::kit::installed::installed;
use crate::kit::needs::{Test, tests};
use crate::kit::workspace::{Called, Workspace};

pub(crate) fn tests() -> Vec<Test> {
    tests![a_key_with_the_date_is_found_on_the_next_day_and_one_without_is_not]
}

/// Charges with a key, again until it is answered. A restart after the commit is answered as before.
const AGENT: &str = r#"
import datetime, json, os, sys, urllib.parse, urllib.request
key = "order-7" + (f"-{datetime.date.today()}" if sys.argv[1] == "dated" else "")
body = urllib.parse.urlencode({"amount": 4999, "currency": "usd", "customer": "cus_42", "metadata[order]": 7})
outcome = "unknown"
for attempt in range(6):
    request = urllib.request.Request(os.environ["HAPAX_PAYMENT_URL"] + "/v1/charges", body.encode(), {
        "Authorization": f"Bearer {os.environ['HAPAX_PAYMENT_KEY']}", "Idempotency-Key": key})
    try:
        json.load(urllib.request.urlopen(request, timeout=20))
        outcome = "done"
        break
    except Exception:
        pass
print(json.dumps({"outcome": outcome}))
"#;

fn hapax(workspace: &Workspace, arguments: &[&str]) -> Called {
    let packages = installed().join("python/lib");
    let version = std::fs::read_dir(packages).unwrap().next().unwrap().unwrap().path();
    let library = version.join("site-packages/libfaketime/vendor/libfaketime/src/libfaketime.so.1");
    assert!(library.is_file(), "{}", library.display());
    workspace.command(arguments).env("HAPAX_LIBFAKETIME", library).output().unwrap().into()
}

async fn a_key_with_the_date_is_found_on_the_next_day_and_one_without_is_not() {
    let workspace = Workspace::new();
    workspace.write("agent.py", AGENT);
    let python = installed().join("python/bin/python").to_string_lossy().into_owned();
    let charge = "payment.charge:order=7,amount=4999,customer=cus_42";
    let search = ["explore", "--task", "Charge customer cus_42 4999 cents for order 7.", "--expect", charge];
    let how = ["--depth", "1", "--no-probe", "--json"];
    let explore = |options: &[&str], agent: &str| {
        hapax(&workspace, &[&search[..], &how, options, &["--", &python, "agent.py", agent]].concat())
    };
    let found: Value =
        serde_json::from_str(&explore(&["--next-day", "--out", "dated"], "dated").expect(1).stdout).unwrap();
    let failures = found["failures"].as_array().unwrap();
    assert_eq!(failures.len(), 1, "{found:#}");
    assert_eq!(failures[0]["kind"], "duplicated");
    let file = failures[0]["file"].as_str().unwrap();
    assert!(workspace.read(file).contains("day: next"), "{}", workspace.read(file));
    hapax(&workspace, &["run", file, "--no-probe", "--", &python, "agent.py", "dated"]).expect(1);
    hapax(&workspace, &["run", file, "--no-probe", "--", &python, "agent.py", "same"]).expect(0);
    // The same agent without that day, and one whose key has no date.
    explore(&["--out", "today"], "dated").expect(0);
    explore(&["--next-day", "--out", "same"], "same").expect(0);
}
