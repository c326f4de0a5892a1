//! Checks the topics again and again while the worker runs, since somebody may change, delete or recreate them.
//!
//! In: the settings. Out: an error in the log and a metric for each difference from the requirements. Topics whose
//! offsets matter are watched by their ids ([`TopicWatch`](crate::kafka::identity::TopicWatch)), and halt a stage; here
//! nothing is halted, because a setting that is changed back costs nothing. Cost: two clients and a dozen requests per
//! interval.

use std::time::Duration;

use super::stop::Stop;
use crate::kafka::error::Result;
use crate::kafka::topic_id::Described;
use crate::kafka::topics::{HEARD_WITHIN, Topics};
use leitong_base::error::StepError;
use leitong_graph::telemetry::metrics;
use leitong_pipeline::config::KafkaConfig;

/// Interval between two checks.
const INTERVAL: Duration = Duration::from_secs(20);

/// Checks the topics until `stop` is raised.
pub(super) fn run(config: &KafkaConfig, stop: &Stop) {
    let mut known = [Described::Missing; 2];
    loop {
        // New clients each time, since one that rests in between would keep taking a dead broker for the controller. The
        // clients of the stages report that brokers do not answer.
        if let Err(error) = Topics::new(config).and_then(|topics| check(&topics, config, &mut known)) {
            tracing::debug!("the topics cannot be checked now: {}", StepError::with_causes(&error));
        }
        if stop.wait(INTERVAL) {
            return;
        }
    }
}

/// Checks the topics once. `known` holds what was found out about the topics of verdicts and dead letters before.
fn check(topics: &Topics<'_>, config: &KafkaConfig, known: &mut [Described; 2]) -> Result<()> {
    let (differences, _) = topics.check(HEARD_WITHIN)?;
    metrics::TOPICS_WRONG.set(differences.len() as f64);
    for difference in differences {
        tracing::error!("a topic is no longer as required: {difference}");
    }
    // An instance without a cluster stage may lack the right to describe the outputs.
    let found = topics.output_ids().unwrap_or_default();
    let outputs = [&config.topics.verdicts, &config.topics.dead_letters];
    for (topic, (known, found)) in outputs.iter().zip(known.iter_mut().zip(found)) {
        if is_another(known, &found) {
            tracing::error!(
                "topic {topic}: everything that was in it is gone, because it was deleted and created again; what \
                 follows is written to the new topic. `leitong replay` prints the verdicts and dead letters of the log \
                 again"
            );
        }
        if found != Described::Missing {
            *known = found;
        }
    }
    Ok(())
}

/// Returns true if two answers are about different topics of one name.
fn is_another(known: &Described, found: &Described) -> bool {
    matches!((known, found), (Described::Id(known), Described::Id(found)) if known != found)
}
