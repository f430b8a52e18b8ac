//! A sealed subject that tries to leave its namespaces. What it tries to reach belongs to the test, which
//! sees whether anything arrived.

use std::io::{ErrorKind, Read};
use std::net::{IpAddr, Ipv4Addr, TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::kit::needs::{Test, tests};
use crate::kit::serve::Serve;
use crate::kit::workspace::{Called, Workspace, charge};

pub(crate) fn tests() -> Vec<Test> {
    tests![
        nothing_outside_is_reached_over_the_network_or_a_unix_socket,
        another_trial_at_the_same_time_is_not_reached,
        the_ledger_is_found_by_no_path_and_no_mount,
        no_process_of_hapax_can_be_seen_stopped_or_read,
        no_name_of_a_unix_socket_reaches_it,
        settings_of_the_system_cannot_be_changed_by_root,
        the_system_and_its_control_groups_can_be_read_and_not_changed,
        no_disk_can_be_read_as_a_whole,
        a_process_that_cannot_be_killed_keeps_neither_hapax_nor_the_output,
        the_same_holds_for_an_ordinary_user,
    ]
}

/// Functions of the subject. It never ends because one of its attempts fails.
const ATTEMPTS: &str = r#"exec 2>/dev/null
tcp() { (exec 4<>"/dev/tcp/$1/$2" && echo "reached $1 $2" && echo hello >&4); }
udp() { (echo hello >"/dev/udp/$1/$2"); }
unix() { perl -e 'use Socket; $_ = shift; s/^@/\0/; socket S, AF_UNIX, SOCK_STREAM, 0;
  print "reached $_\n" if connect S, pack_sockaddr_un($_)' "$1"; }
"#;

/// What ends each script: every attempt was made.
const END: &str = "\necho tried\n";

/// Runs a script sealed, and returns what it printed. The folder of the run is `results`.
fn run(workspace: &Workspace, script: &str) -> String {
    workspace
        .write("scenarios/plain.yaml", &charge(""))
        .write("hostile.sh", &[ATTEMPTS, script, END].concat());
    // The task was not done; 3 would mean that the subject could not run.
    workspace.call(&RUN).expect(1);
    outputs(workspace).remove(0)
}

/// The arguments of a run of the script.
const RUN: [&str; 8] =
    ["run", "scenarios/plain.yaml", "--sealed", "--out", "results", "--", "bash", "hostile.sh"];

/// What each trial printed.
fn outputs(workspace: &Workspace) -> Vec<String> {
    let report: Value = serde_json::from_str(&workspace.read("results/report.json")).unwrap();
    let trials = report["cases"][0]["trials"].as_array().unwrap().iter();
    trials.map(|trial| trial["output"][0]["stdout"].as_str().unwrap().to_owned()).collect()
}

/// An address of this machine that is not a loopback address, where it has one. Nothing is sent.
fn own_address() -> Option<IpAddr> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).ok()?;
    socket.connect((Ipv4Addr::new(192, 0, 2, 1), 9)).ok()?;
    Some(socket.local_addr().ok()?.ip())
}

