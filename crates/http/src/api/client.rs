//! Limits the rate of requests per client, with a token bucket that refills within a second.
//!
//! A client is identified by its address; for IPv6 by the first 64 bits, which one subscriber has. Memory:
//! [`CLIENTS_MAX`] buckets. Further clients share one bucket.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Instant;

use parking_lot::Mutex;

/// Limit on the number of clients with their own bucket within one second.
const CLIENTS_MAX: usize = 10_000;
/// Key of the bucket of all other clients. It differs from all IPv6 keys, whose lower half is 0.
const OTHERS: u128 = u128::MAX;

/// The buckets of all clients.
pub(super) struct Clients {
    per_second: Option<u32>,
    buckets: Mutex<BTreeMap<u128, Bucket>>,
}

struct Bucket {
    tokens: f64,
    filled: Instant,
}

impl Bucket {
    fn fill(&mut self, now: Instant, per_second: f64) {
        let seconds = now.saturating_duration_since(self.filled).as_secs_f64();
        self.tokens = (self.tokens + seconds * per_second).min(per_second);
        self.filled = now;
    }
}

impl Clients {
    /// Creates buckets for `per_second` requests of each client; `None` means no limit.
    pub(super) fn new(per_second: Option<u32>) -> Self {
        Self { per_second, buckets: Mutex::default() }
    }

    /// Takes a token. Returns false if `client` has none left at `now`.
    pub(super) fn may_ask(&self, client: IpAddr, now: Instant) -> bool {
        let Some(per_second) = self.per_second.map(f64::from) else { return true };
        let mut client = match client {
            IpAddr::V4(address) => address.to_ipv6_mapped().into(),
            IpAddr::V6(address) => match address.to_ipv4_mapped() {
                Some(_) => u128::from(address),
                None => u128::from(address) >> 64 << 64,
            },
        };
        let mut buckets = self.buckets.lock();
        if !buckets.contains_key(&client) && buckets.len() >= CLIENTS_MAX {
            // A full bucket is the same as no bucket.
            buckets.retain(|_, bucket| {
                bucket.fill(now, per_second);
                bucket.tokens < per_second
            });
            if buckets.len() >= CLIENTS_MAX {
                client = OTHERS;
            }
        }
        let bucket = buckets.entry(client).or_insert(Bucket { tokens: per_second, filled: now });
        bucket.fill(now, per_second);
        let may = bucket.tokens >= 1.0;
        bucket.tokens -= f64::from(u8::from(may));
        may
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_client_may_send_the_configured_requests_per_second() {
        let clients = Clients::new(Some(3));
        let now = Instant::now();
        let a = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
        let allowed = |client, now| (0..5).filter(|_| clients.may_ask(client, now)).count();
        assert_eq!(allowed(a, now), 3);
        assert_eq!(allowed(Ipv4Addr::new(10, 0, 0, 2).into(), now), 3);
        assert_eq!(allowed(a, now + Duration::from_millis(700)), 2);
        assert_eq!(allowed(a, now + Duration::from_secs(60)), 3);
        let in_one_network = |last| IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 7, 0, 0, 0, last));
        assert_eq!(allowed(in_one_network(1), now) + allowed(in_one_network(2), now), 3);
        assert!((0..100).all(|_| Clients::new(None).may_ask(a, now)));
    }

    #[test]
    fn any_number_of_clients_takes_bounded_memory() {
        let clients = Clients::new(Some(1));
        let now = Instant::now();
        let may = (0..30_000_u32).filter(|n| clients.may_ask(Ipv4Addr::from_bits(*n).into(), now)).count();
        assert_eq!(may, CLIENTS_MAX + 1, "further clients share one bucket");
        assert!(clients.buckets.lock().len() <= CLIENTS_MAX + 1);
        assert!(clients.may_ask(Ipv4Addr::from_bits(77_777).into(), now + Duration::from_secs(2)));
        assert!(clients.buckets.lock().len() <= 2);
    }
}
