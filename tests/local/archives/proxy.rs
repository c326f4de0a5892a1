//! A failing network before the store: connections that break within an answer, and stores that report that
//! they are busy.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Forwards bytes between clients and a store.
pub(crate) struct Proxy {
    port: u16,
    faults: Arc<Faults>,
}

/// The faults still to come.
#[derive(Default)]
struct Faults {
    /// Answers that end after some bytes, before they are complete.
    cuts: AtomicUsize,
    /// Requests that are answered with 503.
    refusals: AtomicUsize,
}

/// Bytes of an answer that are forwarded before the connection is closed: more than a head has.
const BEFORE_CUT: usize = 50_000;

impl Proxy {
    /// Starts a proxy before the store at `port`.
    pub(crate) fn start(port: u16, cuts: usize, refusals: usize) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let own = listener.local_addr().expect("an address").port();
        let faults = Arc::new(Faults { cuts: cuts.into(), refusals: refusals.into() });
        let shared = Arc::clone(&faults);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let faults = Arc::clone(&shared);
                std::thread::spawn(move || serve(client, port, &faults));
            }
        });
        Self { port: own, faults }
    }

    pub(crate) fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Returns the faults that were not used.
    pub(crate) fn left(&self) -> (usize, usize) {
        (self.faults.cuts.load(Ordering::SeqCst), self.faults.refusals.load(Ordering::SeqCst))
    }
}

fn take(count: &AtomicUsize) -> bool {
    count.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok()
}

fn serve(mut client: TcpStream, port: u16, faults: &Faults) {
    if take(&faults.refusals) {
        let mut head = [0; 8192];
        let _ = client.read(&mut head);
        let body = "<?xml version=\"1.0\"?><Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>";
        let _ = write!(
            client,
            "HTTP/1.1 503 Slow Down\r\nContent-Type: application/xml\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        );
        return;
    }
    let server = TcpStream::connect(("127.0.0.1", port)).expect("the store is there");
    let mut requests = client.try_clone().expect("a socket");
    let mut to_server = server.try_clone().expect("a socket");
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut requests, &mut to_server);
        let _ = to_server.shutdown(Shutdown::Write);
    });
    let (mut server, mut passed, mut buffer) = (server, 0, vec![0; 16 << 10]);
    while let Ok(count) = server.read(&mut buffer) {
        if count == 0 || client.write_all(&buffer[..count]).is_err() {
            break;
        }
        passed += count;
        if passed > BEFORE_CUT && take(&faults.cuts) {
            break;
        }
    }
    let _ = client.shutdown(Shutdown::Both);
    let _ = server.shutdown(Shutdown::Both);
}
