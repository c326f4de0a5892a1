//! Parses Kafka's frames as far as the proxy needs: four bytes of length, then a header.

use std::io::{self, ErrorKind, Read};

/// The kind of a request (`apiKey` in Kafka's message definitions).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Api(pub(crate) i16);

impl Api {
    pub(crate) const PRODUCE: Self = Self(0);
    pub(crate) const FETCH: Self = Self(1);
    pub(crate) const LIST_OFFSETS: Self = Self(2);
    pub(crate) const METADATA: Self = Self(3);
    pub(crate) const OFFSET_COMMIT: Self = Self(8);
    pub(crate) const OFFSET_FETCH: Self = Self(9);
    pub(crate) const FIND_COORDINATOR: Self = Self(10);
    pub(crate) const JOIN_GROUP: Self = Self(11);
    pub(crate) const HEARTBEAT: Self = Self(12);
    pub(crate) const SYNC_GROUP: Self = Self(14);
    pub(crate) const INIT_PRODUCER_ID: Self = Self(22);
    pub(crate) const ADD_PARTITIONS_TO_TXN: Self = Self(24);
    pub(crate) const ADD_OFFSETS_TO_TXN: Self = Self(25);
    pub(crate) const END_TXN: Self = Self(26);
    pub(crate) const TXN_OFFSET_COMMIT: Self = Self(28);

    pub(crate) fn name(self) -> String {
        let name = match self {
            Self::PRODUCE => "Produce",
            Self::FETCH => "Fetch",
            Self::LIST_OFFSETS => "ListOffsets",
            Self::METADATA => "Metadata",
            Self::OFFSET_COMMIT => "OffsetCommit",
            Self::OFFSET_FETCH => "OffsetFetch",
            Self::FIND_COORDINATOR => "FindCoordinator",
            Self::JOIN_GROUP => "JoinGroup",
            Self::HEARTBEAT => "Heartbeat",
            Self::SYNC_GROUP => "SyncGroup",
            Self::INIT_PRODUCER_ID => "InitProducerId",
            Self::ADD_PARTITIONS_TO_TXN => "AddPartitionsToTxn",
            Self::ADD_OFFSETS_TO_TXN => "AddOffsetsToTxn",
            Self::END_TXN => "EndTxn",
            Self::TXN_OFFSET_COMMIT => "TxnOffsetCommit",
            Self(other) => return format!("api {other}"),
        };
        name.to_owned()
    }
}

/// A request's header.
#[derive(Debug)]
pub(crate) struct Header<'a> {
    pub(crate) api: Api,
    pub(crate) version: i16,
    pub(crate) correlation: i32,
    pub(crate) client: &'a str,
}

impl<'a> Header<'a> {
    /// Parses the header of a frame, which includes its length; `None` if it is not a request.
    pub(crate) fn parse(frame: &'a [u8]) -> Option<Self> {
        let number = |at: usize| Some(i16::from_be_bytes(frame.get(at..at + 2)?.try_into().ok()?));
        let length = usize::try_from(number(12)?).unwrap_or(0);
        Some(Self {
            api: Api(number(4)?),
            version: number(6)?,
            correlation: correlation(frame.get(4..)?)?,
            client: std::str::from_utf8(frame.get(14..14 + length)?).ok()?,
        })
    }
}

/// Returns the correlation id of a response, which follows its length.
pub(crate) fn correlation_id(frame: &[u8]) -> Option<i32> {
    correlation(frame)
}

fn correlation(bytes: &[u8]) -> Option<i32> {
    // Before the id, a response has its length, a request its key and version: four bytes either way.
    Some(i32::from_be_bytes(bytes.get(4..8)?.try_into().ok()?))
}

/// Returns the error code of a response in which it directly follows the throttle time.
pub(crate) fn error_code(api: Api, version: i16, frame: &[u8]) -> Option<i16> {
    let flexible = match api {
        Api::END_TXN | Api::ADD_OFFSETS_TO_TXN => version >= 3,
        Api::INIT_PRODUCER_ID => version >= 2,
        _ => return None,
    };
    let at = 12 + usize::from(flexible);
    Some(i16::from_be_bytes(frame.get(at..at + 2)?.try_into().ok()?))
}

/// Reads the next frame, with its length; `None` at the end.
pub(crate) fn read_frame(mut stream: impl Read) -> io::Result<Option<Vec<u8>>> {
    let mut frame = vec![0; 4];
    match stream.read_exact(&mut frame) {
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
        other => other?,
    }
    let length = u32::from_be_bytes([frame[0], frame[1], frame[2], frame[3]]) as usize;
    if length > 100 << 20 {
        return Err(io::Error::new(ErrorKind::InvalidData, "no frame of Kafka's"));
    }
    frame.resize(4 + length, 0);
    stream.read_exact(&mut frame[4..])?;
    Ok(Some(frame))
}
