//! `leitong tap`: prints verdicts as they are published, as text or JSON.

use std::io::{BufWriter, IsTerminal, Stdout, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use clap::Args;

use crate::cli::interrupt::Interrupt;
use crate::cli::logging::colours_wanted;
use crate::cli::settings;
use crate::tap::Tapped;
use crate::tap::UNREADABLE;
use crate::tap::format_line;
use leitong_base::record::Timestamp;
use leitong_base::terminal;
use leitong_kafka::{Received, Start, Tail};

/// Time to wait before the topics and Ctrl-C are checked again, if no message has arrived.
const WAIT: Duration = Duration::from_millis(100);

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  leitong tap --config leitong.toml
  leitong tap --config leitong.toml --from 15m --to-end | grep news.example
  leitong tap --config leitong.toml --dead-letters --from beginning --to-end | grep DEAD_LETTER
  leitong tap --config leitong.toml --json | jq -r 'select(.reason == \"NO_CONTENT\") | .url'

Press Ctrl-C to stop. The command joins no consumer group and commits nothing.")]
pub(crate) struct Arguments {
    /// Configuration file (see `leitong config example`)
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Show dead letters as well
    #[arg(long)]
    dead_letters: bool,
    /// Where to start reading: now, beginning, or a time ago such as 90s, 15m, 2h or 3d
    #[arg(long, value_name = "WHEN", default_value = "now", value_parser = parse_read_from)]
    from: Start,
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

/// Parses the time to start reading at.
pub(crate) fn parse_read_from(text: &str) -> Result<Start, String> {
    let ago = || {
        let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
        let seconds = match unit {
            "s" => 1,
            "m" => 60,
            "h" => 3_600,
            "d" => 86_400,
            _ => return None,
        };
        let ms = i64::from(number.parse::<u32>().ok()?) * seconds * 1_000;
        Some(Start::Time((Timestamp::now().as_ms() - ms).max(0)))
    };
    match text {
        "now" => Ok(Start::Now),
        "beginning" => Ok(Start::Beginning),
        _ => ago().ok_or_else(|| "must be now, beginning, or a time such as 90s, 15m, 2h or 3d".to_owned()),
    }
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let config = settings::kafka_config(arguments.config.as_deref())?.kafka;
    let interrupt = Interrupt::listen()?;
    let mut topics = vec![(&config.topics.verdicts, Tapped::verdict as fn(&Received) -> Tapped)];
    if arguments.dead_letters {
        topics.push((&config.topics.dead_letters, Tapped::dead_letter));
    }
    let mut tails = Vec::new();
    for (topic, reads) in topics {
        let tail = Tail::begin(&config, topic, arguments.from)?;
        terminal::note(format_args!("reading topic {topic}, {} partition(s)", tail.partitions()));
        tails.push((tail, reads));
    }
    let mut lines = Lines::new(arguments.json)?;
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
                waits = false;
                let tapped = reads(&message);
                lines.unreadable += u64::from(tapped.text("kind") == UNREADABLE);
                lines.write(&tapped)?;
                if arguments.limit == Some(lines.shown) {
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
    lines.finish()?;
    Ok(ExitCode::SUCCESS)
}

/// Writer of lines to standard output.
struct Lines {
    out: BufWriter<Stdout>,
    json: bool,
    colours: bool,
    shown: u64,
    /// Number of messages that are not verdicts.
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

    /// Flushes the lines, and reports how many messages were shown, and how many of them are unreadable.
    fn finish(&mut self) -> anyhow::Result<()> {
        self.flush()?;
        terminal::note(format_args!("{} messages shown", self.shown));
        if self.unreadable > 0 {
            terminal::note(format_args!(
                "{} messages of the verdict topic are not verdicts of this version",
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
        assert_eq!(parse_read_from("now"), Ok(Start::Now));
        assert_eq!(parse_read_from("beginning"), Ok(Start::Beginning));
        for (text, ago) in [("90s", 90_000), ("3d", 259_200_000)] {
            let Ok(Start::Time(start)) = parse_read_from(text) else { panic!("{text}") };
            assert!((0..10_000).contains(&(Timestamp::now().as_ms() - ago - start)), "{text}");
        }
        assert_eq!(parse_read_from("4294967295d"), Ok(Start::Time(0)));
        for bad in ["", "d", "5", "-5m", "1.5h", "4294967296s", "五", "5分"] {
            assert!(parse_read_from(bad).is_err(), "{bad}");
        }
    }
}
