//! The two init processes of a sealed start. The first makes the namespaces, opens the ports and hands them
//! over. The second is process 1 of the process namespace: it makes the mounts, starts the subject and takes
//! the status of every process that ends. When it ends, everything in the namespace does.
//!
//! There are two because a process cannot enter a process namespace itself, only its children can, and because
//! the user ids of the second user namespace can only be mapped from the first.

use std::io::{self, Read as _};
use std::net::{Ipv4Addr, Ipv6Addr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::thread;

use rustix::process::{Pid, WaitOptions};

use super::channel::Channel;
use super::order::{InitOrder, InitReport, SealOrder};
use super::{handover, loopback, mounts, namespaces, packets};
use crate::process_protection;
use crate::subject::supervisor::start_error;

/// Runs the first init process. Its standard input is a channel to the supervisor.
///
/// # Errors
/// When it cannot talk to the supervisor.
pub fn first_init() -> io::Result<()> {
    let mut supervisor = Channel::from_stdin()?;
    let order: InitOrder = supervisor.receive()?;
    let prepared = enter_network(&order, &mut supervisor)
        .and_then(|connector| start_second(&order, &mut supervisor, connector));
    match prepared {
        // Its status is that of the subject's namespace: nothing is left.
        Ok(mut second) => second.wait().map(drop),
        Err(why) => supervisor.send(&InitReport::Failed(why)),
    }
}

/// Moves this process into the namespaces and hands over the ports, the packet sockets, and a socket over
/// which hapax asks for connections to the subject. Returns its other end.
fn enter_network(order: &InitOrder, supervisor: &mut Channel) -> Result<UnixStream, String> {
    match (order.seal.ipc, order.ids) {
        (Some(keeper), _) => {
            namespaces::join_ipc(keeper).map_err(failed("cannot join the namespaces of the machine"))?;
        }
        (None, ids) => {
            namespaces::own_ipc().map_err(failed("cannot make a user namespace"))?;
            match ids {
                // Root of the namespace, so that the second process has the rights to mount.
                Some(own) => namespaces::map_own_ids(own, (0, 0)),
                None => supervisor.send(&InitReport::Unshared).and_then(|()| supervisor.wait()),
            }
            .map_err(failed("cannot map the user ids of a namespace"))?;
        }
    }
    namespaces::enter_network().map_err(failed("cannot make a network namespace"))?;
    loopback::bring_up().map_err(failed("cannot bring up the loopback interface"))?;
    let mut sockets = open_ports(&order.seal)?;
    sockets.extend(packets::open().map_err(failed("cannot open packet sockets"))?);
    let (connector, theirs) = UnixStream::pair().map_err(failed("cannot make a pair of sockets"))?;
    sockets.push(theirs.into());
    let hand_over = supervisor.send(&InitReport::Ports).and_then(|()| supervisor.send_sockets(&sockets));
    hand_over.map_err(failed("cannot hand over the ports"))?;
    Ok(connector)
}

/// The ports that hapax serves, for IPv4 and, where the system has it, IPv6: TCP first.
fn open_ports(seal: &SealOrder) -> Result<Vec<OwnedFd>, String> {
    let mut sockets: Vec<OwnedFd> = Vec::new();
    for port in &seal.tcp_ports {
        let listener = TcpListener::bind((Ipv6Addr::UNSPECIFIED, *port))
            .or_else(|_| TcpListener::bind((Ipv4Addr::UNSPECIFIED, *port)));
        sockets.push(listener.map_err(failed(&format!("cannot open TCP port {port}")))?.into());
    }
    for port in &seal.udp_ports {
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, *port));
        sockets.push(socket.map_err(failed(&format!("cannot open UDP port {port}")))?.into());
    }
    Ok(sockets)
}

/// Starts the second init process, passes the supervisor's channel, the connector and the order on to it, and
/// maps its user ids.
fn start_second(order: &InitOrder, supervisor: &mut Channel, connector: UnixStream) -> Result<Child, String> {
    let started = || -> io::Result<Child> {
        let (own, theirs) = UnixStream::pair()?;
        let second = Command::new(std::env::current_exe()?)
            .args(["sealed-init", "second"])
            .env_clear()
            .process_group(0)
            .stdin(OwnedFd::from(theirs))
            .spawn()?;
        let mut channel = Channel::new(own)?;
        channel.send_sockets(&[supervisor.stream()?.into(), connector.into()])?;
        channel.send(order)?;
        if order.ids.is_none() && channel.wait().is_ok() {
            namespaces::map_all_ids(second.id())?;
            channel.go_on()?;
        }
        Ok(second)
    };
    started().map_err(failed("cannot start the init process"))
}

