//! Settings of the HTTP API: `leitong serve`, and look-ups of `leitong run`.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::telemetry::config::is_address;
use crate::telemetry::redact;

/// The HTTP API (docs/api.md): of `leitong serve`, and of `leitong run`, which answers look-ups from
/// the tables that it has. Its memory is bounded by `pipeline.queue_bytes` for requests in flight,
/// `expiry.centroids_max` for the table, and `recent_bytes_max` for past verdicts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ApiConfig {
    /// Where it is served: `address:port`. Port 0 takes a free one. An empty text: `leitong serve`
    /// takes `127.0.0.1:8642`, and `leitong run` serves no API.
    pub address: String,
    /// Host names by which clients may call the API, without a port, such as `leitong.example`. The
    /// server's addresses and `localhost` always work. Empty: on a loopback address no other name
    /// works, and on any other address all names do. A web page may send requests to the API only if
    /// its own host name is in this list.
    pub hosts: Vec<String>,
    /// Environment variable that holds the token which clients send as `Authorization: Bearer …`.
    /// Unset, and without `token_file`: no token is asked for.
    pub token_env: Option<String>,
    /// File that holds the token, in place of `token_env`; relative to this file's folder.
    pub token_file: Option<PathBuf>,
    /// Bytes of a request's body, packed or not; a larger one is refused (413).
    #[schemars(range(min = 1024, max = 1_073_741_824))]
    pub body_bytes_max: usize,
    /// Pages of one request; more are refused (413). Of `leitong serve`.
    #[schemars(range(min = 1, max = 100_000))]
    pub batch_pages_max: usize,
    /// Milliseconds in which the head of a request has to come, and in which an idle connection is
    /// closed.
    #[schemars(range(min = 10, max = 3_600_000))]
    pub head_timeout_ms: u64,
    /// Milliseconds in which the body of a request has to come (else 408), and which a client may
    /// take without reading any of its answer.
    #[schemars(range(min = 10, max = 3_600_000))]
    pub body_timeout_ms: u64,
    /// Connections that are held; a new one takes the place of one that is idle.
    #[schemars(range(min = 1, max = 100_000))]
    pub connections_max: usize,
    /// Requests that are worked on at once; others are refused (503).
    #[schemars(range(min = 1, max = 100_000))]
    pub requests_max: usize,
    /// Requests a second of one client, told by its address (of IPv6 the first 64 bits); more are
    /// refused (429). A second's worth may come at once. Unset: no limit.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub requests_per_second: Option<u32>,
    /// Bytes of the verdicts that were given last, which `GET /v1/pages/{id}` and the members of
    /// `GET /v1/clusters/{id}` are answered from; the oldest go first. In `leitong run` each partition
    /// of the log has its share, and verdicts count from when this instance became its owner.
    #[schemars(range(min = 0, max = 1_099_511_627_776_u64))]
    pub recent_bytes_max: usize,
    /// Of `leitong serve`: bytes of the journal from which on it is made part of the saved table, once it has as many
    /// bytes as the table. More of them make starting after a crash slower.
    #[schemars(range(min = 4096, max = 1_099_511_627_776_u64))]
    pub journal_bytes_max: u64,
}

/// Where `leitong serve` is served unless something else is said.
const ADDRESS_OF_SERVE: &str = "127.0.0.1:8642";

impl ApiConfig {
    /// Where `leitong serve` is served.
    #[must_use]
    pub fn address_of_serve(&self) -> &str {
        if self.address.is_empty() { ADDRESS_OF_SERVE } else { &self.address }
    }

    /// What cannot be followed.
    #[must_use]
    pub fn fault(&self) -> Option<String> {
        if !self.address.is_empty() && !is_address(&self.address, true) {
            return Some(format!(
                "api.address = {:?}: must be ADDRESS:PORT, as in \"127.0.0.1:8642\" or \"0.0.0.0:8642\"",
                redact::address(&self.address)
            ));
        }
        if let Some(host) = self.hosts.iter().find(|host| !is_host_name(host)) {
            return Some(format!(
                "api.hosts: {host:?} is not a host name; write names without scheme, port and path, as in \
                 \"leitong.example\""
            ));
        }
        let both = self.token_env.is_some() && self.token_file.is_some();
        both.then(|| "api.token_env and api.token_file: only one of them may be set".to_owned())
    }
}

/// Returns true for a name such as `api.example`, and for an address.
fn is_host_name(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    !name.is_empty() && name.chars().all(fits)
}

impl Default for ApiConfig {
    fn default() -> Self {
        Self {
            address: String::new(),
            hosts: Vec::new(),
            token_env: None,
            token_file: None,
            body_bytes_max: 32 << 20,
            batch_pages_max: 10_000,
            head_timeout_ms: 10_000,
            body_timeout_ms: 30_000,
            connections_max: 1_024,
            requests_max: 256,
            requests_per_second: None,
            recent_bytes_max: 64 << 20,
            journal_bytes_max: 64 << 20,
        }
    }
}
