//! Ports that tests give to servers.

use std::net::{TcpListener, UdpSocket};

use crate::common::free_ports;

/// A port that is only checked and released could go to a test in another process before the server
/// listens there.
#[test]
fn no_other_test_is_given_a_port_before_its_server_listens() {
    for port in free_ports(3) {
        assert!(UdpSocket::bind(("127.0.0.1", port)).is_err(), "{port} is marked as taken");
        assert!(TcpListener::bind(("127.0.0.1", port)).is_ok(), "{port} is free for a server");
    }
}
