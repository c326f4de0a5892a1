//! Refuses requests that web pages of other sites make a user's browser send.
//!
//! ```text
//! Host ─► a name that may be called? ─► Origin, Sec-Fetch-Site: sent by a page of its own? ─► answered
//!              └ DNS rebinding               └ forms, scripts and images of other sites ─► 403
//! ```
//! The API and the console use it. Programs send neither `Origin` nor `Sec-Fetch-Site`, so apart from host
//! names this affects browsers only ([ADR 37](../../docs/adr/0037-requests-of-other-sites.md)).

use std::net::IpAddr;

use hyper::Version;
use hyper::header::{HOST, HeaderMap, HeaderName, ORIGIN};

/// The headers in which a browser says who sends a request, and to show what.
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");
const FETCH_DEST: HeaderName = HeaderName::from_static("sec-fetch-dest");

/// The requests that a port answers.
#[derive(Debug, Clone)]
pub(crate) struct SameSite {
    /// True if only this machine can reach the port.
    is_loopback: bool,
    /// Host names that the configuration allows, without ports.
    hosts: Vec<String>,
    /// True if links on other sites may lead here.
    takes_links: bool,
}

impl SameSite {
    /// Returns the rules for an API, which programs call. `hosts` are the names by which it may be called in
    /// addition to this machine's own.
    pub(crate) fn for_api(is_loopback: bool, hosts: &[String]) -> Self {
        Self { is_loopback, hosts: hosts.to_vec(), takes_links: false }
    }

    /// Returns the rules for web pages, to which links on other sites may lead.
    pub(crate) fn for_pages(is_loopback: bool) -> Self {
        Self { is_loopback, hosts: Vec::new(), takes_links: true }
    }

    /// Returns the reason why a request with these headers is refused, or `None` if it is answered.
    pub(crate) fn refusal(&self, version: Version, headers: &HeaderMap) -> Option<String> {
        // If a header is repeated, a proxy may read another copy than this program does.
        let is_repeated = |name: &&HeaderName| headers.get_all(*name).iter().nth(1).is_some();
        if let Some(name) =
            [&HOST, &ORIGIN, &FETCH_SITE, &FETCH_MODE, &FETCH_DEST].into_iter().find(is_repeated)
        {
            return Some(format!("{name}: is sent twice; send it once"));
        }
        let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
        let name = name_of(host);
        // HTTP/1.0 needs no Host. Every browser sends one.
        let needs_none = version < Version::HTTP_11 && !headers.contains_key(HOST);
        let is_known = is_this_machine(name) || self.allows(name);
        // Without a list, a port that others can reach may be called by any name, such as that of a service.
        let takes_any_name = !self.is_loopback && self.hosts.is_empty();
        if !is_known && !needs_none && !takes_any_name {
            return Some(format!(
                "Host: {host:?} is not a name of this server; use its address or localhost{}",
                self.how_to_allow()
            ));
        }
        let header = |name: HeaderName| headers.get(name).map(|value| value.to_str().unwrap_or_default());
        let is_navigation = (header(FETCH_MODE), header(FETCH_DEST)) == (Some("navigate"), Some("document"));
        match (header(ORIGIN), header(FETCH_SITE)) {
            (_, Some("same-origin")) | (None, Some("none") | None) => None,
            (None, Some(_)) if self.takes_links && is_navigation => None,
            (None, Some(_)) => Some(self.refusal_of_foreign("a web page of another site sent this request")),
            (Some(origin), _) => {
                let from = origin.split_once("://").map_or("", |(_, from)| from);
                let is_own = is_known && from == host || self.allows(name_of(from));
                (!is_own).then(|| self.refusal_of_foreign(&format!("Origin: {origin:?} is another site")))
            }
        }
    }

    fn refusal_of_foreign(&self, what: &str) -> String {
        let allow =
            if self.takes_links { "" } else { "; to allow this site, list its host name in api.hosts" };
        format!("{what}; this server accepts requests only from programs and from its own web pages{allow}")
    }

    fn how_to_allow(&self) -> &'static str {
        if self.takes_links { "" } else { ", or list the name in api.hosts" }
    }

    fn allows(&self, name: &str) -> bool {
        !name.is_empty() && self.hosts.iter().any(|host| host.eq_ignore_ascii_case(name))
    }
}

/// Returns the name in a `Host` header, or in an origin whose scheme was removed. The port is left out. The name is
/// empty if something other than a port follows it.
fn name_of(host: &str) -> &str {
    let (name, rest) = match host.strip_prefix('[') {
        Some(rest) => rest.split_once(']').unwrap_or_default(),
        None => host.split_at(host.find(':').unwrap_or(host.len())),
    };
    let is_port =
        |rest: &str| rest.strip_prefix(':').is_some_and(|port| port.bytes().all(|b| b.is_ascii_digit()));
    match rest.is_empty() || is_port(rest) {
        true => name.strip_suffix('.').unwrap_or(name),
        false => "",
    }
}

