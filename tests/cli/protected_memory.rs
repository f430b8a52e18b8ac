//! A subject that is not sealed runs as the user of hapax, and can read neither the memory nor the open files
//! of hapax and its supervisor.

use serde_json::Value;

use crate::kit::workspace::{Called, HAPAX, Workspace, charge};

/// Tries to read every process above itself that is hapax, and says how many there are.
const READ_ANCESTORS: &str = r#"exec 2>/dev/null
pid=$$ ancestors=0
while pid=$(awk '{ print $4 }' "/proc/$pid/stat") && [ "$pid" -gt 1 ]; do
  grep -qz '/hapax$' "/proc/$pid/cmdline" || continue
  ancestors=$((ancestors + 1))
  (exec 5<"/proc/$pid/mem") && echo "opened mem"
  # Root may see these as long as it may administrate the system.
  for file in $([ "$(id -u)" = 0 ] || echo environ maps auxv); do
    head -c 64 "/proc/$pid/$file" >part && [ -s part ] && echo "read $file"
  done
  for file in "/proc/$pid"/fd/*; do
    readlink "$file" && echo "found $file"
    (exec 5<"$file") && echo "opened $file"
  done
  for file in exe cwd root; do readlink "/proc/$pid/$file"; done
  perl -e 'use Config; my $ptrace = {x86_64 => 101, aarch64 => 117}->{(split /-/, $Config{archname})[0]};
    exit unless $ptrace; print "traced\n" if syscall($ptrace, 0x4206, shift() + 0, 0, 0) == 0' "$pid"
done
# Its own processes can be read.
sleep 60 & readlink "/proc/$!/exe" >part && echo own
kill $!
echo "tried $ancestors"
"#;

fn output(workspace: &Workspace) -> String {
    let report: Value = workspace.report();
    report["cases"][0]["trials"][0]["output"][0]["stdout"].as_str().unwrap().to_owned()
}

#[test]
fn no_subject_reads_the_memory_or_the_files_of_hapax_also_not_as_root() {
    assert!(HAPAX.ends_with("/hapax"));
    let workspace = Workspace::new();
    workspace.write("scenarios/plain.yaml", &charge("")).write("reader.sh", READ_ANCESTORS);
    let arguments = ["run", "scenarios/plain.yaml", "--", "bash", "reader.sh"];
    // The task was not done; 3 would mean that the subject could not run.
    workspace.call(&arguments).expect(1);
    assert_eq!(output(&workspace), "own\ntried 2\n");
    let workspace = Workspace::new();
    workspace.write("scenarios/plain.yaml", &charge("")).write("reader.sh", READ_ANCESTORS);
    let Some(mut hapax) = workspace.command_of_nobody(&arguments) else { return };
    Called::from(hapax.output().unwrap()).expect(1);
    assert_eq!(output(&workspace), "own\ntried 2\n");
}

#[test]
fn a_subject_of_root_has_not_the_right_to_trace_all_processes_in_any_set() {
    let workspace = Workspace::new();
    workspace.write("scenarios/plain.yaml", &charge(""));
    for sealed in [&["--sealed"][..], &[]] {
        let subject = ["--", "grep", "-E", "^Cap", "/proc/self/status"];
        let ended = workspace.call(&[&["run", "scenarios/plain.yaml"], sealed, &subject].concat());
        if ended.status == 2 && !sealed.is_empty() {
            eprintln!("this machine allows no namespaces");
            continue;
        }
        ended.expect(1);
        let text = output(&workspace);
        let sets: Vec<u64> = text
            .lines()
            .map(|line| u64::from_str_radix(line.split_whitespace().nth(1).unwrap(), 16).unwrap())
            .collect();
        const SYS_PTRACE: u64 = 1 << 19;
        let is_root = rustix::process::geteuid().is_root();
        // An ordinary user cannot change the bounding set, and gets nothing from it.
        let checked = if is_root { &sets[..] } else { &sets[..3] };
        assert!(sets.len() == 5 && checked.iter().all(|set| set & SYS_PTRACE == 0), "{sealed:?}: {text}");
    }
}

/// A command that runs hapax with the file `outside` open for writing as descriptor 7, and a listening socket's as 8.
fn with_open_files(workspace: &Workspace, arguments: &[&str]) -> std::process::Command {
    let mut shell = std::process::Command::new("bash");
    shell.args(["-c", "exec 7>outside 8<> <(:) && exec \"$0\" \"$@\"", HAPAX]).args(arguments);
    shell.current_dir(workspace.path()).env("NO_COLOR", "1").env("HAPAX_NO_SMOKE", "1");
    shell
}

/// Writes to every descriptor that it was started with, and says which there are.
const WRITE_OUT: &str = r#"
for descriptor in /proc/self/fd/*; do
  descriptor=${descriptor##*/}
  case $descriptor in 0|1|2|255) continue ;; esac
  { echo told >&"$descriptor"; } 2>/dev/null && echo "descriptor $descriptor"
done
echo ended
"#;

#[test]
fn no_subject_gets_a_file_that_hapax_was_started_with() {
    for sealed in [&["--sealed"][..], &[]] {
        let workspace = Workspace::new();
        workspace.write("scenarios/plain.yaml", &charge("")).write("writer.sh", WRITE_OUT);
        let subject = ["--", "bash", "writer.sh"];
        let arguments = [&["run", "scenarios/plain.yaml"], sealed, &subject].concat();
        let ended = Called::from(with_open_files(&workspace, &arguments).output().unwrap());
        if !sealed.is_empty() && ended.status == 2 {
            // This machine makes no namespaces.
            continue;
        }
        assert_eq!(output(&workspace), "ended\n", "{}", ended.stderr);
        assert_eq!(workspace.read("outside"), "");
    }
}

#[test]
fn the_command_before_each_trial_gets_no_file_that_hapax_was_started_with() {
    let workspace = Workspace::new();
    workspace
        .write("scenarios/plain.yaml", &charge(""))
        .write("writer.sh", &format!("{WRITE_OUT}echo ran >ran\n"));
    workspace.write("hapax.yaml", "subjects: { shop: { command: [\"true\"], before: bash writer.sh } }\n");
    let ended = Called::from(with_open_files(&workspace, &["run", "scenarios/plain.yaml"]).output().unwrap());
    assert!(workspace.path().join("ran").exists(), "{}{}", ended.stdout, ended.stderr);
    assert_eq!(workspace.read("outside"), "");
}

#[test]
fn no_mcp_server_gets_a_file_that_hapax_was_started_with() {
    for seal in [&[][..], &["--unsealed"]] {
        let workspace = Workspace::new();
        let ran = workspace.path().join("ran");
        workspace.write("writer.sh", &format!("{WRITE_OUT}echo ran >'{}'\n", ran.display()));
        let arguments = [&["certify", "--mcp"], seal, &["--", "bash", "writer.sh"]].concat();
        let ended = Called::from(with_open_files(&workspace, &arguments).output().unwrap());
        if !seal.is_empty() {
            assert!(ran.exists(), "{}{}", ended.stdout, ended.stderr);
        }
        assert_eq!(workspace.read("outside"), "");
    }
}
