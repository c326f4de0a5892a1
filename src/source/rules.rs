//! How inputs are read: limits, and where in a row the fields of a page stand.

use std::sync::Arc;

use super::index::WarcBase;
use crate::page::config::PageConfig;
use crate::page::mapping::config::InputConfig;
use crate::page::mapping::{Mapping, first_name};

/// What sources have to know of the configuration. Cheap to clone.
#[derive(Debug, Clone)]
pub struct InputRules {
    /// Limits of what is read as a page.
    pub limits: PageConfig,
    /// Which columns of a table are read: those that it would look at in a message.
    pub mapping: Arc<Mapping>,
    /// The pointers that the configuration names itself, in place of the preset's.
    pub named: Arc<[String]>,
    /// Whether fields of CSV and TSV may stand in quotes.
    pub quotes: bool,
    /// Where the WARC files lie that inputs are indexes of; none: inputs are no indexes.
    pub warc_base: Option<Arc<WarcBase>>,
}

impl InputRules {
    /// The rules that a configuration asks for.
    ///
    /// # Errors
    /// What is wrong with `[input]`, each with the key that it is about.
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

    /// Names of the fields at the top of a message that the configuration itself looks at.
    pub fn named_at_top(&self) -> impl Iterator<Item = String> {
        self.named.iter().filter_map(|pointer| first_name(pointer))
    }

    /// Whether the configuration itself names the field `name` at the top of a message.
    #[must_use]
    pub fn names(&self, name: &str) -> bool {
        self.named.contains(&format!("/{}", name.replace('~', "~0").replace('/', "~1")))
    }
}
