//! Reads objects in S3 and in stores with the same protocol.
//!
//! In: names such as `s3://bucket/key`. Out: bytes at any position ([`Object::fetch`]), which [`blocks`]
//! reads ahead, and the objects that a name stands for ([`listing`]). Credentials, region and endpoint come
//! from environment variables (`AWS_…`). `object_store` repeats requests that fail temporarily.
//!
//! Invariant: an object is read in the version in which it was first found. If it is replaced in the meantime,
//! reading fails: each request names the entity tag, and each answer is compared with the first one, since some
//! stores ignore the request's condition or have no entity tags. Memory: a few hundred bytes per object.

pub(crate) mod blocks;
mod environment;
mod failure;
mod http;
mod list;
pub(crate) mod listing;

use std::collections::HashMap;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use bytes::Bytes;
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::path::Path as Key;
use object_store::{GetOptions, ObjectMeta, ObjectStore, ObjectStoreExt};

use failure::Failure;
use http::{Connector, Lists};

use super::fetch::{Fetch, wait};

/// An object in a store.
#[derive(Debug)]
pub(crate) struct Object {
    bucket: Arc<Bucket>,
    key: Key,
    /// True if the store was asked for the object before its content was read.
    is_looked_up: bool,
    /// The first answer of the store.
    first: OnceLock<Facts>,
}

/// The facts that a store returns about an object.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Facts {
    bytes: u64,
    /// The entity tag.
    version: Option<String>,
    /// Time of the last modification, in seconds since 1970. `None` if the store does not give it.
    modified: Option<i64>,
}

impl Facts {
    fn new(meta: &ObjectMeta) -> Self {
        let modified = Some(meta.last_modified.timestamp()).filter(|seconds| *seconds != 0);
        Self { bytes: meta.size, version: meta.e_tag.clone(), modified }
    }

    /// Returns true if these are facts about the same object. Lists and answers may write entity tags differently.
    fn fits(&self, other: &Self) -> bool {
        let bare = |tag: &str| tag.trim_start_matches("W/").trim_matches('"').to_owned();
        let versions = self.version.as_deref().zip(other.version.as_deref());
        self.bytes == other.bytes
            && match versions {
                Some((version, other)) => bare(version) == bare(other),
                None => self.modified.zip(other.modified).is_none_or(|(time, other)| time == other),
            }
    }
}

/// A bucket, and the client for it.
#[derive(Debug)]
struct Bucket {
    name: String,
    store: AmazonS3,
    lists: Arc<Lists>,
}

/// The name of one or several objects, split into its parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ObjectName<'a> {
    bucket: &'a str,
    key: &'a str,
}

/// The buckets and objects already known. An input is read twice in the same version, and nothing is
/// requested twice.
#[derive(Default)]
struct Known {
    buckets: HashMap<String, Arc<Bucket>>,
    objects: HashMap<String, Arc<Object>>,
    /// Objects of which only single ranges are read.
    unseen: HashMap<String, Arc<Object>>,
}

impl Object {
    /// Looks up the object with this name.
    ///
    /// # Errors
    /// There is no such object, or the request to its store fails.
    pub(crate) fn at(path: &Path) -> io::Result<Arc<Self>> {
        let name = ObjectName::parse(path)?;
        if let Some(object) = known().objects.get(&name.to_string()) {
            return Ok(Arc::clone(object));
        }
        let key = name.key()?;
        let bucket = name.bucket()?;
        let meta = wait({
            let (bucket, key) = (Arc::clone(&bucket), key.clone());
            async move { bucket.store.head(&key).await }
        })?;
        let failure =
            |error| Failure { bucket: &bucket.name, key: key.as_ref(), offset: None }.to_io_error(&error);
        Ok(Self::remember(&bucket, meta.map_err(failure)?))
    }

    /// Returns the object with this name without asking the store. Meant for single ranges of many objects,
    /// where each look-up would cost one more request.
    ///
    /// # Errors
    /// The name is not valid.
    pub(crate) fn unseen(path: &Path) -> io::Result<Arc<Self>> {
        let name = ObjectName::parse(path)?;
        let (bucket, key) = (name.bucket()?, name.key()?);
        let new = || Arc::new(Self { bucket, key, is_looked_up: false, first: OnceLock::new() });
        Ok(Arc::clone(known().unseen.entry(name.to_string()).or_insert_with(new)))
    }

