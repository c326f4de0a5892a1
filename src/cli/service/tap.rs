//! `leitong tap`: prints verdicts as they are published, as text or JSON.

use std::io::{BufWriter, IsTerminal, Stdout, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use clap::{Args, ValueEnum};

use crate::cli::interrupt::Interrupt;
use crate::cli::logging::colours_wanted;
use crate::cli::settings;
use crate::cli::settings::wrong;
use crate::tap::DEAD_LETTER;
use crate::tap::Filter;
use crate::tap::Tapped;
use crate::tap::UNREADABLE;
use crate::tap::format_line;
use leitong_base::record::Timestamp;
use leitong_base::terminal;
use leitong_cluster::verdict;
use leitong_kafka::Received;
use leitong_kafka::{Start, Tail};
use leitong_text::page::host;

/// Time to wait before the topics and Ctrl-C are checked again, if no message has arrived.
const WAIT: Duration = Duration::from_millis(100);

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  leitong tap --config leitong.toml
  leitong tap --config leitong.toml --from 15m --kind duplicate --host news.example --limit 20
  leitong tap --config leitong.toml --dead-letters --kind dead-letter --from beginning --to-end
  leitong tap --config leitong.toml --json | jq -r 'select(.reason == \"NO_CONTENT\") | .url'

Values of one option are alternatives; a verdict must match all options. Press Ctrl-C to stop. The command joins no
consumer group and commits nothing.")]
pub(crate) struct Arguments {
    /// Configuration file (see `leitong config example`)
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Show only these kinds of verdicts
    #[arg(long, value_enum, value_delimiter = ',', value_name = "KIND")]
    kind: Vec<WantedKind>,
    /// Show only pages of these hosts and their subdomains
    #[arg(long, value_name = "HOST")]
    host: Vec<String>,
    /// Show dead letters as well
    #[arg(long)]
    dead_letters: bool,
    /// Where to start reading: now, beginning, or a time ago such as 90s, 15m, 2h or 3d
    #[arg(long, value_name = "WHEN", default_value = "now", value_parser = parse_read_from)]
    from: ReadFrom,
    /// Stop after this many lines
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    limit: Option<u64>,
    /// Stop at the end of the topics instead of waiting for more
    #[arg(long)]
    to_end: bool,
    /// Print one JSON object per line, with all fields
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum WantedKind {
    Unique,
    ExactDuplicate,
    NearDuplicate,
    /// Exact and near duplicates
    Duplicate,
    Undecidable,
    /// Dead letters; needs --dead-letters
    DeadLetter,
}

impl WantedKind {
    /// Returns the values of a verdict's field `kind` that this option stands for.
    fn names(self) -> Vec<&'static str> {
        use verdict::Kind as Known;
        match self {
            Self::Unique => vec![Known::Unique.as_str()],
            Self::ExactDuplicate => vec![Known::ExactDuplicate.as_str()],
            Self::NearDuplicate => vec![Known::NearDuplicate.as_str()],
            Self::Duplicate => vec![Known::ExactDuplicate.as_str(), Known::NearDuplicate.as_str()],
            Self::Undecidable => vec![Known::Undecidable.as_str()],
            Self::DeadLetter => vec![DEAD_LETTER],
        }
    }
}

/// Start of reading, before it is resolved to a point in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReadFrom {
    Now,
    Beginning,
    /// Milliseconds before now.
    Ago(i64),
}

pub(crate) fn parse_read_from(text: &str) -> Result<ReadFrom, String> {
    let ago = || {
        let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
        let seconds = match unit {
            "s" => 1,
            "m" => 60,
            "h" => 3_600,
            "d" => 86_400,
            _ => return None,
        };
        number.parse::<u32>().ok().map(|number| ReadFrom::Ago(i64::from(number) * seconds * 1_000))
    };
    match text {
        "now" => Ok(ReadFrom::Now),
        "beginning" => Ok(ReadFrom::Beginning),
        _ => ago().ok_or_else(|| "must be now, beginning, or a time such as 90s, 15m, 2h or 3d".to_owned()),
    }
}

impl Arguments {
    fn filter(&self) -> anyhow::Result<Filter> {
        let mut hosts = Vec::new();
        for given in &self.host {
            // Hosts of urls are in lower case and ASCII.
            let known = host(&format!("http://{given}/"));
            if known.is_empty() {
                return Err(wrong(format_args!(
                    "--host {given:?}: is not a host name; write it as in news.example"
                )));
            }
            hosts.push(known);
        }
        if self.kind.contains(&WantedKind::DeadLetter) && !self.dead_letters {
            return Err(wrong("--kind dead-letter: needs --dead-letters, so their topic is read"));
        }
        Ok(Filter { kinds: self.kind.iter().flat_map(|kind| kind.names()).collect(), hosts })
    }
}

