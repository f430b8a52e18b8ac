//! The `stat` files of `/proc`: one for each process and each thread. Elsewhere than on Linux there are none.

use std::fs;
use std::path::Path;

/// What the system says about a process or a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProcStat {
    /// Its state letter: `R` is runnable, `S` sleeps, `D` waits for a disk, `T` is stopped, `Z` is dead.
    pub(crate) state: char,
    pub(crate) parent: i32,
    pub(crate) group: i32,
    pub(crate) session: i32,
    /// Its processor time in ticks, in user and in system mode.
    pub(crate) ticks: u64,
    /// The same of its children that have ended.
    pub(crate) ticks_of_children: u64,
    pub(crate) threads: u64,
    /// Its resident memory, in pages.
    pub(crate) pages: u64,
}

/// The system counts processor time in hundredths of a second.
pub(crate) const MILLIS_PER_TICK: u64 = 10;

impl ProcStat {
    /// Of this process.
    pub(crate) fn of_process(pid: impl std::fmt::Display) -> Option<Self> {
        ProcStat::read(Path::new(&format!("/proc/{pid}/stat")))
    }

    /// From this file.
    pub(crate) fn read(path: &Path) -> Option<Self> {
        ProcStat::parse(&fs::read_to_string(path).ok()?)
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        // The name of the program is in parentheses and can contain anything.
        let words: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
        let signed = |index: usize| words.get(index)?.parse::<i32>().ok();
        let number = |index: usize| words.get(index)?.parse::<u64>().ok();
        Some(ProcStat {
            state: words.first()?.chars().next()?,
            parent: signed(1)?,
            group: signed(2)?,
            session: signed(3)?,
            ticks: number(11)?.checked_add(number(12)?)?,
            ticks_of_children: number(13)?.checked_add(number(14)?)?,
            threads: number(17)?,
            pages: number(21)?,
        })
    }

    /// Whether it is dead.
    pub(crate) fn is_dead(&self) -> bool {
        matches!(self.state, 'Z' | 'X')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_with_an_unusual_program_name_is_read() {
        let stat = "42 (a) S 1 (b)) T 7 41 40 0 -1 4194304 900 0 0 0 30 12 4 5 20 0 3 0 100 5000 250 1";
        let read = ProcStat {
            state: 'T',
            parent: 7,
            group: 41,
            session: 40,
            ticks: 42,
            ticks_of_children: 9,
            threads: 3,
            pages: 250,
        };
        assert_eq!(ProcStat::parse(stat), Some(read));
        for torn in ["", ")", "42 (a) R", "42 (a) R 7 41 40 0 -1"] {
            assert_eq!(ProcStat::parse(torn), None, "{torn}");
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn this_process_is_read() {
        let own = ProcStat::of_process("self").unwrap();
        assert!(!own.is_dead() && own.threads > 0 && own.pages > 0, "{own:?}");
    }
}
