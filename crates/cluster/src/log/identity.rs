//! Topic ids: a topic that is deleted and created again keeps its name, but gets another id (KIP-516).
//!
//! Every stored offset (committed offsets, watermarks, position records) belongs to one topic and means
//! nothing in a later topic of the same name. Therefore the topic's id is stored with the offset, and
//! [`TopicIds::verify`] refuses a different id. Brokers without ids, and records written before ids were
//! introduced, have no id to compare; they are accepted.
//!
//! This module does no I/O. `kafka::identity` asks the broker for the ids.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use thiserror::Error;

/// The id of a topic. The broker assigns it when the topic is created, and never reuses it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TopicId([u8; 16]);

impl TopicId {
    /// Reads an id from 16 big-endian bytes. Returns `None` for any other length, and for all zeros, which
    /// mean "no id".
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let bytes: [u8; 16] = bytes.try_into().ok()?;
        (bytes != [0; 16]).then_some(Self(bytes))
    }

    /// Returns the id as big-endian bytes.
    #[must_use]
    pub fn to_bytes(self) -> [u8; 16] {
        self.0
    }

    /// Parses the text that [`fmt::Display`] writes.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::from_bytes(&URL_SAFE_NO_PAD.decode(text).ok()?)
    }
}

/// Writes the id as `kafka-topics --describe` shows it.
impl fmt::Display for TopicId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&URL_SAFE_NO_PAD.encode(self.0))
    }
}

impl fmt::Debug for TopicId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A topic, named by its role.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    /// The page topic.
    Pages,
    /// The fingerprint log.
    Log,
    /// The changelog.
    Changelog,
}

impl fmt::Display for Which {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pages => "the page topic (kafka.topics.pages)",
            Self::Log => "the log (kafka.topics.fingerprints)",
            Self::Changelog => "the changelog (kafka.topics.centroids)",
        })
    }
}

/// Ids of the topics whose offsets are stored. An unknown id is `None`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TopicIds {
    /// The id of the page topic.
    pub pages: Option<TopicId>,
    /// The id of the fingerprint log.
    pub log: Option<TopicId>,
    /// The id of the changelog.
    pub changelog: Option<TopicId>,
}

/// The error for a topic that is not the one that the stored offsets belong to.
#[derive(Debug, Error, Clone, Copy, PartialEq, Eq)]
#[error("{which} was deleted and created again: its id was {known} and is now {found}. {}", consequence(*.which))]
pub struct Replaced {
    /// The topic.
    pub which: Which,
    /// The stored id.
    pub known: TopicId,
    /// The current id.
    pub found: TopicId,
}

/// Returns the effect on the user's data, and what to do.
fn consequence(which: Which) -> &'static str {
    match which {
        Which::Pages => {
            "Stored offsets belong to the old topic, so pages of the new one could be skipped as already read; raise kafka.epoch \
             to have all pages of the topic processed"
        }
        Which::Log => {
            "Pages that were only in the old log get no verdict, and the centroid table would continue at an offset of \
             the old log; configure new topics for log, changelog and verdicts and raise kafka.epoch, see `When the log is lost` \
             in docs/kafka.md"
        }
        Which::Changelog => {
            "The centroid table cannot be restored at the next start; see `Rebuilding a table` in docs/kafka.md"
        }
    }
}

impl TopicIds {
    /// Compares the stored ids (`self`) with the current ids from the broker (`found`).
    ///
    /// # Errors
    /// [`Replaced`] if both ids of a topic are known and differ.
    pub fn verify(&self, found: &Self) -> Result<(), Replaced> {
        let pairs = [
            (Which::Pages, self.pages, found.pages),
            (Which::Log, self.log, found.log),
            (Which::Changelog, self.changelog, found.changelog),
        ];
        for (which, known, found) in pairs {
            if let (Some(known), Some(found)) = (known, found)
                && known != found
            {
                return Err(Replaced { which, known, found });
            }
        }
        Ok(())
    }

