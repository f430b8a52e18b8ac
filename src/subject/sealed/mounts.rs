//! What a sealed subject sees of the file system: mounts in a namespace of its own.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use rustix::fs::CWD;
use rustix::io::Errno;
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, mount, mount_bind, mount_change,
    mount_remount, move_mount, open_tree,
};

use super::order::{FileView, ReplacedFile};

/// The flags of the process file system.
const PROC_FLAGS: MountFlags = MountFlags::NOSUID.union(MountFlags::NODEV).union(MountFlags::NOEXEC);
/// Files with which root of the machine changes the machine, also from a namespace.
const SYSTEM_SETTINGS: [&str; 5] = ["/proc/sys", "/proc/sysrq-trigger", "/proc/bus", "/proc/fs", "/proc/irq"];
/// What is mounted over a file that is hidden.
const NO_FILE: &str = "/dev/null";
/// The folder of devices.
const DEVICES: &str = "/dev";

/// Where the system shows itself, with its control groups.
const SYSTEM: &str = "/sys";
/// File systems with which a process changes the system, wherever they are mounted.
const SYSTEM_FILE_SYSTEMS: [&str; 12] = [
    "sysfs",
    "cgroup",
    "cgroup2",
    "debugfs",
    "tracefs",
    "securityfs",
    "configfs",
    "efivarfs",
    "bpf",
    "pstore",
    "resctrl",
    "fusectl",
];
/// How many control group namespaces the subject can make. In one of its own, root could mount the control
/// groups of the machine again.
const CONTROL_GROUP_NAMESPACES: &str = "/proc/sys/user/max_cgroup_namespaces";

/// Mounts the view over what is there. An error names the path.
pub(super) fn apply(view: &FileView) -> Result<(), String> {
    let directory = std::env::current_dir();
    mount_view(view)?;
    // Otherwise a relative path would lead to what is below the mounts.
    let directory = directory.unwrap_or_else(|_| PathBuf::from("/"));
    std::env::set_current_dir(&directory)
        .map_err(|error| format!("cannot enter {}: {error}", directory.display()))
}

fn mount_view(view: &FileView) -> Result<(), String> {
    mount_change("/", MountPropagationFlags::REC | MountPropagationFlags::PRIVATE)
        .map_err(|error| failed(Path::new("/"), error.into()))?;
    // Taken before anything is hidden: what is visible is in a hidden directory.
    let mut taken: Vec<(PathBuf, OwnedFd)> = Vec::new();
    for path in &view.visible {
        taken.push((path.clone(), take(path)?));
    }
    for ReplacedFile { path, content } in &view.replaced {
        taken.push((resolved(path), take(content)?));
    }
    let mut own: Vec<(PathBuf, OwnedFd)> = Vec::new();
    for ReplacedFile { path, content } in &view.own {
        own.push((path.clone(), take(content)?));
    }
    for path in &view.needed {
        own.push((path.clone(), take(path)?));
    }
    for (path, tree) in own {
        place(&path, &tree).map_err(|error| failed(&path, error))?;
    }
    for path in &view.hidden {
        // Beside it, others would see the names of what is visible in it.
        if view.visible.iter().any(|visible| visible.starts_with(path)) {
            fs::create_dir_all(path).map_err(|error| failed(path, error))?;
        }
        hide(path).map_err(|error| failed(path, error))?;
    }
    for (path, tree) in taken {
        place(&path, &tree).map_err(|error| failed(&path, error))?;
    }
    Ok(())
}

/// Mounts the process file system of this process's namespace.
pub(super) fn mount_proc() -> Result<(), String> {
    mount("proc", "/proc", "proc", PROC_FLAGS, None).map_err(|error| failed(Path::new("/proc"), error.into()))
}

/// Makes the system, and all that is mounted in it, read-only: a subject that moved itself into a frozen
/// control group could not be ended. Its programs read there how much memory they have.
pub(super) fn protect_system() -> Result<(), String> {
    let list =
        fs::read_to_string("/proc/self/mountinfo").map_err(|error| failed(Path::new(SYSTEM), error))?;
    for mount in list.lines().filter_map(MountLine::read).filter(MountLine::is_of_system) {
        match mount_remount(&mount.path, mount.flags | MountFlags::BIND | MountFlags::RDONLY, c"") {
            // Another mount is over it, or the user cannot enter the folder: then the subject does not reach
            // it either.
            Ok(()) | Err(Errno::NOENT | Errno::INVAL | Errno::ACCESS) => {}
            Err(error) => return Err(failed(&mount.path, error.into())),
        }
    }
    match fs::write(CONTROL_GROUP_NAMESPACES, "0") {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(format!("cannot limit the control group namespaces: {error}"))
        }
        _ => Ok(()),
    }
}

/// Hides the disks: who reads one as a whole reads every file, and a subject of root could.
pub(super) fn hide_disks() -> Result<(), String> {
    let mut folders = vec![PathBuf::from(DEVICES)];
    while let Some(folder) = folders.pop() {
        // What the user cannot list, the subject cannot list either.
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let (path, Ok(kind)) = (entry.path(), entry.file_type()) else { continue };
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_block_device() {
                match mount_bind(NO_FILE, &path) {
                    // It was removed in the meantime.
                    Ok(()) | Err(Errno::NOENT) => {}
                    Err(error) => return Err(failed(&path, error.into())),
                }
            }
        }
    }
    Ok(())
}