async fn nothing_outside_is_reached_over_the_network_or_a_unix_socket() {
    let workspace = Workspace::new();
    let tcp = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap();
    let udp = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap();
    let path = workspace.path().join("socket");
    let unix = UnixListener::bind(&path).unwrap();
    let name = format!("hapax-test-{}", std::process::id());
    let abstract_unix = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
    let serve = Serve::start(&["payment"]);
    let ports =
        [tcp.local_addr().unwrap().port(), serve.port("HAPAX_ADMIN_URL"), serve.port("HAPAX_PAYMENT_URL")];
    let udp_port = udp.local_addr().unwrap().port();
    let mut script = format!("unix {}\nunix @{name}\n", path.display());
    let own = own_address();
    let addresses = [Some(IpAddr::from([127, 0, 0, 1])), Some(IpAddr::from([127, 9, 9, 9])), own];
    for address in addresses.into_iter().flatten() {
        ports.iter().for_each(|port| script += &format!("tcp {address} {port}\n"));
        script += &format!("udp {address} {udp_port}\n");
    }
    ports.iter().for_each(|port| script += &format!("tcp ::1 {port}\n"));
    assert_eq!(run(&workspace, &script), "tried\n");
    // Nothing is left to arrive: the namespace of the subject has ended.
    tcp.set_nonblocking(true).unwrap();
    udp.set_nonblocking(true).unwrap();
    unix.set_nonblocking(true).unwrap();
    abstract_unix.set_nonblocking(true).unwrap();
    let arrived = [
        tcp.accept().map(drop),
        udp.recv(&mut [0; 8]).map(drop),
        unix.accept().map(drop),
        abstract_unix.accept().map(drop),
    ];
    let arrived = arrived.map(|result| result.map_err(|error| error.kind()));
    assert_eq!(arrived, [Err(ErrorKind::WouldBlock); 4]);
}

/// Listens at a socket that it binds with a relative path, until its input ends.
const RELATIVE: &str = "use Socket; $| = 1; socket S, AF_UNIX, SOCK_STREAM, 0; bind S, pack_sockaddr_un('relative') \
    or die $!; listen S, 5; print \"ready\\n\"; <STDIN>";

