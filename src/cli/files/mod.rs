//! Files that commands read and write: documents, outputs that are complete or absent, and summaries of a run.

pub(crate) mod documents;
pub(crate) mod done;
pub(crate) mod outputs;
pub(crate) mod parts;
#[cfg_attr(not(feature = "console"), expect(dead_code, reason = "only `audit` reads receipts"))]
pub(crate) mod receipt;
pub(crate) mod summary;