    /// Keeps only the ids of page topic and log, which the offsets of a fingerprint worker belong to.
    #[must_use]
    pub fn for_pages(self) -> Self {
        Self { changelog: None, ..self }
    }

    /// Keeps only the ids of log and changelog, which a centroid table belongs to.
    #[must_use]
    pub fn for_table(self) -> Self {
        Self { pages: None, ..self }
    }

    /// Fills ids that are unknown in `self` from `other`.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            pages: self.pages.or(other.pages),
            log: self.log.or(other.log),
            changelog: self.changelog.or(other.changelog),
        }
    }

    /// Formats the ids of page topic and log for the metadata of a committed offset of the page topic: the
    /// pages before that offset are in that log.
    #[must_use]
    pub fn to_metadata(&self) -> String {
        let part = |name, id: Option<TopicId>| id.map(|id| format!("{name}={id}"));
        let parts = [part("pages", self.pages), part("log", self.log)];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
    }

    /// Parses the format of [`Self::to_metadata`]. All ids are unknown if another program wrote the text.
    #[must_use]
    pub fn from_metadata(text: &str) -> Self {
        let id = |name: &str| {
            let mut words = text.split(' ').filter_map(|word| word.split_once('='));
            words.find(|(key, _)| *key == name).and_then(|(_, value)| TopicId::parse(value))
        };
        Self { pages: id("pages"), log: id("log"), changelog: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(byte: u8) -> Option<TopicId> {
        TopicId::from_bytes(&[byte; 16])
    }

    #[test]
    fn ids_look_as_kafka_shows_them() {
        let id = TopicId::from_bytes(&(0xf0..=0xff).collect::<Vec<u8>>()).expect("an id");
        assert_eq!(id.to_string(), "8PHy8_T19vf4-fr7_P3-_w");
        assert_eq!(TopicId::parse(&id.to_string()), Some(id));
        assert_eq!(TopicId::from_bytes(&id.to_bytes()), Some(id));
        assert_eq!(TopicId::from_bytes(&[0; 16]), None, "brokers without ids send 0");
        assert_eq!((TopicId::from_bytes(&[1; 15]), TopicId::parse("no")), (None, None));
    }

    #[test]
    fn refuses_a_different_id_but_accepts_an_unknown_one() {
        let known = TopicIds { pages: id(1), log: id(2), changelog: id(3) };
        assert_eq!(known.verify(&known), Ok(()));
        assert_eq!(known.verify(&TopicIds::default()), Ok(()), "a broker without ids");
        assert_eq!(TopicIds::default().verify(&known), Ok(()), "records written before ids were introduced");
        for (which, found) in [
            (Which::Pages, TopicIds { pages: id(9), ..known }),
            (Which::Log, TopicIds { log: id(9), ..known }),
            (Which::Changelog, TopicIds { changelog: id(9), ..known }),
        ] {
            let replaced = known.verify(&found).expect_err("another one");
            assert_eq!((replaced.which, Some(replaced.found)), (which, id(9)));
            assert!(replaced.to_string().contains("was deleted and created again"), "{replaced}");
        }
        assert_eq!(known.for_pages().verify(&TopicIds { changelog: id(9), ..known }), Ok(()));
        assert_eq!(known.for_table().verify(&TopicIds { pages: id(9), ..known }), Ok(()));
        assert_eq!(
            TopicIds { log: None, ..known }.or(TopicIds { log: id(5), pages: id(6), ..known }).log,
            id(5)
        );
    }

    #[test]
    fn metadata_of_offsets_keeps_topic_ids() {
        for ids in [
            TopicIds { pages: id(1), log: id(2), changelog: None },
            TopicIds { log: id(2), ..TopicIds::default() },
            TopicIds::default(),
        ] {
            assert_eq!(TopicIds::from_metadata(&ids.to_metadata()), ids);
        }
        for foreign in ["", "reset by kafka-consumer-groups", "log= pages=x", "log=AAAAAAAAAAAAAAAAAAAAAA"] {
            assert_eq!(TopicIds::from_metadata(foreign), TopicIds::default(), "{foreign:?}");
        }
    }
}