/// Runs the second init process. Its standard input is a channel to the first.
///
/// # Errors
/// When it cannot talk to the first, or to the supervisor.
pub fn second_init() -> io::Result<()> {
    let mut first = Channel::from_stdin()?;
    let mut sockets = first.receive_sockets()?.into_iter();
    let mut next = || sockets.next().map(UnixStream::from).ok_or(io::ErrorKind::UnexpectedEof);
    let (mut supervisor, connector) = (Channel::new(next()?)?, next()?);
    let order: InitOrder = first.receive()?;
    match prepare(&order, &mut first).and_then(|()| start(&order)) {
        Ok(Some(subject)) => {
            drop(first);
            thread::spawn(move || connect_on_demand(connector));
            supervisor.send(&InitReport::Started)?;
            take_statuses(subject, supervisor)
        }
        Ok(None) => supervisor.send(&InitReport::Exited(0)),
        Err(why) => supervisor.send(&InitReport::Failed(why)),
    }
}

/// Makes the mounts and locks them.
fn prepare(order: &InitOrder, first: &mut Channel) -> Result<(), String> {
    namespaces::own_mounts().map_err(failed("cannot make a mount namespace"))?;
    mounts::apply(&order.seal.files)?;
    mounts::mount_proc()?;
    namespaces::begin_processes_at(order.seal.first_process);
    mounts::protect_system()?;
    mounts::hide_disks()?;
    if order.ids.is_none() {
        mounts::protect_system_settings()?;
    }
    namespaces::lock_mounts().map_err(failed("cannot make a second user namespace"))?;
    match order.ids {
        Some(ids) => namespaces::map_own_ids((0, 0), ids),
        None => first.go_on().and_then(|()| first.wait()),
    }
    .map_err(failed("cannot map the user ids of the second namespace"))?;
    // So that the subject cannot look into this process.
    process_protection::close_memory();
    process_protection::drop_tracing();
    Ok(())
}

/// Starts the subject; `None` if there is no program.
fn start(order: &InitOrder) -> Result<Option<Child>, String> {
    let Some((program, arguments)) = order.program.split_first() else { return Ok(None) };
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env_clear()
        .envs(order.env.iter().map(|(name, value)| (name, value)))
        .process_group(0)
        .stdin(order.input.stdio()?);
    if let Some(directory) = &order.directory {
        command.current_dir(directory);
    }
    command.spawn().map(Some).map_err(|error| start_error(program, &error))
}

/// Connects to ports of the subject, which hapax names, and hands the connections over; an answer without one
/// means that nothing listens there.
fn connect_on_demand(mut connector: UnixStream) -> io::Result<()> {
    loop {
        let mut port = [0; 2];
        connector.read_exact(&mut port)?;
        let connected = TcpStream::connect((Ipv4Addr::LOCALHOST, u16::from_be_bytes(port)));
        let sockets: Vec<OwnedFd> = connected.into_iter().map(OwnedFd::from).collect();
        handover::send(&connector, &sockets)?;
    }
}

/// Takes the status of every process until none is left, or the supervisor is gone.
fn take_statuses(subject: Child, mut supervisor: Channel) -> io::Result<()> {
    // The supervisor looks for the process of the subject before its number can be used again.
    supervisor.wait()?;
    let main = Pid::from_child(&subject);
    let mut reports = Channel::new(supervisor.stream()?)?;
    thread::spawn(move || {
        let _ = supervisor.wait();
        // The supervisor is gone, and with this process the whole namespace.
        std::process::exit(1);
    });
    loop {
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == main => {
                reports.send(&match status.exit_status() {
                    Some(code) => InitReport::Exited(code),
                    None => InitReport::Signaled(status.terminating_signal().unwrap_or_default()),
                })?;
            }
            Ok(Some(_)) => reports.send(&InitReport::OtherEnded)?,
            Ok(None) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return Ok(()),
        }
    }
}

fn failed(what: &str) -> impl FnOnce(io::Error) -> String {
    let what = what.to_owned();
    move |error| format!("{what}: {error}")
}
