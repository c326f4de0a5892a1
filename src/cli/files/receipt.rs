//! The receipt of a run: what it read, with what settings, and what it wrote, so that others can check that files are
//! the same, and repeat the run.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use anyhow::Context;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::cli::settings::wrong;
use leitong_formats::source::{Input, is_object};

/// Number of bytes that are hashed at once.
const BUFFER_BYTES: usize = 1 << 20;

/// The receipt of a run.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Receipt {
    /// The version of this format.
    pub leitong_receipt: u32,
    /// The version of Leitong.
    pub version: String,
    /// The arguments of the command.
    pub arguments: Vec<String>,
    /// Hashes of the settings for reading, for fingerprints, and for clusters.
    pub settings: [String; 3],
    pub started_at: String,
    pub ended_at: String,
    pub inputs: Vec<Entry>,
    /// The files that the settings name.
    pub settings_files: Vec<Entry>,
    pub outputs: Vec<Entry>,
    /// Counts of records, documents and verification.
    pub counts: serde_json::Value,
}

/// A file, with what its contents are recognised by.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Entry {
    path: String,
    bytes: u64,
    /// In hex. `None` for an input that is an object of a store.
    sha256: Option<String>,
    /// The version of an object.
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
}

impl Entry {
    /// Returns an entry for each file, which has its contents at `contents`.
    pub(crate) fn of_files(files: &[(&Path, &Path)]) -> anyhow::Result<Vec<Self>> {
        let entry = |(path, contents): &(&Path, &Path)| {
            let (bytes, sha256) =
                sum(contents).with_context(|| format!("--receipt: cannot read {}", path.display()))?;
            let path = path.display().to_string();
            anyhow::Ok(Self { path, bytes, sha256: Some(sha256), version: None })
        };
        files.par_iter().map(entry).collect()
    }

    /// Returns an entry for each input. Objects of stores are not read again.
    pub(crate) fn of_inputs(
        paths: &[PathBuf],
        objects: &[Option<(u64, String)>],
    ) -> anyhow::Result<Vec<Self>> {
        let entry = |(path, object): (&PathBuf, &Option<(u64, String)>)| match object {
            None => anyhow::Ok(Self::of_files(&[(&**path, &**path)])?.remove(0)),
            Some((bytes, version)) => {
                let (path, version) = (path.display().to_string(), Some(version.clone()));
                Ok(Self { path, bytes: *bytes, sha256: None, version })
            }
        };
        paths.par_iter().zip(objects).map(entry).collect()
    }

    /// Returns size and version of each input that is an object of a store.
    pub(crate) fn objects(paths: &[PathBuf], inputs: &[Input]) -> Vec<Option<(u64, String)>> {
        let object = |(path, input): (&PathBuf, &Input)| {
            let version = || input.version().unwrap_or_default().to_owned();
            is_object(path).then(|| (input.bytes.unwrap_or(0), version()))
        };
        paths.iter().zip(inputs).map(object).collect()
    }

    /// Returns how the file differs from the entry, or `None` if it does not.
    fn difference(&self) -> Option<Difference<'_>> {
        let sha256 = self.sha256.as_ref()?;
        let how = match sum(Path::new(&self.path)) {
            Ok((bytes, _)) if bytes != self.bytes => How::Size(bytes),
            Ok((_, now)) if now != *sha256 => How::Contents,
            Ok(_) => return None,
            Err(error) => How::Unreadable(error),
        };
        Some(Difference { entry: self, how })
    }
}

/// A file that is not as a receipt says.
struct Difference<'e> {
    entry: &'e Entry,
    how: How,
}

enum How {
    Size(u64),
    Contents,
    Unreadable(io::Error),
}

impl fmt::Display for Difference<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Entry { path, bytes, .. } = self.entry;
        match &self.how {
            How::Size(now) => write!(f, "{path}: has {now} bytes, but had {bytes}"),
            How::Contents => write!(f, "{path}: has as many bytes as it had, but other contents"),
            How::Unreadable(error) => write!(f, "{path}: cannot be read: {error}"),
        }
    }
}

/// Returns the size of a file, and the SHA-256 of its contents in hex.
fn sum(path: &Path) -> io::Result<(u64, String)> {
    let (mut file, mut hash, mut bytes) = (File::open(path)?, Sha256::new(), 0);
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        match file.read(&mut buffer)? {
            0 => break,
            read => {
                hash.update(&buffer[..read]);
                bytes += read as u64;
            }
        }
    }
    Ok((bytes, hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()))
}

impl Receipt {
    /// The version of the format.
    pub(crate) const FORMAT: u32 = 1;

    /// Compares all files with the receipt at `path`. Returns true if they are the same, and the result in words.
    ///
    /// # Errors
    /// The file is not a receipt.
    pub(crate) fn check(path: &Path) -> anyhow::Result<(bool, String)> {
        let text = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        let receipt: Self = serde_json::from_slice(&text)
            .ok()
            .filter(|receipt: &Self| receipt.leitong_receipt == Self::FORMAT)
            .ok_or_else(|| {
                let path = path.display();
                wrong(format_args!(
                    "{path}: is not a receipt that `leitong dedup --receipt` of this version wrote"
                ))
            })?;
        let lists = [&receipt.inputs, &receipt.settings_files, &receipt.outputs];
        let (objects, files): (Vec<_>, Vec<&Entry>) =
            lists.into_iter().flatten().partition(|entry| is_object(entry.path.as_ref()));
        let differences: Vec<String> =
            files.par_iter().filter_map(|entry| entry.difference()).map(|found| found.to_string()).collect();
        let unread = match objects.len() {
            0 => String::new(),
            objects => format!("; {objects} objects of stores are not compared"),
        };
        let compared = files.len();
        if differences.is_empty() {
            return Ok((true, format!("all {compared} files are as the receipt says{unread}\n")));
        }
        let (number, list) = (differences.len(), differences.join("\n"));
        Ok((false, format!("{number} of {compared} files are not as the receipt says{unread}:\n{list}\n")))
    }
}
