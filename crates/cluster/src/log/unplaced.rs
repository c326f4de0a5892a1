//! Page records without the place where the page was read: many machines make them, and one process puts them
//! in order later.
//!
//! In: the fingerprint stage's result for a page. Out: the bytes of its record, without the place where the
//! page was read. The process that orders the records adds that place: [`Unplaced::at`] returns the bytes for
//! the log, [`Unplaced::page`] the record for a table in the same process. Pure. Invariant: with the same
//! settings, a page gives the same bytes on every machine.

use prost::Message;

use super::entry::{Entry, EntryError, MessageOrigin, source_message};
use leitong_base::proto::{self, FORMAT_VERSION, fingerprint_record};
use leitong_base::record::{FingerprintRecord, Place, Timestamp};
use leitong_fingerprint::Detector;

/// A page's record without the place where the page was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Unplaced(proto::FingerprintRecord);

impl Unplaced {
    /// Creates the record of `page`. `detector` names the detector that made its fingerprint.
    #[must_use]
    pub fn new(page: FingerprintRecord, detector: &str) -> Self {
        Self(proto::FingerprintRecord { source: None, ..Entry::page_message(page, detector) })
    }

    /// Decodes the record in `bytes`.
    ///
    /// # Errors
    /// A newer version of Leitong wrote the bytes, or they are not a page's record.
    pub fn read(bytes: &[u8]) -> Result<Self, EntryError> {
        let broken = |what: &str| EntryError::Broken(what.to_owned());
        let message =
            proto::FingerprintRecord::decode(bytes).map_err(|error| EntryError::Broken(error.to_string()))?;
        match (message.format_version, &message.outcome) {
            (0, _) => Err(broken("no format version")),
            (found, _) if found > FORMAT_VERSION => Err(EntryError::TooNew { found }),
            (_, None | Some(fingerprint_record::Outcome::Unreadable(_))) => Err(broken("no page")),
            _ if message.source.is_some() => Err(broken("it already has a place (`source`) in a log")),
            _ => Ok(Self(message)),
        }
    }

    /// Returns the bytes of the record.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        self.0.encode_to_vec()
    }

    /// Returns the corpus of the page.
    #[must_use]
    pub fn corpus(&self) -> &str {
        &self.0.corpus
    }

    /// Returns the hash of the settings that produced the fingerprint.
    #[must_use]
    pub fn fingerprint_hash(&self) -> u64 {
        self.0.fingerprint_hash
    }

    /// Returns the bytes of the record for the log. The page was read at `source`. `log_time` is used if the
    /// time of the fetch is unknown.
    #[must_use]
    pub fn at(mut self, source: &Place, origin: MessageOrigin, log_time: Timestamp) -> Vec<u8> {
        self.0.source = Some(source_message(source, origin));
        self.0.log_time_ms.get_or_insert(log_time.as_ms());
        self.0.encode_to_vec()
    }

    /// Returns the page, which was read at `source`. If its fingerprint comes from another detector than
    /// `detector`, the page becomes undecidable.
    ///
    /// # Errors
    /// [`EntryError::Broken`] if the record is not a valid page.
    pub fn page(self, source: Place, detector: &dyn Detector) -> Result<FingerprintRecord, EntryError> {
        Entry::page_from_message(self.0, source, detector)
    }
}
