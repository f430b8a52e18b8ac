//! What the services speak on the wire.

#[cfg_attr(not(test), expect(dead_code, unused_imports, reason = "the sockets around the session are written elsewhere"))]
pub(crate) mod smtp;
