//! The HTTP client for stores. It checks lists of objects before `object_store` parses them.
//!
//! `object_store` accepts an incomplete list as complete, and loops forever if a list leads back to its start: some
//! gateways report that more objects follow, but not how to request them, and any XML or HTML counts as an empty
//! list. It also refuses a whole list because of a single key that it cannot represent. Here, an answer that is not a
//! list, or a list that cannot be continued, is an error; keys that cannot be represented are removed and remembered.

use std::collections::HashSet;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpResponseBody,
    HttpService, ReqwestConnector,
};
use object_store::path::Path as Key;

use super::list::{BrokenList, EMPTY_PARTS_MAX, List, ListedObject};
use super::scheme::Scheme;

/// Maximum number of bytes of one part of a list: 1,000 objects with keys of 1,024 bytes, however they are escaped.
const PART_BYTES_MAX: usize = 32 << 20;
/// Maximum time that one request waits because the store asks for it. The Hub counts requests for five minutes.
const WAIT_MAX: Duration = Duration::from_secs(600);
/// Maximum number of characters of a wrong answer in an error.
const ANSWER_CHARS_MAX: usize = 120;

/// The state of reading a bucket's lists.
#[derive(Debug)]
pub(super) struct Lists {
    scheme: &'static Scheme,
    current: Mutex<CurrentList>,
}

#[derive(Debug, Default)]
struct CurrentList {
    /// The continuation tokens of the current list.
    tokens: HashSet<String>,
    /// The keys of the current list, since some stores repeat the last ones of a part in the next.
    keys: HashSet<String>,
    /// Number of consecutive parts without an object.
    empty_parts: usize,
    unnameable: Vec<String>,
}

impl CurrentList {
    /// Begins a list.
    fn begin(&mut self) {
        self.tokens.clear();
        self.keys.clear();
        self.empty_parts = 0;
    }
}

impl Lists {
    pub(super) fn new(scheme: &'static Scheme) -> Self {
        Self { scheme, current: Mutex::default() }
    }

    /// Returns the keys that were removed from lists since the last call.
    pub(super) fn take_unnameable(&self) -> Vec<String> {
        std::mem::take(&mut self.state().unnameable)
    }

    /// Checks the part `xml` of a list, which was requested with `query`. Returns the part to pass on.
    fn checked(&self, query: &str, xml: &[u8]) -> Result<Bytes, BrokenList> {
        let dialect = &self.scheme.dialect;
        let is_first = parameter(query, dialect.continuation).is_none();
        // An empty element is not the end of a list: stores say in the last part that it is the last.
        let list = List::read(xml, dialect)
            .filter(|list| is_first || list.says_truncated || !list.objects.is_empty())
            .ok_or_else(|| self.no_list(xml))?;
        if list.has_prefixes && parameter(query, "delimiter").is_none() {
            return Err(BrokenList::Prefixes);
        }
        let prefix = parameter(query, "prefix").unwrap_or_default();
        Ok(self.accepted(list, is_first, &prefix)?.to_xml(dialect))
    }

    /// Creates the error for an answer that is not a list.
    pub(super) fn no_list(&self, answer: &[u8]) -> BrokenList {
        BrokenList::NoList(beginning(answer), self.scheme.addresses[0])
    }

    /// Checks a part of a list against the previous parts. Returns it without the objects that cannot be read.
    pub(super) fn accepted(&self, mut list: List, is_first: bool, prefix: &str) -> Result<List, BrokenList> {
        let mut state = self.state();
        if is_first {
            state.begin();
        }
        let repeated = || BrokenList::Repeated(self.scheme.dialect.token);
        if let Some(other) = list.objects.iter().find(|object| !object.key().starts_with(prefix)) {
            return Err(BrokenList::OtherPrefix(other.key().chars().take(ANSWER_CHARS_MAX).collect()));
        }
        let keys = list.objects.len();
        list.objects.retain(|object| state.keys.insert(object.key().to_owned()));
        match &list.token {
            None if list.is_truncated => return Err(BrokenList::NoToken),
            Some(token) if !state.tokens.insert(token.clone()) => return Err(repeated()),
            Some(_) if keys > 0 && list.objects.is_empty() => return Err(repeated()),
            Some(_) if keys == 0 => {
                state.empty_parts += 1;
                if state.empty_parts > EMPTY_PARTS_MAX {
                    return Err(BrokenList::Empty);
                }
            }
            _ => state.empty_parts = 0,
        }
        list.objects.retain(|object| {
            let is_nameable = is_nameable(object);
            if !is_nameable && !is_empty(object) {
                state.unnameable.push(object.key().to_owned());
            }
            is_nameable
        });
        if list.token.is_none() {
            state.begin();
        }
        Ok(list)
    }

