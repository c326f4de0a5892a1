//! A faulty network between workers and real brokers: proxies that understand Kafka's frames.
//!
//! ```text
//! worker of slot 0 ──► link (0, 0) ──► broker 0, listener PROXIED0 ─┐ for broker b,
//!                 └──► link (0, 1) ──► broker 1, listener PROXIED0 ─┴ clients use link (0, b)
//! worker of slot 1 ──► link (1, 0) ──► broker 0, listener PROXIED1
//! the tests' own clients ────────────► the brokers themselves
//! ```
//! Brokers advertise the proxies' ports to clients (`advertised.listeners`), so no response needs to be
//! rewritten. Each slot has its own listeners: faults of one worker's network affect no other.
//!
//! Faults of single requests ([`rules`]) are what a client sees when a connection breaks at that moment. The
//! most important one is a request that is under way when its connection breaks, and reaches the broker only
//! after the client has sent it again ([`Fault::Late`]).

mod connection;
mod link;
mod request;
mod rules;
mod tests;

use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use crate::broker::{Brokers, Proxied};
use crate::common::free_ports;
use connection::Connection;
use link::Link;
pub(crate) use request::Api;
pub(crate) use rules::{Fault, Rule, Rules};

/// Brokers behind proxies. Listening threads live as long as the process.
pub(crate) struct Network {
    pub(crate) brokers: Brokers,
    pub(crate) rules: Arc<Rules>,
    /// The links by slot and broker.
    links: Vec<Vec<Arc<Link>>>,
    /// The bootstrap address for the clients of each slot.
    bootstraps: Vec<String>,
}

impl Network {
    /// Starts `count` brokers, each with `slots` listeners behind proxies; `more` are properties of the
    /// brokers.
    pub(crate) fn start(count: usize, slots: usize, seed: u64, more: &str) -> Self {
        let (advertised, behind) = (free_ports(count * slots), free_ports(count * slots));
        let place = |broker: usize, slot: usize| broker * slots + slot;
        let proxied: Vec<Vec<Proxied>> = (0..count)
            .map(|broker| {
                let places = (0..slots).map(|slot| place(broker, slot));
                places.map(|at| Proxied { port: behind[at], advertised: advertised[at] }).collect()
            })
            .collect();
        let rules = Arc::new(Rules::new(seed));
        let links: Vec<Vec<Arc<Link>>> = (0..slots)
            .map(|slot| {
                let listen = |broker| {
                    let (link, at) = (Arc::<Link>::default(), place(broker, slot));
                    listen(advertised[at], behind[at], &link, &rules, slot);
                    link
                };
                (0..count).map(listen).collect()
            })
            .collect();
        let servers = |slot: usize| {
            let ports = (0..count).map(|broker| advertised[place(broker, slot)]);
            ports.map(|port| format!("127.0.0.1:{port}")).collect::<Vec<_>>().join(",")
        };
        let bootstraps = (0..slots).map(servers).collect();
        Self { brokers: Brokers::start_with(&proxied, more), rules, links, bootstraps }
    }

    /// Returns the bootstrap address for the clients of a slot.
    pub(crate) fn bootstrap(&self, slot: usize) -> &str {
        &self.bootstraps[slot]
    }

    /// Stops all traffic between a slot and a broker, or all of them, for a while.
    pub(crate) fn freeze(&self, slot: Option<usize>, broker: Option<usize>, time: Duration) {
        self.each(slot, broker, |link| link.freeze(time));
    }

    /// Breaks all connections between a slot and a broker, or all of them.
    pub(crate) fn reset(&self, slot: Option<usize>, broker: Option<usize>) {
        self.each(slot, broker, Link::reset);
    }

    /// Limits each connection to this many bytes per second; `None` means no limit.
    pub(crate) fn throttle(&self, slot: Option<usize>, broker: Option<usize>, bytes_per_second: Option<u64>) {
        self.each(slot, broker, |link| link.throttle(bytes_per_second));
    }

    /// Ends all faults.
    pub(crate) fn heal(&self) {
        (0..self.links.len()).for_each(|slot| self.rules.set(slot, Vec::new()));
        self.each(None, None, |link| {
            link.throttle(None);
            link.thaw();
        });
    }

    fn each(&self, slot: Option<usize>, broker: Option<usize>, order: impl Fn(&Link)) {
        for (at, links) in self.links.iter().enumerate() {
            for (number, link) in links.iter().enumerate() {
                if slot.is_none_or(|slot| slot == at) && broker.is_none_or(|broker| broker == number) {
                    order(link);
                }
            }
        }
    }
}

/// Accepts connections at `port`, and forwards them to the broker at `behind`.
fn listen(port: u16, behind: u16, link: &Arc<Link>, rules: &Arc<Rules>, slot: usize) {
    let listener = TcpListener::bind(("127.0.0.1", port)).expect("a free port");
    let (link, rules) = (Arc::clone(link), Arc::clone(rules));
    thread::spawn(move || {
        for client in listener.incoming() {
            // If the broker is down, the client sees a connection that ends at once.
            let (Ok(client), Ok(broker)) = (client, TcpStream::connect(("127.0.0.1", behind))) else {
                continue;
            };
            let _ = Connection::run(client, broker, Arc::clone(&link), Arc::clone(&rules), slot);
        }
    });
}
