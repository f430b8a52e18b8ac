//! What a sealed subject sees of the file system: mounts in a namespace of its own.

use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use rustix::fs::CWD;
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, mount, mount_bind, mount_change,
    mount_remount, move_mount, open_tree,
};

use super::order::{FileView, ReplacedFile};

/// The flags of the process file system.
const PROC_FLAGS: MountFlags = MountFlags::NOSUID.union(MountFlags::NODEV).union(MountFlags::NOEXEC);
/// Files with which root of the machine changes the machine, also from a namespace.
const SYSTEM_SETTINGS: [&str; 2] = ["/proc/sys", "/proc/sysrq-trigger"];

/// Mounts the view over what is there. An error names the path.
pub(super) fn apply(view: &FileView) -> Result<(), String> {
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
    for path in &view.hidden {
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
        mount_bind("/dev/null", path)?;
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
