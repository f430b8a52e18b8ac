//! Taking a mutex that others hold for a few microseconds only: looking again is cheaper than going to sleep
//! and being woken.

use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

/// How often it is looked again before going to sleep.
const LOOKS: usize = 300;

/// Shares no line of a processor's cache with what lies beside it: whoever only reads its neighbours does not
/// wait for those who change it.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Apart<T>(pub(crate) T);

/// Takes the mutex. A panic of somebody who held it has been told on its own, and what it guards is whole
/// between any two steps.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    for _ in 0..LOOKS {
        match mutex.try_lock() {
            Ok(guard) => return guard,
            Err(TryLockError::Poisoned(poisoned)) => return poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => std::hint::spin_loop(),
        }
    }
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
