//! The HTTP client for stores. It checks lists of objects before `object_store` parses them.
//!
//! `object_store` accepts an incomplete list as complete, and loops forever if a list leads back to its
//! start: some gateways report that more objects follow, but not how to request them. It also refuses a whole
//! list because of a single key that it cannot represent. Here, the first two cases are errors, and such keys
//! are removed from the list and remembered.

use std::collections::HashSet;
use std::future::Future;
use std::ops::Range;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::{Bytes, BytesMut};
use memchr::memmem;
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpService,
    ReqwestConnector,
};
use object_store::path::Path as Key;

/// The state of reading a bucket's lists.
#[derive(Debug, Default)]
pub(super) struct Lists(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// The continuation tokens of the current list.
    tokens: HashSet<String>,
    unnameable: Vec<String>,
}

/// The error for a list that cannot be continued.
#[derive(Debug, thiserror::Error)]
pub(super) enum BrokenList {
    #[error(
        "the store's list of objects is incomplete (IsTruncated without NextContinuationToken); name objects \
         or smaller prefixes one by one, or use another gateway"
    )]
    NoToken,
    #[error(
        "the store's list of objects is circular (NextContinuationToken is repeated); name objects or \
         smaller prefixes one by one, or use another gateway"
    )]
    Repeated,
}

impl Lists {
    /// Returns the keys that were removed from lists since the last call.
    pub(super) fn take_unnameable(&self) -> Vec<String> {
        std::mem::take(&mut self.state().unnameable)
    }

    /// Checks the part `xml` of a list, which was requested with `query`. Returns the part to pass on.
    fn checked(&self, query: &str, xml: &[u8]) -> Result<Bytes, BrokenList> {
        let mut state = self.state();
        if !query.contains("continuation-token=") {
            state.tokens.clear();
        }
        let outside = without_objects(xml);
        let is_truncated = element(&outside, "IsTruncated").is_some_and(|text| text.trim_ascii() == b"true");
        let token = element(&outside, "NextContinuationToken").filter(|token| !token.trim_ascii().is_empty());
        match token {
            None if is_truncated => return Err(BrokenList::NoToken),
            Some(token) if !state.tokens.insert(String::from_utf8_lossy(token).into_owned()) => {
                return Err(BrokenList::Repeated);
            }
            _ => {}
        }
        Ok(without_unnameable(xml, &mut state.unnameable))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the content of the first element with this name.
fn element<'x>(xml: &'x [u8], name: &str) -> Option<&'x [u8]> {
    let start = memmem::find(xml, format!("<{name}>").as_bytes())? + name.len() + 2;
    let length = memmem::find(&xml[start..], format!("</{name}>").as_bytes())?;
    Some(&xml[start..start + length])
}

/// Returns the ranges of the elements that describe objects.
fn objects(xml: &[u8]) -> impl Iterator<Item = Range<usize>> {
    let end = b"</Contents>";
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + memmem::find(&xml[at..], b"<Contents>")?;
        at = start + memmem::find(&xml[start..], end)? + end.len();
        Some(start..at)
    })
}

/// Returns a list without its objects, because their keys may contain anything, even markup.
fn without_objects(xml: &[u8]) -> Vec<u8> {
    let mut outside = Vec::new();
    let mut at = 0;
    for object in objects(xml) {
        outside.extend_from_slice(&xml[at..object.start]);
        at = object.end;
    }
    outside.extend_from_slice(&xml[at..]);
    outside
}

/// Removes objects whose keys cannot be represented, and adds the keys to `unnameable`. Empty objects are not
/// added: programs create them as folders, and they have no content to read.
fn without_unnameable(xml: &[u8], unnameable: &mut Vec<String>) -> Bytes {
    let mut kept = BytesMut::with_capacity(xml.len());
    let mut at = 0;
    for object in objects(xml) {
        let key = element(&xml[object.clone()], "Key").map(unescaped).unwrap_or_default();
        let is_empty = element(&xml[object.clone()], "Size").is_some_and(|size| size.trim_ascii() == b"0");
        // A folder is marked by an empty object whose key ends in a slash. `object_store` ignores such
        // objects.
        let asked_for = if is_empty { key.strip_suffix('/').unwrap_or(&key) } else { &key };
        if Key::parse(&key).is_ok_and(|parsed| parsed.as_ref() == asked_for) {
            continue;
        }
        if !is_empty {
            unnameable.push(key);
        }
        kept.extend_from_slice(&xml[at..object.start]);
        at = object.end;
    }
    kept.extend_from_slice(&xml[at..]);
    kept.freeze()
}

