//! Encodes and decodes the records of the fingerprint log: [`Entry`] ↔ protobuf message.
//!
//! Decoding never trusts the bytes. There are two errors: a record from a newer version, at which the reader
//! must stop, and a broken record.

use std::sync::Arc;

use prost::Message;
use thiserror::Error;

use super::identity::TopicId;
use super::watermarks::Origin;
use leitong_base::proto::{self, FORMAT_VERSION, fingerprint_record, source};
use leitong_base::record::{
    Carried, Cause, FingerprintRecord, LogRecord, Metadata, Outcome, Place, PublicationTime, Reason,
    Received, TextDigest, Timestamp, Unreadable,
};
use leitong_fingerprint::Detector;

/// A record of the log, with the place that it comes from.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The page, or the input that could not be read as one.
    pub record: LogRecord,
    /// The position in the page topic. It decides if the record counts.
    pub origin: Origin,
}

/// The error for bytes that cannot be decoded as an entry.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum EntryError {
    /// A newer version of Leitong wrote the record.
    #[error(
        "format version {found} is newer than {FORMAT_VERSION}, the newest that this version of Leitong reads; update \
         this instance"
    )]
    TooNew {
        /// The format version of the record.
        found: u32,
    },
    /// The bytes are not a record that Leitong writes.
    #[error("not a record written by Leitong: {0}; make sure that no other program writes to this topic")]
    Broken(String),
}

/// The part of an [`Origin`] that a record's [`Place`] does not have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MessageOrigin {
    /// See [`Origin::previous_offset`].
    pub previous_offset: Option<u64>,
    /// See [`Origin::timestamp_ms`].
    pub timestamp_ms: Option<i64>,
    /// See [`Origin::topic_id`].
    pub topic_id: Option<TopicId>,
}

impl Entry {
    /// Encodes a record of the log, whose page or dead letter comes from a message. `detector` names the detector that
    /// made its fingerprint.
    #[must_use]
    pub fn encode(record: LogRecord, origin: MessageOrigin, detector: &str) -> Vec<u8> {
        let message = match record {
            LogRecord::Page(page) => encode_page(*page, origin, detector),
            LogRecord::Unreadable(unreadable) => encode_unreadable(*unreadable, origin),
        };
        message.encode_to_vec()
    }

    /// Decodes an entry. If its fingerprint comes from another detector than `detector`, the page becomes
    /// undecidable.
    ///
    /// # Errors
    /// [`EntryError`] if the bytes come from a newer version or are broken.
    pub fn decode(bytes: &[u8], detector: &dyn Detector) -> Result<Self, EntryError> {
        let broken = |what: &str| EntryError::Broken(what.to_owned());
        let mut message =
            proto::FingerprintRecord::decode(bytes).map_err(|error| EntryError::Broken(error.to_string()))?;
        match message.format_version {
            0 => return Err(broken("no format version")),
            found if found > FORMAT_VERSION => return Err(EntryError::TooNew { found }),
            _ => {}
        }
        let Some(proto::Source { place: Some(source::Place::Topic(place)) }) = message.source.take() else {
            return Err(broken("no source"));
        };
        let topic_id = place
            .topic_id
            .map(|id| TopicId::from_bytes(&id).ok_or_else(|| broken("a topic id that is not 16 bytes long")));
        let origin = Origin {
            topic: place.topic.into(),
            partition: place.partition,
            offset: place.offset,
            epoch: place.epoch,
            previous_offset: place.previous_offset,
            timestamp_ms: place.timestamp_ms,
            topic_id: topic_id.transpose()?,
        };
        let source = Place::Message {
            topic: Arc::clone(&origin.topic),
            partition: origin.partition,
            offset: origin.offset,
            epoch: origin.epoch,
        };
        if let Some(fingerprint_record::Outcome::Unreadable(unreadable)) = message.outcome {
            let record = LogRecord::Unreadable(Box::new(decode_unreadable(unreadable, source)));
            return Ok(Self { record, origin });
        }
        let record = Self::page_from_message(message, source, detector)?;
        // Without a time, no centroid would expire while a table is restored.
        if record.log_time.is_none() {
            return Err(broken("no log time"));
        }
        Ok(Self { record: LogRecord::Page(Box::new(record)), origin })
    }

