//! Datasets in the Hugging Face Hub: which commit a revision is, and the files of that commit. Their content is read
//! like that of any object.
//!
//! Invariants: everything is read from one commit, which is asked for once. Other servers, to which the Hub redirects
//! requests for content, never see the token. Cost: one request for the commit and one for each 1,000 files.

use std::io;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpRequest, HttpResponse, ReqwestConnector,
};
use object_store::http::HttpBuilder;
use object_store::path::Path as Key;
use object_store::{ClientOptions, Error, ObjectMeta, ObjectStore, ObjectStoreExt};
use reqwest::header::{self, HeaderValue};
use reqwest::{Method, StatusCode};
use serde::Deserialize;
use url::Url;

use super::failure::Failure;
use super::http::{Answers, Client, Lists, beginning, execute, whole};
use super::list::{BrokenList, List, ListedObject};
use super::scheme::Scheme;
use crate::source::fetch::wait;

/// A commit of a dataset.
#[derive(Debug)]
pub(super) struct Hub {
    endpoint: Url,
    /// The name of the dataset, such as `datasets/org/name`.
    repository: String,
    client: HttpClient,
    session: Arc<Session>,
}

/// The state that all requests share.
#[derive(Debug)]
struct Session {
    scheme: &'static Scheme,
    /// The start of all addresses that answer with JSON.
    api: String,
    /// The value of the header with the token.
    token: Option<HeaderValue>,
    commit: OnceLock<HeaderValue>,
}

/// The query that asks for the next part of a list.
#[derive(Debug, Clone)]
struct NextPart(String);

/// An entry of a folder.
#[derive(Deserialize)]
struct Entry {
    r#type: String,
    path: String,
    #[serde(default)]
    size: u64,
}

impl Hub {
    /// Asks for the commit of the dataset `name`, which may have a revision. Returns a client for it, and one for the
    /// content of its files.
    ///
    /// # Errors
    /// There is no such dataset or revision, or the request fails.
    pub(super) fn connect(
        scheme: &'static Scheme,
        name: &str,
    ) -> io::Result<(Arc<Self>, Box<dyn ObjectStore>)> {
        let (repository, revision) = name.split_once('@').unwrap_or((name, "main"));
        let wrong =
            |problem: &str| io::Error::new(io::ErrorKind::InvalidInput, format!("hf://{name}: {problem}"));
        let endpoint = std::env::var("HF_ENDPOINT").unwrap_or_else(|_| "https://huggingface.co".to_owned());
        let endpoint = Url::parse(&endpoint).map_err(|error| wrong(&format!("HF_ENDPOINT: {error}")))?;
        let token = token().map(|token| HeaderValue::from_str(&format!("Bearer {token}"))).transpose();
        let mut token = token.map_err(|_| wrong("the token in HF_TOKEN or its file is not a word"))?;
        token.iter_mut().for_each(|token: &mut HeaderValue| token.set_sensitive(true));
        let session = Arc::new(Session {
            scheme,
            api: joined(&endpoint, ["api"]).to_string() + "/",
            token,
            commit: OnceLock::new(),
        });
        let options = ClientOptions::new().with_allow_http(endpoint.scheme() == "http");
        let no_client = |error: Error| io::Error::other(format!("hf://{name}: {error}"));
        let inner = ReqwestConnector::default().connect(&options).map_err(no_client)?;
        let client = HttpClient::new(Client { inner, answers: Arc::clone(&session) });
        let hub = Arc::new(Self { endpoint, repository: repository.to_owned(), client, session });
        let revision = percent_encoding::percent_decode_str(revision).decode_utf8_lossy().into_owned();
        let asked = wait({
            let hub = Arc::clone(&hub);
            async move { hub.ask_commit(&revision).await }
        })?;
        let failure = Failure { scheme, bucket: name, key: "", offset: None };
        let commit = asked.map_err(|error| failure.to_io_error(&error))?;
        let url = joined(&hub.endpoint, repository.split('/').chain(["resolve", commit.as_str()]));
        let store = HttpBuilder::new()
            .with_url(url.as_str())
            .with_http_connector(Connected(hub.client.clone()))
            .build();
        Ok((hub, Box::new(store.map_err(no_client)?)))
    }

