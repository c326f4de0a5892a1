//! Files that commands read and write: documents, outputs that are complete or absent, and summaries of a run.

pub(crate) mod documents;
pub(crate) mod done;
pub(crate) mod outputs;
pub(crate) mod parts;
pub(crate) mod receipt;
pub(crate) mod summary;
