//! Settings of the HTTP API: `leitong serve`, and look-ups of `leitong run`.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::admin::is_host_and_port;
use crate::config::redact;

/// The HTTP API (docs/api.md) of `leitong serve`, and of `leitong run`, which answers look-ups from its
/// tables. Memory is bounded by `pipeline.queue_bytes` for requests in flight, `expiry.centroids_max` for the
/// table, and `recent_bytes_max` for past verdicts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ApiConfig {
    /// Address to serve on: `address:port`. Port 0 picks a free port. If this is empty, `leitong serve` uses
    /// `127.0.0.1:8642`, and `leitong run` serves no API.
    pub address: String,
    /// Host names by which clients may call the API, without a port, such as `leitong.example`. The
    /// server's addresses and `localhost` always work. If this is empty, all names work, except on a
    /// loopback address, where no other name works. A web page may send requests to the API only if its
    /// own host name is in this list.
    pub hosts: Vec<String>,
    /// Environment variable that holds the token. Clients send the token as `Authorization: Bearer …`.
    /// Without this and `token_file`, no token is needed.
    pub token_env: Option<String>,
    /// File that holds the token, instead of `token_env`.
    pub token_file: Option<PathBuf>,
    /// Limit on the bytes of a request's body, both compressed and decompressed. A larger body is refused
    /// (413).
    #[schemars(range(min = 1024, max = 1_073_741_824))]
    pub body_bytes_max: usize,
    /// Limit on the pages in one request to `leitong serve`. Requests with more are refused (413).
    #[schemars(range(min = 1, max = 100_000))]
    pub batch_pages_max: usize,
    /// Milliseconds within which the head of a request must arrive. An idle connection is closed after this
    /// time.
    #[schemars(range(min = 10, max = 3_600_000))]
    pub head_timeout_ms: u64,
    /// Milliseconds within which the body of a request must arrive (otherwise 408), and for which a client
    /// may read nothing of its answer.
    #[schemars(range(min = 10, max = 3_600_000))]
    pub body_timeout_ms: u64,
    /// Limit on open connections. A new one replaces one that is idle.
    #[schemars(range(min = 1, max = 100_000))]
    pub connections_max: usize,
    /// Limit on requests that are processed at once. Further ones are refused (503).
    #[schemars(range(min = 1, max = 100_000))]
    pub requests_max: usize,
    /// Limit on the requests per second of one client, which is identified by its address (the first 64 bits
    /// for IPv6). Further ones are refused (429). A client may send the requests of one second at once.
    /// Unset: no limit.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub requests_per_second: Option<u32>,
    /// Bytes of recent verdicts that are kept, for `GET /v1/pages/{id}` and the members in `GET
    /// /v1/clusters/{id}`. The oldest ones are dropped first. In `leitong run` each log partition has an
    /// equal share, and holds verdicts from the time when this instance became the partition's owner.
    #[schemars(range(min = 0, max = 1_099_511_627_776_u64))]
    pub recent_bytes_max: usize,
    /// Size of the journal of `leitong serve`, in bytes, at which it is merged into the saved table. It is
    /// merged only once it is also as large as the table. A larger journal makes the start after a crash
    /// slower.
    #[schemars(range(min = 4096, max = 1_099_511_627_776_u64))]
    pub journal_bytes_max: u64,
}

/// Default address of `leitong serve`.
const ADDRESS_OF_SERVE: &str = "127.0.0.1:8642";

impl ApiConfig {
    /// Returns the address of `leitong serve`.
    #[must_use]
    pub fn address_of_serve(&self) -> &str {
        if self.address.is_empty() { ADDRESS_OF_SERVE } else { &self.address }
    }

    /// Returns the first error in these settings, if there is any.
    #[must_use]
    pub fn fault(&self) -> Option<String> {
        if !self.address.is_empty() && !is_host_and_port(&self.address) {
            return Some(format!(
                "api.address = {:?}: must be ADDRESS:PORT, as in \"127.0.0.1:8642\" or \"0.0.0.0:8642\"",
                redact::address(&self.address)
            ));
        }
        if let Some(host) = self.hosts.iter().find(|host| !is_host_name(host)) {
            return Some(format!(
                "api.hosts: {} is not a host name; write names without scheme, port and path, as in \
                 \"leitong.example\"",
                redact::text(host)
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
        // 10,000 pages of 3 KB fill a body of 32 MiB. A body of that size within 30 seconds needs a connection of
        // 9 Mbit/s. 256 requests at once are more than the cores of any machine, so further ones would only wait;
        // four connections for each leave room for idle ones. A start reads the journal, at most 64 MiB or as much
        // as the table (ADR 21).
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