    /// Stores the facts that a store has returned about an object.
    fn remember(bucket: &Arc<Bucket>, meta: ObjectMeta) -> Arc<Self> {
        let name = ObjectName { bucket: &bucket.name, key: meta.location.as_ref() }.to_string();
        let first = OnceLock::from(Facts::new(&meta));
        let object = Self { bucket: Arc::clone(bucket), key: meta.location, is_looked_up: true, first };
        Arc::clone(known().objects.entry(name).or_insert_with(|| Arc::new(object)))
    }

    /// Returns the size of the object, or 0 if the store was not asked yet.
    pub(crate) fn bytes(&self) -> u64 {
        self.first.get().map_or(0, |facts| facts.bytes)
    }

    /// Returns the entity tag of the object.
    pub(crate) fn version(&self) -> Option<&str> {
        self.first.get()?.version.as_deref()
    }

    /// Returns the time of the last modification, in seconds since 1970.
    pub(crate) fn modified(&self) -> Option<i64> {
        self.first.get()?.modified
    }

    /// Starts to fetch the bytes at `range`, which must not be empty and must be within the object. If the object was
    /// not looked up, the range may extend past its end; the result is then shorter.
    ///
    /// # Errors
    /// The runtime's threads cannot be started.
    pub(crate) fn fetch(self: &Arc<Self>, range: Range<u64>) -> io::Result<Fetch> {
        let object = Arc::clone(self);
        Fetch::start_request(async move { object.range(range).await })
    }

    async fn range(&self, range: Range<u64>) -> io::Result<Bytes> {
        let options = GetOptions {
            range: Some(range.clone().into()),
            if_match: self.version().map(str::to_owned),
            ..GetOptions::default()
        };
        let failure =
            Failure { bucket: &self.bucket.name, key: self.key.as_ref(), offset: Some(range.start) };
        let get = async {
            let answer = self.bucket.store.get_opts(&self.key, options).await?;
            let facts = Facts::new(&answer.meta);
            Ok((facts, answer.bytes().await?))
        };
        let (facts, bytes) = get.await.map_err(|error| failure.to_io_error(&error))?;
        if !self.first.get_or_init(|| facts.clone()).fits(&facts) {
            return Err(failure.replaced());
        }
        if self.is_looked_up && bytes.len() as u64 != range.end - range.start {
            return Err(failure.short(bytes.len(), range.end - range.start));
        }
        Ok(bytes)
    }
}

impl<'a> ObjectName<'a> {
    fn parse(path: &'a Path) -> io::Result<Self> {
        let Some(name) = path.to_str() else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "the name of an object must be UTF-8"));
        };
        let name = name.strip_prefix("s3://").unwrap_or_default();
        let (bucket, key) = name.split_once('/').unwrap_or((name, ""));
        if bucket.is_empty() {
            let problem = "the name has no bucket; expected s3://BUCKET/KEY";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
        }
        Ok(Self { bucket, key })
    }

    fn key(&self) -> io::Result<Key> {
        let wrong = |error: object_store::path::Error| {
            io::Error::new(io::ErrorKind::InvalidInput, format!("not a valid object key: {error}"))
        };
        Key::parse(self.key).map_err(wrong)
    }

    fn bucket(&self) -> io::Result<Arc<Bucket>> {
        if let Some(bucket) = known().buckets.get(self.bucket) {
            return Ok(Arc::clone(bucket));
        }
        environment::check(self.bucket)?;
        let lists = Arc::<Lists>::default();
        let builder = AmazonS3Builder::from_env().with_bucket_name(self.bucket);
        let store = builder.with_http_connector(Connector(Arc::clone(&lists))).build();
        let wrong = |error: object_store::Error| {
            let problem = format!("s3://{}: {error}; check the environment variables AWS_…", self.bucket);
            io::Error::new(io::ErrorKind::InvalidInput, problem)
        };
        let bucket = Arc::new(Bucket { name: self.bucket.to_owned(), store: store.map_err(wrong)?, lists });
        known().buckets.insert(self.bucket.to_owned(), Arc::clone(&bucket));
        Ok(bucket)
    }
}

impl std::fmt::Display for ObjectName<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "s3://{}/{}", self.bucket, self.key)
    }
}

fn known() -> MutexGuard<'static, Known> {
    static KNOWN: OnceLock<Mutex<Known>> = OnceLock::new();
    KNOWN.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner)
}