impl ReadFrom {
    /// Returns the start that this means at the current time.
    pub(crate) fn start(self) -> Start {
        match self {
            Self::Now => Start::Now,
            Self::Beginning => Start::Beginning,
            Self::Ago(ms) => Start::Time((Timestamp::now().as_ms() - ms).max(0)),
        }
    }
}

/// A function that parses a message of a topic.
type Reads = fn(&Received) -> Tapped;

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let filter = arguments.filter()?;
    let config = settings::kafka_config(arguments.config.as_deref())?.kafka;
    let interrupt = Interrupt::listen()?;
    let mut topics: Vec<(&str, Reads)> = vec![(&config.topics.verdicts, Tapped::verdict)];
    if arguments.dead_letters {
        topics.push((&config.topics.dead_letters, Tapped::dead_letter));
    }
    let mut tails = Vec::new();
    for (topic, reads) in topics {
        let tail = Tail::begin(&config, topic, arguments.from.start())?;
        terminal::note(format_args!("reading topic {topic}, {} partition(s)", tail.partitions()));
        tails.push((tail, reads));
    }
    let mut lines = Lines::new(arguments.json)?;
    let mut read = 0_u64;
    let is_enough = |shown: u64| arguments.limit.is_some_and(|limit| shown >= limit);
    'reading: while !interrupt.is_requested() {
        let mut waits = true;
        for (tail, reads) in &mut tails {
            let added = tail.add_new_partitions()?;
            if added > 0 {
                terminal::note(format_args!(
                    "reading {added} new partition(s) of topic {} as well",
                    tail.topic()
                ));
            }
            // Takes a bounded number of messages that are already there, before it waits.
            for _ in 0..1_000 {
                let Some(message) = tail.next(Duration::ZERO)? else { break };
                (waits, read) = (false, read + 1);
                let tapped = reads(&message);
                lines.unreadable += u64::from(tapped.text("kind") == UNREADABLE);
                if filter.fits(&tapped) {
                    lines.write(&tapped)?;
                }
                if is_enough(lines.shown) {
                    break 'reading;
                }
            }
        }
        if waits {
            lines.flush()?;
            if arguments.to_end && tails.iter().all(|(tail, _)| tail.is_read_to_end()) {
                break;
            }
            leitong_kafka::backoff(WAIT);
        }
    }
    lines.finish(read)?;
    Ok(ExitCode::SUCCESS)
}

/// Writer of lines to standard output.
struct Lines {
    out: BufWriter<Stdout>,
    json: bool,
    colours: bool,
    shown: u64,
    /// Number of messages that are not verdicts, shown or not.
    unreadable: u64,
}

impl Lines {
    fn new(json: bool) -> anyhow::Result<Self> {
        let out = terminal::Streams::output().context("cannot write to standard output")?;
        let colours = out.is_terminal() && colours_wanted();
        Ok(Self { out: BufWriter::new(out), json, colours, shown: 0, unreadable: 0 })
    }

    fn write(&mut self, tapped: &Tapped) -> anyhow::Result<()> {
        let written = match self.json {
            true => writeln!(self.out, "{}", tapped.json()),
            false => writeln!(self.out, "{}", format_line(tapped, self.colours)),
        };
        self.shown += 1;
        written.context("cannot write to standard output")
    }

    /// Flushes the lines, and reports how many of the `read` messages were shown, and how many are unreadable.
    fn finish(&mut self, read: u64) -> anyhow::Result<()> {
        self.flush()?;
        terminal::note(format_args!("{} messages shown of {read} read", self.shown));
        if self.unreadable > 0 {
            terminal::note(format_args!(
                "{} messages of the verdict topic are not verdicts of this version; run without a filter to see them",
                self.unreadable
            ));
        }
        Ok(())
    }

    fn flush(&mut self) -> anyhow::Result<()> {
        self.out.flush().context("cannot write to standard output")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn start_times_are_parsed() {
        assert_eq!(parse_read_from("now"), Ok(ReadFrom::Now));
        assert_eq!(parse_read_from("beginning"), Ok(ReadFrom::Beginning));
        assert_eq!(parse_read_from("90s"), Ok(ReadFrom::Ago(90_000)));
        assert_eq!(parse_read_from("3d"), Ok(ReadFrom::Ago(259_200_000)));
        assert_eq!(parse_read_from("4294967295d"), Ok(ReadFrom::Ago(4_294_967_295 * 86_400_000)));
        for bad in ["", "d", "5", "-5m", "1.5h", "4294967296s", "五", "5分"] {
            assert!(parse_read_from(bad).is_err(), "{bad}");
        }
    }
}
