//! Decides which fault each request suffers. Rules can be changed while clients are at work. A seeded
//! generator chooses among the requests that match a rule, and everything that was done is counted.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::request::{Api, Header};
use crate::dice::Rng;

/// The fault of a request or its response. TCP does not lose or duplicate bytes, so most faults end the
/// connection in some way, and the client retries on the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The client's connection breaks, and the broker gets the request this many milliseconds later.
    Late(u64),
    /// The connection goes silent with this request: nothing more from the client arrives.
    Lost,
    /// The broker gets the request twice; the second response is dropped.
    Twice,
    /// The broker gets the request, and the connection goes silent before its response.
    ResponseLost,
    /// The response, and everything after it, arrives this many milliseconds later.
    ResponseLate(u64),
    /// The connection breaks before the request is passed on.
    CutBefore,
    /// The connection breaks after the broker has answered, before the response is passed on.
    CutAfter,
}

impl Fault {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Late(_) => "late",
            Self::Lost => "lost",
            Self::Twice => "twice",
            Self::ResponseLost => "response lost",
            Self::ResponseLate(_) => "response late",
            Self::CutBefore => "cut before",
            Self::CutAfter => "cut after",
        }
    }
}

/// Requests, and their fault.
#[derive(Debug, Clone)]
pub(crate) struct Rule {
    pub(crate) api: Api,
    /// Suffix of the client's id, `-cluster` for owners' producers; empty for all clients.
    pub(crate) client: &'static str,
    pub(crate) fault: Fault,
    /// One in this many requests, drawn at random.
    pub(crate) one_in: u64,
    /// Total number of faults.
    pub(crate) times: u64,
}

/// The rules of all connections of a cluster's proxies.
pub(crate) struct Rules {
    state: Mutex<State>,
}

struct State {
    /// The rules by slot.
    rules: BTreeMap<usize, Vec<Rule>>,
    dice: Rng,
    /// Number of events by slot and kind.
    counts: BTreeMap<(usize, String), u64>,
    /// Events with their time, to analyse a failure.
    events: Vec<(Instant, usize, String)>,
}

impl Rules {
    pub(crate) fn new(seed: u64) -> Self {
        let state =
            State { rules: BTreeMap::new(), dice: Rng(seed), counts: BTreeMap::new(), events: Vec::new() };
        Self { state: Mutex::new(state) }
    }

    /// Replaces all rules of a slot.
    pub(crate) fn set(&self, slot: usize, rules: Vec<Rule>) {
        self.lock().rules.insert(slot, rules);
    }

    /// Returns the number of faults that the rules of a slot have left.
    pub(crate) fn left(&self, slot: usize) -> u64 {
        self.lock().rules.get(&slot).into_iter().flatten().map(|rule| rule.times).sum()
    }

    /// Returns the fault for a request, if any.
    pub(super) fn decide(&self, header: &Header<'_>, slot: usize) -> Option<Fault> {
        let state = &mut *self.lock();
        let State { rules, dice, .. } = state;
        let rule = rules.get_mut(&slot)?.iter_mut().find(|rule| {
            rule.api == header.api
                && rule.times > 0
                && header.client.ends_with(rule.client)
                && dice.roll(rule.one_in) == 0
        })?;
        rule.times -= 1;
        let fault = rule.fault;
        let what = format!("{} {}", header.api.name(), fault.name());
        state.count(slot, what, &format!("{fault:?}, version {} of {}", header.version, header.client));
        Some(fault)
    }

    /// Counts an event.
    pub(super) fn count(&self, slot: usize, what: String, more: &str) {
        self.lock().count(slot, what, more);
    }

    /// Returns the number of events of a kind in a slot.
    pub(crate) fn counted(&self, slot: usize, what: &str) -> u64 {
        self.lock().counts.get(&(slot, what.to_owned())).copied().unwrap_or(0)
    }

    /// Returns the number of all faults of requests, by kind.
    pub(crate) fn counts(&self) -> BTreeMap<String, u64> {
        let mut counts = BTreeMap::new();
        for ((_, what), count) in &self.lock().counts {
            *counts.entry(what.clone()).or_insert(0) += count;
        }
        counts
    }

    /// Returns all events of a slot in order, one per line, with the seconds since `began`.
    pub(crate) fn events(&self, slot: usize, began: Instant) -> String {
        let state = self.lock();
        let line = |(at, _, what): &(Instant, usize, String)| {
            format!("{:8.3} {what}\n", at.saturating_duration_since(began).as_secs_f64())
        };
        state.events.iter().filter(|(_, of, _)| *of == slot).map(line).collect()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn count(&mut self, slot: usize, what: String, more: &str) {
        self.events.push((Instant::now(), slot, format!("{what} ({more})")));
        *self.counts.entry((slot, what)).or_insert(0) += 1;
    }
}
