//! The Unix sockets of this machine that programs outside of a sealed start listen at. Each would be a way
//! out. A socket is known by the device and the inode of its file, so it is found although it was bound with
//! a relative path, was renamed or has several names.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs;
use std::io;
use std::os::unix::fs::{DirEntryExt, FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with,
};

/// The file in which the system lists the Unix sockets of this network namespace by the names they were bound
/// with.
const BOUND_NAMES: &str = "/proc/net/unix";
/// The most entries of folders that are read to find the names of sockets that are not where they were bound.
const MAX_ENTRIES: usize = 100_000;

/// The file of a socket: its device, and the low half of its inode, which is all that the system tells.
type FileId = (u64, u32);

/// A socket that a program listens at.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ListeningSocket {
    file: FileId,
    /// The path that it was bound with, which can be relative to the working directory of the program.
    bound: PathBuf,
}

/// Finds the sockets at each start of a run, and what takes long only once.
#[derive(Debug)]
pub(super) struct HostSockets {
    /// Their trees are searched for sockets that are not where they were bound.
    folders: Vec<PathBuf>,
    /// The sockets that were searched for, and where they were found.
    searched: Mutex<BTreeMap<FileId, BTreeSet<PathBuf>>>,
}

impl HostSockets {
    /// Sockets that are not where they were bound are looked for near that place, and in the trees of
    /// `folders`.
    pub(super) fn new(folders: Vec<PathBuf>) -> Self {
        HostSockets { folders, searched: Mutex::default() }
    }

    /// The files of all Unix sockets that a program listens at now, except those in `hidden` folders.
    pub(super) fn paths(&self, hidden: &[PathBuf]) -> Vec<PathBuf> {
        let Ok(sockets) = listening() else {
            // A system without this list of files: the names are all that is known.
            return bound_names(&fs::read_to_string(BOUND_NAMES).unwrap_or_default());
        };
        let mut searched = self.searched.lock().unwrap_or_else(PoisonError::into_inner);
        let mut search = Search::new(&sockets, hidden);
        sockets.iter().for_each(|socket| search.look_at(&socket.bound));
        searched.values().flatten().for_each(|path| search.look_at(path));
        let new: Vec<&ListeningSocket> =
            sockets.iter().filter(|socket| !searched.contains_key(&socket.file)).collect();
        if new.iter().any(|socket| !search.is_found(&socket.file)) {
            search.look_near(&new);
            search.look_in_trees(&self.folders);
        }
        for socket in new {
            searched.insert(socket.file, search.found.get(&socket.file).cloned().unwrap_or_default());
        }
        let is_visible = |path: &PathBuf| !hidden.iter().any(|folder| path.starts_with(folder));
        search.found.into_values().flatten().filter(is_visible).collect()
    }
}

/// The search for the files of sockets.
struct Search<'a> {
    wanted: BTreeSet<FileId>,
    /// The paths of each file, and how many names it has.
    found: BTreeMap<FileId, BTreeSet<PathBuf>>,
    names: BTreeMap<FileId, u64>,
    hidden: &'a [PathBuf],
    entries_left: usize,
}

impl<'a> Search<'a> {
    fn new(sockets: &[ListeningSocket], hidden: &'a [PathBuf]) -> Self {
        Search {
            wanted: sockets.iter().map(|socket| socket.file).collect(),
            found: BTreeMap::new(),
            names: BTreeMap::new(),
            hidden,
            entries_left: MAX_ENTRIES,
        }
    }

    /// Whether every name of a socket is known.
    fn is_found(&self, file: &FileId) -> bool {
        let paths = self.found.get(file).map_or(0, |paths| paths.len() as u64);
        self.names.get(file).is_some_and(|names| *names <= paths)
    }

    /// Takes the file at this absolute path if it is one of the sockets.
    fn look_at(&mut self, path: &Path) {
        let (Some(folder), Some(name)) = (path.parent().filter(|_| path.is_absolute()), path.file_name())
        else {
            return;
        };
        let Ok(path) = folder.canonicalize().map(|folder| folder.join(name)) else { return };
        let Ok(metadata) = path.symlink_metadata() else { return };
        let file = (metadata.dev(), low_half(metadata.ino()));
        if metadata.file_type().is_socket() && self.wanted.contains(&file) {
            self.names.insert(file, metadata.nlink());
            self.found.entry(file).or_default().insert(path);
        }
    }