async fn no_name_of_a_unix_socket_reaches_it() {
    for is_root in [true, false] {
        let workspace = Workspace::new();
        let at = |name: &str| workspace.path().join(name);
        std::fs::create_dir_all(at("deep/er")).unwrap();
        let open = [at("before"), at("linked")].map(|path| UnixListener::bind(path).unwrap());
        std::fs::rename(at("before"), at("deep/after")).unwrap();
        std::fs::hard_link(at("linked"), at("deep/er/second")).unwrap();
        let mut relative = Command::new("perl")
            .args(["-e", RELATIVE])
            .current_dir(at("deep"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut ready = [0; 6];
        relative.stdout.as_mut().unwrap().read_exact(&mut ready).unwrap();
        let script = [
            ATTEMPTS,
            "for name in deep/after linked deep/er/second deep/relative; do unix $name; done",
            END,
        ];
        workspace.write("scenarios/plain.yaml", &charge("")).write("hostile.sh", &script.concat());
        let hapax = if is_root { Some(workspace.command(&RUN)) } else { workspace.command_of_nobody(&RUN) };
        if let Some(mut hapax) = hapax {
            Called::from(hapax.output().unwrap()).expect(1);
            assert_eq!(outputs(&workspace), ["tried\n"]);
        }
        for listener in open {
            listener.set_nonblocking(true).unwrap();
            assert_eq!(listener.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
        }
        drop(relative.stdin.take());
        relative.wait().unwrap();
    }
}

async fn another_trial_at_the_same_time_is_not_reached() {
    let workspace = Workspace::new();
    // Two trials exchange the ports of their services over files, and both end when both have tried.
    let script = format!(
        "{ATTEMPTS}{}",
        r#"mkdir one 2>/dev/null && { me=one other=two; } || { me=two other=one; }
port=${HAPAX_PAYMENT_URL##*:}
echo "$port" >"$me.tmp" && mv "$me.tmp" "$me.port"
until [ -e "$other.port" ]; do sleep 0.02; done
tcp 127.0.0.1 "$port" | sed 's/reached.*/own/'
tcp 127.0.0.1 "$(cat "$other.port")"
: >"$me.tried"
until [ -e "$other.tried" ]; do sleep 0.02; done
"#
    );
    workspace.write("scenarios/plain.yaml", &charge("")).write("hostile.sh", &(script + END));
    workspace.call(&[&RUN[..5], &["--trials", "2", "--jobs", "2"], &RUN[5..]].concat()).expect(1);
    assert_eq!(outputs(&workspace), ["own\ntried\n", "own\ntried\n"]);
}

/// Looks for the ledger after each attempt to uncover it.
const LEDGER: &str = r#"look() { test -e "$1/results/ledger.jsonl" && echo "found in $1"; }
here=$PWD; mkdir -p bind; look "$here"
umount results; umount -l results; umount -R "$here"; look "$here"
mount --move results bind; look "$here"
mount --bind / bind; look "bind$here"
mount --bind "$here" bind; look bind
mount --rbind / bind; look "bind$here"
umount "bind$here/results"; umount -l "bind$here/results"; look "bind$here"
mount -o remount,bind,rw results; look "$here"
unshare --user --map-root-user --mount --propagation private bash -c 'umount results; umount -l results
  mount --bind "$0" "$0/bind"; ls "$0/results/ledger.jsonl" "$0/bind/results/ledger.jsonl"' "$here"
nsenter --target 1 --mount ls "$here/results/ledger.jsonl"
for root in /proc/[0-9]*/root; do look "$root$here"; done
for folder in /proc/[0-9]*/cwd; do look "$folder"; done
chroot /proc/1/root ls "$here/results/ledger.jsonl"
echo changed >results/report.json
"#;

async fn the_ledger_is_found_by_no_path_and_no_mount() {
    let workspace = Workspace::new();
    assert_eq!(run(&workspace, LEDGER), "tried\n");
    assert!(workspace.read("results/ledger.jsonl").lines().count() > 3);
}

/// Tries to end, stop, trace and read process 1, which is hapax, and all others.
const PROCESSES: &str = r#"for signal in KILL STOP TERM INT HUP; do kill -s $signal 1; done
trap '' TERM; kill -s TERM -1
perl -e 'use Config; my $ptrace = {x86_64 => 101, aarch64 => 117}->{(split /-/, $Config{archname})[0]};
  exit unless $ptrace;
  for my $request (16, 0x4206) { print "traced\n" if syscall($ptrace, $request, 1, 0, 0) == 0 }'
for file in environ mem maps cwd exe root ns/net ns/user; do
  (exec 5</proc/1/$file && cat <&5) >/dev/null && echo "read $file"
  ls /proc/1/$file/ >/dev/null && echo "listed $file"
done
for file in /proc/1/fd/*; do readlink "$file"; (exec 5<"$file") && echo "opened $file"; done
nsenter --target 1 --net true && echo entered
nsenter --target 1 --user true && echo entered
unshare --pid --fork --user --map-root-user bash -c 'kill -s KILL -1; ls /proc/1/root/ && echo listed'
grep -l hapax /proc/[0-9]*/cmdline | grep -v "/proc/1/" | while read -r file; do
  tr '\0' ' ' <"$file" | grep -q supervise && echo "sees $file"; done
"#;

async fn no_process_of_hapax_can_be_seen_stopped_or_read() {
    assert_eq!(run(&Workspace::new(), PROCESSES), "tried\n");
}

async fn settings_of_the_system_cannot_be_changed_by_root() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    // Reading them is not forbidden.
    let script = "test -r /proc/sys/kernel/core_pattern && echo readable\n\
                  find /proc/sys/kernel /proc/sys/fs -type f -writable -printf '%p is writable\\n'\n\
                  find /proc/irq /proc/bus /proc/fs -type f -writable -printf '%p is writable\\n'\n\
                  test -w /proc/sysrq-trigger && echo sysrq\n\
                  cat /proc/sys/kernel/hostname >/proc/sys/kernel/hostname && echo written\n\
                  mount -o remount,rw,bind /proc/sys && echo remounted\n\
                  umount /proc/sys && echo unmounted\n\
                  mkdir -p proc; mount -t proc proc proc\n\
                  test -w proc/sys/kernel/core_pattern && echo mounted\n";
    assert_eq!(run(&Workspace::new(), script), "readable\ntried\n");
}

/// Tries to change what `/sys` shows, in particular to enter a control group.
const SYSTEM: &str = r#"test -r /sys/fs && test -n "$(ls /sys)" && echo readable
mkdir /sys/fs/cgroup/hapax-hostile /sys/fs/cgroup/*/hapax-hostile && echo made
for file in $(find /sys/fs/cgroup -maxdepth 3 -name tasks -o -maxdepth 3 -name cgroup.procs); do
  echo $$ >"$file" && echo "entered $file"
done
find /sys/fs/cgroup /sys/kernel /sys/module -maxdepth 3 -type f -perm /200 | while read -r file; do
  (exec 5>>"$file") && echo "opened $file"
done
mount -o remount,rw,bind /sys && echo remounted
mount -o remount,rw,bind /sys/fs/cgroup && echo remounted
umount -l /sys/fs/cgroup && echo unmounted
mkdir -p groups
for kind in cgroup2 sysfs; do mount -t $kind none groups && echo "mounted $kind" && umount groups; done
unshare --cgroup true && echo unshared
unshare --user --map-root-user --cgroup true && echo unshared
unshare --cgroup bash -c 'mount -t cgroup -o freezer none groups && mkdir groups/hapax-hostile && echo mounted'
"#;

async fn the_system_and_its_control_groups_can_be_read_and_not_changed() {
    assert_eq!(run(&Workspace::new(), SYSTEM), "readable\ntried\n");
}

async fn no_disk_can_be_read_as_a_whole() {
    let script = r#"find /dev -type b | while read -r disk; do
  umount "$disk" && echo "unmounted $disk"
  test -b "$disk" && echo "sees $disk"
done
tail -n +3 /proc/partitions | while read -r major minor _ name; do
  test -n "$(head -c 1 "/dev/$name" | tr '\0' x)" && echo "read $name"
  mknod disk b "$major" "$minor" && head -c 1 disk && echo "made $name"
done
"#;
    assert_eq!(run(&Workspace::new(), script), "tried\n");
}

/// A control group of the freezer, which is thawed and removed with it.
struct Freezer(PathBuf);

impl Freezer {
    /// `None` where this user has none.
    fn make() -> Option<Self> {
        let path = PathBuf::from(format!("/sys/fs/cgroup/freezer/hapax-test-{}", std::process::id()));
        std::fs::create_dir(&path).ok()?;
        Some(Freezer(path))
    }
}

impl Drop for Freezer {
    fn drop(&mut self) {
        // What was frozen was killed before, and ends now.
        let _ = std::fs::write(self.0.join("freezer.state"), "THAWED");
        while std::fs::read_to_string(self.0.join("tasks")).is_ok_and(|tasks| !tasks.is_empty()) {
            std::thread::yield_now();
        }
        let _ = std::fs::remove_dir(&self.0);
    }
}

async fn a_process_that_cannot_be_killed_keeps_neither_hapax_nor_the_output() {
    let Some(freezer) = Freezer::make() else { return };
    let workspace = Workspace::new();
    let folder = freezer.0.display();
    let script =
        format!("echo began\necho $$ >{folder}/tasks\necho FROZEN >{folder}/freezer.state\nsleep 1000\n");
    workspace.write("scenarios/plain.yaml", &charge("")).write("hostile.sh", &script);
    let unsealed: Vec<&str> = RUN.into_iter().filter(|word| *word != "--sealed").collect();
    workspace.call(&[&unsealed[..2], &["--timeout", "1s"], &unsealed[2..]].concat()).expect(1);
    assert_eq!(outputs(&workspace), ["began\n"]);
    let ledger = workspace.read("results/ledger.jsonl");
    assert!(ledger.contains("of its processes could not be killed"), "{ledger}");
}

async fn the_same_holds_for_an_ordinary_user() {
    let workspace = Workspace::new();
    let script = [ATTEMPTS, LEDGER, PROCESSES, SYSTEM, "test $(id -u) != 0 && echo ordinary", END].concat();
    workspace.write("scenarios/plain.yaml", &charge("")).write("hostile.sh", &script);
    let Some(mut hapax) = workspace.command_of_nobody(&RUN) else { return };
    Called::from(hapax.output().unwrap()).expect(1);
    assert_eq!(outputs(&workspace), ["readable\nordinary\ntried\n"]);
}
