//! The supervisor: a process between hapax and one start of a subject. It makes sure that no process of the
//! subject outlives it, limits time, output and processes, and delivers interrupts. It reads the order and
//! then the interrupts from its standard input; when the input is closed, hapax has ended, and it kills
//! everything. It uses threads and no runtime, to start quickly.

mod bounded_output;
mod detector;
mod inherited_signals;
mod outputs;
mod processes;
mod protocol;
mod signals;
mod watch;

use std::io::{self, BufRead, Write};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, mpsc};

use rustix::process::{Pid, Resource, Rlimit};

pub(crate) use processes::{adopt_orphans, left_running, processes_below};
pub(super) use protocol::{ProgramInput, StartOrder, SupervisorMessage, SupervisorOrder};
pub(super) use signals::ALREADY_ENDED;

use super::captured::Captured;
use super::sealed::{SealOrder, SealedProgram, SealedSubject};
use super::{EndReason, Limits};
use outputs::Outputs;
use processes::ProcessTree;
use watch::{Watch, WatchEnd};

/// Runs a supervisor on the standard input and output of this process.
///
/// # Errors
/// When it cannot read its order or write its messages.
pub fn supervise() -> io::Result<()> {
    let mut lines = io::stdin().lock().lines();
    let Some(first) = lines.next().transpose()? else { return Ok(()) };
    let order: StartOrder = serde_json::from_str(&first)?;
    drop(lines);
    inherited_signals::reset()?;
    confine(&order.limits);
    let program = match start(&order) {
        Ok(program) => program,
        Err(why) => {
            let reason = EndReason::Unstartable(why);
            return write_message(&SupervisorMessage::Ended {
                reason,
                stdout: Captured::default(),
                stderr: Captured::default(),
                left_running: 0,
                are_all_dead: true,
                cpu: None,
            });
        }
    };
    let StartedProgram { tree, mut child, sealed } = program;
    let outputs = Outputs::drain(&mut child, order.limits.kept, &order.claim_marks);
    let ended = Arc::new(AtomicU64::new(0));
    let watch = Watch::new(&order, tree, child.stdin.take(), &ended);
    let (events, received) = mpsc::channel();
    watch::listen(events.clone());
    match sealed {
        Some(sealed) => watch::reap_sealed(sealed, events, Arc::clone(&ended)),
        None => watch::reap(events, Arc::clone(&ended)),
    }
    let WatchEnd { reason, left_running, are_all_dead } = watch.until_the_end(&received);
    let (stdout, stderr) = outputs.finish(are_all_dead);
    let cpu = processes::cpu();
    write_message(&SupervisorMessage::Ended { reason, stdout, stderr, left_running, are_all_dead, cpu })
}

/// Makes this process the parent of all orphans below it, sets resource limits, and takes from it, and from
/// the subject, what reads other processes.
fn confine(limits: &Limits) {
    // These calls fail only where they are not needed: it is a session leader already, or the limit is lower.
    let _ = rustix::process::setsid();
    let set_limit = |limit: u64, resource| {
        let maximum =
            rustix::process::getrlimit(resource).maximum.map_or(limit, |maximum| maximum.min(limit));
        let _ =
            rustix::process::setrlimit(resource, Rlimit { current: Some(maximum), maximum: Some(maximum) });
    };
    set_limit(limits.file_size, Resource::Fsize);
    set_limit(0, Resource::Core);
    if let Some(files) = limits.files {
        // hapax may have raised its own limit; the subject gets the limit that hapax was started with.
        let maximum = rustix::process::getrlimit(Resource::Nofile).maximum;
        let _ = rustix::process::setrlimit(Resource::Nofile, Rlimit { current: Some(files), maximum });
    }
    #[cfg(target_os = "linux")]
    {
        let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
        // The subject must not write to our pipes through /proc.
        crate::process_protection::close_memory();
        crate::process_protection::drop_tracing();
    }
}

/// A program that was started.
struct StartedProgram {
    tree: ProcessTree,
    /// The process that has its pipes: the program itself, or the first init process of a sealed start.
    child: Child,
    sealed: Option<SealedSubject>,
}

fn start(order: &StartOrder) -> Result<StartedProgram, String> {
    if order.program.is_empty() {
        return Err("the command is empty".to_owned());
    }
    if let Some(directory) = order.directory.as_ref().filter(|directory| !directory.is_dir()) {
        return Err(format!(
            "the directory {} does not exist; check `directory` in hapax.yaml",
            directory.display()
        ));
    }
    match &order.seal {
        None => start_directly(order),
        Some(seal) => start_sealed(order, seal),
    }
}

fn start_directly(order: &StartOrder) -> Result<StartedProgram, String> {
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
    command.stdin(order.input.stdio()?).stdout(Stdio::piped()).stderr(Stdio::piped());
    if let Some(directory) = &order.directory {
        command.current_dir(directory);
    }
    let child = command.spawn().map_err(|error| start_error(program, &error))?;
    let tree = ProcessTree { main: Pid::from_child(&child), parent: rustix::process::getpid() };
    Ok(StartedProgram { tree, child, sealed: None })
}

fn start_sealed(order: &StartOrder, seal: &SealOrder) -> Result<StartedProgram, String> {
    let hapax = std::env::current_exe()
        .map_err(|error| format!("cannot find the hapax executable: {error}; start it with its full path"))?;
    let program = SealedProgram {
        program: order.program.clone(),
        directory: order.directory.clone(),
        env: order.env.clone(),
        input: order.input.clone(),
    };
    // The standard input of a sealed start's supervisor is a socket.
    let (child, sealed) = SealedSubject::start(&hapax, program, seal, io::stdin())?
        .ok_or("the init process of the sealed start ended early")?;
    let tree = ProcessTree { main: sealed.main, parent: sealed.init };
    Ok(StartedProgram { tree, child, sealed: Some(sealed) })
}

/// Why a program cannot be started, and what to do.
pub(super) fn start_error(program: &str, error: &io::Error) -> String {
    let is_path = program.contains('/');
    let why = match error.kind() {
        io::ErrorKind::NotFound if is_path => {
            "no such file (or the interpreter in its first line is missing); check the path and the working \
             directory"
        }
        io::ErrorKind::NotFound => "not found in PATH; check the spelling, or write its path",
        io::ErrorKind::PermissionDenied => {
            "permission denied; make it executable (chmod +x), or write its interpreter first: python3 \
             agent.py"
        }
        io::ErrorKind::ArgumentListTooLong => "its arguments and environment are too long for the system",
        _ if error.raw_os_error() == Some(rustix::io::Errno::NOEXEC.raw_os_error()) => {
            "not an executable file; add a first line like #!/bin/sh, or write its interpreter first: \
             python3 agent.py"
        }
        _ => return format!("cannot start `{program}`: {error}"),
    };
    format!("cannot start `{program}`: {why}")
}

fn write_message(message: &SupervisorMessage) -> io::Result<()> {
    let mut out = io::stdout().lock();
    serde_json::to_writer(&mut out, message)?;
    out.write_all(b"\n")?;
    out.flush()
}
