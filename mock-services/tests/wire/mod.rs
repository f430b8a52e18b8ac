//! What goes over the wire, faulted or not: bytes, their number, and the way in which a connection ends.

mod callers;
mod faults;
mod http;
mod late;
mod moments;
mod oversize;
mod smtp;
mod starttls;
mod stop;
