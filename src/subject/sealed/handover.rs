//! Sockets that are made in one network namespace and used in another: sent over a Unix socket.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};

/// The most sockets that are sent at once; the system takes 253.
pub(super) const MAX_SOCKETS: usize = 200;

/// Sends sockets, none or some, which the other side receives in the same order.
pub(super) fn send(over: impl AsFd, sockets: &[OwnedFd]) -> io::Result<()> {
    let sockets: Vec<BorrowedFd<'_>> = sockets.iter().map(AsFd::as_fd).collect();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_SOCKETS))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let mut fits = || control.push(SendAncillaryMessage::ScmRights(&sockets));
    if sockets.len() > MAX_SOCKETS || !(sockets.is_empty() || fits()) {
        return Err(io::Error::other(format!("{} sockets are too many to hand over", sockets.len())));
    }
    // Sockets travel with at least one byte.
    sendmsg(over, &[IoSlice::new(&[0])], &mut control, SendFlags::empty())?;
    Ok(())
}

/// Receives what [`send`] sent.
pub(in crate::subject) fn receive(over: impl AsFd) -> io::Result<Vec<OwnedFd>> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_SOCKETS))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let received = recvmsg(over, &mut [IoSliceMut::new(&mut byte)], &mut control, RecvFlags::CMSG_CLOEXEC)?;
    if received.bytes == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let sockets = control.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(sockets) => Some(sockets),
        _ => None,
    });
    Ok(sockets.flatten().collect())
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn a_socket_that_was_handed_over_is_the_same_socket() {
        let (here, there) = UnixStream::pair().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        send(&here, &[listener.into()]).unwrap();
        let received = TcpListener::from(receive(&there).unwrap().remove(0));
        let mut client = TcpStream::connect(address).unwrap();
        client.write_all(b"x").unwrap();
        let mut read = [0];
        received.accept().unwrap().0.read_exact(&mut read).unwrap();
        assert_eq!(read, *b"x");
    }

    #[test]
    fn a_side_that_is_gone_hands_nothing_over() {
        let (here, there) = UnixStream::pair().unwrap();
        drop(here);
        assert_eq!(receive(&there).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }
}
