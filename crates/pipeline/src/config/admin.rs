//! Settings of the admin port, for probes and metrics.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::redact;

/// Port of `leitong run` for probes and metrics.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AdminConfig {
    /// Address on which `/livez`, `/readyz`, `/metrics` and `/state` are served: `address:port`. Port 0 picks a free
    /// port; an empty text turns the port off. There is no authentication, so the default is the loopback
    /// interface.
    pub address: String,
}

impl AdminConfig {
    /// Returns the error in these settings, if there is any.
    #[must_use]
    pub fn fault(&self) -> Option<String> {
        let address = &self.address;
        (!address.is_empty() && !is_host_and_port(address)).then(|| {
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
        Self { address: "127.0.0.1:9464".to_owned() }
    }
}

/// Returns true for a host with a port.
pub(crate) fn is_host_and_port(address: &str) -> bool {
    split(address).is_some_and(|(_, port)| port.is_some())
}

/// Returns true for a host, with or without a port.
pub(crate) fn is_host(address: &str) -> bool {
    split(address).is_some()
}

/// Splits an address into a host and its port, if it has one; `None` if either is invalid.
fn split(address: &str) -> Option<(&str, Option<u16>)> {
    let (host, port) = match address.strip_prefix('[') {
        Some(rest) => match rest.split_once(']') {
            Some((host, port)) if host.parse::<std::net::Ipv6Addr>().is_ok() => {
                (host, port.strip_prefix(':'))
            }
            _ => return None,
        },
        None => match address.rsplit_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (address, None),
        },
    };
    let host_fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | ':' | '%');
    let host_is_one =
        !host.is_empty() && host.chars().all(host_fits) && (address.starts_with('[') || !host.contains(':'));
    let port = port.map(str::parse).transpose().ok()?;
    host_is_one.then_some((host, port))
}
