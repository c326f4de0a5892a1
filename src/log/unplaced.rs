//! Records of pages on their way to the log: made on many machines, and put in order later.
//!
//! In: what the fingerprint stage made of a page. Out: the bytes of its record, without where the page was read, since that
//! is settled by whoever puts all records in order: [`Unplaced::at`] gives the bytes for the log, [`Unplaced::page`]
//! the record for a table at hand. Pure. Invariant: a page makes the same bytes on every machine with the same
//! settings.

use prost::Message;

use super::entry::{EntryError, Sent, page_from_message, page_message, source_message};
use crate::fingerprint::Detector;
use crate::proto::{self, FORMAT_VERSION, fingerprint_record};
use crate::record::timestamp::Timestamp;
use crate::record::{FingerprintRecord, Place};

/// A page's record without where the page was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Unplaced(proto::FingerprintRecord);

impl Unplaced {
    /// The record of `page`; `detector` made its fingerprint.
    #[must_use]
    pub fn new(page: FingerprintRecord, detector: &str) -> Self {
        Self(proto::FingerprintRecord { source: None, ..page_message(page, detector) })
    }

    /// The record in `bytes`.
    ///
    /// # Errors
    /// A newer Leitong wrote them, or they are no record of a page.
    pub fn read(bytes: &[u8]) -> Result<Self, EntryError> {
        let broken = |what: &str| EntryError::Broken(what.to_owned());
        let message =
            proto::FingerprintRecord::decode(bytes).map_err(|error| EntryError::Broken(error.to_string()))?;
        match (message.format_version, &message.outcome) {
            (0, _) => Err(broken("no format version")),
            (found, _) if found > FORMAT_VERSION => Err(EntryError::TooNew { found }),
            (_, None | Some(fingerprint_record::Outcome::Unreadable(_))) => Err(broken("no page")),
            _ if message.source.is_some() => Err(broken("it has a place in a log already")),
            _ => Ok(Self(message)),
        }
    }

    /// The bytes of the record.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        self.0.encode_to_vec()
    }

    /// The corpus of the page.
    #[must_use]
    pub fn corpus(&self) -> &str {
        &self.0.corpus
    }

    /// Of the settings that made the fingerprint.
    #[must_use]
    pub fn fingerprint_hash(&self) -> u64 {
        self.0.fingerprint_hash
    }

    /// The bytes of the record in the log, of a page that was read at `source`. Where nobody knows when the page was
    /// fetched, it counts as fetched at `log_time`.
    #[must_use]
    pub fn at(mut self, source: &Place, sent: Sent, log_time: Timestamp) -> Vec<u8> {
        self.0.source = Some(source_message(source, sent));
        self.0.log_time_ms.get_or_insert(log_time.as_ms());
        self.0.encode_to_vec()
    }

    /// The page, which was read at `source`. A fingerprint of another detector than `detector` makes it undecidable.
    ///
    /// # Errors
    /// [`EntryError::Broken`].
    pub fn page(self, source: Place, detector: &dyn Detector) -> Result<FingerprintRecord, EntryError> {
        page_from_message(self.0, source, detector)
    }
}
