//! A directory for one start of a subject, and ways to wait for its processes and to find those it left
//! running.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hapax::subject::{AcceptedTask, Limits, Machine, ServiceAddress, Settings, Start, Subject, SupervisorId};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;

/// Far longer than any test here takes, even on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The result of [`Rig::left`] when no process is left.
pub(crate) const NO_PROCESS: [u32; 0] = [];

/// The directories of one start.
pub(crate) struct Rig {
    root: tempfile::TempDir,
    pub(crate) limits: Limits,
}

impl Rig {
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("state")).unwrap();
        fs::create_dir(root.path().join("shared")).unwrap();
        Rig { root, limits: Limits { time: TIMEOUT * 2, ..Limits::default() } }
    }

    /// A file in the directory of the subject.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.root.path().join("state").join(name)
    }

    pub(crate) fn start(&self) -> Start {
        Start {
            trial: "5d1c0f0e6a1b2c3d".to_owned(),
            name: "0a1b2c3d4e5f6071".to_owned(),
            caller: 1,
            start: 1,
            resumes: false,
            answers: None,
            event: None,
            deliveries: None,
            webhook_secrets: Vec::new(),
            task: "Charge cus_42.".to_owned(),
            steps: "[]".to_owned(),
            services: vec![ServiceAddress {
                name: "payment".to_owned(),
                url: "http://127.0.0.1:4001".to_owned(),
                smtp: None,
                key: "sk_test_1".to_owned(),
            }],
            mcp: None,
            state_dir: self.root.path().join("state"),
            shared_dir: self.root.path().join("shared"),
            machine: Machine::create(["tmp", "var", "shm"].map(|name| self.root.path().join(name))).unwrap(),
            first_process: 300,
            result: self.root.path().join("result.json"),
            proxy: "http://127.0.0.1:9".to_owned(),
            limits: self.limits,
            client_timeout: Duration::from_secs(10),
            before_stop: None,
            before_time_up: None,
            rate: None,
            intercepted: None,
            sealed: None,
            supervisor: SupervisorId::default(),
            accepted: AcceptedTask::default(),
            hide: hapax::subject::Hide::default(),
        }
    }

    /// A named pipe in the directory of the subject, through which a script says how far it is. Make it
    /// before the start: a script that writes to it would make a regular file otherwise.
    pub(crate) fn pipe(&self, name: &str) -> Pipe {
        let path = self.file(name);
        rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::RWXU).unwrap();
        // Open for writing too: so it does not look closed before the script has opened it.
        let receiver = pipe::OpenOptions::new().read_write(true).open_receiver(&path).unwrap();
        Pipe { path, receiver }
    }

    /// The processes that were started here and still run.
    pub(crate) fn left(&self) -> Vec<u32> {
        let root = self.root.path().to_str().unwrap().as_bytes();
        let numbers = fs::read_dir("/proc")
            .unwrap()
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        numbers
            .filter(|pid: &u32| {
                let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
                environment.windows(root.len()).any(|part| part == root)
            })
            .collect()
    }
}

/// A shell script as a subject.
pub(crate) fn shell(script: &str) -> Subject {
    program(&["sh", "-c", script])
}

pub(crate) fn program(words: &[&str]) -> Subject {
    let mut subject = Subject::command(words.iter().map(|word| (*word).to_owned()).collect());
    subject.settings = Settings { hapax: Some(hapax().to_owned()), ..Settings::default() };
    subject
}

pub(crate) fn hapax() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_hapax"))
}

/// The end of a named pipe that a test reads.
pub(crate) struct Pipe {
    path: PathBuf,
    receiver: pipe::Receiver,
}

impl Pipe {
    /// Waits until the script has written a line, and returns it.
    pub(crate) async fn line(&mut self) -> String {
        let mut line = Vec::new();
        let read = async {
            while !line.ends_with(b"\n") {
                line.push(self.receiver.read_u8().await.unwrap());
            }
        };
        let in_time = tokio::time::timeout(TIMEOUT, read).await;
        assert!(in_time.is_ok(), "nothing was written to {}", self.path.display());
        String::from_utf8(line).unwrap().trim().to_owned()
    }

    /// Waits until no process has the pipe open for writing. Call it after [`Pipe::line`].
    pub(crate) async fn closed(self) {
        let mut reader = pipe::OpenOptions::new().open_receiver(&self.path).unwrap();
        drop(self.receiver);
        let in_time = tokio::time::timeout(TIMEOUT, reader.read_to_end(&mut Vec::new())).await;
        assert!(in_time.is_ok(), "a process still has {} open", self.path.display());
    }
}

/// The state of a process as the system shows it: one letter.
pub(crate) fn state(pid: &str) -> char {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_else(|_| panic!("{pid} is gone"));
    stat.rsplit_once(") ").unwrap().1.chars().next().unwrap()
}
