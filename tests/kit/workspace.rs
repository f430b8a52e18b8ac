//! A temporary folder in which the command runs, and its output.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU16, Ordering};

use serde_json::Value;
use tempfile::TempDir;

/// The program under test.
pub(crate) const HAPAX: &str = env!("CARGO_BIN_EXE_hapax");

/// A folder in which a user works.
pub(crate) struct Workspace {
    pub(crate) folder: TempDir,
}

/// The exit status and the output of a command.
pub(crate) struct Called {
    pub(crate) status: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Workspace {
    pub(crate) fn new() -> Self {
        Workspace { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Writes a file, with the folders above it.
    pub(crate) fn write(&self, name: &str, text: &str) -> &Self {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        self
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Makes a named pipe. Reading it waits until a process has written to it and closed it.
    pub(crate) fn pipe(&self, name: &str) -> PathBuf {
        let path = self.path().join(name);
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        path
    }

    /// The command, in this folder and without the settings of the caller.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(HAPAX);
        command.args(arguments).current_dir(self.path()).env("NO_COLOR", "1").env("HAPAX_NO_SMOKE", "1");
        for name in ["CI", "COLUMNS", "GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"] {
            command.env_remove(name);
        }
        command
    }

    /// The command as a user who owns this folder and nothing else; `None` where the tests do not run as
    /// root: then every command is that of an ordinary user.
    pub(crate) fn command_of_nobody(&self, arguments: &[&str]) -> Option<Command> {
        const NOBODY: &str = "65534";
        if !rustix::process::geteuid().is_root() {
            return None;
        }
        // The executable may be in a folder that only root can enter.
        let hapax = self.path().join("hapax");
        std::fs::copy(HAPAX, &hapax).unwrap();
        assert!(Command::new("chown").args(["-R", NOBODY]).arg(self.path()).status().unwrap().success());
        let mut command = Command::new("setpriv");
        command.args(["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups"]).arg(hapax).args(arguments);
        command
            .current_dir(self.path())
            .env("HOME", self.path())
            .env("NO_COLOR", "1")
            .env("HAPAX_NO_SMOKE", "1");
        Some(command)
    }

    /// Calls the command and waits for its end.
    pub(crate) fn call(&self, arguments: &[&str]) -> Called {
        self.command(arguments).output().unwrap().into()
    }

    /// The saved report of the last run.
    pub(crate) fn report(&self) -> Value {
        serde_json::from_str(&self.read("reports/latest/report.json")).unwrap()
    }
}

impl From<Output> for Called {
    fn from(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Called {
            status: output.status.code().unwrap_or(-1),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }
}

impl Called {
    /// Fails the test and shows the output, unless the exit status is this.
    #[track_caller]
    pub(crate) fn expect(self, status: i32) -> Self {
        assert_eq!(self.status, status, "\n--- stdout\n{}\n--- stderr\n{}", self.stdout, self.stderr);
        self
    }
}

/// A free port outside of the range from which the system assigns ports: nobody gets it by chance.
pub(crate) fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let first = 20_000 + u16::try_from(std::process::id() % 100).unwrap() * 100;
    let mut ports = std::iter::repeat_with(|| first + NEXT.fetch_add(1, Ordering::Relaxed));
    ports.find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok()).unwrap()
}

/// The verdict of the first trial of a case.
pub(crate) fn verdict<'a>(report: &'a Value, case: &str) -> &'a Value {
    let cases = report["cases"].as_array().unwrap();
    let found = cases
        .iter()
        .find(|found| found["id"] == case)
        .unwrap_or_else(|| panic!("no case {case} in {report:#}"));
    &found["trials"][0]["verdict"]
}

/// The kinds of the findings of a verdict.
pub(crate) fn kinds(verdict: &Value) -> Vec<&str> {
    verdict["findings"].as_array().unwrap().iter().map(|finding| finding["kind"].as_str().unwrap()).collect()
}

/// A scenario with one charge, followed by `more`.
pub(crate) fn charge(more: &str) -> String {
    format!(
        "about: One charge.\ntags: [mine]\ntask: Charge customer cus_42 $49.99 for order ord_1001.\n\
         steps:\n  - {{ do: payment.charge, with: {{ customer: cus_42, amount: 4999, currency: usd, order: \
         ord_1001 }} }}\n\
         expect:\n  effects:\n    - {{ effect: payment.charge, where: {{ order: ord_1001 }}, with: {{ \
         amount: 4999 }} }}\n{more}"
    )
}

/// A subject in bash that lists the charges and does nothing else.
pub(crate) const LOOK: &str = r#"exec 3<>"/dev/tcp/127.0.0.1/${HAPAX_PAYMENT_URL##*:}"
printf 'GET /v1/charges HTTP/1.0\r\nAuthorization: Bearer %s\r\n\r\n' "$HAPAX_PAYMENT_KEY" >&3
cat <&3 >/dev/null"#;

/// Functions in bash for subjects that write: `charge FORM` and `mail JSON` send one request and print its
/// answer.
pub(crate) const WRITES: &str = r#"post() {
  exec 3<>"/dev/tcp/127.0.0.1/${1##*:}" || return
  head="POST $3 HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: bash\r\nAuthorization: Bearer $2\r\n"
  head="${head}Content-Type: $4\r\nContent-Length: ${#5}\r\nConnection: close\r\n\r\n"
  printf '%b%s' "$head" "$5" >&3
  cat <&3
  exec 3>&-
}
charge() {
  form=application/x-www-form-urlencoded
  post "$HAPAX_PAYMENT_URL" "$HAPAX_PAYMENT_KEY" /v1/charges "$form" "$1&currency=usd"
}
mail() { post "$HAPAX_EMAIL_URL" "$HAPAX_EMAIL_KEY" /emails application/json "$1"; }
"#;
