//! The options of `leitong dedup` that write texts instead of documents.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use anyhow::Context;
use clap::{Args, ValueEnum};

use super::settings::{self, Wrong, wrong};
use super::text_out::TextConverter;
use crate::config::Config;
use leitong_base::record::Reason;
use leitong_base::terminal;
use leitong_corpora::keep::Form;
use leitong_corpora::keep::texts::{Converter, InputField, TextCounts, format_of};
use leitong_corpora::source::InputRules;

#[derive(Debug, Args)]
#[group(id = "texts")]
pub(super) struct Arguments {
    /// Form of the documents in the output of --keep: unchanged, or their main text with title, language, date
    /// and the like, as JSON lines or Parquet depending on the name of the file
    #[arg(
        long = "as",
        value_enum,
        value_name = "FORM",
        default_value = "original",
        help_heading = "Documents"
    )]
    form: TextForm,
    /// Fields of the input to write with each text, separated by commas: columns, JSON pointers such as
    /// /meta/source, or NAME=/POINTER to give it another name
    #[arg(
        long,
        value_name = "FIELDS",
        value_delimiter = ',',
        value_parser = InputField::parse,
        help_heading = "Documents"
    )]
    pub(super) fields: Vec<InputField>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum TextForm {
    Original,
    Text,
    Markdown,
}

impl Arguments {
    /// Returns true if texts are written instead of documents.
    pub(super) fn are_written(&self) -> bool {
        self.form != TextForm::Original
    }

    /// Returns true if texts are written without markup.
    pub(super) fn are_plain(&self) -> bool {
        self.form == TextForm::Text
    }

    /// Returns the options as they were given on the command line.
    pub(super) fn options(&self) -> impl Iterator<Item = String> {
        let form = match self.form {
            TextForm::Original => None,
            TextForm::Text => Some("--as text".to_owned()),
            TextForm::Markdown => Some("--as markdown".to_owned()),
        };
        let fields = self.fields.iter().map(|field| format!("--fields {}={}", field.name, field.pointer));
        form.into_iter().chain(fields)
    }

    /// Rejects options that do not fit together, and an output whose name belongs to another format.
    pub(super) fn check(&self, keep: Option<&Path>, revisit: bool) -> anyhow::Result<()> {
        if !self.are_written() {
            return match self.fields.is_empty() {
                true => Ok(()),
                false => Err(wrong(
                    "--fields: unchanged documents have all their fields; add --as text or --as markdown, or leave --fields out",
                )),
            };
        }
        let Some(keep) = keep else {
            return Err(wrong("--as: sets the form of the documents that --keep writes; add --keep FILE"));
        };
        if revisit {
            return Err(wrong(
                "--revisit: writes WARC records, but --as text and --as markdown write none; leave one of them out",
            ));
        }
        format_of(keep).map_err(|error| wrong(format_args!("--keep {error}")))?;
        InputField::conflict(&self.fields)
            .map_or(Ok(()), |conflict| Err(wrong(format_args!("--fields {conflict}"))))
    }

    /// Rejects fields that an input cannot have.
    pub(super) fn check_fields(
        &self,
        inputs: &[PathBuf],
        forms: &[Form],
        rules: &InputRules,
    ) -> anyhow::Result<()> {
        if rules.warc_base.is_some() && !self.fields.is_empty() {
            return Err(wrong("--fields: WARC records have no fields; leave it out"));
        }
        for (path, form) in inputs.iter().zip(forms) {
            let missing = InputField::missing(&self.fields, path, form);
            if let Some(missing) = missing.with_context(|| format!("cannot read {}", path.display()))? {
                return Err(wrong(format_args!("--fields: {missing}; leave it out, or use a separate run")));
            }
        }
        Ok(())
    }

    /// Returns the rules for the reading in which texts are made: those of the first one, and the fields' columns.
    pub(super) fn rules(&self, config: &Config, rules: &InputRules) -> anyhow::Result<InputRules> {
        let mut config = config.clone();
        let pointers = self.fields.iter().map(|field| (field.pointer.clone(), field.pointer.clone()));
        config.input.passthrough.0.extend(pointers);
        let InputRules { quotes, warc_base, .. } = rules.clone();
        Ok(InputRules { quotes, warc_base, ..settings::input_rules(&config)? })
    }

    /// Returns the converter of documents to texts.
    pub(super) fn converter(&self, config: &Config) -> anyhow::Result<Box<dyn Converter>> {
        let converter = TextConverter::new(config, self.form == TextForm::Markdown);
        Ok(Box::new(converter.map_err(Wrong::from)?))
    }
}

/// Reports the documents whose texts differ from what was requested.
pub(super) fn report(counts: &TextCounts) {
    let without = counts.without_text();
    let total: u64 = without.iter().map(|(_, count)| count).sum();
    if total > 0 {
        let reason = |(reason, count): &(Option<Reason>, u64)| {
            format!("{count} {}", reason.map_or("unreadable", Reason::as_str))
        };
        let reasons: Vec<_> = without.iter().map(reason).collect();
        terminal::note(format_args!(
            "{total} of the kept documents have no text ({}); they are written with text null, or dropped with \
             --drop-undecidable",
            reasons.join(", ")
        ));
    }
    let plain = counts.plain.load(Ordering::Relaxed);
    if plain > 0 {
        terminal::note(format_args!(
            "{plain} of the kept documents have no markup; their Markdown is their paragraphs, escaped"
        ));
    }
    let documents = counts.documents.load(Ordering::Relaxed);
    for (pointer, lacking) in counts.lacking() {
        terminal::note(format_args!(
            "{lacking} of {documents} kept documents have no field {pointer} (--fields)"
        ));
    }
}