    /// Returns the page in `message`, whose version the caller has checked, and which was read at `source`. Also used for
    /// pages that are stored elsewhere than in the log. If its fingerprint comes from another detector than `detector`,
    /// the page becomes undecidable.
    ///
    /// # Errors
    /// [`EntryError::Broken`] if the message is not a valid page.
    pub fn page_from_message(
        message: proto::FingerprintRecord,
        source: Place,
        detector: &dyn Detector,
    ) -> Result<FingerprintRecord, EntryError> {
        let broken = |what: &str| EntryError::Broken(what.to_owned());
        let outcome = match message.outcome.ok_or_else(|| broken("no outcome"))? {
            fingerprint_record::Outcome::Unreadable(_) => return Err(broken("no page")),
            fingerprint_record::Outcome::Undecidable(number) => {
                Outcome::Undecidable(Reason::from_number(number).ok_or_else(|| broken("an unknown reason"))?)
            }
            fingerprint_record::Outcome::Fingerprint(fingerprint)
                if fingerprint.detector != detector.name() =>
            {
                Outcome::Undecidable(Reason::OtherDetector)
            }
            fingerprint_record::Outcome::Fingerprint(fingerprint)
                if !detector.is_fingerprint(&fingerprint.data) =>
            {
                return Err(broken("a fingerprint that its detector cannot have made"));
            }
            fingerprint_record::Outcome::Fingerprint(fingerprint) => {
                Outcome::Fingerprint(fingerprint.data.to_vec().into())
            }
        };
        let text = message.text.map(|text| {
            let digest = text.digest.as_ref().try_into().map(u128::from_be_bytes);
            digest.map(|digest| TextDigest { digest, chars: text.chars })
        });
        let text = text.transpose().map_err(|_| broken("a text digest that is not 16 bytes long"))?;
        let metadata = message.metadata.map(|metadata| decode_metadata(metadata, &message.url));
        Ok(FingerprintRecord {
            source,
            page_id: message.page_id,
            url: message.url,
            corpus: message.corpus,
            fingerprint_hash: message.fingerprint_hash,
            fetched_at: message.fetched_at_ms.and_then(Timestamp::from_ms),
            log_time: message.log_time_ms.and_then(Timestamp::from_ms),
            passthrough: message.passthrough_json,
            carried: Carried::new(
                message.carried_key.map(|key| key.to_vec()),
                message.carried_headers.into_iter().map(decode_header).collect(),
            ),
            metadata: metadata.and_then(Metadata::boxed),
            text,
            outcome,
        })
    }

    /// Returns the protobuf message of a page. Also used for pages that are stored elsewhere than in the log.
    pub fn page_message(page: FingerprintRecord, detector: &str) -> proto::FingerprintRecord {
        encode_page(page, MessageOrigin::default(), detector)
    }
}

fn encode_page(page: FingerprintRecord, origin: MessageOrigin, detector: &str) -> proto::FingerprintRecord {
    let Carried { key, headers } = page.carried.map(|carried| *carried).unwrap_or_default();
    proto::FingerprintRecord {
        format_version: FORMAT_VERSION,
        source: Some(source_message(&page.source, origin)),
        metadata: page.metadata.map(|metadata| encode_metadata(*metadata, &page.url)),
        page_id: page.page_id,
        url: page.url,
        corpus: page.corpus,
        fingerprint_hash: page.fingerprint_hash,
        fetched_at_ms: page.fetched_at.map(Timestamp::as_ms),
        log_time_ms: page.log_time.map(Timestamp::as_ms),
        passthrough_json: page.passthrough,
        carried_key: key.map(Into::into),
        carried_headers: headers.into_iter().map(encode_header).collect(),
        text: page.text.map(|text| proto::TextDigest {
            digest: text.digest.to_be_bytes().to_vec().into(),
            chars: text.chars,
        }),
        outcome: Some(match page.outcome {
            Outcome::Fingerprint(data) => fingerprint_record::Outcome::Fingerprint(proto::Fingerprint {
                detector: detector.to_owned(),
                data: data.into_vec().into(),
            }),
            Outcome::Undecidable(reason) => fingerprint_record::Outcome::Undecidable(reason.number()),
        }),
    }
}

