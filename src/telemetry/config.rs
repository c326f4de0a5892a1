//! Settings of the port for probes and metrics.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::redact;

/// The port for probes and metrics of `leitong run`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AdminConfig {
    /// Where `/livez`, `/readyz` and `/metrics` are served: `address:port`.
    /// Port 0 takes a free one; an empty text serves nothing. There is no
    /// authentication, so it is the loopback interface unless told otherwise.
    pub address: String,
    /// Serves a page for people at `/console/` of the same port, read only: throughput, lag, tables,
    /// dead letters, duplicates by corpus and host (docs/console.md). It names hosts and urls of
    /// pages, which the metrics do not.
    pub console: bool,
    /// Beside each count of verdicts and dead letters, and in the delays of verdicts, `/metrics` names the
    /// last page that was counted, with its trace if it has one: exemplars, for scrapers that ask for
    /// OpenMetrics, as Prometheus does. Off, the metrics name no page.
    pub exemplars: bool,
}

impl AdminConfig {
    /// What is no address.
    #[must_use]
    pub fn fault(&self) -> Option<String> {
        let address = &self.address;
        (!address.is_empty() && !is_address(address, true)).then(|| {
            format!(
                "admin.address = {:?}: must be ADDRESS:PORT, as in \"127.0.0.1:9464\" or \"0.0.0.0:9464\", or \"\" for \
                 no admin port",
                redact::address(address)
            )
        })
    }
}

impl Default for AdminConfig {
    fn default() -> Self {
        Self { address: "127.0.0.1:9464".to_owned(), console: false, exemplars: false }
    }
}

/// A host and a port, which may be left out unless it is `port_needed`.
pub(crate) fn is_address(address: &str, port_needed: bool) -> bool {
    let (host, port) = match address.strip_prefix('[') {
        Some(rest) => match rest.split_once(']') {
            Some((host, port)) if host.parse::<std::net::Ipv6Addr>().is_ok() => {
                (host, port.strip_prefix(':'))
            }
            _ => return false,
        },
        None => match address.rsplit_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (address, None),
        },
    };
    let host_fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | ':' | '%');
    let host_is_one =
        !host.is_empty() && host.chars().all(host_fits) && (address.starts_with('[') || !host.contains(':'));
    host_is_one && port.map_or(!port_needed, |port| port.parse::<u16>().is_ok())
}
