//! What commands read and write: documents, outputs that become complete in one step, and summaries of a run.

pub(in crate::cli) mod documents;
pub(in crate::cli) mod done;
pub(in crate::cli) mod outputs;
pub(in crate::cli) mod parts;
pub(in crate::cli) mod summary;
