//! Subjects under the real supervisor: their output is recorded, their limits hold, and no process is left.

mod bounds;
mod http;
mod interrupts;
mod output;