/// A line of `/proc/PID/mountinfo`.
#[derive(Debug, PartialEq, Eq)]
struct MountLine {
    path: PathBuf,
    /// Its flags that must stay: a mount that comes from outside of the namespace keeps them.
    flags: MountFlags,
    file_system: String,
}

impl MountLine {
    fn read(line: &str) -> Option<Self> {
        let (mount, of_file_system) = line.split_once(" - ")?;
        let mut fields = mount.split(' ').skip(4);
        let (path, options) = (fields.next()?, fields.next()?);
        let flag = |option: &str| match option {
            "nosuid" => MountFlags::NOSUID,
            "nodev" => MountFlags::NODEV,
            "noexec" => MountFlags::NOEXEC,
            _ => MountFlags::empty(),
        };
        let flags = options.split(',').map(flag).fold(MountFlags::empty(), MountFlags::union);
        let file_system = of_file_system.split(' ').next()?.to_owned();
        Some(MountLine { path: unescaped(path), flags, file_system })
    }

    fn is_of_system(&self) -> bool {
        self.path.starts_with(SYSTEM) || SYSTEM_FILE_SYSTEMS.contains(&self.file_system.as_str())
    }
}

/// A path in which a backslash and three octal digits stand for a byte.
fn unescaped(text: &str) -> PathBuf {
    let mut path = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((byte, others)) = rest.split_first() {
        let escaped =
            others.get(..3).filter(|_| *byte == b'\\').and_then(|digits| std::str::from_utf8(digits).ok());
        match escaped.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) => {
                path.push(byte);
                rest = &others[3..];
            }
            None => {
                path.push(*byte);
                rest = others;
            }
        }
    }
    PathBuf::from(OsString::from_vec(path))
}

/// Makes the settings of the system read-only. Only root could change them: its user id is that of the
/// machine.
pub(super) fn protect_system_settings() -> Result<(), String> {
    for path in SYSTEM_SETTINGS.map(Path::new).into_iter().filter(|path| path.exists()) {
        let flags = PROC_FLAGS | MountFlags::BIND | MountFlags::RDONLY;
        mount_bind(path, path)
            .and_then(|()| mount_remount(path, flags, c""))
            .map_err(|error| failed(path, error.into()))?;
    }
    Ok(())
}

fn failed(path: &Path, error: io::Error) -> String {
    format!("cannot mount {}: {error}", path.display())
}

/// A copy of the mount at a path, which is not mounted anywhere yet.
fn take(path: &Path) -> Result<OwnedFd, String> {
    let flags =
        OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_RECURSIVE;
    open_tree(CWD, path, flags).map_err(|error| failed(path, error.into()))
}

/// Hides a directory or a socket. A socket may be gone by now, or in a directory that the user cannot enter.
fn hide(path: &Path) -> io::Result<()> {
    let Ok(metadata) = path.symlink_metadata() else { return Ok(()) };
    if metadata.file_type().is_socket() {
        mount_bind(NO_FILE, path)?;
        return Ok(());
    }
    if !path.is_dir() {
        return Ok(());
    }
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    mount("tmpfs", path, "tmpfs", flags, Some(c"mode=0755,size=16m"))?;
    Ok(())
}

/// Mounts the copy at a path. The path can be missing where its directory was hidden.
fn place(path: &Path, tree: &OwnedFd) -> io::Result<()> {
    if !path.exists() {
        let is_directory = rustix::fs::fstat(tree)
            .is_ok_and(|stat| rustix::fs::FileType::from_raw_mode(stat.st_mode).is_dir());
        if is_directory {
            fs::create_dir_all(path)?;
        } else {
            path.parent().map_or(Ok(()), fs::create_dir_all)?;
            File::create(path)?;
        }
    }
    move_mount(tree, "", CWD, path, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?;
    Ok(())
}

/// The file that a path leads to, even if the file itself does not exist.
fn resolved(path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    // More links in a row than the system follows.
    for _ in 0..40 {
        match fs::read_link(&path) {
            Ok(target) => path = path.parent().map_or_else(|| target.clone(), |parent| parent.join(&target)),
            Err(_) => break,
        }
    }
    fs::canonicalize(&path).unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mounts_of_the_system_are_found_wherever_they_are() {
        let list = "23 27 0:22 / /sys rw,nosuid,nodev,noexec,relatime shared:7 - sysfs sysfs rw\n\
            31 23 0:28 / /sys/fs/cgroup ro,nosuid - tmpfs tmpfs ro,mode=755\n\
            37 31 0:34 / /mnt/the\\040groups rw,relatime - cgroup cgroup rw,freezer\n\
            27 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n\
            28 27 0:25 / /system rw - tmpfs tmpfs rw\n";
        let found: Vec<MountLine> =
            list.lines().filter_map(MountLine::read).filter(MountLine::is_of_system).collect();
        let paths: Vec<&Path> = found.iter().map(|mount| mount.path.as_path()).collect();
        assert_eq!(paths, ["/sys", "/sys/fs/cgroup", "/mnt/the groups"].map(Path::new));
        assert_eq!(found[0].flags, MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC);
        assert_eq!((found[1].flags, found[2].flags), (MountFlags::NOSUID, MountFlags::empty()));
    }
}
