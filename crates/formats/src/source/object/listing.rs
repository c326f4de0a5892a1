//! Finds the objects that an input (an object, a folder, or a pattern) stands for, sorted by key.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use glob::{MatchOptions, Pattern};
use object_store::path::Path as Key;

use super::bucket::Bucket;
use super::{Object, ObjectName};
use crate::source::fetch::wait;

/// The objects that an input stands for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Listed {
    /// The objects that can be read.
    pub objects: Objects,
    /// Keys of objects that cannot be read, because `object_store` cannot represent them: keys with empty
    /// parts, with `.` or `..` as a part, or with control characters.
    pub unnameable: Vec<String>,
}

/// The meaning of an input's name.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Objects {
    /// The object with this name.
    Object(PathBuf),
    /// The objects that match the pattern.
    Matching(Vec<PathBuf>),
    /// The objects in the folder, each with its name below the folder.
    Below(Vec<(PathBuf, String)>),
}

/// Finds the objects that `input` stands for. An object with exactly this name takes precedence.
///
/// # Errors
/// There is no such object, the pattern is invalid, or a request to the store fails.
pub(crate) fn listed(input: &Path, options: MatchOptions) -> io::Result<Listed> {
    let name = ObjectName::parse(input)?;
    if !name.key.is_empty() && !name.key.ends_with('/') {
        match Object::at(input) {
            Ok(_) => {
                let objects = Objects::Object(input.to_owned());
                return Ok(Listed { objects, unnameable: Vec::new() });
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    let bucket = name.bucket()?;
    let Some(varies) = name.key.find(['*', '?', '[']) else {
        let folder = name.key()?;
        let below = format!("{folder}/");
        let (keys, unnameable) = keys(&bucket, &folder)?;
        let found = keys.into_iter().map(|key| {
            let within = key.strip_prefix(&below).unwrap_or(&key).to_owned();
            (bucket.object(&key).into(), within)
        });
        let found = Objects::Below(found.collect());
        let problem = "no object has this name, and there is none in a folder of this name";
        return some(Listed { objects: found, unnameable }, problem);
    };
    let wrong = |error: glob::PatternError| {
        io::Error::new(io::ErrorKind::InvalidInput, format!("not a valid pattern: {error}"))
    };
    let pattern = Pattern::new(name.key).map_err(wrong)?;
    let folder = name.key[..varies].rsplit_once('/').map_or("", |(folder, _)| folder);
    let (keys, mut unnameable) = keys(&bucket, &ObjectName { key: folder, ..name }.key()?)?;
    let matching =
        keys.iter().filter(|key| pattern.matches_with(key, options)).map(|key| bucket.object(key).into());
    let objects = Objects::Matching(matching.collect());
    unnameable.retain(|key| pattern.matches_with(key, options));
    some(Listed { objects, unnameable }, "no object has this name, and as a pattern it matches no object")
}

/// Lists the keys of objects below `folder` that are not empty, and remembers these objects. The second list
/// contains keys that cannot be represented.
fn keys(bucket: &Arc<Bucket>, folder: &Key) -> io::Result<(Vec<String>, Vec<String>)> {
    let listing = Arc::clone(bucket);
    let below = folder.clone();
    let metas = wait(async move { listing.list(&below).await })?;
    let failure = |error| bucket.failure(folder, None).to_io_error(&error);
    // Some programs create empty objects with a slash at the end as folders.
    let metas = metas.map_err(failure)?.into_iter().filter(|meta| meta.size > 0);
    let mut keys: Vec<String> = metas
        .map(|meta| {
            let key = meta.location.as_ref().to_owned();
            Object::remember(bucket, meta);
            key
        })
        .collect();
    keys.sort_unstable();
    Ok((keys, bucket.lists.take_unnameable()))
}

fn some(found: Listed, problem: &str) -> io::Result<Listed> {
    let is_empty = match &found.objects {
        Objects::Object(_) => false,
        Objects::Matching(paths) => paths.is_empty(),
        Objects::Below(paths) => paths.is_empty(),
    };
    match is_empty && found.unnameable.is_empty() {
        true => Err(io::Error::new(io::ErrorKind::NotFound, problem)),
        false => Ok(found),
    }
}
