//! Outputs in object stores, which are written as files in a temporary folder, and sent when all outputs are complete.

use std::io;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use leitong_formats::source::{OutputObject, is_object};

/// The outputs of a command that are in stores.
#[derive(Debug, Default)]
pub struct Uploads {
    /// The folder with a folder for each option; `None` if no output is in a store.
    staging: Option<TempDir>,
    /// Each option's folder, and the beginning of the names of its objects.
    folders: Vec<(PathBuf, String)>,
}

impl Uploads {
    /// Replaces the names of those outputs, each with its option, that are in stores by names of files.
    ///
    /// # Errors
    /// A name is not valid, a store refuses a list of its bucket, or the temporary folder cannot be made.
    pub fn stage<'p>(
        outputs: impl IntoIterator<Item = (&'static str, &'p mut Option<PathBuf>)>,
    ) -> io::Result<Self> {
        let mut uploads = Self::default();
        let is_in_store = |path: &Option<PathBuf>| path.as_deref().is_some_and(is_object);
        for (option, output) in outputs.into_iter().filter(|(_, path)| is_in_store(path)) {
            let name = output.take().unwrap_or_default().to_string_lossy().into_owned();
            let is_folder = name.ends_with('/');
            let object = if is_folder { format!("{name}x") } else { name.clone() };
            let failed = |error: io::Error| io::Error::new(error.kind(), format!("{option} {name}: {error}"));
            OutputObject::new(object.as_ref()).and_then(|object| object.check_bucket()).map_err(failed)?;
            let staging = match uploads.staging.take() {
                Some(staging) => staging,
                None => tempfile::Builder::new().prefix("leitong-").tempdir().map_err(failed)?,
            };
            let folder = staging.path().join(option.trim_start_matches('-'));
            std::fs::create_dir(&folder).map_err(failed)?;
            uploads.staging = Some(staging);
            let path = name.trim_end_matches('/');
            let (beginning, last) = path.split_at(path.rfind('/').map_or(0, |slash| slash + 1));
            *output = Some(folder.join(if is_folder { format!("{last}/") } else { last.to_owned() }));
            uploads.folders.push((folder, beginning.to_owned()));
        }
        Ok(uploads)
    }

    /// Returns true if no output is in a store.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.folders.is_empty()
    }

    /// Returns the name of the output that is written to `path`: of the object, or the same path if it is in no store.
    #[must_use]
    pub fn name(&self, path: &Path) -> PathBuf {
        let object = |(folder, beginning): &(PathBuf, String)| {
            Some(format!("{beginning}{}", path.strip_prefix(folder).ok()?.display()).into())
        };
        self.folders.iter().find_map(object).unwrap_or_else(|| path.to_owned())
    }

    /// Keeps the files after the process has ended, and returns their folder.
    #[must_use]
    pub fn keep(&mut self) -> PathBuf {
        self.staging.take().map(TempDir::keep).unwrap_or_default()
    }
}