    /// Returns the name of the dataset with its commit.
    pub(super) fn name(&self) -> String {
        format!("{}@{}", self.repository, self.commit())
    }

    fn commit(&self) -> &str {
        self.session.commit.get().and_then(|commit| commit.to_str().ok()).unwrap_or_default()
    }

    async fn ask_commit(&self, revision: &str) -> object_store::Result<String> {
        #[derive(Deserialize)]
        struct Answer {
            sha: String,
        }
        let mut url = self.api(["revision", revision]);
        url.set_query(Some("expand=sha"));
        let (json, _) = self.ask(&url).await?;
        let is_commit = |sha: &String| sha.len() == 40 && sha.bytes().all(|byte| byte.is_ascii_hexdigit());
        let answer = serde_json::from_slice(&json).ok().map(|Answer { sha }| sha).filter(is_commit);
        let scheme = self.session.scheme;
        let commit =
            answer.ok_or_else(|| broken(BrokenList::NoCommit(beginning(&json), scheme.addresses[0])))?;
        if let Ok(value) = HeaderValue::from_str(&commit) {
            let _ = self.session.commit.set(value);
        }
        Ok(commit)
    }

    /// Lists all files below `folder`.
    pub(super) async fn list(&self, folder: &Key, lists: &Lists) -> object_store::Result<Vec<ObjectMeta>> {
        let parts: Vec<&str> = folder.as_ref().split('/').filter(|part| !part.is_empty()).collect();
        let prefix = parts.iter().map(|part| format!("{part}/")).collect::<String>();
        let mut url = self.api(["tree", self.commit()].into_iter().chain(parts));
        url.set_query(Some("recursive=true"));
        let (mut metas, mut is_first) = (Vec::new(), true);
        loop {
            let (json, next) = match self.ask(&url).await {
                // A folder is there if there are files in it.
                Err(Error::NotFound { .. }) if is_first && !prefix.is_empty() => return Ok(metas),
                answer => answer?,
            };
            let entries: Vec<Entry> =
                serde_json::from_slice(&json).map_err(|_| broken(lists.no_list(&json)))?;
            let files = entries.into_iter().filter(|entry| entry.r#type == "file");
            let objects = files.map(|file| ListedObject::new(file.path, file.size)).collect();
            let token = next.map(|NextPart(query)| query);
            let list = List { is_truncated: token.is_some(), token, objects, ..List::default() };
            let list = lists.accepted(list, is_first, &prefix).map_err(broken)?;
            metas.extend(list.objects.iter().filter_map(|object| self.meta(object)));
            let Some(query) = list.token else { return Ok(metas) };
            // The address of the next part is that of this one, so the token goes nowhere else.
            url.set_query(Some(&query));
            is_first = false;
        }
    }

    fn meta(&self, object: &ListedObject) -> Option<ObjectMeta> {
        Some(ObjectMeta {
            location: Key::parse(object.key()).ok()?,
            last_modified: Default::default(),
            size: object.size()?.parse().ok()?,
            e_tag: Some(self.commit().to_owned()),
            version: None,
        })
    }

    /// Returns an address of the interface for this dataset.
    fn api<'a>(&'a self, parts: impl IntoIterator<Item = &'a str>) -> Url {
        joined(&self.endpoint, ["api"].into_iter().chain(self.repository.split('/')).chain(parts))
    }

