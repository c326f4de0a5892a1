//! What answers of the console have in common, and who may ask.
//!
//! A page that a browser shows must not be turned against the one who looks at it. So an answer
//! allows only what comes from here, and a request is refused that some other site has made: by a
//! name that was pointed at this machine (DNS rebinding), or by a form of its own.

use std::net::IpAddr;

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{
    ACCEPT_LANGUAGE, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, HeaderMap, HeaderName,
    HeaderValue, ORIGIN, REFERRER_POLICY, VARY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use hyper::{Response, StatusCode, Uri};
use url::form_urlencoded;

use super::render::language::Language;

const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src data:; form-action 'self'; \
     base-uri 'none'; frame-ancestors 'none'",
);

/// What goes out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The status.
    pub status: StatusCode,
    /// The `Content-Type`.
    pub content_type: &'static str,
    /// The body.
    pub body: String,
}

impl Answer {
    /// A page.
    #[must_use]
    pub fn page(status: StatusCode, body: String) -> Self {
        Self { status, content_type: "text/html; charset=utf-8", body }
    }

    /// The style of all pages.
    #[must_use]
    pub fn style() -> Self {
        let body = super::render::layout::STYLE.to_owned();
        Self { status: StatusCode::OK, content_type: "text/css; charset=utf-8", body }
    }

    /// The script of pages that refresh themselves.
    #[must_use]
    pub fn script() -> Self {
        let body = super::render::layout::SCRIPT.to_owned();
        Self { status: StatusCode::OK, content_type: "text/javascript; charset=utf-8", body }
    }

    /// With all headers.
    #[must_use]
    pub fn into_response(self) -> Response<Full<Bytes>> {
        let mut response = Response::new(Full::new(Bytes::from(self.body)));
        *response.status_mut() = self.status;
        let is_file = !self.content_type.starts_with("text/html");
        let cache = if is_file { "no-cache" } else { "no-store" };
        let headers: [(HeaderName, HeaderValue); 9] = [
            (CONTENT_TYPE, HeaderValue::from_static(self.content_type)),
            (CONTENT_SECURITY_POLICY, POLICY),
            (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
            (X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
            // Not `no-referrer`: with that browsers hide from us that a form is our own.
            (REFERRER_POLICY, HeaderValue::from_static("same-origin")),
            (CACHE_CONTROL, HeaderValue::from_static(cache)),
            (VARY, HeaderValue::from_static("Accept-Language")),
            (HeaderName::from_static("cross-origin-opener-policy"), HeaderValue::from_static("same-origin")),
            (
                HeaderName::from_static("cross-origin-resource-policy"),
                HeaderValue::from_static("same-origin"),
            ),
        ];
        response.headers_mut().extend(headers);
        response
    }
}

/// Why a request is refused, if it is: `is_loopback` says that only this machine reaches the port.
///
/// A name that is not this machine's may be another site's that was pointed here. Addresses are
/// nobody's names, and a port that others reach may be called by any name.
#[must_use]
pub fn refusal(headers: &HeaderMap, is_loopback: bool) -> Option<&'static str> {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    if is_loopback && !is_this_machine(host) {
        return Some("ask by the address of this machine, as in http://127.0.0.1: this name is not its own");
    }
    let header = |name: HeaderName| headers.get(name).map(|value| value.to_str().unwrap_or_default());
    let is_own = |origin: &str| origin.split_once("://").is_some_and(|(_, from)| from == host);
    // A link of another site may lead here, and has no origin: what it opens that site cannot read.
    let is_from_elsewhere = match (header(ORIGIN), header(HeaderName::from_static("sec-fetch-site"))) {
        (None, _) | (Some(_), Some("same-origin")) => false,
        (Some(origin), _) => !is_own(origin),
    };
    is_from_elsewhere.then_some("this was sent by the page of another site")
}

fn is_this_machine(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok()
}

/// What a page's address asks for, beside its path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Query {
    pairs: Vec<(String, String)>,
}

/// Parameters that are read of an address; more are none of ours.
const PARAMETERS_MAX: usize = 16;

impl Query {
    /// Of an address.
    #[must_use]
    pub fn of(uri: &Uri) -> Self {
        let query = uri.query().unwrap_or_default().as_bytes();
        let pairs = form_urlencoded::parse(query).into_owned().take(PARAMETERS_MAX);
        Self { pairs: pairs.collect() }
    }

    /// A parameter that is not empty.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        let found = self.pairs.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.trim()).filter(|value| !value.is_empty())
    }

    /// The language that the address asks for.
    #[must_use]
    pub fn language(&self) -> Option<Language> {
        Language::of_tag(self.get("lang")?)
    }

    /// `path` with the same query in another language.
    #[must_use]
    pub fn in_language(&self, path: &str, language: Language) -> String {
        let others = self.pairs.iter().filter(|(name, _)| name != "lang");
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(others).append_pair("lang", language.name());
        format!("{path}?{}", query.finish())
    }
}

/// The language that a browser asks for.
#[must_use]
pub fn accepted_language(headers: &HeaderMap) -> Language {
    let header = headers.get(ACCEPT_LANGUAGE).and_then(|header| header.to_str().ok());
    Language::accepted(header.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(host: &'static str, more: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::from_iter([(HOST, HeaderValue::from_static(host))]);
        let more =
            more.iter().map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
        headers.extend(more);
        headers
    }

    #[test]
    fn names_of_others_and_forms_of_others_are_refused() {
        for host in ["127.0.0.1:8643", "localhost:1", "LOCALHOST", "[::1]:8643", "[::1]", "10.0.0.7"] {
            assert_eq!(refusal(&asked(host, &[]), true), None, "{host}");
        }
        for host in [
            "",
            "evil.example",
            "evil.example:8643",
            "127.0.0.1.evil.example",
            "localhost.evil.example",
            "[::1",
        ] {
            assert!(refusal(&asked(host, &[]), true).is_some() || host == "[::1", "{host}");
        }
        assert_eq!(refusal(&asked("worker-0.leitong", &[]), false), None);
        for own in [
            &[("origin", "http://127.0.0.1:8643")][..],
            &[("origin", "null"), ("sec-fetch-site", "same-origin")],
            &[("sec-fetch-site", "cross-site")],
        ] {
            assert_eq!(refusal(&asked("127.0.0.1:8643", own), true), None, "{own:?}");
        }
        for site in ["cross-site", "same-site", "none"] {
            let others = [("origin", "null"), ("sec-fetch-site", site)];
            assert!(refusal(&asked("127.0.0.1:8643", &others), true).is_some(), "{site}");
        }
        for origin in
            ["http://evil.example", "null", "http://127.0.0.1:8644", "http://127.0.0.1:8643.evil.example"]
        {
            assert!(refusal(&asked("127.0.0.1:8643", &[("origin", origin)]), true).is_some(), "{origin}");
        }
    }

    #[test]
    fn languages_are_changed_and_the_rest_of_the_query_stays() {
        let uri: Uri = "/compare?a=x%20y&lang=en&b=%26%22%3C".parse().expect("an address");
        let query = Query::of(&uri);
        assert_eq!((query.get("a"), query.get("b"), query.get("c")), (Some("x y"), Some("&\"<"), None));
        assert_eq!(query.in_language("/compare", Language::Chinese), "/compare?a=x+y&b=%26%22%3C&lang=zh");
    }
}
