//! Describes the messages of a crawler, as a file that users can copy.

use serde::Deserialize;

use super::config::InputConfig;
use super::presets;

/// The rules for reading the messages of a crawler. The configuration may change them.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Preset {
    /// The name in `input.preset`.
    #[serde(skip)]
    pub name: &'static str,
    /// The file of the preset.
    #[serde(skip)]
    pub text: &'static str,
    /// A description of the program that writes such messages, for people.
    pub about: String,
    /// The format of message values.
    #[serde(default)]
    pub framing: Framing,
    /// Lists of pointers by which messages are recognised. At least one pointer in each list must find a
    /// value.
    #[serde(default)]
    pub signature: Vec<Vec<String>>,
    /// The settings, to which those of the user are added.
    #[serde(default)]
    pub input: InputConfig,
}

/// Stands for the message's key, in a list of pointers.
pub(crate) const KEY: &str = "@key";

/// The format of message values.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Framing {
    /// One JSON value.
    #[default]
    Json,
    /// A record of a WARC file.
    WarcRecord,
    /// The body itself.
    RawBody,
}

impl Preset {
    /// Returns all presets, the default first. The first call reads their files.
    #[must_use]
    pub fn all() -> &'static [Self] {
        presets::all()
    }

    /// Returns the preset with this name.
    ///
    /// # Errors
    /// No preset has this name. The message suggests the most similar one.
    pub fn named(name: &str) -> Result<&'static Self, String> {
        if let Some(found) = Self::all().iter().find(|preset| preset.name == name) {
            return Ok(found);
        }
        let spelt = name.to_lowercase().replace([' ', '_'], "-");
        let nearest = Self::all()
            .iter()
            .map(|preset| (strsim::damerau_levenshtein(&spelt, preset.name), preset.name))
            .min()
            .filter(|(distance, nearest)| *distance * 2 <= nearest.len().max(spelt.len()));
        let names: Vec<_> = Self::all().iter().map(|preset| preset.name).collect();
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