/// Encodes metadata of a page with this `url`. A canonical link to the page itself is stored as a flag, to
/// save space.
fn encode_metadata(metadata: Metadata, url: &str) -> proto::Metadata {
    let message = metadata_message(metadata);
    let is_url = message.canonical_link.as_deref() == Some(url);
    proto::Metadata {
        canonical_link: message.canonical_link.filter(|_| !is_url),
        canonical_link_is_url: is_url,
        ..message
    }
}

fn decode_metadata(message: proto::Metadata, url: &str) -> Metadata {
    Metadata {
        publisher: message.publisher,
        credit_line: message.credit_line,
        authors: message.authors,
        published_at: message.published_at.and_then(|text| PublicationTime::from_iso_8601(&text)),
        canonical_link: match message.canonical_link_is_url {
            true => Some(url.to_owned()),
            false => message.canonical_link,
        },
        site_name: message.site_name,
        language: message.language,
    }
}

/// Encodes metadata completely, for messages from which the page's url cannot be filled in.
pub(crate) fn metadata_message(metadata: Metadata) -> proto::Metadata {
    proto::Metadata {
        publisher: metadata.publisher,
        credit_line: metadata.credit_line,
        authors: metadata.authors,
        published_at: metadata.published_at.map(|time| time.to_string()),
        canonical_link: metadata.canonical_link,
        canonical_link_is_url: false,
        site_name: metadata.site_name,
        language: metadata.language,
    }
}

fn encode_header((name, value): (String, Option<Vec<u8>>)) -> proto::Header {
    proto::Header { name, value: value.map(Into::into) }
}

fn decode_header(header: proto::Header) -> (String, Option<Vec<u8>>) {
    (header.name, header.value.map(|value| value.to_vec()))
}

fn encode_unreadable(unreadable: Unreadable, origin: MessageOrigin) -> proto::FingerprintRecord {
    let Received { key, headers, .. } = unreadable.received.map(|received| *received).unwrap_or_default();
    proto::FingerprintRecord {
        format_version: FORMAT_VERSION,
        source: Some(source_message(&unreadable.source, origin)),
        outcome: Some(fingerprint_record::Outcome::Unreadable(proto::Unreadable {
            cause: unreadable.cause.to_string(),
            message: unreadable.message,
            raw: unreadable.raw.map(Into::into),
            raw_bytes: unreadable.raw_bytes,
            key: key.map(Into::into),
            headers: headers.into_iter().map(encode_header).collect(),
        })),
        ..proto::FingerprintRecord::default()
    }
}

fn decode_unreadable(message: proto::Unreadable, source: Place) -> Unreadable {
    Unreadable {
        source,
        cause: Cause::from_word(&message.cause),
        message: message.message,
        raw: message.raw.map(|raw| raw.to_vec()),
        raw_bytes: message.raw_bytes,
        received: Some(Box::new(Received {
            key: message.key.map(|key| key.to_vec()),
            headers: message.headers.into_iter().map(decode_header).collect(),
            log_time: None,
        })),
    }
}

