//! What a crawler's messages look like, in a form that a table can hold.

use super::presets::PRESETS;
use crate::page::field::Field;

/// How the messages of a crawler are read, unless the configuration says otherwise.
#[derive(Debug, PartialEq)]
pub struct Preset {
    /// As in `input.preset`.
    pub name: &'static str,
    /// Who writes such messages, for people.
    pub about: &'static str,
    /// What a value is.
    pub framing: Framing,
    /// Where the fields stand: JSON pointers, [`KEY`], in order of preference. Of
    /// several bodies the first one that is there wins, in the order of this table.
    pub fields: &'static [(Field, &'static [&'static str])],
    /// What comes back in the verdict, by name.
    pub passthrough: &'static [(&'static str, &'static str)],
    /// Statuses of messages that are read; empty: all.
    pub statuses: &'static [&'static str],
    /// Whole values that stand for a failure.
    pub literals: &'static [&'static str],
    /// What tells messages without a page.
    pub no_page: &'static [(&'static str, Condition)],
    /// A null value deletes the page that the key names.
    pub null_deletes: bool,
    /// By which messages are recognised: of each list one pointer at least hits.
    pub signature: &'static [&'static [&'static str]],
}

/// In place of a pointer: the message's key.
pub const KEY: &str = "@key";

/// What a message's value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// One JSON value.
    Json,
    /// A message of Frontera's codecs: MessagePack, or JSON
    /// whose values are tagged with their types.
    Frontera,
    /// A record of a WARC file.
    WarcRecord,
    /// The body itself.
    RawBody,
}

/// What tells that a message holds no page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Condition {
    /// The value is there and true.
    True,
    /// The value is there and false.
    False,
    /// Nothing that is read stands in the value.
    Missing,
}

impl Preset {
    /// An empty preset, to fill in.
    pub(super) const EMPTY: Self = Self {
        name: "",
        about: "",
        framing: Framing::Json,
        fields: &[],
        passthrough: &[],
        statuses: &[],
        literals: &[],
        no_page: &[],
        null_deletes: false,
        signature: &[],
    };

    /// The preset of this name.
    ///
    /// # Errors
    /// There is none; says which name is the nearest.
    pub fn named(name: &str) -> Result<&'static Self, String> {
        if let Some(found) = PRESETS.iter().find(|preset| preset.name == name) {
            return Ok(found);
        }
        let spelt = name.to_lowercase().replace([' ', '_'], "-");
        let nearest = PRESETS
            .iter()
            .map(|preset| (strsim::damerau_levenshtein(&spelt, preset.name), preset.name))
            .min()
            .filter(|(distance, nearest)| *distance * 2 <= nearest.len().max(spelt.len()));
        let names: Vec<_> = PRESETS.iter().map(|preset| preset.name).collect();
        let hint = nearest.map_or(String::new(), |(_, nearest)| format!("did you mean {nearest:?}? "));
        Err(format!("no such preset; {hint}There is {}", names.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_name_is_told_its_nearest() {
        assert_eq!(Preset::named("nutch").map(|preset| preset.name), Ok("nutch"));
        for (name, nearest) in [
            ("scrapy_cluster", "scrapy-cluster"),
            ("Nutch", "nutch"),
            ("crawl4aI", "crawl4ai"),
            ("heritrix", "heritrix-log"),
        ] {
            let message = Preset::named(name).expect_err("misspelt");
            assert!(message.contains(&format!("did you mean {nearest:?}?")), "{name}: {message}");
        }
        let message = Preset::named("wget").expect_err("unknown");
        assert!(!message.contains("did you mean") && message.contains("There is json, "), "{message}");
    }
}
