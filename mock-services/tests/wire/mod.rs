//! What goes over the wire, with and without faults: bytes, their number, and how a connection ends.

mod callers;
mod faults;
mod http;
mod late;
mod moments;
mod oversize;
mod smtp;
mod starttls;
mod stop;
