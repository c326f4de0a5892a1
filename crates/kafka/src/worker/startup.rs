//! Compares the settings with those that the tables were written with. This happens at the start, before the
//! instance joins a group. Otherwise an instance that could serve no table would count as ready.
//!
//! The settings `corpus.*` decide which log partition a page goes to. They must not change while pages are in
//! flight: a page that is sent again could go to another partition, and count in both.

use super::{Accepted, positions};
use crate::kafka::error::{Result, refused};
use crate::kafka::identity::TopicWatch;
use leitong_cluster::changelog::ChangelogRecord;
use leitong_pipeline::FingerprintStage;
use leitong_pipeline::config::Config;

/// Refuses settings that the tables were not made with.
///
/// # Errors
/// A setting differs and the difference is not accepted, or the broker does not answer.
pub(super) fn refuse_another(
    config: &Config,
    stage: &FingerprintStage,
    topics: &TopicWatch,
    log_partitions: u32,
    accepted: Accepted,
) -> Result<()> {
    for partition in 0..log_partitions {
        let Some(found) = positions::last(config, partition)? else { continue };
        if found.format_version > ChangelogRecord::FORMAT_VERSION_MAX {
            continue; // its owner reports this, and which instance needs an update
        }
        let settings = (&**stage.detector(), stage.fingerprint_hash());
        let identity = config.table_identity(settings, (partition, log_partitions), topics.ids());
        identity
            .check(&found, accepted.cluster_hash)
            .map_err(|error| refused!("log partition {partition}: {error}"))?;
        let same_corpus = found.corpus_hash.is_none_or(|hash| hash == identity.corpus_hash);
        if log_partitions > 1 && !accepted.corpus_change && !same_corpus {
            return Err(refused!(
                "the settings corpus.* have changed, so a page in flight could count in two of the \
             {log_partitions} partitions of the log. Restore the old settings; or stop all fingerprint \
             workers, wait until the log is drained, and start all instances once with `leitong run \
             --accept-corpus-change`"
            ));
        }
    }
    Ok(())
}
