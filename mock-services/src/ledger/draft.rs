//! What a thread is about to add to a ledger: taken apart before the pages are taken, so that nobody waits
//! for it.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::sync::Arc;

use super::entry::Event;
use super::record::Parts;
use super::{Inner, Ledger};

/// More events than that do not wait for each other: an operation on a list can have as many effects as it
/// likes.
const MOST_TOGETHER: usize = 16;

thread_local! {
    static DRAFT: RefCell<Draft> = RefCell::default();
}

#[derive(Debug, Default)]
struct Draft {
    /// Those behind the used ones are kept for the next time.
    events: Vec<Parts>,
    used: usize,
    /// The ledger to which all of it is added together.
    together: Option<*const Inner>,
}

impl Draft {
    fn write(&mut self, event: &Event<'_>) {
        if self.used == self.events.len() {
            self.events.push(Parts::default());
        }
        self.events[self.used].take(event);
        self.used += 1;
    }

    /// Gives back whether there was something.
    fn add_to(&mut self, ledger: &Ledger) -> bool {
        let events = &self.events[..std::mem::take(&mut self.used)];
        if !events.is_empty() {
            ledger.inner.pages().add(&ledger.inner.clock, events);
        }
        !events.is_empty()
    }
}

/// Appends an event; gives back whether it has been added already.
pub(super) fn append(ledger: &Ledger, event: &Event<'_>) -> bool {
    DRAFT.with_borrow_mut(|draft| match draft.together {
        Some(other) if other != Arc::as_ptr(&ledger.inner) => {
            let mut single = Draft::default();
            single.write(event);
            single.add_to(ledger)
        }
        waits => {
            draft.write(event);
            (waits.is_none() || draft.used >= MOST_TOGETHER) && draft.add_to(ledger)
        }
    })
}

/// Appends an event to this edition of a ledger; gives back whether there was still that edition to add it
/// to.
pub(super) fn append_in(ledger: &Ledger, edition: u64, event: &Event<'_>) -> bool {
    DRAFT.with_borrow_mut(|draft| {
        let mut single = Draft::default();
        // What waits to be added together goes to whatever edition there is then.
        let draft = if draft.together.is_none() { draft } else { &mut single };
        draft.write(event);
        let events = &draft.events[..std::mem::take(&mut draft.used)];
        let mut pages = ledger.inner.pages();
        let is_same = pages.edition == edition;
        if is_same {
            pages.add(&ledger.inner.clock, events);
        }
        is_same
    })
}

/// What its thread appends is added when it is dropped: whoever appends several events at once takes the
/// pages once.
pub(crate) struct Together<'l> {
    ledger: &'l Ledger,
    /// It stays with the thread that appends.
    _of_this_thread: PhantomData<*const ()>,
}

impl Ledger {
    /// Adds what this thread appends from now on when what is given back is dropped.
    pub(crate) fn together(&self) -> Together<'_> {
        if self.inner.recording {
            DRAFT.with_borrow_mut(|draft| draft.together = Some(Arc::as_ptr(&self.inner)));
        }
        Together { ledger: self, _of_this_thread: PhantomData }
    }
}

impl Drop for Together<'_> {
    fn drop(&mut self) {
        let added = self.ledger.inner.recording
            && DRAFT.with_borrow_mut(|draft| {
                draft.together = None;
                draft.add_to(self.ledger)
            });
        if added {
            self.ledger.announce();
        }
    }
}
