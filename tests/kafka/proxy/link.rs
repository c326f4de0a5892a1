//! The link between one slot of clients and one broker. Its faults affect all connections.

use std::net::{Shutdown, TcpStream};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::broker::pause;

#[derive(Default)]
pub(super) struct Link {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    frozen_until: Option<Instant>,
    bytes_per_second: Option<u64>,
    /// The client's and the broker's end of each connection, by number.
    open: Vec<(u64, TcpStream, TcpStream)>,
    connections: u64,
}

impl Link {
    /// Holds back all bytes for `time`; bytes under way arrive after it.
    pub(super) fn freeze(&self, time: Duration) {
        self.lock().frozen_until = Some(Instant::now() + time);
    }

    pub(super) fn thaw(&self) {
        self.lock().frozen_until = None;
        self.changed.notify_all();
    }

    /// Limits the rate; `None` means no limit.
    pub(super) fn throttle(&self, bytes_per_second: Option<u64>) {
        self.lock().bytes_per_second = bytes_per_second;
    }

    /// Breaks all connections.
    pub(super) fn reset(&self) {
        for (_, client, broker) in self.lock().open.drain(..) {
            let _ = client.shutdown(Shutdown::Both);
            let _ = broker.shutdown(Shutdown::Both);
        }
    }

    /// Waits until this many bytes may pass.
    pub(super) fn pass(&self, bytes: usize) {
        let mut state = self.lock();
        while let Some(left) =
            state.frozen_until.and_then(|until| until.checked_duration_since(Instant::now()))
        {
            let waited = self.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        let rate = state.bytes_per_second;
        drop(state);
        if let Some(rate) = rate {
            pause(bytes as u64 * 1000 / rate.max(1));
        }
    }

    /// Registers a connection and returns its number.
    pub(super) fn opened(&self, client: &TcpStream, broker: &TcpStream) -> std::io::Result<u64> {
        let (client, broker) = (client.try_clone()?, broker.try_clone()?);
        let mut state = self.lock();
        state.connections += 1;
        let number = state.connections;
        state.open.push((number, client, broker));
        Ok(number)
    }

    pub(super) fn closed(&self, number: u64) {
        self.lock().open.retain(|(open, ..)| *open != number);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
