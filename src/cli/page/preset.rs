//! `leitong preset list | detect`: recognises the crawler that wrote some messages, and shows how they are
//! read.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
#[cfg(feature = "kafka")]
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use clap::{Args, Subcommand};

use crate::cli::files::documents;
use crate::cli::settings::{self, wrong};
use leitong_base::terminal;
use leitong_formats::source::Payload;
#[cfg(feature = "kafka")]
use leitong_kafka::Start;
#[cfg(feature = "kafka")]
use leitong_kafka::Tail;
use leitong_pipeline::config::Config;
use leitong_text::page::mapping::{InputConfig, Preset, Survey};
#[cfg(feature = "kafka")]
use leitong_text::page::{decompressed, without_schema_head};

/// The key and the value of a message.
type Sample = (Option<Vec<u8>>, Vec<u8>);

/// Maximum number of messages that are examined.
const SAMPLES_MAX: usize = 200;
/// Longest wait for messages of a topic.
#[cfg(feature = "kafka")]
const SAMPLE_TIMEOUT: Duration = Duration::from_secs(15);
/// Maximum number of unread pointers that are shown.
const LEFT_MAX: usize = 30;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the presets, or print one: settings that you can copy and change
    List {
        /// Preset to print
        #[arg(value_name = "PRESET")]
        name: Option<String>,
    },
    /// Recognise the preset of some messages, or guess a mapping, and show which fields are read
    #[command(after_help = "\
    Examples:
  leitong preset detect messages.jsonl
  leitong preset detect --config leitong.toml crawled-pages")]
    Detect {
        /// Configuration file, which names the brokers of a topic
        #[arg(long, value_name = "FILE")]
        config: Option<PathBuf>,
        /// File of JSON lines, `-` for standard input, or a topic
        #[arg(value_name = "FILE|TOPIC")]
        source: PathBuf,
    },
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let (config, source) = match &arguments.action {
        Action::List { name: Some(name) } => {
            documents::print(Preset::named(name).map_err(wrong)?.text)?;
            return Ok(ExitCode::SUCCESS);
        }
        Action::List { name: None } => {
            let line = |preset: &Preset| format!("{:<16}{}\n", preset.name, preset.about);
            documents::print(&Preset::all().iter().map(line).collect::<String>())?;
            return Ok(ExitCode::SUCCESS);
        }
        Action::Detect { config, source } => (config, source),
    };
    let is_file = source == Path::new("-") || source.exists();
    let samples = match is_file {
        true => samples_of_file(source, &settings::config(config.as_deref(), None, None)?)?,
        false => samples_of_topic(source, config.as_deref())?,
    };
    if samples.is_empty() {
        bail!("{}: has no messages to look at", source.display());
    }
    let survey = if is_file { Survey::of_file(&samples) } else { Survey::of_topic(&samples) };
    documents::print(&describe(&survey, is_file))?;
    if has_body(&survey) {
        return Ok(ExitCode::SUCCESS);
    }
    terminal::note("no field is known to hold the text or HTML of pages, so they cannot be read this way");
    Ok(ExitCode::FAILURE)
}

fn samples_of_file(path: &Path, config: &Config) -> anyhow::Result<Vec<Sample>> {
    let mut source = documents::open_records(&[path.to_owned()], config)?;
    let mut samples = Vec::new();
    for record in source.records() {
        match record.with_context(|| format!("cannot read {}", path.display()))?.payload {
            Payload::Json(line) | Payload::Head { json: Ok(line), .. } => samples.push((None, line)),
            Payload::Warc(_) => {
                bail!(
                    "{}: is a WARC file or an HTML page, which needs no preset; pass it to `leitong dedup`",
                    path.display()
                )
            }
            Payload::Broken(error) if samples.is_empty() => bail!("{}: {error}", path.display()),
            Payload::NoPage | Payload::Broken(_) | Payload::Head { .. } => {}
        }
        if samples.len() == SAMPLES_MAX {
            break;
        }
    }
    Ok(samples)
}

#[cfg(not(feature = "kafka"))]
fn samples_of_topic(topic: &Path, _: Option<&Path>) -> anyhow::Result<Vec<Sample>> {
    bail!(
        "{}: no such file; topics cannot be read, since this program was built without Kafka",
        topic.display()
    )
}