/// Returns true for `localhost` and for addresses, which other sites cannot assign to this machine.
fn is_this_machine(name: &str) -> bool {
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok()
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    fn request(host: &'static str, more: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::from_iter([(HOST, HeaderValue::from_static(host))]);
        let more =
            more.iter().map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
        headers.extend(more);
        headers
    }

    fn local() -> [SameSite; 2] {
        [SameSite::for_api(true, &[]), SameSite::for_pages(true)]
    }

    #[test]
    fn a_port_of_this_machine_is_called_by_an_address_or_as_localhost() {
        for site in local() {
            for host in ["127.0.0.1:8643", "localhost:1", "LOCALHOST", "localhost.", "[::1]:8643", "10.0.0.7"]
            {
                assert_eq!(site.refusal(Version::HTTP_11, &request(host, &[])), None, "{host}");
            }
            for host in [
                "",
                "[::1]evil",
                "[::1",
                "127.0.0.1:evil",
                "evil.example",
                "evil.example:1",
                "127.0.0.1.evil.example",
                "localhost.evil.example",
            ] {
                assert!(site.refusal(Version::HTTP_11, &request(host, &[])).is_some(), "{host}");
            }
        }
    }

    /// If only the first of several equal headers were checked, a proxy could act on another one.
    #[test]
    fn repeated_headers_are_refused() {
        for name in ["host", "origin", "sec-fetch-site"] {
            let value = if name == "sec-fetch-site" { "same-origin" } else { "localhost" };
            let mut headers = request("localhost", &[]);
            for value in [value, "evil.example"] {
                headers.append(name, HeaderValue::from_static(value));
            }
            let refusal = SameSite::for_api(true, &[]).refusal(Version::HTTP_11, &headers).expect("refused");
            assert_eq!(refusal, format!("{name}: is sent twice; send it once"));
        }
    }

    #[test]
    fn requests_from_other_sites_are_refused_and_own_requests_are_not() {
        for site in local() {
            for own in [
                &[("origin", "http://127.0.0.1:8643")][..],
                &[("origin", "null"), ("sec-fetch-site", "same-origin")],
                &[("sec-fetch-site", "same-origin")],
                &[("sec-fetch-site", "none")],
            ] {
                assert_eq!(site.refusal(Version::HTTP_11, &request("127.0.0.1:8643", own)), None, "{own:?}");
            }
            for from in ["cross-site", "same-site", "none"] {
                let other = [("origin", "null"), ("sec-fetch-site", from)];
                assert!(
                    site.refusal(Version::HTTP_11, &request("127.0.0.1:8643", &other)).is_some(),
                    "{from}"
                );
            }
            for origin in
                ["http://evil.example", "null", "http://127.0.0.1:8644", "http://127.0.0.1:8643.evil.example"]
            {
                let refusal =
                    site.refusal(Version::HTTP_11, &request("127.0.0.1:8643", &[("origin", origin)]));
                assert!(refusal.is_some(), "{origin}");
            }
        }
    }

    /// An image or a frame on another site would show that the console runs, and make it do work.
    #[test]
    fn links_on_other_sites_may_lead_to_pages_but_not_to_the_api() {
        let [api, pages] = local();
        for from in ["cross-site", "same-site"] {
            let link =
                [("sec-fetch-site", from), ("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "document")];
            let request_with = |more: &[_]| request("127.0.0.1:8643", more);
            assert_eq!(pages.refusal(Version::HTTP_11, &request_with(&link)), None);
            assert!(api.refusal(Version::HTTP_11, &request_with(&link)).is_some());
            for (mode, dest) in [
                ("no-cors", "image"),
                ("no-cors", "script"),
                ("no-cors", "document"),
                ("cors", "empty"),
                ("navigate", "iframe"),
                ("navigate", "object"),
            ] {
                let embedded = [("sec-fetch-site", from), ("sec-fetch-mode", mode), ("sec-fetch-dest", dest)];
                assert!(pages.refusal(Version::HTTP_11, &request_with(&embedded)).is_some(), "{mode} {dest}");
            }
            assert!(pages.refusal(Version::HTTP_11, &request_with(&link[..1])).is_some());
        }
    }

    #[test]
    fn only_http_1_0_needs_no_host() {
        let without = |more: &[(&'static str, &'static str)]| {
            let mut headers = request("localhost", more);
            headers.remove(HOST);
            headers
        };
        for site in local() {
            assert_eq!(site.refusal(Version::HTTP_10, &without(&[])), None);
            assert!(site.refusal(Version::HTTP_11, &without(&[])).is_some());
            assert!(site.refusal(Version::HTTP_10, &request("evil.example", &[])).is_some());
            let other = without(&[("origin", "http://evil.example")]);
            assert!(site.refusal(Version::HTTP_10, &other).is_some());
            assert!(site.refusal(Version::HTTP_10, &without(&[("origin", "")])).is_some());
        }
    }

    /// Behind a Kubernetes service or a proxy, the server is called by names that it does not know.
    #[test]
    fn a_port_that_others_reach_is_called_by_any_name_until_names_are_listed() {
        let open = SameSite::for_api(false, &[]);
        assert_eq!(open.refusal(Version::HTTP_11, &request("leitong-api.crawl.svc:8642", &[])), None);
        // A DNS name that was pointed here on purpose sends its pages' requests with itself as the origin.
        let rebound = request("evil.example:8642", &[("origin", "http://evil.example:8642")]);
        assert!(open.refusal(Version::HTTP_11, &rebound).is_some());
        let own = request("10.0.0.7:8642", &[("origin", "http://10.0.0.7:8642")]);
        assert_eq!(open.refusal(Version::HTTP_11, &own), None);
        for is_loopback in [true, false] {
            let listed = SameSite::for_api(is_loopback, &["api.example".to_owned()]);
            for host in ["api.example", "API.example:443", "10.0.0.7:8642", "localhost:8642"] {
                assert_eq!(listed.refusal(Version::HTTP_11, &request(host, &[])), None, "{host}");
            }
            let refusal = listed.refusal(Version::HTTP_11, &request("evil.example", &[])).unwrap_or_default();
            assert!(refusal.contains("\"evil.example\"") && refusal.contains("api.hosts"), "{refusal}");
            let own = [("origin", "https://api.example"), ("sec-fetch-site", "cross-site")];
            assert_eq!(listed.refusal(Version::HTTP_11, &request("127.0.0.1:8642", &own)), None);
        }
    }
}
