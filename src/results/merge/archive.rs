//! Reads the files of runs from a tar archive, plain or gzip, without unpacking anything else: what has another name is
//! skipped, and no path of the archive is used as one.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;

const BLOCK: usize = 512;
const BLOCK_BYTES: u64 = 512;
/// A longer name is not one of ours.
const LONGEST_NAME: u64 = 64 * 1024;

/// Writes the files of an archive that have one of these names into numbered folders below `to`; returns each folder with
/// its name in the archive.
pub(super) fn unpack(
    archive: impl Read,
    to: &Path,
    first: usize,
    files: &[&str],
) -> io::Result<Vec<(String, PathBuf)>> {
    let mut archive = BufReader::new(archive);
    match archive.fill_buf()?.starts_with(&[0x1f, 0x8b]) {
        true => unpack_plain(BufReader::new(MultiGzDecoder::new(archive)), to, first, files),
        false => unpack_plain(archive, to, first, files),
    }
}

fn unpack_plain(
    mut archive: impl Read,
    to: &Path,
    first: usize,
    files: &[&str],
) -> io::Result<Vec<(String, PathBuf)>> {
    let mut folders: BTreeMap<String, PathBuf> = BTreeMap::new();
    // From an entry before a file that has no room for its name or size.
    let (mut long_name, mut long_size) = (None, None);
    while let Some(header) = Header::read(&mut archive)? {
        let mut content = archive.by_ref().take(long_size.unwrap_or(header.size));
        let padding = (BLOCK_BYTES - content.limit() % BLOCK_BYTES) % BLOCK_BYTES;
        match header.kind {
            b'L' => long_name = Some(text(&whole(&mut content)?)),
            b'x' => (long_name, long_size) = extended(&whole(&mut content)?, long_name),
            _ => {
                let name = long_name.take().unwrap_or(header.name);
                long_size = None;
                let (folder, file) = name.rsplit_once('/').unwrap_or(("", &name));
                if matches!(header.kind, b'0' | 0) && files.contains(&file) {
                    let number = first + folders.len();
                    let path =
                        folders.entry(folder.to_owned()).or_insert_with(|| to.join(number.to_string()));
                    fs::create_dir_all(&path)?;
                    io::copy(&mut content, &mut File::create(path.join(file))?)?;
                } else {
                    io::copy(&mut content, &mut io::sink())?;
                }
            }
        }
        if content.limit() > 0 || io::copy(&mut archive.by_ref().take(padding), &mut io::sink())? < padding {
            return Err(cut_off());
        }
    }
    // The rest is read, so that a program that writes into the pipe does not fail.
    io::copy(&mut archive, &mut io::sink())?;
    Ok(folders.into_iter().collect())
}

fn whole(content: &mut io::Take<impl Read>) -> io::Result<Vec<u8>> {
    if content.limit() > LONGEST_NAME {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "it is not a tar archive: a name is too long",
        ));
    }
    let mut bytes = Vec::new();
    content.read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn cut_off() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the archive is cut off")
}

fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

/// The path and the size in the records of an extended header: `LENGTH KEY=VALUE` and a line end.
fn extended(records: &[u8], mut name: Option<String>) -> (Option<String>, Option<u64>) {
    let mut size = None;
    for record in records.split(|byte| *byte == b'\n') {
        let record = String::from_utf8_lossy(record);
        match record.split_once(' ').and_then(|(_, pair)| pair.split_once('=')) {
            Some(("path", value)) => name = Some(value.to_owned()),
            Some(("size", value)) => size = value.parse().ok(),
            _ => {}
        }
    }
    (name, size)
}

struct Header {
    name: String,
    size: u64,
    kind: u8,
}

