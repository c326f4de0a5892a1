//! The header that names the log record of a verdict or dead letter. It attributes the message to its record,
//! even if the transaction is no longer known, and whatever the format of the value.

use std::fmt;
use std::str::FromStr;

/// Name of the header.
pub const LOG_ORIGIN: &str = "leitong.log";

/// A record of the log. Its text form is `partition@offset`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogOrigin {
    /// The partition of the log.
    pub partition: u32,
    /// The offset in the partition.
    pub offset: u64,
}

impl fmt::Display for LogOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.partition, self.offset)
    }
}

impl FromStr for LogOrigin {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (partition, offset) = text.split_once('@').ok_or(())?;
        Ok(Self { partition: partition.parse().map_err(drop)?, offset: offset.parse().map_err(drop)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_written_and_parsed_back() {
        let origin = LogOrigin { partition: 3, offset: u64::MAX };
        assert_eq!(origin.to_string().parse(), Ok(origin));
        for broken in ["", "3", "3@", "@7", "3@-1", "3@7@7", "x@7"] {
            assert_eq!(broken.parse::<LogOrigin>(), Err(()), "{broken:?}");
        }
    }
}
