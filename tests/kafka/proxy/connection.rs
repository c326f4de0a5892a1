//! One client's connection to one broker. One thread per direction passes frames on, or drops them.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use super::link::Link;
use super::request::{Api, Header, correlation_id, error_code, read_frame};
use super::rules::{Fault, Rules};
use crate::broker::pause;

pub(super) struct Connection {
    client: TcpStream,
    broker: TcpStream,
    link: Arc<Link>,
    rules: Arc<Rules>,
    slot: usize,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Responses that are not simply passed on, by correlation id.
    responses: BTreeMap<i32, Response>,
    /// Nothing passes to the client any more.
    silent: bool,
    /// The broker or the client has closed its side.
    ended: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Response {
    Lost,
    Late(u64),
    Cut,
    /// The response comes twice.
    Twice,
    /// Only the thread that delivered its request late waits for it.
    Awaited(Api, i16),
}

impl Connection {
    /// Runs a connection's threads until it has ended.
    pub(super) fn run(
        client: TcpStream,
        broker: TcpStream,
        link: Arc<Link>,
        rules: Arc<Rules>,
        slot: usize,
    ) -> io::Result<()> {
        client.set_nodelay(true)?;
        broker.set_nodelay(true)?;
        let number = link.opened(&client, &broker)?;
        let connection = Arc::new(Self {
            client,
            broker,
            link,
            rules,
            slot,
            state: Mutex::default(),
            changed: Condvar::new(),
        });
        let responses = Arc::clone(&connection);
        thread::spawn(move || {
            // If one direction ends, so does the other.
            let _ = responses.pass_responses();
            let _ = responses.client.shutdown(Shutdown::Both);
            let _ = responses.broker.shutdown(Shutdown::Both);
            responses.lock().ended = true;
            responses.changed.notify_all();
        });
        thread::spawn(move || {
            let _ = connection.pass_requests();
            let _ = connection.client.shutdown(Shutdown::Both);
            let _ = connection.broker.shutdown(Shutdown::Both);
            connection.link.closed(number);
        });
        Ok(())
    }

    fn pass_requests(&self) -> io::Result<()> {
        while let Some(frame) = read_frame(&self.client)? {
            self.link.pass(frame.len());
            let header = Header::parse(&frame)
                .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "not a request of Kafka's"))?;
            let fault = self.rules.decide(&header, self.slot);
            let correlation = header.correlation;
            match fault {
                None => {}
                Some(Fault::Late(ms)) => return self.deliver_late(&header, &frame, ms),
                Some(Fault::Lost) => {
                    self.lock().silent = true;
                    while read_frame(&self.client)?.is_some() {}
                    return Ok(());
                }
                Some(Fault::CutBefore) => return Ok(()),
                Some(Fault::Twice) => {
                    self.lock().responses.insert(correlation, Response::Twice);
                    (&self.broker).write_all(&frame)?;
                }
                Some(Fault::ResponseLost) => _ = self.lock().responses.insert(correlation, Response::Lost),
                Some(Fault::ResponseLate(ms)) => {
                    self.lock().responses.insert(correlation, Response::Late(ms));
                }
                Some(Fault::CutAfter) => _ = self.lock().responses.insert(correlation, Response::Cut),
            }
            (&self.broker).write_all(&frame)?;
        }
        Ok(())
    }

    /// Breaks the client's side, and keeps the broker's side until it has received the request and answered
    /// it.
    fn deliver_late(&self, header: &Header<'_>, frame: &[u8], ms: u64) -> io::Result<()> {
        {
            let mut state = self.lock();
            state.silent = true;
            state.responses.insert(header.correlation, Response::Awaited(header.api, header.version));
        }
        let _ = self.client.shutdown(Shutdown::Both);
        pause(ms);
        self.link.pass(0);
        self.rules.count(
            self.slot,
            format!("{} delivered late", header.api.name()),
            &format!("after {ms} ms"),
        );
        let sent = (&self.broker).write_all(frame);
        let is_open = |state: &mut State| {
            sent.is_ok() && !state.ended && state.responses.contains_key(&header.correlation)
        };
        drop(self.changed.wait_while(self.lock(), is_open));
        self.rules.count(self.slot, format!("{} late and over", header.api.name()), "");
        Ok(())
    }

    fn pass_responses(&self) -> io::Result<()> {
        while let Some(frame) = read_frame(&self.broker)? {
            let correlation = correlation_id(&frame)
                .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "not a response of Kafka's"))?;
            let fault = self.lock().responses.remove(&correlation);
            match fault {
                None => {}
                Some(Response::Awaited(api, version)) => {
                    if let Some(code) = error_code(api, version, &frame) {
                        let outcome = if code == 0 { "accepted" } else { "refused" };
                        self.rules.count(
                            self.slot,
                            format!("{} late and {outcome}", api.name()),
                            &format!("error {code}"),
                        );
                    }
                    self.changed.notify_all();
                }
                // The client requested nothing twice, so the second response is not passed on.
                Some(Response::Twice) => {
                    self.deliver(&frame)?;
                    read_frame(&self.broker)?;
                    continue;
                }
                Some(Response::Lost) => self.lock().silent = true,
                Some(Response::Late(ms)) => pause(ms),
                Some(Response::Cut) => return Ok(()),
            }
            self.deliver(&frame)?;
        }
        Ok(())
    }

    fn deliver(&self, frame: &[u8]) -> io::Result<()> {
        self.link.pass(frame.len());
        if self.lock().silent {
            return Ok(());
        }
        (&self.client).write_all(frame)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
