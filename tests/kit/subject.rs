//! A place for one start of a subject, and ways to see what it has left.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use hapax::subject::{Limits, ServiceAddress, Settings, Start, Subject};

/// Far longer than anything here takes, however busy the machine is.
const PATIENCE: Duration = Duration::from_secs(60);

/// What is left when nothing is.
pub(crate) const NOBODY: [u32; 0] = [];

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
        Rig { root, limits: Limits { time: PATIENCE * 2, ..Limits::default() } }
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
            task: "Charge cus_42.".to_owned(),
            steps: "[]".to_owned(),
            services: vec![ServiceAddress {
                name: "payment".to_owned(),
                url: "http://127.0.0.1:4001".to_owned(),
                smtp: None,
                key: "sk_test_1".to_owned(),
            }],
            state_dir: self.root.path().join("state"),
            shared_dir: self.root.path().join("shared"),
            result: self.root.path().join("result.json"),
            proxy: "http://127.0.0.1:9".to_owned(),
            limits: self.limits,
            before_stop: None,
            before_time_up: None,
            hide: hapax::subject::Hide::default(),
        }
    }

    /// Waits until the subject has written something into a file.
    pub(crate) async fn written(&self, name: &str) -> String {
        let path = self.file(name);
        until(&format!("{name} is written"), || {
            fs::read_to_string(&path).is_ok_and(|text| text.ends_with('\n'))
        })
        .await;
        fs::read_to_string(&path).unwrap().trim().to_owned()
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

/// Waits until something is so.
pub(crate) async fn until(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "it never came to this: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// The letter with which the system says what a process does.
pub(crate) fn state(pid: &str) -> char {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_else(|_| panic!("{pid} is gone"));
    stat.rsplit_once(") ").unwrap().1.chars().next().unwrap()
}
