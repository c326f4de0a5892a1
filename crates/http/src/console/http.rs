//! Queries that the pages of the console have in common, and their style sheet.

use hyper::header::{ACCEPT_LANGUAGE, HeaderMap};
use hyper::{StatusCode, Uri};
use url::form_urlencoded;

use super::render::language::Language;
use super::render::layout::STYLE;
use crate::answer::Answer;

/// Returns the style sheet of all pages.
pub(crate) fn style() -> Answer {
    let content_type = "text/css; charset=utf-8";
    Answer { status: StatusCode::OK, content_type, body: STYLE.to_owned() }
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
    pub(crate) fn from_uri(uri: &Uri) -> Self {
        let query = uri.query().unwrap_or_default().as_bytes();
        let pairs = form_urlencoded::parse(query).into_owned().take(PARAMETERS_MAX);
        Self { pairs: pairs.collect() }
    }

    /// Returns a parameter, unless it is empty.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let found = self.pairs.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.trim()).filter(|value| !value.is_empty())
    }

    /// Returns the language that the address names.
    pub(crate) fn language(&self) -> Option<Language> {
        Language::from_tag(self.get("lang")?)
    }

    /// Returns `path` with the same query, but another language.
    pub(crate) fn in_language(&self, path: &str, language: Language) -> String {
        let others = self.pairs.iter().filter(|(name, _)| name != "lang");
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(others).append_pair("lang", language.name());
        format!("{path}?{}", query.finish())
    }
}

/// Returns the language that a browser prefers.
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
