//! Which topic is behind a name: a topic that is deleted and
//! created anew keeps its name and gets another id (KIP-516).
//!
//! Every offset that is kept anywhere (committed offsets, watermarks, position records) is an
//! offset of one topic, and means nothing in its successor. So the id is kept beside it, and
//! another one is refused: [`TopicIds::verify`]. Brokers without ids, and records from before ids
//! were kept, say nothing, and refuse nothing.
//!
//! Pure. Who asks the broker: `pipeline::kafka::identity`.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use thiserror::Error;

/// A topic's id: given by the broker when the topic is created, and never again to another one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TopicId([u8; 16]);

impl TopicId {
    /// The id of these bytes, big-endian; none where there
    /// are not 16, or all are 0, which stands for no id.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let bytes: [u8; 16] = bytes.try_into().ok()?;
        (bytes != [0; 16]).then_some(Self(bytes))
    }

    /// Its bytes, big-endian.
    #[must_use]
    pub fn to_bytes(self) -> [u8; 16] {
        self.0
    }

    /// The id in the text that [`fmt::Display`] gives.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::from_bytes(&URL_SAFE_NO_PAD.decode(text).ok()?)
    }
}

/// As `kafka-topics --describe` shows it.
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

/// A topic by what it is for.
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

/// Ids of the topics whose offsets are kept; none where nobody knows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TopicIds {
    /// Of the page topic.
    pub pages: Option<TopicId>,
    /// Of the fingerprint log.
    pub log: Option<TopicId>,
    /// Of the changelog.
    pub changelog: Option<TopicId>,
}

/// A topic is not the one that offsets were kept of.
#[derive(Debug, Error, Clone, Copy, PartialEq, Eq)]
#[error("{which} was deleted and created anew: its id was {known} and is {found}. {}", consequence(*.which))]
pub struct Replaced {
    /// The topic.
    pub which: Which,
    /// Its id as it was kept.
    pub known: TopicId,
    /// Its id now.
    pub found: TopicId,
}

/// What is lost, and what to do.
fn consequence(which: Which) -> &'static str {
    match which {
        Which::Pages => {
            "Offsets of the old topic mean nothing in it, so its pages could count as read already; raise kafka.epoch \
             to have all pages of the topic processed"
        }
        Which::Log => {
            "Pages that stood only in the old log have no verdict, and the centroid table goes on at an offset of the \
             old one; name new topics for log, changelog and verdicts and raise kafka.epoch, see `When the log is lost` \
             in docs/kafka.md"
        }
        Which::Changelog => {
            "The centroid table is lost for the next start; see `Rebuilding a table` in docs/kafka.md"
        }
    }
}

impl TopicIds {
    /// Compares the ids that were kept (`self`) with those that the broker says now.
    ///
    /// # Errors
    /// [`Replaced`], where both are known and differ.
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

    /// These of page topic and log only, which a fingerprint worker's offsets belong to.
    #[must_use]
    pub fn of_pages(self) -> Self {
        Self { changelog: None, ..self }
    }

    /// These of log and changelog only, which a table belongs to.
    #[must_use]
    pub fn of_table(self) -> Self {
        Self { pages: None, ..self }
    }

    /// `self`, and what only `other` knows.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            pages: self.pages.or(other.pages),
            log: self.log.or(other.log),
            changelog: self.changelog.or(other.changelog),
        }
    }

    /// For the metadata of a committed offset of the page
    /// topic: the pages before it stand in that log.
    #[must_use]
    pub fn to_metadata(&self) -> String {
        let part = |name, id: Option<TopicId>| id.map(|id| format!("{name}={id}"));
        let parts = [part("pages", self.pages), part("log", self.log)];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
    }

    /// What [`Self::to_metadata`] wrote; nothing is known from anybody else's text.
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
        assert_eq!(TopicId::from_bytes(&[0; 16]), None, "brokers without ids say 0");
        assert_eq!((TopicId::from_bytes(&[1; 15]), TopicId::parse("no")), (None, None));
    }

    #[test]
    fn another_id_is_refused_and_no_id_is_not() {
        let known = TopicIds { pages: id(1), log: id(2), changelog: id(3) };
        assert_eq!(known.verify(&known), Ok(()));
        assert_eq!(known.verify(&TopicIds::default()), Ok(()), "a broker without ids");
        assert_eq!(TopicIds::default().verify(&known), Ok(()), "records from before ids were kept");
        for (which, found) in [
            (Which::Pages, TopicIds { pages: id(9), ..known }),
            (Which::Log, TopicIds { log: id(9), ..known }),
            (Which::Changelog, TopicIds { changelog: id(9), ..known }),
        ] {
            let replaced = known.verify(&found).expect_err("another one");
            assert_eq!((replaced.which, Some(replaced.found)), (which, id(9)));
            assert!(replaced.to_string().contains("was deleted and created anew"), "{replaced}");
        }
        assert_eq!(known.of_pages().verify(&TopicIds { changelog: id(9), ..known }), Ok(()));
        assert_eq!(known.of_table().verify(&TopicIds { pages: id(9), ..known }), Ok(()));
        assert_eq!(
            TopicIds { log: None, ..known }.or(TopicIds { log: id(5), pages: id(6), ..known }).log,
            id(5)
        );
    }

    #[test]
    fn metadata_of_offsets_says_which_topics_they_belong_to() {
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
