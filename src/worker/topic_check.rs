//! Checks the topics again and again while the worker runs, since somebody may change, delete or recreate them.
//!
//! In: the settings. Out: an error in the log and a metric for each difference from the requirements. Topics whose
//! offsets matter are watched by their ids ([`TopicWatch`](crate::kafka::identity::TopicWatch)), and halt a stage; here
//! nothing is halted, because a setting that is changed back costs nothing. Cost: a dozen requests per interval.

use std::time::Duration;

use super::stop::Stop;
use crate::config::KafkaConfig;
use crate::kafka::topic_id::Described;
use crate::kafka::topics::{HEARD_WITHIN, Topics};
use crate::telemetry::metrics;

/// Interval between two checks.
const INTERVAL: Duration = Duration::from_secs(20);

/// Checks the topics until `stop` is raised.
pub(super) fn run(config: &KafkaConfig, stop: &Stop) {
    let outputs = [&config.topics.verdicts, &config.topics.dead_letters];
    let mut known = [Described::Missing; 2];
    loop {
        // The clients of the stages report that brokers do not answer. An instance without a cluster stage may lack
        // the right to describe the outputs.
        match Topics::new(config).and_then(|topics| Ok((topics.check(HEARD_WITHIN)?.0, topics.output_ids())))
        {
            Ok((differences, ids)) => {
                metrics::topics_wrong(differences.len());
                for difference in differences {
                    tracing::error!("a topic is no longer as required: {difference}");
                }
                for (topic, (known, found)) in
                    outputs.iter().zip(known.iter_mut().zip(ids.unwrap_or_default()))
                {
                    if is_another(known, &found) {
                        tracing::error!(
                            "topic {topic}: everything that was in it is gone, because it was deleted and created \
                             again; what follows is written to the new topic. `leitong replay` prints the verdicts \
                             and dead letters of the log again"
                        );
                    }
                    if found != Described::Missing {
                        *known = found;
                    }
                }
            }
            Err(error) => tracing::debug!("the topics cannot be checked now: {error:#}"),
        }
        if stop.wait(INTERVAL) {
            return;
        }
    }
}

/// Returns true if two answers are about different topics of one name.
fn is_another(known: &Described, found: &Described) -> bool {
    matches!((known, found), (Described::Id(known), Described::Id(found)) if known != found)
}
