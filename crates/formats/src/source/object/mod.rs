//! Objects in S3, Google Cloud Storage, Azure and stores with the same protocols, and files of datasets in the
//! Hugging Face Hub. How these differ is data in [`scheme`], their clients are in [`bucket`], the [`hub`] is apart.
//!
//! In: names such as `s3://bucket/key`. Out: bytes at any position ([`Object::fetch`]), which [`blocks`]
//! reads ahead, and the objects that a name stands for ([`listing`]). Credentials, region and endpoint come
//! from environment variables (`AWS_…`). `object_store` repeats requests that fail temporarily.
//!
//! Invariant: an object is read in the version in which it was first found. If it is replaced in the meantime,
//! reading fails: each request names the entity tag, and each answer is compared with the first one, since some
//! stores ignore the request's condition or have no entity tags. Memory: a few hundred bytes per object.

pub(crate) mod blocks;
mod bucket;
mod environment;
mod failure;
mod http;
mod hub;
mod list;
pub(crate) mod listing;
pub(crate) mod output;
mod scheme;

use std::collections::HashMap;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use bytes::Bytes;
use object_store::path::Path as Key;
use object_store::{GetOptions, ObjectMeta, ObjectStoreExt};

use bucket::Bucket;
use scheme::Scheme;

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

/// The name of one or several objects, split into its parts.
#[derive(Debug, Clone, Copy)]
struct ObjectName<'a> {
    scheme: &'static Scheme,
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
        let (key, bucket) = (name.key()?, name.bucket()?);
        if let Some(object) = known().objects.get(&bucket.object(name.key)) {
            return Ok(Arc::clone(object));
        }
        let meta = wait({
            let (bucket, key) = (Arc::clone(&bucket), key.clone());
            async move { bucket.store.head(&key).await }
        })?;
        Ok(Self::remember(&bucket, meta.map_err(|error| bucket.failure(&key, None).to_io_error(&error))?))
    }

    /// Returns the object with this name without asking the store. Meant for single ranges of many objects,
    /// where each look-up would cost one more request.
    ///
    /// # Errors
    /// The name is not valid.
    pub(crate) fn unseen(path: &Path) -> io::Result<Arc<Self>> {
        let name = ObjectName::parse(path)?;
        let (bucket, key) = (name.bucket()?, name.key()?);
        let known_as = bucket.object(name.key);
        let new = || Arc::new(Self { bucket, key, is_looked_up: false, first: OnceLock::new() });
        Ok(Arc::clone(known().unseen.entry(known_as).or_insert_with(new)))
    }

    /// Stores the facts that a store has returned about an object.
    fn remember(bucket: &Arc<Bucket>, meta: ObjectMeta) -> Arc<Self> {
        let name = bucket.object(meta.location.as_ref());
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
        let failure = self.bucket.failure(&self.key, Some(range.start));
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
        let Some((scheme, rest)) = path.to_str().and_then(Scheme::parse) else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "the name of an object must be UTF-8"));
        };
        let (bucket, key) = scheme.split(rest);
        if bucket.is_empty() {
            let problem = format!("the name has no {}; expected {}", scheme.container, scheme.form);
            return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
        }
        Ok(Self { scheme, bucket, key })
    }

    fn key(&self) -> io::Result<Key> {
        let wrong = |error: object_store::path::Error| {
            io::Error::new(io::ErrorKind::InvalidInput, format!("not a valid object key: {error}"))
        };
        Key::parse(self.key).map_err(wrong)
    }

    fn bucket(&self) -> io::Result<Arc<Bucket>> {
        let name = format!("{}://{}", self.scheme.name, self.bucket);
        if let Some(bucket) = known().buckets.get(&name) {
            return Ok(Arc::clone(bucket));
        }
        let bucket = Arc::new(Bucket::connect(self.scheme, self.bucket)?);
        let mut known = known();
        // The name with the commit means the same dataset.
        known.buckets.insert(format!("{}://{}", self.scheme.name, bucket.name), Arc::clone(&bucket));
        Ok(Arc::clone(known.buckets.entry(name).or_insert(bucket)))
    }
}

/// Returns the name with the version that this run reads: that of a dataset has the commit of its revision. The names
/// of other stores have no version.
///
/// # Errors
/// The name is not valid, or the Hub does not have the dataset.
pub(crate) fn pinned(path: &Path) -> io::Result<PathBuf> {
    let name = ObjectName::parse(path)?;
    match name.scheme.name {
        "hf" => Ok(name.bucket()?.object(name.key).into()),
        _ => Ok(path.to_owned()),
    }
}

fn known() -> MutexGuard<'static, Known> {
    static KNOWN: OnceLock<Mutex<Known>> = OnceLock::new();
    KNOWN.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner)
}