impl Header {
    /// The next header; `None` at the end of the archive.
    fn read(archive: &mut impl Read) -> io::Result<Option<Self>> {
        let mut block = [0; BLOCK];
        match archive.read(&mut block)? {
            // Some programs leave the closing blocks out; what is missing then is found when parts are merged.
            0 => return Ok(None),
            read => archive.read_exact(&mut block[read..]).map_err(|_| cut_off())?,
        }
        if block.iter().all(|byte| *byte == 0) {
            return Ok(None);
        }
        let not_one =
            || io::Error::new(io::ErrorKind::InvalidData, "it is neither a tar archive nor a gzip of one");
        let expected = octal(&block[148..156]).ok_or_else(not_one)?;
        let sum = |(at, byte): (usize, &u8)| u64::from(if (148..156).contains(&at) { b' ' } else { *byte });
        if block.iter().enumerate().map(sum).sum::<u64>() != expected {
            return Err(not_one());
        }
        let (name, prefix) = (text(&block[..100]), text(&block[345..500]));
        let is_posix = &block[257..263] == b"ustar\0";
        let name = if is_posix && !prefix.is_empty() { format!("{prefix}/{name}") } else { name };
        let size = &block[124..136];
        // GNU tar writes sizes that need more than eleven digits as a binary number.
        let size = match size[0] {
            0x80 => size[4..].iter().try_fold(0u64, |sum, byte| {
                sum.checked_mul(256).and_then(|sum| sum.checked_add(u64::from(*byte)))
            }),
            _ => octal(size),
        };
        Ok(Some(Header { name, size: size.ok_or_else(not_one)?, kind: block[156] }))
    }
}

fn octal(digits: &[u8]) -> Option<u64> {
    let digits = text(digits);
    u64::from_str_radix(digits.trim(), 8).ok()
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;
    use crate::results::store::{LEDGER_FILE, REPORT_FILE};

    /// What `tar` writes of a folder with two runs and other files.
    fn archive(options: &[&str], folder: &str) -> Vec<u8> {
        let dir = tempfile::tempdir().unwrap();
        for part in ["1", "2"] {
            let path = dir.path().join(folder).join(part);
            fs::create_dir_all(&path).unwrap();
            fs::write(path.join(REPORT_FILE), format!("report {part}")).unwrap();
            fs::write(path.join(LEDGER_FILE), "l".repeat(3 * BLOCK)).unwrap();
            fs::write(path.join("index.html"), "x".repeat(700)).unwrap();
        }
        let tar = Command::new("tar")
            .args(options)
            .args(["-c", "-f", "-", "-C"])
            .arg(dir.path())
            .arg(folder)
            .stderr(Stdio::inherit())
            .output()
            .unwrap();
        assert!(tar.status.success());
        tar.stdout
    }

    fn unpacked(bytes: &[u8]) -> io::Result<Vec<String>> {
        let to = tempfile::tempdir().unwrap();
        let found = unpack(bytes, to.path(), 0, &[REPORT_FILE, LEDGER_FILE])?;
        let shown = found.into_iter().map(|(name, path)| {
            let mut files: Vec<_> =
                fs::read_dir(&path).unwrap().map(|file| file.unwrap().file_name()).collect();
            files.sort();
            assert_eq!(files, [LEDGER_FILE, REPORT_FILE], "{name}");
            assert_eq!(fs::metadata(path.join(LEDGER_FILE)).unwrap().len(), 3 * BLOCK_BYTES);
            format!("{name} {}", fs::read_to_string(path.join(REPORT_FILE)).unwrap())
        });
        Ok(shown.collect())
    }

    #[test]
    fn the_runs_of_an_archive_of_any_kind_are_found() {
        let long = format!("{}/{}", "a".repeat(120), "b".repeat(70));
        for folder in ["parts", long.as_str()] {
            for kind in [&["--format=gnu"][..], &["--format=pax"], &["--format=ustar"], &["-z"]] {
                let found = unpacked(&archive(kind, folder)).unwrap();
                let expected = [format!("{folder}/1 report 1"), format!("{folder}/2 report 2")];
                assert_eq!(found, expected, "{kind:?}");
            }
        }
    }

    #[test]
    fn an_archive_that_is_cut_off_or_is_none_is_an_error() {
        for kind in ["--format=gnu", "-z"] {
            let whole = archive(&[kind], "parts");
            let middle = whole.len() / 3;
            assert!(unpacked(&whole[..middle]).is_err(), "{kind}");
        }
        assert!(unpacked(&[b'x'; 2000]).is_err());
        assert!(unpacked(b"{}").is_err());
        assert_eq!(unpacked(b"").unwrap(), Vec::<String>::new());
    }
}
