//! Decides where an owner continues in the log, from the group's committed offset, the changelog's position,
//! and the log's bounds. Pure.
//!
//! Committed offset and position are written in one transaction, so they agree unless someone interfered. If
//! they differ, the owner halts: a fresh start would silently write some verdicts twice or omit some.

use thiserror::Error;

/// The known offsets of one log partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct KnownOffsets {
    /// The group's committed offset.
    pub(super) committed: Option<u64>,
    /// The next log offset in the last position record.
    pub(super) position: Option<u64>,
    /// The number of founded centroids, and the number that was read, if that is smaller.
    pub(super) missing: Option<(u64, u64)>,
    /// The first offset in the log.
    pub(super) log_start: u64,
    /// The offset after the last record in the log.
    pub(super) log_end: u64,
}

/// The reason why an owner halts instead of continuing.
#[derive(Debug, Error, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The changelog ends before the group's committed offset.
    #[error(
        "the group has committed offset {committed} of the log, and the changelog ends at {position}: the \
         table would lack the records in between, which may be lost after an unclean leader election or \
         with an old copy. Do not reset the group's offset: pages would get two verdicts. See `Rebuilding a \
         table` in docs/kafka.md"
    )]
    ChangelogShorter {
        /// The group's committed offset.
        committed: u64,
        /// The position in the changelog.
        position: u64,
    },
    /// The group's offset was changed.
    #[error(
        "the group has committed offset {committed} of the log and the changelog says {position}: the \
         group's offset was reset or restored; set it to {position} (kafka-consumer-groups --reset-offsets \
         --to-offset {position}). To process pages again, raise kafka.epoch instead"
    )]
    GroupReset {
        /// The group's committed offset.
        committed: u64,
        /// The position in the changelog.
        position: u64,
    },
    /// Fewer centroids were read from the changelog than its position record counts.
    #[error(
        "the changelog says that {founded} centroids were founded, and ends after {read} of them: its last \
         records may be lost after an unclean leader election. Do not reset the group's offset: pages would \
         get two verdicts. See `Rebuilding a table` in docs/kafka.md"
    )]
    TailMissing {
        /// The number in the position record.
        founded: u64,
        /// The number that was read.
        read: u64,
    },
    /// The changelog is empty.
    #[error(
        "the group has committed offset {committed} of the log, and the changelog is empty: the centroid table is \
         lost; see `Rebuilding a table` in docs/kafka.md"
    )]
    ChangelogLost {
        /// The group's committed offset.
        committed: u64,
    },
    /// Records of the log were deleted before they were read.
    #[error(
        "the log begins at offset {log_start}, but {next} is the next to read: the records in between were \
         deleted by retention before they were clustered. Raise kafka.epoch to process all pages again, or \
         continue without verdicts on them with `leitong run --accept-lost-records`"
    )]
    RecordsLost {
        /// The next offset to read.
        next: u64,
        /// The first offset in the log.
        log_start: u64,
    },
    /// The log ends before the next offset to read.
    #[error(
        "the log ends at offset {log_end}, but {next} is the next to read: the log was deleted, recreated or \
         truncated. Start over with new topics for the log, the verdicts and the changelog, and raise kafka.epoch"
    )]
    LogShorter {
        /// The next offset to read.
        next: u64,
        /// The offset at the end of the log.
        log_end: u64,
    },
}

impl Refusal {
    /// Returns true if the refusal may be transient: a newly elected leader or coordinator may not know yet
    /// what was committed.
    pub(super) fn may_pass(&self) -> bool {
        !matches!(self, Self::RecordsLost { .. })
    }
}

/// Returns the log offset to continue at.
///
/// # Errors
/// [`Refusal`] if the offsets do not agree.
pub(super) fn resume_at(known: KnownOffsets, accept_lost_records: bool) -> Result<u64, Refusal> {
    let KnownOffsets { committed, position, missing, log_start, log_end } = known;
    if let Some((founded, read)) = missing {
        return Err(Refusal::TailMissing { founded, read });
    }
    let next = match (committed, position) {
        (Some(committed), Some(position)) if committed > position => {
            return Err(Refusal::ChangelogShorter { committed, position });
        }
        (Some(committed), Some(position)) if committed < position => {
            return Err(Refusal::GroupReset { committed, position });
        }
        (Some(committed), None) => return Err(Refusal::ChangelogLost { committed }),
        // The group's offset may expire, but the changelog does not.
        (_, Some(position)) => position,
        (None, None) => 0,
    };
    if next > log_end {
        return Err(Refusal::LogShorter { next, log_end });
    }
    if next < log_start && !accept_lost_records {
        return Err(Refusal::RecordsLost { next, log_start });
    }
    Ok(next.max(log_start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partition_continues_only_where_group_log_and_changelog_agree() {
        let at = |committed, position, log_start| {
            resume_at(KnownOffsets { committed, position, missing: None, log_start, log_end: 100 }, false)
        };
        assert_eq!(at(None, None, 0), Ok(0), "the first start");
        assert_eq!(at(Some(7), Some(7), 3), Ok(7));
        assert_eq!(at(None, Some(7), 0), Ok(7), "the committed offset has expired");
        assert_eq!(at(Some(8), Some(7), 0), Err(Refusal::ChangelogShorter { committed: 8, position: 7 }));
        assert_eq!(at(Some(6), Some(7), 0), Err(Refusal::GroupReset { committed: 6, position: 7 }));
        assert_eq!(at(Some(8), None, 0), Err(Refusal::ChangelogLost { committed: 8 }));
        assert_eq!(at(Some(7), Some(7), 8), Err(Refusal::RecordsLost { next: 7, log_start: 8 }));
        assert_eq!(at(None, None, 8), Err(Refusal::RecordsLost { next: 0, log_start: 8 }));
        assert_eq!(at(Some(101), Some(101), 0), Err(Refusal::LogShorter { next: 101, log_end: 100 }));
        let known =
            KnownOffsets { committed: Some(7), position: Some(7), missing: None, log_start: 8, log_end: 100 };
        assert_eq!(resume_at(known, true), Ok(8));
        // Without a committed offset, nothing else would show that records are missing.
        let known = KnownOffsets { committed: None, missing: Some((9, 8)), ..known };
        let missing = Refusal::TailMissing { founded: 9, read: 8 };
        assert_eq!(resume_at(known, true), Err(missing));
        assert!(missing.may_pass());
    }
}