/// Decodes the text of an element.
fn unescaped(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let mut unescaped = String::with_capacity(text.len());
    let mut rest = &*text;
    while let Some((before, after)) = rest.split_once('&') {
        unescaped.push_str(before);
        let named = after.split_once(';').and_then(|(name, after)| {
            let character = match name {
                "amp" => '&',
                "lt" => '<',
                "gt" => '>',
                "quot" => '"',
                "apos" => '\'',
                _ => {
                    let number = name.strip_prefix('#')?;
                    let number = match number.strip_prefix(['x', 'X']) {
                        Some(digits) => u32::from_str_radix(digits, 16).ok()?,
                        None => number.parse().ok()?,
                    };
                    char::from_u32(number)?
                }
            };
            Some((character, after))
        });
        let (character, after) = named.unwrap_or(('&', after));
        unescaped.push(character);
        rest = after;
    }
    unescaped + rest
}

/// Creates clients that check lists.
#[derive(Debug)]
pub(super) struct Connector(pub(super) Arc<Lists>);

impl HttpConnector for Connector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let inner = ReqwestConnector::default().connect(options)?;
        Ok(HttpClient::new(Client { inner, lists: Arc::clone(&self.0) }))
    }
}

#[derive(Debug)]
struct Client {
    inner: HttpClient,
    lists: Arc<Lists>,
}

impl Client {
    async fn answer(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let query = request.uri().query().unwrap_or_default().to_owned();
        let response = self.inner.execute(request).await?;
        if !query.contains("list-type=2") || !response.status().is_success() {
            return Ok(response);
        }
        let (mut head, body) = response.into_parts();
        let checked = self.lists.checked(&query, &body.bytes().await?);
        let checked = checked.map_err(|error| HttpError::new(HttpErrorKind::Decode, error))?;
        head.headers.remove("content-length");
        Ok(HttpResponse::from_parts(head, checked.into()))
    }
}

impl HttpService for Client {
    fn call<'s, 'a>(
        &'s self,
        request: HttpRequest,
    ) -> Pin<Box<dyn Future<Output = Result<HttpResponse, HttpError>> + Send + 'a>>
    where
        's: 'a,
        Self: 'a,
    {
        Box::pin(self.answer(request))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(keys: &[&str], end: &str) -> String {
        let objects: String =
            keys.iter().map(|key| format!("<Contents><Key>{key}</Key><Size>5</Size></Contents>")).collect();
        format!("<?xml version=\"1.0\"?><ListBucketResult xmlns=\"x\">{objects}{end}</ListBucketResult>")
    }

    /// A regression: an incomplete list counted as complete, and a circular list was read forever.
    #[test]
    fn an_incomplete_or_circular_list_is_an_error() {
        let more = |token: &str| {
            let end = format!(
                "<IsTruncated>true</IsTruncated><NextContinuationToken>{token}</NextContinuationToken>"
            );
            list(&["a"], &end)
        };
        let lists = Lists::default();
        let ask = |query: &str, xml: &str| lists.checked(query, xml.as_bytes()).map(|_| ());
        let last = list(&["a<IsTruncated>true</IsTruncated>"], "<IsTruncated>false</IsTruncated>");
        for _ in 0..2 {
            assert!(ask("list-type=2", &more("1")).is_ok(), "a new list may have the tokens of an old one");
            assert!(ask("continuation-token=1&list-type=2", &more("2")).is_ok());
            assert!(ask("continuation-token=2&list-type=2", &last).is_ok(), "markup in a key is ignored");
        }
        assert!(ask("list-type=2", &more("1")).is_ok());
        assert!(matches!(ask("continuation-token=1", &more("1")), Err(BrokenList::Repeated)));
        assert!(matches!(ask("list-type=2", &more(" ")), Err(BrokenList::NoToken)));
        let none = list(&["a"], "<IsTruncated>true</IsTruncated>");
        assert!(matches!(ask("list-type=2", &none), Err(BrokenList::NoToken)));
    }

    /// A single such key made all objects of its prefix unreadable.
    #[test]
    fn keys_that_cannot_be_represented_are_removed_and_remembered() {
        let lists = Lists::default();
        let odd = ["a//b.jsonl", "a/./b", "a/../b", "/a", "a&#x1;b", "a\u{7}b", "a/"];
        let sound = ["a/b.jsonl", "a &amp; b", "\u{65b0}"];
        let keys = [&odd[..3], &sound[..], &odd[3..]].concat();
        let kept = lists.checked("list-type=2", list(&keys, "").as_bytes()).expect("a list");
        assert_eq!(kept, list(&sound, "").as_bytes());
        let noted = lists.take_unnameable();
        assert!(noted.len() == odd.len() && noted.contains(&"a\u{1}b".to_owned()), "{noted:?}");
        assert!(lists.take_unnameable().is_empty());
        let folder = list(&["a//"], "").replace("<Size>5", "<Size>0");
        let kept = lists.checked("list-type=2", folder.as_bytes()).expect("a list");
        assert_eq!(kept, list(&[], "").as_bytes());
        assert!(lists.take_unnameable().is_empty(), "an empty one is a folder");
    }
}
