//! An answer that a browser shows, with the headers that protect its user.
//!
//! A page must not be turned against the user whose browser shows it. So an answer allows only resources from
//! this server, and [`same_site`](crate::port::same_site) refuses requests that other sites make.

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue, REFERRER_POLICY, VARY,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use hyper::{Response, StatusCode};

const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; style-src 'self'; img-src data:; form-action 'self'; \
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
    #[cfg(feature = "console")]
    pub(crate) fn page(status: StatusCode, body: String) -> Self {
        Self { status, content_type: "text/html; charset=utf-8", body }
    }

    /// Converts the answer to a response with all headers.
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
