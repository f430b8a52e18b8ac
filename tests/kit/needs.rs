//! Tests that need other programs: Python, Node and their packages, curl, jq, a browser. `cargo test`
//! installs the packages of a language itself, and system packages only if the user is root. Without them,
//! the tests that need them are ignored, with one line that says what to install. libtest decides at compile
//! time which tests are ignored, so these tests use another harness (`libtest-mimic`), which decides when
//! they start.

use std::path::Path;
use std::pin::Pin;
use std::process::Command;

use libtest_mimic::{Arguments, Trial};

/// A test and its name.
pub(crate) type Test = (&'static str, fn() -> Running);

/// A running test.
pub(crate) type Running = Pin<Box<dyn Future<Output = ()>>>;

/// The tests with these names, for [`run`].
macro_rules! tests {
    ($($name:ident),+ $(,)?) => {
        vec![$((stringify!($name), (|| -> $crate::kit::needs::Running { Box::pin($name()) }) as fn() -> _)),+]
    };
}
pub(crate) use tests;

/// What tests need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// Real clients.
    Clients,
    /// The frameworks of `examples/frameworks`.
    Frameworks,
    /// The frameworks of `examples/frameworks` in sealed runs.
    SealedFrameworks,
    /// A real browser.
    Browser,
    /// Namespaces, for sealed runs.
    Namespaces,
    /// Real clients in sealed runs.
    SealedClients,
    /// Java with its compiler, and namespaces.
    SealedJava,
}

impl Need {
    /// In the order in which their tests run: those that need no installation, and wait longest, come first.
    const ALL: [Need; 7] = [
        Need::Namespaces,
        Need::Clients,
        Need::Frameworks,
        Need::SealedFrameworks,
        Need::Browser,
        Need::SealedClients,
        Need::SealedJava,
    ];

    /// Why this user cannot have it, in one line; `None` if it is there or can be installed.
    fn missing(self) -> Option<String> {
        match self {
            Need::Clients => not_installable("tests/clients/install"),
            Need::Frameworks => not_installable("examples/frameworks/install"),
            Need::SealedFrameworks => not_sealable().or_else(|| Need::Frameworks.missing()),
            Need::Browser => not_installable("tests/browser/install"),
            Need::Namespaces => not_sealable(),
            Need::SealedClients => not_sealable().or_else(|| Need::Clients.missing()),
            Need::SealedJava => not_sealable().or_else(no_java),
        }
    }
}

/// Why a script cannot install its programs.
fn not_installable(script: &str) -> Option<String> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join(script);
    let output = Command::new(script).arg("--check").output().expect("the install script should start");
    let why = String::from_utf8_lossy(&output.stderr);
    (!output.status.success()).then(|| why.lines().next_back().unwrap_or("it cannot be installed").to_owned())
}

/// Why this machine allows no sealed runs. It is not hapax that is asked: where it is broken, its tests must fail.
fn not_sealable() -> Option<String> {
    let flags = ["--user", "--map-root-user", "--net", "--mount", "--pid", "--fork", "--mount-proc", "true"];
    let why = match Command::new("unshare").args(flags).output() {
        Ok(output) if output.status.success() => return None,
        Ok(output) => String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        Err(error) => error.to_string(),
    };
    Some(format!("This machine allows no namespaces (unshare {}): {why}", flags.join(" ")))
}

/// Why a source file in Java cannot be run.
fn no_java() -> Option<String> {
    let has_compiler =
        Command::new("javac").arg("-version").output().is_ok_and(|output| output.status.success());
    (!has_compiler)
        .then(|| "Java is missing. Install with: sudo apt-get install -y default-jdk-headless".to_owned())
}

/// The tests of a module, with its name and what they need.
pub(crate) type Module = (Need, &'static str, Vec<Test>);

/// Runs the tests of all modules. Those whose need is missing are ignored, and the reason is printed once. Those
/// of `full` are run by `.ci/full` only.
#[expect(clippy::print_stderr, reason = "people read why tests are ignored")]
pub(crate) fn run(modules: Vec<Module>, full: Vec<Module>) -> std::process::ExitCode {
    let mut arguments = Arguments::from_args();
    // As libtest does.
    let threads = || std::env::var("RUST_TEST_THREADS").ok()?.parse().ok();
    arguments.test_threads = arguments.test_threads.or_else(threads);
    let wants_full = arguments.ignored || arguments.include_ignored;
    let mut trials = Vec::new();
    for (is_full, modules) in [(false, modules), (true, full)] {
        for need in Need::ALL {
            let of_need = modules.iter().filter(|(have, ..)| *have == need);
            let tests: Vec<(String, Test)> = of_need
                .flat_map(|(_, module, tests)| {
                    tests.iter().map(move |test| (format!("{module}::{}", test.0), *test))
                })
                .collect();
            let is_wanted = !tests.is_empty() && !arguments.list && (wants_full || !is_full);
            let missing = if is_wanted { need.missing() } else { None };
            if let Some(why) = &missing {
                eprintln!("{} tests are ignored. {why}", tests.len());
                if wants_full {
                    continue;
                }
            }
            let is_ignored = is_full || missing.is_some();
            trials.extend(tests.into_iter().map(|(name, test)| trial(name, test, is_ignored)));
        }
        if is_full && !wants_full && !modules.is_empty() && !arguments.list {
            eprintln!(
                "Tests of .ci/full are ignored; they run with: cargo test --test external -- --ignored"
            );
        }
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn trial(name: String, (_, test): Test, is_ignored: bool) -> Trial {
    let run = move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime should start").block_on(test());
        Ok(())
    };
    Trial::test(name, run).with_ignored_flag(is_ignored)
}
