//! The rules for reading inputs: limits, and the columns of a table that are the fields of a page.

use std::sync::Arc;

use super::warc_base::WarcBase;
use leitong_text::page::PageConfig;
use leitong_text::page::mapping::{InputConfig, Mapping, first_name, pointer_to_field};

/// The part of the configuration that sources need. Cheap to clone.
#[derive(Debug, Clone)]
pub struct InputRules {
    /// Limits for pages.
    pub limits: PageConfig,
    /// The mapping. It also selects the columns of a table to read: the fields that it reads in a message.
    pub mapping: Arc<Mapping>,
    /// Pointers from the configuration itself, not from the preset.
    pub named: Arc<[String]>,
    /// True if fields of CSV and TSV files may be quoted.
    pub quotes: bool,
    /// The location of WARC files, if the inputs are indexes. `None` if they are not.
    pub warc_base: Option<Arc<WarcBase>>,
}

impl InputRules {
    /// Creates the rules for a configuration.
    ///
    /// # Errors
    /// The errors in `[input]`, each with the key that it concerns.
    pub fn new(limits: &PageConfig, input: &InputConfig) -> Result<Self, Vec<String>> {
        let mapping = Arc::new(Mapping::new(input)?);
        let fields = &input.fields;
        let named = [
            &fields.id,
            &fields.url,
            &fields.text,
            &fields.html,
            &fields.html_b64,
            &fields.body,
            &fields.content,
            &fields.title,
            &fields.charset,
            &fields.content_type,
            &fields.status,
            &fields.fetched_at,
        ];
        let named = named.into_iter().flatten().cloned().collect();
        Ok(Self { limits: limits.clone(), mapping, named, quotes: true, warc_base: None })
    }

    /// Returns the names of the top-level fields with which pointers in the configuration begin.
    pub fn named_at_top(&self) -> impl Iterator<Item = String> {
        self.named.iter().filter_map(|pointer| first_name(pointer))
    }

    /// Returns true if the configuration itself names the top-level field `name`.
    #[must_use]
    pub fn names(&self, name: &str) -> bool {
        self.named.contains(&pointer_to_field(name))
    }
}

/// Converts a table's cell to `true` or `false`, if it is one of the usual words for a truth value, as text
/// or JSON.
pub(crate) fn truth(cell: &str) -> Option<&'static str> {
    match cell.trim().trim_matches('"').to_ascii_lowercase().as_str() {
        "true" | "t" | "yes" | "y" | "1" => Some("true"),
        "false" | "f" | "no" | "n" | "0" | "" | "null" => Some("false"),
        _ => None,
    }
}
