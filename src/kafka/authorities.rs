//! Where clients find the certificates of the authorities that they trust, unless the configuration says.
//!
//! OpenSSL as a distribution builds it knows the distribution's place. One that was built into the program
//! (`vendored-openssl`: the static program, the wheel) looks in `/usr/local/ssl`, where nothing is, and brokers with a
//! public certificate would be refused. So librdkafka is told to look where distributions have them (`probe`), as
//! object stores do (`native-tls`). `SSL_CERT_FILE` and `SSL_CERT_DIR`, which OpenSSL reads, come before that; what
//! `kafka.properties` says, `ssl.ca.pem` as well, before all.

use std::ffi::OsString;

/// librdkafka's property, where a client needs one.
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
    fn the_distributions_place_is_looked_for_where_openssl_does_not_know_it() {
        let none = |_: &str| None;
        let one =
            |wanted: &'static str| move |name: &str| (name == wanted).then(|| OsString::from("/elsewhere"));
        assert_eq!(default_of(true, none), Some(("ssl.ca.location", "probe")));
        assert_eq!(default_of(false, none), None, "the system's OpenSSL knows it");
        assert_eq!(default_of(true, one("SSL_CERT_FILE")), None, "OpenSSL reads it");
        assert_eq!(default_of(true, one("SSL_CERT_DIR")), None, "OpenSSL reads it");
    }
}
