//! `leitong run`: the Kafka worker.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};

use super::settings::{self, wrong};
use crate::fingerprint::{BASELINES, DETECTORS};
use crate::pipeline::worker::{self, Accepted, Roles};

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Which half to run
    #[arg(long, value_enum, default_value_t = Role::All)]
    role: Role,
    /// Configuration file (see `leitong config example`)
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Where to serve /livez, /readyz and /metrics, in place of admin.address; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS")]
    admin: Option<String>,
    /// Go on with these settings of clustering where the table was made with others
    #[arg(long, value_name = "HASH", value_parser = hash)]
    accept_cluster_hash: Option<u64>,
    /// Go on behind records of the log that retention deleted before they were clustered
    #[arg(long)]
    accept_lost_records: bool,
    /// Go on with other settings of `corpus.*`, where the log has several partitions and no page is in flight
    #[arg(long)]
    accept_corpus_change: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Role {
    /// From pages to the fingerprint log; any number of instances
    Fingerprint,
    /// From the log to verdicts; one instance a log partition is active, others stand by
    Cluster,
    /// Both
    All,
}

fn hash(text: &str) -> Result<u64, String> {
    u64::from_str_radix(text, 16).map_err(|_| "16 hex digits, as the refusal names them".to_owned())
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let mut config = settings::config(arguments.config.as_deref(), None, None)?;
    if BASELINES.contains(&&*config.detector) {
        return Err(wrong(format_args!(
            "detector = {:?}: is there for comparison, in dedup, compare, eval and tune; run takes {}",
            config.detector,
            DETECTORS
                .iter()
                .map(|(name, _)| *name)
                .filter(|name| !BASELINES.contains(name))
                .collect::<Vec<_>>()
                .join(", ")
        )));
    }
    if let Some(admin) = &arguments.admin {
        config.admin.address.clone_from(admin);
    }
    let roles = match arguments.role {
        Role::Fingerprint => Roles { fingerprint: true, cluster: false },
        Role::Cluster => Roles { fingerprint: false, cluster: true },
        Role::All => Roles { fingerprint: true, cluster: true },
    };
    let accepted = Accepted {
        cluster_hash: arguments.accept_cluster_hash,
        lost_records: arguments.accept_lost_records,
        corpus_change: arguments.accept_corpus_change,
    };
    worker::run(config, roles, accepted)?;
    Ok(ExitCode::SUCCESS)
}
