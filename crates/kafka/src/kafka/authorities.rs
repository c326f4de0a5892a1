//! The certificates of authorities that Kafka clients trust, if the configuration does not name any.
//!
//! OpenSSL from a distribution knows where the distribution keeps them. An OpenSSL that is built into the
//! program (`vendored-openssl`: the static program, the wheel) looks in `/usr/local/ssl`, which is empty, so
//! brokers with a public certificate would be refused. Therefore librdkafka is told to look in the places of
//! all distributions (`probe`), as object stores do (`native-tls`). `SSL_CERT_FILE` and `SSL_CERT_DIR`, which
//! OpenSSL reads, take precedence, and `kafka.properties` takes precedence over all, including `ssl.ca.pem`.

use std::ffi::OsString;

/// Returns the property to set for librdkafka, if clients need one.
pub(super) fn default() -> Option<(&'static str, &'static str)> {
    default_of(cfg!(feature = "vendored-openssl"), |name| std::env::var_os(name))
}

fn default_of(
    vendored: bool,
    environment: impl Fn(&str) -> Option<OsString>,
) -> Option<(&'static str, &'static str)> {
    let named = ["SSL_CERT_FILE", "SSL_CERT_DIR"].iter().any(|name| environment(name).is_some());
    (vendored && !named).then_some(("ssl.ca.location", "probe"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn certificates_are_probed_for_if_openssl_is_built_in() {
        let none = |_: &str| None;
        let one =
            |wanted: &'static str| move |name: &str| (name == wanted).then(|| OsString::from("/elsewhere"));
        assert_eq!(default_of(true, none), Some(("ssl.ca.location", "probe")));
        assert_eq!(default_of(false, none), None, "the system's OpenSSL knows the place");
        assert_eq!(default_of(true, one("SSL_CERT_FILE")), None, "OpenSSL reads the variable");
        assert_eq!(default_of(true, one("SSL_CERT_DIR")), None, "OpenSSL reads the variable");
    }
}