/// Encodes a place. The fields in `origin` apply only to messages of a topic.
pub(crate) fn source_message(place: &Place, origin: MessageOrigin) -> proto::Source {
    let file =
        |input: &str, number| source::Place::File(proto::FilePlace { input: input.to_owned(), number });
    let place = match place {
        Place::Line { input, line } => file(input, *line),
        Place::Record { input, record } => file(input, *record),
        Place::Message { topic, partition, offset, epoch } => source::Place::Topic(proto::TopicPlace {
            topic: topic.to_string(),
            partition: *partition,
            offset: *offset,
            epoch: *epoch,
            previous_offset: origin.previous_offset,
            timestamp_ms: origin.timestamp_ms,
            topic_id: origin.topic_id.map(|id| id.to_bytes().to_vec().into()),
        }),
    };
    proto::Source { place: Some(place) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use leitong_fingerprint::detectors::simhash::SimHashConfig;

    fn place() -> Place {
        Place::Message { topic: "pages".into(), partition: 3, offset: 7, epoch: 2 }
    }

    fn page(outcome: Outcome) -> LogRecord {
        LogRecord::Page(Box::new(FingerprintRecord {
            source: place(),
            page_id: "id".into(),
            url: "http://a/".into(),
            corpus: "default".into(),
            fingerprint_hash: 42,
            fetched_at: Timestamp::from_ms(5),
            log_time: Timestamp::from_ms(6),
            passthrough: Some("{}".into()),
            carried: Carried::new(Some(vec![0xff]), vec![("traceparent".into(), Some(b"00-1".to_vec()))]),
            metadata: metadata().boxed(),
            text: Some(TextDigest { digest: 1 << 100, chars: 9 }),
            outcome,
        }))
    }

    fn metadata() -> Metadata {
        Metadata {
            publisher: Some("新华社".into()),
            credit_line: Some("来源：新华社".into()),
            authors: vec!["Jane Doe".into(), "邹伟".into()],
            published_at: PublicationTime::from_iso_8601("2026-11-21T08:00+08:00"),
            canonical_link: Some("http://a/".into()),
            site_name: Some("A".into()),
            language: Some("zh-CN".into()),
        }
    }

    /// Returns a fingerprint whose length the detector accepts.
    fn fingerprint(detector: &dyn Detector) -> Outcome {
        let bytes = (1..1000).map(|length| vec![7; length]).find(|bytes| detector.is_fingerprint(bytes));
        Outcome::Fingerprint(bytes.expect("some length is right").into())
    }

    fn unreadable() -> LogRecord {
        LogRecord::Unreadable(Box::new(Unreadable {
            source: place(),
            cause: Cause::BrokenJson,
            message: "no".into(),
            raw: Some(vec![0xff, 0]),
            raw_bytes: 2,
            received: Some(Box::new(Received {
                key: Some(vec![1]),
                headers: vec![("a".into(), None), ("a".into(), Some(vec![]))],
                log_time: None,
            })),
        }))
    }

    #[test]
    fn reads_what_it_writes() {
        let detector =
            Box::new(leitong_fingerprint::detectors::simhash::SimHash::new(&SimHashConfig::default()));
        let reasons = Reason::ALL.map(|reason| page(Outcome::Undecidable(reason)));
        let mut records = vec![page(fingerprint(&*detector)), unreadable()];
        records.extend(reasons);
        for (record, previous_offset) in records.into_iter().zip([None, Some(0), Some(6)].into_iter().cycle())
        {
            // Records written before topic ids were introduced have no id.
            let topic_id = previous_offset.and_then(|_| TopicId::from_bytes(&[7; 16]));
            let origin = MessageOrigin { previous_offset, timestamp_ms: Some(12), topic_id };
            let entry = Entry::decode(&Entry::encode(record.clone(), origin, "simhash"), &*detector);
            let origin = Origin {
                topic: "pages".into(),
                partition: 3,
                offset: 7,
                epoch: 2,
                previous_offset,
                timestamp_ms: Some(12),
                topic_id,
            };
            assert_eq!(entry, Ok(Entry { record, origin }));
        }
    }

    #[test]
    fn a_canonical_link_to_the_page_itself_is_not_written_twice() {
        let own = encode_metadata(metadata(), "http://a/");
        assert_eq!((&own.canonical_link, own.canonical_link_is_url), (&None, true));
        assert_eq!(decode_metadata(own, "http://a/"), metadata());
        let other = encode_metadata(metadata(), "http://b/");
        assert_eq!(other.canonical_link.as_deref(), Some("http://a/"));
        assert_eq!(decode_metadata(other, "http://b/"), metadata());
        // A date that another program wrote in an unknown format is dropped.
        let odd = proto::Metadata { published_at: Some("yesterday".into()), ..proto::Metadata::default() };
        assert_eq!(decode_metadata(odd, "").boxed(), None);
    }

    /// Records written by older versions lack these fields.
    #[test]
    fn absent_headers_and_metadata_take_no_bytes() {
        let detector =
            Box::new(leitong_fingerprint::detectors::simhash::SimHash::new(&SimHashConfig::default()));
        let LogRecord::Page(with) = page(Outcome::Undecidable(Reason::NoText)) else { panic!("a page") };
        let without = FingerprintRecord { carried: None, metadata: None, ..*with };
        let record = LogRecord::Page(Box::new(without));
        let bytes = Entry::encode(record.clone(), MessageOrigin::default(), "simhash");
        let mut old = proto::FingerprintRecord::decode(&*bytes).expect("a message");
        assert_eq!((old.carried_key.take(), old.carried_headers.len(), old.metadata.take()), (None, 0, None));
        assert_eq!(old.encode_to_vec(), bytes);
        assert_eq!(Entry::decode(&bytes, &*detector).expect("an entry").record, record);
    }

    /// A change that breaks a record.
    type Change = fn(&mut proto::FingerprintRecord);

    #[test]
    fn names_the_fault_of_a_broken_record() {
        let detector = leitong_fingerprint::detectors::simhash::SimHash::new(&SimHashConfig::default());
        let good = Entry::encode(page(fingerprint(&detector)), MessageOrigin::default(), "simhash");
        let good = proto::FingerprintRecord::decode(&*good).expect("a message");
        let broken: [(Change, &str); 8] = [
            (|record| record.format_version = 0, "no format version"),
            (|record| record.source = None, "no source"),
            (|record| record.outcome = None, "no outcome"),
            (
                |record| record.outcome = Some(fingerprint_record::Outcome::Undecidable(99)),
                "an unknown reason",
            ),
            (|record| record.log_time_ms = None, "no log time"),
            (
                |record| match record.source.as_mut() {
                    Some(proto::Source { place: Some(source::Place::Topic(place)) }) => {
                        place.topic_id = Some(vec![1; 15].into());
                    }
                    other => panic!("{other:?}"),
                },
                "a topic id that is not 16 bytes long",
            ),
            (|record| record.text.as_mut().expect("a text").digest.truncate(15), "a text digest"),
            (
                |record| match record.outcome.as_mut() {
                    Some(fingerprint_record::Outcome::Fingerprint(made)) => made.data.clear(),
                    other => panic!("{other:?}"),
                },
                "a fingerprint that its detector cannot have made",
            ),
        ];
        for (change, told) in broken {
            let mut record = good.clone();
            change(&mut record);
            let error = Entry::decode(&record.encode_to_vec(), &detector).expect_err(told);
            assert!(error.to_string().contains(told), "{told}: {error}");
        }
    }

    #[test]
    fn distinguishes_newer_records_from_broken_ones() {
        let detector =
            Box::new(leitong_fingerprint::detectors::simhash::SimHash::new(&SimHashConfig::default()));
        let good = Entry::encode(page(fingerprint(&*detector)), MessageOrigin::default(), "simhash");
        let mut message = proto::FingerprintRecord::decode(&*good).expect("a message");
        message.format_version = 99;
        assert_eq!(
            Entry::decode(&message.encode_to_vec(), &*detector),
            Err(EntryError::TooNew { found: 99 })
        );
        for length in 0..good.len() {
            // Must not panic. Some prefixes are valid messages.
            let _ = Entry::decode(&good[..length], &*detector);
        }
        assert!(matches!(Entry::decode(b"{}", &*detector), Err(EntryError::Broken(_))));
        assert!(matches!(Entry::decode(b"", &*detector), Err(EntryError::Broken(_))));
        let other = Entry::encode(
            page(Outcome::Fingerprint(vec![7; 8].into())),
            MessageOrigin::default(),
            "paragraph",
        );
        let LogRecord::Page(page) = Entry::decode(&other, &*detector).expect("an entry").record else {
            panic!("a page");
        };
        assert_eq!(page.outcome, Outcome::Undecidable(Reason::OtherDetector));
    }
}
