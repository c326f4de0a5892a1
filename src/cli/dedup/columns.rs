//! Options that name the columns (or JSON fields) of the input, for files whose names differ from the
//! preset's.

use clap::Args;

use leitong_pipeline::PageReader;
use leitong_text::page::mapping::{FieldsConfig, pointer_to_field};

/// Maximum number of fields that a message lists.
const NAMED_MAX: usize = 20;

#[derive(Debug, Args)]
#[group(id = "columns")]
pub(crate) struct Arguments {
    /// Column (or field of JSON lines) with the main text, instead of those in `[input.fields]`. A name that
    /// starts with `/` is a JSON pointer, such as /metadata/text
    #[arg(long, value_name = "NAME", help_heading = "Columns")]
    text_column: Option<String>,
    /// Column with the page's HTML, as text or as bytes in any encoding (Base64 in JSON lines)
    #[arg(long, value_name = "NAME", conflicts_with = "text_column", help_heading = "Columns")]
    html_column: Option<String>,
    /// Column with the page id
    #[arg(long, value_name = "NAME", help_heading = "Columns")]
    id_column: Option<String>,
    /// Column with the url, or a JSON pointer such as /metadata/url. Urls are optional
    #[arg(long, value_name = "NAME", help_heading = "Columns")]
    url_column: Option<String>,
    /// Treat quotes in CSV and TSV as ordinary characters, for files that never quote their fields
    #[arg(long, help_heading = "Columns")]
    pub(crate) no_quotes: bool,
}

impl Arguments {
    fn all(&self) -> [(&'static str, &Option<String>); 4] {
        [
            ("--text-column", &self.text_column),
            ("--html-column", &self.html_column),
            ("--id-column", &self.id_column),
            ("--url-column", &self.url_column),
        ]
    }

    /// Returns the options as they were given on the command line.
    pub(crate) fn options(&self) -> impl Iterator<Item = String> {
        let columns = self.all().into_iter();
        let columns = columns.filter_map(|(option, name)| Some(format!("{option} {}", name.as_ref()?)));
        columns.chain(self.no_quotes.then(|| "--no-quotes".to_owned()))
    }

    /// Returns a message for each column that was named and that no line has.
    pub(crate) fn missing(&self, reader: &PageReader) -> Vec<String> {
        let missing = |(option, name): (&str, &Option<String>)| {
            let name = name.as_ref()?;
            let known = reader.names_without(&pointer_to(name))?;
            let shown: Vec<String> = known.iter().take(NAMED_MAX).map(|name| format!("{name:?}")).collect();
            let more = known.len().saturating_sub(NAMED_MAX);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            Some(format!(
                "{option} {name}: no line has this field; the fields are {}{more}",
                shown.join(", ")
            ))
        };
        self.all().into_iter().filter_map(missing).collect()
    }

    /// Replaces the pointers in `fields` with the columns that were named.
    pub(crate) fn apply(&self, fields: &mut FieldsConfig) {
        if self.text_column.is_some() || self.html_column.is_some() {
            for body in [
                &mut fields.text,
                &mut fields.html,
                &mut fields.html_b64,
                &mut fields.body,
                &mut fields.content,
            ] {
                body.clear();
            }
        }
        for (field, name) in [
            (&mut fields.text, &self.text_column),
            (&mut fields.body, &self.html_column),
            (&mut fields.id, &self.id_column),
            (&mut fields.url, &self.url_column),
        ] {
            if let Some(name) = name {
                *field = vec![pointer_to(name)];
            }
        }
    }
}

/// Returns the JSON pointer that an option names.
fn pointer_to(name: &str) -> String {
    if name.starts_with('/') { name.to_owned() } else { pointer_to_field(name) }
}
