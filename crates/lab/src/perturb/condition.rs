//! The ways of changing a text, and the extent of a change.

use std::fmt;
use std::str::FromStr;

use serde::de::IntoDeserializer;
use serde::de::value::{Error as NoName, StrDeserializer};
use serde::{Deserialize, Serialize};

/// A way of changing a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Change {
    /// Sentences of other texts are added at random places.
    Added,
    /// Text is deleted at random places.
    Deleted,
    /// Sentences are replaced by sentences of other texts.
    Rewritten,
    /// Words are replaced by synonyms, if a list is given.
    Synonyms,
    /// Sentences are moved to random places.
    SentencesMoved,
    /// Paragraphs are moved to random places.
    ParagraphsMoved,
    /// Only a run of sentences is kept.
    Excerpt,
    /// Other texts are added before and after the text.
    Merged,
    /// Lines of navigation and footers are added around the text.
    Boilerplate,
    /// The headline is replaced, and a line with date and editor is added.
    Headline,
    /// The text is converted to traditional script with the vocabulary of Taiwan.
    Traditional,
    /// Half-width forms are replaced by full-width ones, and the reverse.
    Width,
}

/// A way of changing a text, and its extent.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Condition {
    /// Way of changing the text.
    pub(crate) change: Change,
    /// Extent: a share, or a number of texts or lines.
    pub(crate) level: f64,
}

impl Condition {
    /// Returns true if the change needs a list of synonyms.
    pub(crate) fn needs_synonyms(&self) -> bool {
        self.change == Change::Synonyms
    }

    /// Returns all conditions of an evaluation.
    pub(crate) fn all(with_synonyms: bool) -> Vec<Self> {
        const CHANGED: &[f64] = &[0.01, 0.02, 0.05, 0.1, 0.15, 0.2];
        const MOVED: &[f64] = &[0.1, 0.25, 0.5, 1.0];
        const KEPT: &[f64] = &[0.2, 0.4, 0.6, 0.8];
        let changes: [(Change, &[f64]); 12] = [
            (Change::Added, CHANGED),
            (Change::Deleted, CHANGED),
            (Change::Rewritten, CHANGED),
            (Change::Synonyms, CHANGED),
            (Change::SentencesMoved, MOVED),
            (Change::ParagraphsMoved, MOVED),
            (Change::Excerpt, KEPT),
            (Change::Merged, &[2.0, 3.0]),
            (Change::Boilerplate, &[4.0, 12.0]),
            (Change::Headline, &[1.0]),
            (Change::Traditional, &[1.0]),
            (Change::Width, &[1.0]),
        ];
        let wanted = changes.into_iter().filter(|(change, _)| with_synonyms || *change != Change::Synonyms);
        wanted
            .flat_map(|(change, levels)| levels.iter().map(move |level| Self { change, level: *level }))
            .collect()
    }
}

/// Parses `rewritten=0.05`, or only the name of a change that has no extent.
impl FromStr for Condition {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, level) = text.split_once('=').unwrap_or((text, "1"));
        let name: StrDeserializer<NoName> = name.into_deserializer();
        let change = Change::deserialize(name)
            .map_err(|_| format!("{text:?}: no such change; choose one of {}", Change::names()))?;
        let allowed = match change {
            Change::Merged => 2.0..=3.0,
            Change::Boilerplate => 1.0..=99.0,
            _ => 0.0..=1.0,
        };
        let level = level.parse().ok().filter(|level| allowed.contains(level));
        let out_of_range = || {
            format!(
                "{text:?}: needs an extent: a share from 0 to 1, or 2 or 3 for merged articles, or 1 to 99 lines of \
                 boilerplate"
            )
        };
        Ok(Self { change, level: level.ok_or_else(out_of_range)? })
    }
}

impl Change {
    /// Returns the names that users give, separated by commas.
    fn names() -> String {
        let mut names: Vec<String> = Vec::new();
        for Condition { change, .. } in Condition::all(true) {
            let name = serde_json::to_value(change).expect("a name").as_str().unwrap_or_default().to_owned();
            if names.last() != Some(&name) {
                names.push(name);
            }
        }
        names.join(", ")
    }

    /// Returns the name in words.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Added => "text added",
            Self::Deleted => "text deleted",
            Self::Rewritten => "sentences rewritten",
            Self::Synonyms => "words replaced by synonyms",
            Self::SentencesMoved => "sentences moved",
            Self::ParagraphsMoved => "paragraphs moved",
            Self::Excerpt => "excerpt of the text",
            Self::Merged => "articles merged",
            Self::Boilerplate => "lines of boilerplate",
            Self::Headline => "other headline and editor's line",
            Self::Traditional => "traditional script",
            Self::Width => "full and half width swapped",
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.change {
            Change::Merged => write!(f, "{} {}", self.level, self.change.title()),
            Change::Boilerplate => write!(f, "{} {}", self.level, self.change.title()),
            Change::Headline | Change::Traditional | Change::Width => f.write_str(self.change.title()),
            _ => write!(f, "{:.0} % {}", self.level * 100.0, self.change.title()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_and_level_of_each_condition_can_be_parsed() {
        for condition in Condition::all(true) {
            let name = serde_json::to_value(condition.change).expect("a name");
            let text = format!("{}={}", name.as_str().expect("a text"), condition.level);
            assert_eq!(text.parse::<Condition>().expect("valid"), condition);
        }
        assert_eq!("width".parse::<Condition>().expect("valid").change, Change::Width);
        for wrong in ["", "rewriten=0.1", "rewritten=", "rewritten=1.5", "rewritten=NaN", "merged=1"] {
            assert!(wrong.parse::<Condition>().is_err(), "{wrong}");
        }
        assert!("x".parse::<Condition>().unwrap_err().to_string().contains("sentences-moved"));
    }
}
