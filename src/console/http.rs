//! Headers and queries that the pages of the console have in common.
//!
//! A page must not be turned against the user whose browser shows it. So an answer allows only resources from
//! this server, and [`http::same_site`](crate::http::same_site) refuses requests that other sites make.

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{
    ACCEPT_LANGUAGE, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderMap, HeaderName,
    HeaderValue, REFERRER_POLICY, VARY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use hyper::{Response, StatusCode, Uri};
use url::form_urlencoded;

use super::render::language::Language;

const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src data:; form-action 'self'; \
     base-uri 'none'; frame-ancestors 'none'",
);

/// An answer to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    /// The status.
    pub status: StatusCode,
    /// The `Content-Type`.
    pub content_type: &'static str,
    /// The body.
    pub body: String,
}

impl Answer {
    /// Returns a page.
    #[must_use]
    pub(crate) fn page(status: StatusCode, body: String) -> Self {
        Self { status, content_type: "text/html; charset=utf-8", body }
    }

    /// Returns the style sheet of all pages.
    #[must_use]
    pub(crate) fn style() -> Self {
        let body = super::render::layout::STYLE.to_owned();
        Self { status: StatusCode::OK, content_type: "text/css; charset=utf-8", body }
    }

    /// Returns the script of pages that refresh themselves.
    #[must_use]
    pub(crate) fn script() -> Self {
        let body = super::render::layout::SCRIPT.to_owned();
        Self { status: StatusCode::OK, content_type: "text/javascript; charset=utf-8", body }
    }

    /// Converts the answer to a response with all headers.
    #[must_use]
    pub(crate) fn into_response(self) -> Response<Full<Bytes>> {
        let mut response = Response::new(Full::new(Bytes::from(self.body)));
        *response.status_mut() = self.status;
        let is_file = !self.content_type.starts_with("text/html");
        let cache = if is_file { "no-cache" } else { "no-store" };
        let headers: [(HeaderName, HeaderValue); 9] = [
            (CONTENT_TYPE, HeaderValue::from_static(self.content_type)),
            (CONTENT_SECURITY_POLICY, POLICY),
            (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
            (X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
            // With `no-referrer`, browsers would not tell that a form is our own.
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

/// The query of a page's address.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Query {
    pairs: Vec<(String, String)>,
}

/// Limit on the parameters that are read of an address; our own addresses have fewer.
const PARAMETERS_MAX: usize = 16;

impl Query {
    /// Parses the query of an address.
    #[must_use]
    pub(crate) fn from_uri(uri: &Uri) -> Self {
        let query = uri.query().unwrap_or_default().as_bytes();
        let pairs = form_urlencoded::parse(query).into_owned().take(PARAMETERS_MAX);
        Self { pairs: pairs.collect() }
    }

    /// Returns a parameter, unless it is empty.
    #[must_use]
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let found = self.pairs.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.trim()).filter(|value| !value.is_empty())
    }

    /// Returns the language that the address names.
    #[must_use]
    pub(crate) fn language(&self) -> Option<Language> {
        Language::from_tag(self.get("lang")?)
    }

    /// Returns `path` with the same query, but another language.
    #[must_use]
    pub(crate) fn in_language(&self, path: &str, language: Language) -> String {
        let others = self.pairs.iter().filter(|(name, _)| name != "lang");
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(others).append_pair("lang", language.name());
        format!("{path}?{}", query.finish())
    }
}

/// Returns the language that a browser prefers.
#[must_use]
pub(crate) fn accepted_language(headers: &HeaderMap) -> Language {
    let header = headers.get(ACCEPT_LANGUAGE).and_then(|header| header.to_str().ok());
    Language::accepted(header.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_language_is_replaced_and_the_rest_of_the_query_stays() {
        let uri: Uri = "/compare?a=x%20y&lang=en&b=%26%22%3C".parse().expect("an address");
        let query = Query::from_uri(&uri);
        assert_eq!((query.get("a"), query.get("b"), query.get("c")), (Some("x y"), Some("&\"<"), None));
        assert_eq!(query.in_language("/compare", Language::Chinese), "/compare?a=x+y&b=%26%22%3C&lang=zh");
    }
}
