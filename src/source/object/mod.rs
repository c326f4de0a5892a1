//! Objects of S3 and of stores that speak its protocol, as inputs.
//!
//! In: names such as `s3://bucket/key`. Out: bytes at any place ([`Object::fetch`]), which [`blocks`] reads ahead, and
//! the objects that a name stands for ([`listing`]). Credentials, region and endpoint come from the environment
//! (`AWS_…`). What a store refuses for a while, or breaks off, `object_store` asks for again.
//!
//! Invariant: an object is read in one version, that of the first look at it; where it was replaced meanwhile, reading
//! fails. Memory: a few hundred bytes an object that is looked at.

pub mod blocks;
mod environment;
mod failure;
mod http;
pub mod listing;

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

/// An object that is there.
#[derive(Debug)]
pub struct Object {
    bucket: Arc<Bucket>,
    key: Key,
    /// None where nobody has asked.
    bytes: Option<u64>,
    /// The entity tag.
    version: Option<String>,
}

/// A bucket, and how it is reached.
#[derive(Debug)]
struct Bucket {
    name: String,
    store: AmazonS3,
    lists: Arc<Lists>,
}

/// The name of an object or of several, taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ObjectName<'a> {
    bucket: &'a str,
    key: &'a str,
}

/// What is known already: both readings of an input are of the same version, and nothing is asked for twice.
#[derive(Default)]
struct Known {
    buckets: HashMap<String, Arc<Bucket>>,
    objects: HashMap<String, Arc<Object>>,
}

impl Object {
    /// The object that is called so.
    ///
    /// # Errors
    /// There is none, or its store does not say.
    pub fn at(path: &Path) -> io::Result<Arc<Self>> {
        let name = ObjectName::of(path)?;
        if let Some(object) = known().objects.get(&name.to_string()) {
            return Ok(Arc::clone(object));
        }
        let key = name.key()?;
        let bucket = name.bucket()?;
        let meta = wait({
            let (bucket, key) = (Arc::clone(&bucket), key.clone());
            async move { bucket.store.head(&key).await }
        })?;
        let failure = |error| Failure { bucket: &bucket.name, key: key.as_ref(), offset: None }.of(&error);
        Ok(Self::remember(&bucket, meta.map_err(failure)?))
    }

    /// The object that is called so, without a look whether it is there: for single ranges of many objects, each of
    /// which would take a request more.
    ///
    /// # Errors
    /// There can be none.
    pub fn unseen(path: &Path) -> io::Result<Arc<Self>> {
        let name = ObjectName::of(path)?;
        Ok(Arc::new(Self { bucket: name.bucket()?, key: name.key()?, bytes: None, version: None }))
    }

    /// Takes note of an object that a store has told of.
    fn remember(bucket: &Arc<Bucket>, meta: ObjectMeta) -> Arc<Self> {
        let name = ObjectName { bucket: &bucket.name, key: meta.location.as_ref() }.to_string();
        let object = Self {
            bucket: Arc::clone(bucket),
            key: meta.location,
            bytes: Some(meta.size),
            version: meta.e_tag,
        };
        Arc::clone(known().objects.entry(name).or_insert_with(|| Arc::new(object)))
    }

    /// How many bytes it has; none of an unseen one.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes.unwrap_or(0)
    }

    /// Its entity tag.
    #[must_use]
    pub fn version(&self) -> Option<&str> {
        self.version.as_deref()
    }

    /// Begins to fetch the bytes at `range`, which has some and ends where the object does at most; of an unseen one what
    /// there is of them.
    ///
    /// # Errors
    /// There are no threads to be had.
    pub fn fetch(self: &Arc<Self>, range: Range<u64>) -> io::Result<Fetch> {
        let object = Arc::clone(self);
        Fetch::of_request(async move { object.range(range).await })
    }

    async fn range(&self, range: Range<u64>) -> io::Result<Bytes> {
        let options = GetOptions {
            range: Some(range.clone().into()),
            if_match: self.version.clone(),
            ..GetOptions::default()
        };
        let failure =
            Failure { bucket: &self.bucket.name, key: self.key.as_ref(), offset: Some(range.start) };
        let get = async { self.bucket.store.get_opts(&self.key, options).await?.bytes().await };
        let bytes = get.await.map_err(|error| failure.of(&error))?;
        if self.bytes.is_some() && bytes.len() as u64 != range.end - range.start {
            return Err(failure.short(bytes.len(), range.end - range.start));
        }
        Ok(bytes)
    }
}

impl<'a> ObjectName<'a> {
    fn of(path: &'a Path) -> io::Result<Self> {
        let name = path.to_str().and_then(|name| name.strip_prefix("s3://")).unwrap_or_default();
        let (bucket, key) = name.split_once('/').unwrap_or((name, ""));
        if bucket.is_empty() {
            let problem = "names no bucket; expected s3://BUCKET/KEY";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
        }
        Ok(Self { bucket, key })
    }

    fn key(&self) -> io::Result<Key> {
        let wrong = |error: object_store::path::Error| {
            io::Error::new(io::ErrorKind::InvalidInput, format!("no key of an object: {error}"))
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
