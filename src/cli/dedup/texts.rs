//! The options of `leitong dedup` that write texts instead of documents.

use std::path::Path;

use clap::{Args, ValueEnum};

use crate::cli::settings::wrong;
use leitong_keep::TextOptions;
use leitong_keep::texts::InputField;
use leitong_pipeline::WrittenForm;

#[derive(Debug, Args)]
#[group(id = "texts")]
pub(crate) struct Arguments {
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
    /// /meta/source, or NAME=/POINTER to rename a field
    #[arg(
        long,
        value_name = "FIELDS",
        value_delimiter = ',',
        value_parser = InputField::parse,
        help_heading = "Documents"
    )]
    fields: Vec<InputField>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum TextForm {
    Original,
    Text,
    Markdown,
}

impl Arguments {
    /// Returns the form of the texts that are written instead of documents, if any are.
    pub(crate) fn written_form(&self) -> Option<WrittenForm> {
        match self.form {
            TextForm::Original => None,
            TextForm::Text => Some(WrittenForm::Plain),
            TextForm::Markdown => Some(WrittenForm::Markdown),
        }
    }

    /// Returns true if texts are written without markup.
    pub(crate) fn are_plain(&self) -> bool {
        self.form == TextForm::Text
    }

    /// Returns the options as they were given on the command line.
    pub(crate) fn given_options(&self) -> impl Iterator<Item = String> {
        let form = match self.form {
            TextForm::Original => None,
            TextForm::Text => Some("--as text".to_owned()),
            TextForm::Markdown => Some("--as markdown".to_owned()),
        };
        let fields = self.fields.iter().map(|field| format!("--fields {}={}", field.name, field.pointer));
        form.into_iter().chain(fields)
    }

    /// Rejects options that do not fit together, and an output whose name belongs to another format.
    pub(crate) fn check(&self, keep: Option<&Path>, revisit: bool) -> anyhow::Result<()> {
        if self.written_form().is_none() {
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
        TextOptions::check_name(keep).map_err(|error| wrong(format_args!("--keep {error}")))?;
        InputField::conflict(&self.fields)
            .map_or(Ok(()), |conflict| Err(wrong(format_args!("--fields {conflict}"))))
    }

    /// Returns the options for a run, or `None` if documents are written unchanged.
    pub(crate) fn options(&self) -> Option<TextOptions> {
        self.written_form()?;
        Some(TextOptions { fields: self.fields.clone() })
    }
}