    /// Looks at the places that relative paths can mean, and at all files in the folders of these and of the
    /// absolute ones: a server often makes its socket under one name and gives it another.
    fn look_near(&mut self, sockets: &[&ListeningSocket]) {
        let directories = working_directories();
        let mut folders = BTreeSet::new();
        for socket in sockets {
            let places = match socket.bound.is_absolute() {
                true => vec![socket.bound.clone()],
                false => directories.iter().map(|directory| directory.join(&socket.bound)).collect(),
            };
            folders.extend(places.iter().filter_map(|place| place.parent()?.canonicalize().ok()));
        }
        for folder in folders {
            self.look_in(&folder);
        }
    }

    /// Looks at all files below these folders, the nearest first.
    fn look_in_trees(&mut self, folders: &[PathBuf]) {
        let mut next: VecDeque<PathBuf> =
            folders.iter().filter_map(|folder| folder.canonicalize().ok()).collect();
        while let Some(folder) = next.pop_front() {
            if self.entries_left == 0 || self.wanted.iter().all(|file| self.is_found(file)) {
                return;
            }
            if !self.hidden.contains(&folder) {
                next.extend(self.look_in(&folder));
            }
        }
    }

    /// Looks at the files of a folder; returns the folders in it.
    fn look_in(&mut self, folder: &Path) -> Vec<PathBuf> {
        let mut folders = Vec::new();
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            self.entries_left = self.entries_left.saturating_sub(1);
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() {
                folders.push(entry.path());
            } else if kind.is_socket() && self.wanted.iter().any(|(_, inode)| *inode == low_half(entry.ino()))
            {
                self.look_at(&entry.path());
            }
        }
        folders
    }
}

/// The working directories of all processes that this user may look at.
fn working_directories() -> BTreeSet<PathBuf> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let is_process =
        |entry: &fs::DirEntry| entry.file_name().as_encoded_bytes().iter().all(u8::is_ascii_digit);
    processes.filter(is_process).filter_map(|entry| fs::read_link(entry.path().join("cwd")).ok()).collect()
}

#[expect(clippy::cast_possible_truncation, reason = "the system tells the low half only")]
const fn low_half(inode: u64) -> u32 {
    inode as u32
}

/// The absolute paths that Unix sockets were bound with, each once, from the system's list.
fn bound_names(list: &str) -> Vec<PathBuf> {
    let paths = list.lines().filter_map(|line| Some(line.split_once(" /")?.1));
    let paths: BTreeSet<PathBuf> = paths.map(|path| Path::new("/").join(path)).collect();
    paths.into_iter().collect()
}

/// Asks the system for all Unix sockets of this network namespace that have a file and can be reached.
fn listening() -> io::Result<Vec<ListeningSocket>> {
    let protocol = Some(netlink::SOCK_DIAG);
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, protocol)?;
    send(&socket, &diag::request(), SendFlags::empty())?;
    let mut sockets = Vec::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        let (read, _) = recv(&socket, &mut buffer[..], RecvFlags::empty())?;
        match diag::read(&buffer[..read], &mut sockets)? {
            diag::Dump::Complete => return Ok(sockets),
            diag::Dump::Continued => {}
        }
    }
}

/// The messages of `man 7 sock_diag`.
mod diag {
    use std::ffi::OsStr;
    use std::io;
    use std::os::unix::ffi::OsStrExt;
    use std::path::PathBuf;

    use super::ListeningSocket;

    const BY_FAMILY: u16 = 20;
    const REQUEST_DUMP: u16 = 0x1 | 0x300;
    const DONE: u16 = 3;
    const ERROR: u16 = 2;
    const UNIX: u8 = 1;
    const SHOW_NAME: u32 = 1;
    const SHOW_FILE: u32 = 2;
    const NAME: u16 = 0;
    const FILE: u16 = 1;
    const DATAGRAM: u8 = 2;
    const LISTENING: u8 = 10;
    /// `struct nlmsghdr` and `struct unix_diag_msg`.
    const HEAD: usize = 16;
    const MESSAGE: usize = 16;

    /// Whether more messages follow.
    pub(super) enum Dump {
        Complete,
        Continued,
    }

    /// `struct nlmsghdr` and `struct unix_diag_req`.
    pub(super) fn request() -> Vec<u8> {
        let (all_states, any) = (u32::MAX, u32::MAX);
        let mut body = vec![UNIX, 0, 0, 0];
        for word in [all_states, 0, SHOW_NAME | SHOW_FILE, any, any] {
            body.extend(word.to_ne_bytes());
        }
        let length = u32::try_from(HEAD + body.len()).unwrap_or(u32::MAX);
        let mut message = length.to_ne_bytes().to_vec();
        message.extend(BY_FAMILY.to_ne_bytes());
        message.extend(REQUEST_DUMP.to_ne_bytes());
        message.extend([0; 8]);
        message.extend(body);
        message
    }