#[cfg(feature = "kafka")]
fn samples_of_topic(topic: &Path, config: Option<&Path>) -> anyhow::Result<Vec<Sample>> {
    let Some(name) = topic.to_str().filter(|_| config.is_some()) else {
        bail!(
            "{}: no such file; to read a topic, add --config FILE with kafka.bootstrap_servers",
            topic.display()
        );
    };
    let config = settings::kafka_config(config)?;
    let mut tail = Tail::begin(&config.kafka, name, Start::Beginning)?;
    let (mut samples, mut read, deadline) = (Vec::new(), 0, Instant::now() + SAMPLE_TIMEOUT);
    while read < SAMPLES_MAX && !tail.is_read_to_end() && Instant::now() < deadline {
        let Some(message) = tail.next(Duration::from_millis(200))? else { continue };
        read += 1;
        let encoding = message.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("content-encoding"));
        let encoding = encoding.and_then(|(_, value)| value.as_deref());
        let value = message.value.as_deref();
        let value = value.and_then(|value| decompressed(value, encoding, config.page.line_bytes_max).ok());
        samples.extend(value.map(|value| (message.key, without_schema_head(&value).to_vec())));
    }
    Ok(samples)
}

/// Returns true if a preset or a guess says where the texts of pages are.
fn has_body(survey: &Survey) -> bool {
    match survey.presets.is_empty() {
        true => survey.guesses.iter().any(|(looks, _)| matches!(looks.field(), "body" | "text")),
        false => survey.pages.0 > 0 || survey.pages.1 == 0,
    }
}

/// Formats the survey of a file or topic as a configuration with comments.
fn describe(survey: &Survey, is_file: bool) -> String {
    let mut out = String::new();
    let Survey { samples, .. } = survey;
    let Some((name, count)) = survey.presets.first() else {
        let _ = writeln!(out, "# {samples} messages, which match no preset");
        guessed(survey, &mut out);
        return out;
    };
    let about = Preset::named(name).map_or("", |preset| &preset.about);
    let _ = writeln!(out, "# {count} of {samples} messages look like {name}: {about}");
    for (other, count) in &survey.presets[1..] {
        let _ = writeln!(out, "# {count} look like {other}");
    }
    if is_file && *name == InputConfig::default().preset && survey.pages.0 > 0 {
        out.push_str("# `leitong dedup` reads this file as it is; it needs no setting\n");
    }
    let _ = writeln!(
        out,
        "[input]\npreset = {name:?}\n\n# field          pointer                                  found in"
    );
    for (field, pointer, hits) in &survey.found {
        let _ = writeln!(out, "# {field:<14} {pointer:<40} {hits:>8}");
    }
    let (with_body, bodiless) = survey.pages;
    let _ = writeln!(
        out,
        "#\n# read this way: {with_body} pages, {bodiless} pages without a body, {} dead letters",
        survey.dead.0
    );
    for (why, count) in &survey.skipped {
        let _ = writeln!(out, "# {count} {}", why.in_words());
    }
    for error in &survey.dead.1 {
        let _ = writeln!(out, "# dead letter: {}", error.replace(['\n', '\r'], " "));
    }
    if !survey.left.is_empty() {
        let _ = writeln!(
            out,
            "#\n# not read (to copy one to the verdicts, add name = \"/pointer\" under [input.passthrough]):"
        );
        for (pointer, count) in survey.left.iter().take(LEFT_MAX) {
            let _ = writeln!(out, "# {:<14} {pointer:<40} {count:>8}", "");
        }
        let more = survey.left.len().saturating_sub(LEFT_MAX);
        if more > 0 {
            let _ = writeln!(out, "# and {more} more");
        }
    }
    out
}

fn guessed(survey: &Survey, out: &mut String) {
    if survey.guesses.is_empty() {
        out.push_str("# no field looks like a url or a body\n");
        return;
    }
    out.push_str("# guessed from the contents of the fields; check it:\n[input.fields]\n");
    let has_body = survey.guesses.iter().any(|(looks, _)| looks.field() == "body");
    for (looks, pointers) in &survey.guesses {
        // A long text next to HTML may be anything, so it is only suggested.
        let comment = if looks.field() == "text" && has_body { "# " } else { "" };
        let _ = writeln!(out, "{comment}{} = [{:?}]", looks.field(), pointers[0]);
        for other in &pointers[1..] {
            let _ = writeln!(out, "#   or {other}");
        }
    }
}