    /// Requests JSON, with the retries of `object_store`.
    async fn ask(&self, url: &Url) -> object_store::Result<(Bytes, Option<NextPart>)> {
        let connector = Connected(self.client.clone());
        let store = HttpBuilder::new().with_url(url.as_str()).with_http_connector(connector).build()?;
        let answer = store.get(&Key::default()).await?;
        let next = answer.extensions.get().cloned();
        Ok((answer.bytes().await?, next))
    }
}

/// Returns the address of the path `parts` below `base`.
fn joined<'a>(base: &Url, parts: impl IntoIterator<Item = &'a str>) -> Url {
    let mut url = base.clone();
    if let Ok(mut path) = url.path_segments_mut() {
        path.pop_if_empty().extend(parts);
    }
    url
}

fn broken(broken: BrokenList) -> Error {
    Error::Generic { store: "Hub", source: Box::new(broken) }
}

/// Returns the token in `HF_TOKEN`, or else in the file where the Hub's own programs keep it.
fn token() -> Option<String> {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let file = || {
        let home = variable("HF_HOME").or_else(|| Some(variable("HOME")? + "/.cache/huggingface"));
        let path = variable("HF_TOKEN_PATH").or_else(|| Some(home? + "/token"))?;
        std::fs::read_to_string(path).ok()
    };
    let token = variable("HF_TOKEN").or_else(file)?.trim().to_owned();
    Some(token).filter(|token| !token.is_empty())
}

impl Answers for Session {
    /// Sends a request, and gives the answer what `object_store` expects: the commit as entity tag, and a length.
    async fn answer(&self, client: &HttpClient, mut request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let is_head = request.method() == Method::HEAD;
        let is_api = request.uri().to_string().starts_with(&self.api);
        let headers = request.headers_mut();
        // The address contains the commit, and other servers use other tags.
        headers.remove(header::IF_MATCH);
        if let Some(token) = &self.token {
            headers.insert(header::AUTHORIZATION, token.clone());
        }
        if is_head {
            // The addresses to which the Hub redirects are signed for GET only.
            headers.insert(header::RANGE, HeaderValue::from_static("bytes=0-0"));
            *request.method_mut() = Method::GET;
        }
        let (mut head, body) = execute(client, request).await?.into_parts();
        let is_empty = is_head && head.status == StatusCode::RANGE_NOT_SATISFIABLE;
        if !head.status.is_success() && !is_empty {
            return Ok(HttpResponse::from_parts(head, body));
        }
        head.headers.remove(header::LAST_MODIFIED);
        head.headers.remove(header::ETAG);
        if let Some(commit) = self.commit.get() {
            head.headers.insert(header::ETAG, commit.clone());
        }
        if is_api {
            let body = whole(body, self.scheme).await?;
            let link = head.headers.get(header::LINK).and_then(|link| link.to_str().ok());
            if let Some(next) = link.and_then(next_query) {
                head.extensions.insert(NextPart(next));
            }
            head.headers.insert(header::CONTENT_LENGTH, body.len().into());
            return Ok(HttpResponse::from_parts(head, body.into()));
        }
        if is_head {
            let range = head.headers.get(header::CONTENT_RANGE).and_then(|range| range.to_str().ok());
            if let Some(bytes) = range.and_then(|range| range.rsplit_once('/')?.1.parse::<u64>().ok()) {
                head.headers.insert(header::CONTENT_LENGTH, bytes.into());
            }
            head.status = StatusCode::OK;
            return Ok(HttpResponse::from_parts(head, Bytes::new().into()));
        }
        Ok(HttpResponse::from_parts(head, body))
    }
}

/// Returns the query of the link to the next part.
fn next_query(links: &str) -> Option<String> {
    let link = links.split('<').find(|link| link.contains("rel=\"next\""))?;
    let url = link.split_once('>')?.0;
    Some(url.split_once('?')?.1.to_owned())
}

/// A creator of clients that returns the one that is there.
#[derive(Debug)]
struct Connected(HttpClient);

impl HttpConnector for Connected {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(self.0.clone())
    }
}
