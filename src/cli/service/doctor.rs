//! `leitong doctor`: prints a report to attach to a bug.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use serde_json::Value;

use crate::cli::files::documents;
use crate::cli::service::run;
use crate::cli::settings::{self, Wrong};
use crate::formats::{FORMATS, Format, VERDICT, Versions};
use leitong_base::terminal;
use leitong_graph::thread_count;
use leitong_kafka::{Accepted, Limits, Roles, check};
use leitong_pipeline::FingerprintStage;
use leitong_pipeline::config::{Config, redact};

/// Settings whose values may be secrets, and are left out.
const NOT_SHOWN: [&str; 1] = ["kafka.properties"];

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  leitong doctor --config leitong.toml > report.txt
  leitong doctor --config leitong.toml --offline")]
pub(crate) struct Arguments {
    /// Configuration file (see `leitong config example`)
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Do not contact brokers
    #[arg(long)]
    offline: bool,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let config = settings::config(arguments.config.as_deref(), None, None)?;
    let mut report = format!("leitong {}\n{}\n", env!("CARGO_PKG_VERSION"), machine());
    let stage = FingerprintStage::new(config.clone()).map_err(Wrong::from)?;
    let (detector, hash) = (stage.detector().name(), stage.fingerprint_hash());
    drop(stage);
    let _ = writeln!(report, "detector {detector}, fingerprint_hash {hash:016x}");
    let _ = writeln!(report, "librdkafka {}", leitong_kafka::library_version());
    report.push_str(&formats());
    report.push_str(&changed_settings(arguments.config.as_deref(), &config)?);
    let has_brokers = !config.kafka.bootstrap_servers.trim().is_empty();
    if has_brokers && !arguments.offline {
        report.push_str("\nOutput of `leitong run --check`:\n");
        let roles = Roles { fingerprint: true, cluster: true };
        for finding in check(&config, roles, Accepted::default()) {
            let _ = writeln!(report, "  {}", run::format_finding(&finding));
        }
    }
    report.push_str(
        "\nAdd what you did, what you expected, and the end of the log. This report names hosts, topics and \
         files, but contains no passwords.\n",
    );
    documents::print(&terminal::escape_lines(&report))?;
    Ok(ExitCode::SUCCESS)
}

/// Lists the versions of all formats, which tell which other versions of the program can read them.
fn formats() -> String {
    let mut line = "format versions (written; read):".to_owned();
    for Format { name, writes, reads } in &FORMATS {
        let _ = write!(line, " {name} {}; {},", Versions(writes), Versions(reads));
    }
    line + &format!(" verdict {VERDICT}\n")
}

/// Describes system, cores and limits as this process sees them.
fn machine() -> String {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let Limits { open_files, memory_bytes } = Limits::read();
    let number = |found: Option<u64>, unit: &str| {
        found.map_or_else(|| format!("unlimited{unit}"), |found| format!("{found}{unit}"))
    };
    format!(
        "{} {} {}, {} cores, memory {}, open files {}",
        std::env::consts::OS,
        release.trim(),
        std::env::consts::ARCH,
        thread_count(0),
        number(memory_bytes.map(|bytes| bytes >> 20), " MiB"),
        number(open_files, "")
    )
}

/// Lists the settings that differ from their defaults, one per line.
fn changed_settings(file: Option<&Path>, config: &Config) -> anyhow::Result<String> {
    let Some(file) = file else { return Ok("no configuration file\n".to_owned()) };
    let mut lines = Vec::new();
    let (found, default) = (serde_json::to_value(config)?, serde_json::to_value(Config::default())?);
    differences("", &found, &default, &mut lines);
    let heading = match lines.is_empty() {
        true => "all settings have their default values",
        false => "settings that differ from their defaults:",
    };
    Ok(format!("\n{}: {heading}\n{}", file.display(), lines.concat()))
}

/// Appends a line for each value below `name` that differs from the one in `default`.
fn differences(name: &str, found: &Value, default: &Value, lines: &mut Vec<String>) {
    if let Value::Object(fields) = found {
        for (field, value) in fields {
            let name = if name.is_empty() { field.clone() } else { format!("{name}.{field}") };
            differences(&name, value, default.get(field).unwrap_or(&Value::Null), lines);
        }
    } else if found != default {
        let secret = NOT_SHOWN.iter().any(|secret| name.starts_with(secret));
        let value = match found {
            // Somebody may have entered the token itself instead of the name of its variable.
            Value::String(variable) if name.ends_with("_env") && std::env::var_os(variable).is_none() => {
                "(not shown, since no environment variable has this name)".to_owned()
            }
            _ if secret => "(not shown)".to_owned(),
            Value::String(text) if text.contains("://") => Value::from(redact::address(text)).to_string(),
            found => found.to_string(),
        };
        lines.push(format!("  {name} = {value}\n"));
    }
}
