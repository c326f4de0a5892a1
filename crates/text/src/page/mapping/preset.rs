//! Describes the messages of a crawler, in a form that fits into a constant table.

use super::presets::PRESETS;
use crate::page::field::Field;

/// The rules for reading the messages of a crawler. The configuration may change them.
#[derive(Debug, PartialEq)]
pub struct Preset {
    /// The name in `input.preset`.
    pub name: &'static str,
    /// A description of the program that writes such messages, for people.
    pub about: &'static str,
    /// The format of message values.
    pub framing: Framing,
    /// The places of the fields: JSON pointers or [`KEY`], in order of preference. If there are several
    /// bodies, the first one in this table that is present is used.
    pub fields: &'static [(Field, &'static [&'static str])],
    /// The values that the verdict returns, by name.
    pub passthrough: &'static [(&'static str, &'static str)],
    /// Statuses of the messages to read. Empty: all.
    pub statuses: &'static [&'static str],
    /// Whole values that mean failure.
    pub literals: &'static [&'static str],
    /// Conditions under which a message has no page.
    pub no_page: &'static [(&'static str, Condition)],
    /// True if a null value deletes the page that the key names.
    pub null_deletes: bool,
    /// Lists of pointers by which messages are recognised. At least one pointer in each list must find a
    /// value.
    pub signature: &'static [&'static [&'static str]],
}

/// Stands for the message's key, in a list of pointers.
pub(crate) const KEY: &str = "@key";

/// The format of message values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// One JSON value.
    Json,
    /// A message in one of Frontera's codecs: MessagePack, or JSON with values tagged by type.
    Frontera,
    /// A record of a WARC file.
    WarcRecord,
    /// The body itself.
    RawBody,
}

/// A condition on a value, under which a message has no page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Condition {
    /// The value exists and is true.
    True,
    /// The value exists and is false.
    False,
    /// No pointer that leads into the value finds anything.
    Missing,
}

impl Preset {
    /// An empty preset, as the base of the others.
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

    /// Returns the preset with this name.
    ///
    /// # Errors
    /// No preset has this name. The message suggests the most similar one.
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
        let names = names.join(", ");
        Err(match nearest {
            Some((_, nearest)) => {
                format!("no such preset; did you mean {nearest:?}? The presets are {names}")
            }
            None => format!("no such preset; the presets are {names}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_name_gets_the_nearest_name_as_a_suggestion() {
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
        assert!(!message.contains("did you mean") && message.contains("the presets are json, "), "{message}");
    }
}
