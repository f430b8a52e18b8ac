//! The supervisor: a process of its own between hapax and one start of a subject. It sees to it that nothing
//! of the subject outlives it, that time, output and processes are bounded, and that blows land. It reads an
//! order and then blows from its standard input; when that is closed, hapax is gone, and so is everything
//! here. It has plain threads and no runtime, to start quickly.

mod kept;
mod land;
mod outputs;
mod processes;
mod protocol;
mod spotter;
mod watch;

use std::io::{self, BufRead, Write};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, mpsc};

use rustix::process::{Resource, Rlimit};

pub(super) use land::BY_ITSELF;
#[cfg(target_os = "linux")]
pub(super) use processes::below;
pub(super) use protocol::{Answer, Order, SupervisorOrder};

use super::captured::Captured;
use super::{How, Limits};
use outputs::Outputs;
use watch::Watch;

/// Runs a supervisor on the standard input and output of this process.
///
/// # Errors
/// Where it could not read its order, or not say what happened.
pub fn supervise() -> io::Result<()> {
    let mut lines = io::stdin().lock().lines();
    let Some(first) = lines.next().transpose()? else { return Ok(()) };
    let order: Order = serde_json::from_str(&first)?;
    drop(lines);
    confine(&order.limits);
    let mut subject = match start(&order) {
        Ok(subject) => subject,
        Err(why) => {
            let how = How::Unstartable(why);
            return tell(&Answer::Ended {
                how,
                stdout: Captured::default(),
                stderr: Captured::default(),
                left: 0,
                cpu: None,
            });
        }
    };
    let outputs = Outputs::drain(&mut subject, order.limits.kept, &order.claim_marks);
    let ended = Arc::new(AtomicU64::new(0));
    let watch = Watch::new(&order, &mut subject, &ended);
    let (events, received) = mpsc::channel();
    watch::listen(events.clone());
    watch::reap(events, Arc::clone(&ended));
    let (how, left) = watch.until_the_end(&received);
    let (stdout, stderr) = outputs.finish();
    tell(&Answer::Ended { how, stdout, stderr, left, cpu: processes::cpu() })
}

/// Makes this process the parent of all orphans below it and bounds what they all may use.
fn confine(limits: &Limits) {
    // Each of these is refused only where it is not needed: already a leader of a session, a lower limit
    // already.
    let _ = rustix::process::setsid();
    let bounded = |most: u64, resource| {
        let maximum = rustix::process::getrlimit(resource).maximum.map_or(most, |maximum| maximum.min(most));
        let _ =
            rustix::process::setrlimit(resource, Rlimit { current: Some(maximum), maximum: Some(maximum) });
    };
    bounded(limits.file_size, Resource::Fsize);
    bounded(0, Resource::Core);
    if let Some(files) = limits.files {
        // hapax may have more for itself than it was started with; the subject has what it would have without
        // it.
        let maximum = rustix::process::getrlimit(Resource::Nofile).maximum;
        let _ = rustix::process::setrlimit(Resource::Nofile, Rlimit { current: Some(files), maximum });
    }
    #[cfg(target_os = "linux")]
    {
        let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
        // So that the subject cannot write into our pipes through /proc.
        let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
    }
}

fn start(order: &Order) -> Result<Child, String> {
    use std::os::unix::process::CommandExt;

    let Some((program, arguments)) = order.program.split_first() else {
        return Err("the command is empty".to_owned());
    };
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env_clear()
        .envs(order.env.iter().map(|(name, value)| (name, value)))
        .process_group(0);
    let input = if order.open_input { Stdio::piped() } else { Stdio::null() };
    command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped());
    if let Some(directory) = &order.directory {
        if !directory.is_dir() {
            return Err(format!(
                "there is no directory {}; `directory` in hapax.yaml says where it runs",
                directory.display()
            ));
        }
        command.current_dir(directory);
    }
    command.spawn().map_err(|error| unstartable(program, &error))
}

/// Why a program cannot be started, and what to do.
fn unstartable(program: &str, error: &io::Error) -> String {
    let is_path = program.contains('/');
    let why = match error.kind() {
        io::ErrorKind::NotFound if is_path => {
            "there is no such file (or what its first line names is missing); check the path, and from which directory it is meant"
        }
        io::ErrorKind::NotFound => "no such program is in PATH; check the spelling, or give its path",
        io::ErrorKind::PermissionDenied => {
            "it cannot be executed; make it executable (chmod +x), or name what runs it first: python3 agent.py"
        }
        io::ErrorKind::ArgumentListTooLong => "its arguments and its environment are too long for the system",
        _ if error.raw_os_error() == Some(rustix::io::Errno::NOEXEC.raw_os_error()) => {
            "it is no program; begin it with a line like #!/bin/sh, or name what runs it first: python3 agent.py"
        }
        _ => return format!("cannot start `{program}`: {error}"),
    };
    format!("cannot start `{program}`: {why}")
}

fn tell(answer: &Answer) -> io::Result<()> {
    let mut out = io::stdout().lock();
    serde_json::to_writer(&mut out, answer)?;
    out.write_all(b"\n")?;
    out.flush()
}
