//! Settings for splitting text into terms (`[segment]`).

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// From text to terms.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SegmentConfig {
    /// Reads traditional Chinese script as simplified, with regional vocabulary (軟體 = 软件).
    pub fold_script: bool,
    /// Lets jieba guess Chinese words that its dictionary lacks.
    pub hmm: bool,
    /// A dictionary of your own: lines of `word`, `word frequency` or
    /// `word frequency tag`. A relative path starts at the configuration file's folder.
    pub user_dictionary: Option<PathBuf>,
    /// Languages whose stop words are left out, by ISO 639-1 code.
    pub stop_word_languages: Vec<String>,
    /// Stop words of your own, one a line.
    pub stop_word_file: Option<PathBuf>,
}

impl Default for SegmentConfig {
    fn default() -> Self {
        Self {
            fold_script: true,
            hmm: true,
            user_dictionary: None,
            stop_word_languages: vec!["zh".to_owned(), "en".to_owned()],
            stop_word_file: None,
        }
    }
}
