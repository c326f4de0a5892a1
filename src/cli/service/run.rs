//! `leitong run`: the Kafka worker.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};

use crate::cli::files::documents;
use crate::cli::settings::{self, wrong};
use leitong_base::terminal;
use leitong_kafka::{Accepted, Finding, Grade, Roles, check};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  leitong config example > leitong.toml && leitong topics create --config leitong.toml
  leitong run --config leitong.toml
  leitong run --config leitong.toml --check
  leitong run --config leitong.toml --role fingerprint --log-format json")]
pub(crate) struct Arguments {
    /// Stage to run
    #[arg(long, value_enum, default_value_t = Role::All)]
    role: Role,
    /// Configuration file (see `leitong config example`)
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Address for /livez, /readyz and /metrics, instead of admin.address; port 0 picks a free port
    #[arg(long, value_name = "ADDRESS")]
    admin: Option<String>,
    /// Check whether the worker would start, and exit: settings, admin port, brokers, topics, permissions,
    /// tables, memory. The exit status is 1 if the worker would refuse to start
    #[arg(long)]
    check: bool,
    /// Continue with clustering settings that differ from those of the table. HASH is in the error that asks
    /// for this option
    #[arg(long, value_name = "HASH", value_parser = hash)]
    accept_cluster_hash: Option<u64>,
    /// Continue after records of the log that retention deleted before they were clustered. These records get
    /// no verdict
    #[arg(long)]
    accept_lost_records: bool,
    /// Continue with changed settings of `corpus.*` if the log has several partitions. No page may be in
    /// flight
    #[arg(long)]
    accept_corpus_change: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Role {
    /// From pages to the fingerprint log; any number of instances
    Fingerprint,
    /// From the log to verdicts; each log partition has one active instance, others stand by
    Cluster,
    /// Both stages
    All,
}

fn hash(text: &str) -> Result<u64, String> {
    u64::from_str_radix(text, 16)
        .map_err(|_| "must be 16 hexadecimal digits, as in the error that asks for it".to_owned())
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let mut config = settings::kafka_config(arguments.config.as_deref())?;
    if let Some(admin) = &arguments.admin {
        config.admin.address.clone_from(admin);
        if let Some(fault) = config.admin.fault() {
            return Err(wrong(fault.replacen("admin.address =", "--admin", 1)));
        }
    }
    if let [first, ..] = &leitong_kafka::faults(&config.kafka)[..] {
        return Err(wrong(first));
    }
    let roles = match arguments.role {
        Role::Fingerprint => Roles { fingerprint: true, cluster: false },
        Role::Cluster => Roles { fingerprint: false, cluster: true },
        Role::All => Roles { fingerprint: true, cluster: true },
    };
    let folder = config.kafka.snapshots.dir.as_deref();
    if let Some(fault) = config.table.fault_of_worker(folder).filter(|_| roles.cluster) {
        return Err(wrong(fault));
    }
    let accepted = Accepted {
        cluster_hash: arguments.accept_cluster_hash,
        lost_records: arguments.accept_lost_records,
        corpus_change: arguments.accept_corpus_change,
    };
    if arguments.check {
        return report(&check(&config, roles, accepted));
    }
    leitong_kafka::run(config, roles, accepted)?;
    Ok(ExitCode::SUCCESS)
}

/// Formats a finding as one line.
pub(crate) fn format_finding(Finding { grade, what, text }: &Finding) -> String {
    let grade = match grade {
        Grade::Right => "ok",
        Grade::Warning => "warning",
        Grade::Refused => "refused",
    };
    format!("{grade:<8} {what:<10} {}", terminal::escape_lines(text))
}

fn report(findings: &[Finding]) -> anyhow::Result<ExitCode> {
    for finding in findings {
        documents::print(&format!("{}\n", format_finding(finding)))?;
    }
    let refused = findings.iter().any(|finding| finding.grade == Grade::Refused);
    Ok(if refused { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
