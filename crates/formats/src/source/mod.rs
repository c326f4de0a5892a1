//! Sources of pages: files, standard input and objects in stores ([`open`], [`location`]). The program itself reads
//! topics.
//!
//! A source only splits its input into records, and reads no more of a record than the limits allow. Later
//! stages parse the records in parallel.

pub(crate) mod extension;
pub(crate) mod fetch;
pub(crate) mod folders;
pub(crate) mod frames;
mod gzip;
pub(crate) mod inputs;
pub(crate) mod location;
mod look_back;
mod lz4;
pub(crate) mod machine_error;
#[cfg(feature = "stores")]
pub(crate) mod object;
pub(crate) mod open;
pub(crate) mod reading;
pub(crate) mod record;
pub(crate) mod rules;
pub(crate) mod second_reading;
pub(crate) mod stamp;
pub(crate) mod warc_base;

pub use crate::jsonl::JsonLines;
pub use crate::warc::WarcReader;
pub use crate::warc::folder::WarcFolder;
pub use folders::{FolderContent, FoundFiles};
pub use inputs::{InputNames, Inputs, Resumed};
pub use location::{OutputObject, is_object};
pub use open::Input;
pub use reading::{ReadPart, Reading};
pub use record::{Payload, ReadSoFar, Record, Skipped, Source, WithoutRecords};
pub use rules::InputRules;
pub use warc_base::WarcBase;
