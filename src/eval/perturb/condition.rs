//! In which ways texts are changed, and how much.

use std::fmt;

use std::str::FromStr;

use serde::de::IntoDeserializer;
use serde::de::value::{Error as NoName, StrDeserializer};
use serde::{Deserialize, Serialize};

/// A way to change a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Family {
    /// Sentences of other texts at random places.
    Added,
    /// Text gone at random places.
    Deleted,
    /// Sentences replaced by sentences of other texts.
    Rewritten,
    /// Words replaced by synonyms, where a list is given.
    Synonyms,
    /// Sentences moved to random places.
    SentencesMoved,
    /// Paragraphs moved to random places.
    ParagraphsMoved,
    /// A run of sentences alone.
    Excerpt,
    /// Other texts put before and behind it.
    Merged,
    /// Lines of navigation and footers round it; `furniture` is its old name.
    #[serde(alias = "furniture")]
    Boilerplate,
    /// Another headline, and a line of date and editor.
    Headline,
    /// Traditional script with the vocabulary of Taiwan.
    Traditional,
    /// Full-width forms in place of half-width ones, and the other way round.
    Width,
}

/// A family and how much.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Condition {
    /// In which way.
    pub family: Family,
    /// A share, or a number of texts or lines.
    pub level: f64,
}

impl Condition {
    /// All that an evaluation looks at.
    #[must_use]
    pub fn all(with_synonyms: bool) -> Vec<Self> {
        const CHANGED: &[f64] = &[0.01, 0.02, 0.05, 0.1, 0.15, 0.2];
        const MOVED: &[f64] = &[0.1, 0.25, 0.5, 1.0];
        const KEPT: &[f64] = &[0.2, 0.4, 0.6, 0.8];
        let families: [(Family, &[f64]); 12] = [
            (Family::Added, CHANGED),
            (Family::Deleted, CHANGED),
            (Family::Rewritten, CHANGED),
            (Family::Synonyms, CHANGED),
            (Family::SentencesMoved, MOVED),
            (Family::ParagraphsMoved, MOVED),
            (Family::Excerpt, KEPT),
            (Family::Merged, &[2.0, 3.0]),
            (Family::Boilerplate, &[4.0, 12.0]),
            (Family::Headline, &[1.0]),
            (Family::Traditional, &[1.0]),
            (Family::Width, &[1.0]),
        ];
        let wanted = families.into_iter().filter(|(family, _)| with_synonyms || *family != Family::Synonyms);
        wanted
            .flat_map(|(family, levels)| levels.iter().map(move |level| Self { family, level: *level }))
            .collect()
    }
}

/// Why a text names no condition.
#[derive(Debug, thiserror::Error)]
pub enum ConditionError {
    /// No such family.
    #[error("{0:?} is no way to change a text: there is {names}", names = Family::names())]
    Family(String),
    /// Not a number, or not one that fits.
    #[error(
        "{0:?} says not how much: a share from 0 to 1, 2 or 3 articles merged, or up to 99 lines of boilerplate"
    )]
    Level(String),
}

/// `rewritten=0.05`; of what is done as a whole, the name alone.
impl FromStr for Condition {
    type Err = ConditionError;

    fn from_str(text: &str) -> Result<Self, ConditionError> {
        let (name, level) = text.split_once('=').unwrap_or((text, "1"));
        let name: StrDeserializer<NoName> = name.into_deserializer();
        let family = Family::deserialize(name).map_err(|_| ConditionError::Family(text.to_owned()))?;
        let allowed = match family {
            Family::Merged => 2.0..=3.0,
            Family::Boilerplate => 1.0..=99.0,
            _ => 0.0..=1.0,
        };
        let level = level.parse().ok().filter(|level| allowed.contains(level));
        Ok(Self { family, level: level.ok_or_else(|| ConditionError::Level(text.to_owned()))? })
    }
}

impl Family {
    /// The names that users give, parted by commas.
    fn names() -> String {
        let mut names: Vec<String> = Vec::new();
        for Condition { family, .. } in Condition::all(true) {
            let name = serde_json::to_value(family).expect("a name").as_str().unwrap_or_default().to_owned();
            if names.last() != Some(&name) {
                names.push(name);
            }
        }
        names.join(", ")
    }

    /// In words.
    #[must_use]
    pub fn title(self) -> &'static str {
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
        match self.family {
            Family::Merged => write!(f, "{} {}", self.level, self.family.title()),
            Family::Boilerplate => write!(f, "{} {}", self.level, self.family.title()),
            Family::Headline | Family::Traditional | Family::Width => f.write_str(self.family.title()),
            _ => write!(f, "{:.0} % {}", self.level * 100.0, self.family.title()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_named_as_the_report_names_them() {
        for condition in Condition::all(true) {
            let name = serde_json::to_value(condition.family).expect("a name");
            let text = format!("{}={}", name.as_str().expect("a text"), condition.level);
            assert_eq!(text.parse::<Condition>().expect("right"), condition);
        }
        let old = "furniture=4".parse::<Condition>().expect("an old name").family;
        assert_eq!(old, Family::Boilerplate);
        assert_eq!("width".parse::<Condition>().expect("right").family, Family::Width);
        for wrong in ["", "rewriten=0.1", "rewritten=", "rewritten=1.5", "rewritten=NaN", "merged=1"] {
            assert!(wrong.parse::<Condition>().is_err(), "{wrong}");
        }
        assert!("x".parse::<Condition>().unwrap_err().to_string().contains("sentences-moved"));
    }
}
