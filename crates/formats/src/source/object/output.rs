//! Objects that are written: the complete files of a run.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;
use std::sync::Arc;

use object_store::path::Path as Key;
use object_store::{ObjectStoreExt, PutPayload, WriteMultipart};

use super::ObjectName;
use super::bucket::Bucket;
use super::http::next;
use crate::source::fetch::wait;

/// Minimum number of bytes of a part of an object. A smaller object is sent in one request.
const PART_BYTES_MIN: u64 = 8 << 20;

/// Maximum number of parts of an object; S3 allows 10,000.
const PARTS_MAX: u64 = 9_000;

/// Maximum number of parts that are sent at a time.
const PARTS_AT_ONCE: usize = 4;

/// An object that is written.
#[derive(Debug, Clone)]
pub struct OutputObject {
    bucket: Arc<Bucket>,
    key: Key,
}

impl OutputObject {
    /// Returns the object with this name. The store is not asked.
    ///
    /// # Errors
    /// The name is not valid, or the store's objects cannot be written.
    pub fn new(path: &Path) -> io::Result<Self> {
        let name = ObjectName::parse(path)?;
        if name.scheme.name == "hf" {
            let problem =
                "datasets of the Hub are only read; name a file, and upload it with the Hub's own program";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
        }
        let key = name.key()?;
        if key.as_ref().is_empty() {
            let problem = format!("the name has no key; expected {}", name.scheme.form);
            return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
        }
        Ok(Self { bucket: name.bucket()?, key })
    }

    /// Asks for a list of the bucket, which shows that it exists, and that the store accepts the credentials.
    ///
    /// # Errors
    /// The store's error.
    pub fn check_bucket(&self) -> io::Result<()> {
        self.request(|Self { bucket, key }| async move {
            let first = next(&mut bucket.store.list(Some(&key))).await;
            first.transpose().map(drop).map_err(|error| bucket.failure(&key, None).to_io_error(&error))
        })
    }

    /// Returns true if the object exists.
    ///
    /// # Errors
    /// The store's error.
    pub fn exists(&self) -> io::Result<bool> {
        Ok(self.bytes()?.is_some())
    }

    /// Returns the size of the object, or `None` if it does not exist.
    fn bytes(&self) -> io::Result<Option<u64>> {
        self.request(|Self { bucket, key }| async move {
            match bucket.store.head(&key).await {
                Ok(meta) => Ok(Some(meta.size)),
                Err(object_store::Error::NotFound { .. }) => Ok(None),
                Err(error) => Err(bucket.failure(&key, None).to_io_error(&error)),
            }
        })
    }

    /// Removes the object, if it exists.
    ///
    /// # Errors
    /// The store's error.
    pub fn remove(&self) -> io::Result<()> {
        self.request(|Self { bucket, key }| async move {
            match bucket.store.delete(&key).await {
                Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
                Err(error) => Err(bucket.failure(&key, None).to_io_error(&error)),
            }
        })
    }

    /// Copies a complete file to the object, which is there either whole or not at all.
    ///
    /// # Errors
    /// The error of the operating system or the store, also if the store then has another size than the file.
    pub fn put(&self, file: &Path) -> io::Result<()> {
        let file = File::open(file)?;
        let bytes = file.metadata()?.len();
        self.request(move |object| async move { object.send(file, bytes).await })?;
        match self.bytes()? {
            Some(stored) if stored == bytes => Ok(()),
            stored => {
                let problem = format!("the store has {} of {bytes} bytes", stored.unwrap_or(0));
                Err(self.bucket.failure(&self.key, None).error(io::ErrorKind::Other, &problem))
            }
        }
    }

    async fn send(self, mut file: File, bytes: u64) -> io::Result<()> {
        let Self { bucket, key } = &self;
        let failed = |error| bucket.failure(key, None).to_io_error(&error);
        let part = bytes.div_ceil(PARTS_MAX).max(PART_BYTES_MIN);
        let mut next = || {
            let mut buffer = Vec::new();
            (&mut file).take(part).read_to_end(&mut buffer).map(|_| buffer)
        };
        let first = next()?;
        if bytes <= part {
            return bucket.store.put(key, PutPayload::from(first)).await.map(drop).map_err(failed);
        }
        let upload = bucket.store.put_multipart(key).await.map_err(failed)?;
        let part = usize::try_from(part).map_err(io::Error::other)?;
        let mut upload = WriteMultipart::new_with_chunk_size(upload, part);
        let mut buffer = first;
        while !buffer.is_empty() {
            upload.put(buffer.into());
            let sent = upload.wait_for_capacity(PARTS_AT_ONCE).await.map_err(failed);
            buffer = match sent.and_then(|()| next()) {
                Ok(buffer) => buffer,
                Err(error) => {
                    // The error is already known.
                    let _ = upload.abort().await;
                    return Err(error);
                }
            };
        }
        upload.finish().await.map(drop).map_err(failed)
    }

    fn request<T, F>(&self, request: impl FnOnce(Self) -> F) -> io::Result<T>
    where
        T: Send + 'static,
        F: Future<Output = io::Result<T>> + Send + 'static,
    {
        wait(request(self.clone()))?
    }
}