    fn state(&self) -> MutexGuard<'_, CurrentList> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits for the next item of a stream.
pub(super) async fn next<T>(stream: &mut (impl futures_core::Stream<Item = T> + Unpin)) -> Option<T> {
    std::future::poll_fn(|context| std::pin::Pin::new(&mut *stream).poll_next(context)).await
}

/// Returns the decoded value of a parameter of a query.
fn parameter(query: &str, name: &str) -> Option<String> {
    let mut pairs = url::form_urlencoded::parse(query.as_bytes());
    pairs.find(|(known, _)| known == name).map(|(_, value)| value.into_owned())
}

/// Returns true if requests can name the object.
fn is_nameable(object: &ListedObject) -> bool {
    let key = object.key();
    // A folder is marked by an empty object whose key ends in a slash. `object_store` ignores such objects.
    let asked_for = if is_empty(object) { key.strip_suffix('/').unwrap_or(key) } else { key };
    Key::parse(key).is_ok_and(|parsed| parsed.as_ref() == asked_for)
}

/// Returns true if the object has no content. Programs create such objects as folders.
fn is_empty(object: &ListedObject) -> bool {
    object.size().is_some_and(|size| size.trim() == "0")
}

/// Returns the beginning of an answer, for an error.
pub(super) fn beginning(answer: &[u8]) -> String {
    String::from_utf8_lossy(answer).trim().chars().take(ANSWER_CHARS_MAX).collect()
}

/// A creator of clients that check lists.
#[derive(Debug)]
pub(super) struct Connector(pub(super) Arc<Lists>);

impl HttpConnector for Connector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let inner = ReqwestConnector::default().connect(options)?;
        Ok(HttpClient::new(Client { inner, answers: Arc::clone(&self.0) }))
    }
}

/// Answers of a store, checked or changed before `object_store` reads them.
pub(super) trait Answers: std::fmt::Debug + Send + Sync + 'static {
    /// Sends a request through `client`.
    fn answer(
        &self,
        client: &HttpClient,
        request: HttpRequest,
    ) -> impl Future<Output = Result<HttpResponse, HttpError>> + Send;
}

impl Answers for Lists {
    async fn answer(&self, client: &HttpClient, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let query = request.uri().query().unwrap_or_default().to_owned();
        let response = execute(client, request).await?;
        let asks_for_list = query.split('&').any(|part| part == self.scheme.dialect.request);
        if !asks_for_list || !response.status().is_success() {
            return Ok(response);
        }
        let (mut head, body) = response.into_parts();
        let part = whole(body, self.scheme).await?;
        let broken = |error: BrokenList| HttpError::new(HttpErrorKind::Decode, error);
        let checked = self.checked(&query, &part).map_err(broken)?;
        head.headers.remove("content-length");
        Ok(HttpResponse::from_parts(head, checked.into()))
    }
}

/// A client with the answers of `answers`.
#[derive(Debug)]
pub(super) struct Client<A> {
    pub(super) inner: HttpClient,
    pub(super) answers: Arc<A>,
}

impl<A: Answers> HttpService for Client<A> {
    fn call<'s, 'a>(
        &'s self,
        request: HttpRequest,
    ) -> Pin<Box<dyn Future<Output = Result<HttpResponse, HttpError>> + Send + 'a>>
    where
        's: 'a,
        Self: 'a,
    {
        Box::pin(self.answers.answer(&self.inner, request))
    }
}

/// Reads a list to its end.
pub(super) async fn whole(body: HttpResponseBody, scheme: &Scheme) -> Result<Vec<u8>, HttpError> {
    let mut pieces = body.bytes_stream();
    let mut whole = Vec::new();
    while let Some(piece) = next(&mut pieces).await {
        whole.extend_from_slice(&piece?);
        if whole.len() > PART_BYTES_MAX {
            return Err(HttpError::new(HttpErrorKind::Decode, BrokenList::TooLong(scheme.addresses[0])));
        }
    }
    Ok(whole)
}

