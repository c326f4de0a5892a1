//! What an operator sees of a run: [`counts`], a progress bar, a summary at the end.

pub mod counts;
pub mod progress;
pub mod summary;
