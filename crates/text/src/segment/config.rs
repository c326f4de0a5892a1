//! Settings for splitting text into terms (`[segment]`).

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings for splitting text into terms.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SegmentConfig {
    /// Reads traditional Chinese script as simplified, with regional vocabulary (軟體 = 软件).
    pub fold_script: bool,
    /// Guesses Chinese words that are not in jieba's dictionary, with a hidden Markov model.
    pub hmm: bool,
    /// File with words of your own, one per line: `word`, `word frequency` or `word frequency tag`.
    pub user_dictionary: Option<PathBuf>,
    /// Languages whose stop words are removed, as ISO 639-1 codes.
    pub stop_word_languages: Vec<String>,
    /// File with stop words of your own, one per line.
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