/// Sends a request. If the store is busy and says when to ask again, waits until then: `object_store` would ask
/// earlier, and give up before the Hub has counted to the end.
pub(super) async fn execute(client: &HttpClient, request: HttpRequest) -> Result<HttpResponse, HttpError> {
    let mut waited = Duration::ZERO;
    loop {
        let response = client.execute(request.clone()).await?;
        let is_busy = matches!(response.status().as_u16(), 429 | 503);
        let header = |name: &'static str| response.headers().get(name)?.to_str().ok();
        // The Hub's header gives the seconds as `t`.
        let seconds = header("retry-after").or_else(|| header("ratelimit")?.split(";t=").nth(1));
        let pause = seconds
            .and_then(|seconds| seconds.trim().parse().ok())
            .map(|seconds: u64| Duration::from_secs(seconds.clamp(1, WAIT_MAX.as_secs() + 1)));
        match pause.filter(|pause| is_busy && waited + *pause <= WAIT_MAX) {
            None => return Ok(response),
            Some(pause) => {
                tracing::info!(seconds = pause.as_secs(), "a store is busy and asks to wait");
                waited += pause;
                tokio::time::sleep(pause).await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::object::list::Dialect;

    fn s3_lists() -> Lists {
        Lists::new(Scheme::parse("s3://").expect("the feature is on").0)
    }

    fn list(keys: &[&str], end: &str) -> String {
        let objects: String =
            keys.iter().map(|key| format!("<Contents><Key>{key}</Key><Size>5</Size></Contents>")).collect();
        format!("<?xml version=\"1.0\"?><ListBucketResult xmlns=\"x\">{objects}{end}</ListBucketResult>")
    }

    /// An incomplete list must not count as complete, and a circular list must not be read forever.
    #[test]
    fn an_incomplete_or_circular_list_is_an_error() {
        let more = |token: &str| {
            let end = format!(
                "<IsTruncated>true</IsTruncated><NextContinuationToken>{token}</NextContinuationToken>"
            );
            list(&[&format!("a{token}")], &end)
        };
        let lists = s3_lists();
        let ask = |query: &str, xml: &str| lists.checked(query, xml.as_bytes()).map(|_| ());
        let last = list(&["a<IsTruncated>true</IsTruncated>"], "<IsTruncated>false</IsTruncated>");
        for _ in 0..2 {
            assert!(ask("list-type=2", &more("1")).is_ok(), "a new list may have the tokens of an old one");
            assert!(ask("continuation-token=1&list-type=2", &more("2")).is_ok());
            assert!(ask("continuation-token=2&list-type=2", &last).is_ok(), "markup in a key is ignored");
        }
        assert!(ask("list-type=2", &more("1")).is_ok());
        assert!(matches!(ask("continuation-token=1", &more("1")), Err(BrokenList::Repeated(_))));
        assert!(matches!(ask("list-type=2", &more(" ")), Err(BrokenList::NoToken)));
        let none = list(&["a"], "<IsTruncated>true</IsTruncated>");
        assert!(matches!(ask("list-type=2", &none), Err(BrokenList::NoToken)));
    }

    /// If a gateway sends a log-in page, or an error with status 200, instead of the second part of a list, this must
    /// not count as the end of the list. The same holds for `TRUE`, a namespace prefix, an attribute, or a comment at
    /// the beginning.
    #[test]
    fn an_answer_that_is_not_a_whole_list_is_an_error() {
        let lists = s3_lists();
        let ask = |xml: &str| lists.checked("list-type=2", xml.as_bytes()).map(|_| ());
        let whole = list(&["a"], "");
        for answer in [
            "<html><body>Log in</body></html>",
            "<Error><Code>SlowDown</Code></Error>",
            "",
            "{}",
            &whole[..90],
        ] {
            assert!(matches!(ask(answer), Err(BrokenList::NoList(..))), "{answer}");
        }
        for end in [
            "<IsTruncated>TRUE</IsTruncated>",
            "<IsTruncated>1</IsTruncated>",
            "<IsTruncated a='b'>true</IsTruncated>",
            "<!-- <IsTruncated>false</IsTruncated> --><IsTruncated>true</IsTruncated>",
        ] {
            assert!(matches!(ask(&list(&["a"], end)), Err(BrokenList::NoToken)), "{end}");
        }
        let prefixed =
            list(&["a"], "<IsTruncated>true</IsTruncated>").replace('<', "<s:").replace("<s:/", "</s:");
        let prefixed = prefixed.replace("<s:?", "<?").replace("xmlns=", "xmlns:s=");
        assert!(matches!(ask(&prefixed), Err(BrokenList::NoToken)), "{prefixed}");
    }

    /// A part without any field must not count as the end of a list. Groups of objects must not be ignored, nor
    /// objects outside of the requested folder be read.
    #[test]
    fn a_part_without_fields_groups_and_other_folders_are_errors() {
        let lists = s3_lists();
        let ask = |query: &str, xml: &str| lists.checked(query, xml.as_bytes()).map(|_| ());
        let more = "<IsTruncated>true</IsTruncated><NextContinuationToken>1</NextContinuationToken>";
        for part in
            ["<ListBucketResult/>", "<ListBucketResult></ListBucketResult>", &list(&[], "<Name>b</Name>")]
        {
            assert!(ask("list-type=2", &list(&["a"], more)).is_ok());
            let asked = ask("continuation-token=1&list-type=2", part);
            assert!(matches!(asked, Err(BrokenList::NoList(..))), "{part}");
        }
        assert!(ask("list-type=2", &list(&["a"], more)).is_ok());
        let last = list(&[], "<IsTruncated>false</IsTruncated>");
        assert!(ask("continuation-token=1&list-type=2", &last).is_ok(), "an empty last part says so");
        let groups = list(&["a"], "<CommonPrefixes><Prefix>b/</Prefix></CommonPrefixes>");
        assert!(matches!(ask("list-type=2", &groups), Err(BrokenList::Prefixes)));
        assert!(ask("delimiter=%2F&list-type=2", &groups).is_ok());
        let query = "list-type=2&prefix=crawl+2026%2F";
        assert!(ask(query, &list(&["crawl 2026/a", "crawl 2026/"], "")).is_ok());
        let other = list(&["crawl 2026/a", "crawl 2025/a"], "");
        assert!(matches!(ask(query, &other), Err(BrokenList::OtherPrefix(key)) if key == "crawl 2025/a"));
    }

    /// An object that two parts of a list name must not be read twice, nor a list without an end forever.
    #[test]
    fn objects_count_once_and_lists_end() {
        let lists = s3_lists();
        let mut number = 0;
        let mut ask = |keys: &[&str]| {
            number += 1;
            let end = format!(
                "<IsTruncated>true</IsTruncated><NextContinuationToken>{number}</NextContinuationToken>"
            );
            let query = if number == 1 { "list-type=2" } else { "continuation-token=x&list-type=2" };
            let part = lists.checked(query, list(keys, &end).as_bytes());
            part.map(|part| {
                let part = List::read(&part, &Dialect::S3).expect("a list");
                part.objects.iter().map(|object| object.key().to_owned()).collect::<Vec<_>>()
            })
        };
        assert_eq!(ask(&["a", "b"]).ok(), Some(vec!["a".to_owned(), "b".to_owned()]));
        assert_eq!(ask(&["b", "c"]).ok(), Some(vec!["c".to_owned()]));
        assert!(matches!(ask(&["b", "c"]), Err(BrokenList::Repeated(_))));
        for _ in 0..EMPTY_PARTS_MAX {
            assert!(ask(&[]).is_ok());
        }
        assert!(matches!(ask(&[]), Err(BrokenList::Empty)));
    }

    /// Objects must be found even if a gateway encodes the keys in its lists unasked.
    #[test]
    fn keys_in_url_encoding_are_decoded() {
        let xml = list(&["a%2Fb+c%2B%E6%96%B0.jsonl"], "<EncodingType>url</EncodingType>");
        let part = s3_lists().checked("list-type=2", xml.as_bytes()).expect("a list");
        assert_eq!(List::read(&part, &Dialect::S3).expect("a list").objects[0].key(), "a/b c+\u{65b0}.jsonl");
    }

    /// A single such key must not make all objects of its prefix unreadable.
    #[test]
    fn keys_that_cannot_be_represented_are_removed_and_remembered() {
        let lists = s3_lists();
        let odd = ["a//b.jsonl", "a/./b", "a/../b", "/a", "a&#x1;b", "a\u{7}b", "a/"];
        let sound = ["a/b.jsonl", "a &amp; b", "\u{65b0}"];
        let keys = [&odd[..3], &sound[..], &odd[3..]].concat();
        let kept = |xml: &str| {
            let kept =
                List::read(&lists.checked("list-type=2", xml.as_bytes()).expect("a list"), &Dialect::S3)
                    .expect("a list");
            kept.objects.iter().map(|object| object.key().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(kept(&list(&keys, "")), ["a/b.jsonl", "a & b", "\u{65b0}"]);
        let noted = lists.take_unnameable();
        assert!(noted.len() == odd.len() && noted.contains(&"a\u{1}b".to_owned()), "{noted:?}");
        assert!(lists.take_unnameable().is_empty());
        let folder = list(&["a//"], "").replace("<Size>5", "<Size>0");
        assert!(kept(&folder).is_empty());
        assert!(lists.take_unnameable().is_empty(), "an empty one is a folder");
    }
}