    /// Reads the sockets of a part of the answer.
    pub(super) fn read(mut part: &[u8], sockets: &mut Vec<ListeningSocket>) -> io::Result<Dump> {
        while let (Some(length), Some(kind)) = (u32_at(part, 0), u16_at(part, 4)) {
            let length = usize::try_from(length).unwrap_or(usize::MAX);
            match kind {
                DONE => return Ok(Dump::Complete),
                ERROR => return Err(io::Error::other("the system does not list the files of Unix sockets")),
                _ => {}
            }
            let Some(message) = part.get(HEAD..length) else { break };
            sockets.extend(socket(message));
            part = part.get(aligned(length)..).unwrap_or_default();
        }
        Ok(Dump::Continued)
    }

    fn socket(message: &[u8]) -> Option<ListeningSocket> {
        let (kind, state) = (*message.get(1)?, *message.get(2)?);
        if kind != DATAGRAM && state != LISTENING {
            return None;
        }
        let mut attributes = message.get(MESSAGE..)?;
        let (mut bound, mut file) = (PathBuf::new(), None);
        while let (Some(length), Some(name)) = (u16_at(attributes, 0), u16_at(attributes, 2)) {
            let value = attributes.get(4..usize::from(length))?;
            match name {
                NAME => {
                    let end = value.iter().position(|byte| *byte == 0).unwrap_or(value.len());
                    bound = PathBuf::from(OsStr::from_bytes(&value[..end]));
                }
                FILE => file = Some((device(u32_at(value, 4)?), u32_at(value, 0)?)),
                _ => {}
            }
            attributes = attributes.get(aligned(length.into())..).unwrap_or_default();
        }
        Some(ListeningSocket { file: file?, bound })
    }

    /// A device number as programs have it: inside of the system, 20 bits are the minor number.
    fn device(number: u32) -> u64 {
        rustix::fs::makedev(number >> 20, number & 0xf_ffff)
    }

    const fn aligned(length: usize) -> usize {
        length.saturating_add(3) & !3
    }

    fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
        bytes.get(at..at + 4)?.try_into().ok().map(u32::from_ne_bytes)
    }

    fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
        bytes.get(at..at + 2)?.try_into().ok().map(u16::from_ne_bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::{UnixDatagram, UnixListener};

    use super::*;

    #[test]
    fn a_socket_is_found_under_every_name_that_it_has_and_only_where_a_program_listens() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        let at = |name: &str| folder.join(name);
        fs::create_dir_all(at("deep/er")).unwrap();
        let _open = [at("plain"), at("before"), at("linked"), at("hidden")]
            .map(|path| UnixListener::bind(path).unwrap());
        let _datagrams = UnixDatagram::bind(at("datagrams")).unwrap();
        drop(UnixListener::bind(at("closed")).unwrap());
        fs::rename(at("before"), at("after")).unwrap();
        fs::hard_link(at("linked"), at("deep/er/second name")).unwrap();
        let sockets = HostSockets::new(vec![folder.clone()]);
        let found = || {
            let found = sockets.paths(&[at("hidden")]).into_iter();
            let own = found.filter_map(|path| path.strip_prefix(&folder).map(Path::to_owned).ok());
            let mut own: Vec<PathBuf> = own.collect();
            own.sort();
            own
        };
        let expected = ["after", "datagrams", "deep/er/second name", "linked", "plain"].map(PathBuf::from);
        assert_eq!(found(), expected);
        // What was found once is found again.
        let _new = UnixListener::bind(at("another")).unwrap();
        assert_eq!(found(), [&[PathBuf::from("after"), "another".into()], &expected[1..]].concat());
    }

    #[test]
    fn the_names_of_sockets_are_found_once_each_and_sockets_without_a_file_are_not() {
        let list = "Num       RefCount Protocol Flags    Type St Inode Path\n\
            0000000000000000: 00000002 00000000 00010000 0001 01 21045 /tmp/one socket\n\
            0000000000000000: 00000003 00000000 00000000 0001 03 21046 /tmp/one socket\n\
            0000000000000000: 00000002 00000000 00010000 0001 01 21047 @/tmp/abstract\n\
            0000000000000000: 00000003 00000000 00000000 0001 03 21048\n";
        assert_eq!(bound_names(list), [PathBuf::from("/tmp/one socket")]);
    }
}
