//! The wire formats of `proto/leitong/v1`, as prost generates them.

include!(concat!(env!("OUT_DIR"), "/leitong.v1.rs"));

/// What an exporter of spans sends: the part of OpenTelemetry's protocol that is in `proto/leitong/otlp`.
pub(crate) mod otlp {
    #![allow(missing_docs, unreachable_pub, reason = "generated; the protocol describes it")]

    include!(concat!(env!("OUT_DIR"), "/leitong.otlp.rs"));
}

/// Written into every record; a reader stops at a newer one.
pub const FORMAT_VERSION: u32 = 1;
/// The same of the changelog and of its snapshots. Since 2 centroids have numbers, and nothing
/// deletes them but their age: an older reader would take all that ever were for the table.
pub const CHANGELOG_FORMAT_VERSION: u32 = 2;
/// The same of what names pages that stand for clusters in place of those that founded them: an
/// older reader would not know whom verdicts are to name.
pub const CHANGELOG_CANONICAL_FORMAT_VERSION: u32 = 3;
/// The same of what is known of urls that were crawled: an older reader would take a page for new,
/// or for a copy of one that is gone.
pub const CHANGELOG_CRAWLS_FORMAT_VERSION: u32 = 4;
/// The newest that this version knows.
pub const CHANGELOG_FORMAT_VERSION_MAX: u32 = CHANGELOG_CRAWLS_FORMAT_VERSION;
