//! Settings that several detectors share.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Rarity of terms, for detectors that use it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct IdfConfig {
    /// File with a table made by `leitong idf build`. Unset: the table that ships with Leitong.
    pub file: Option<PathBuf>,
}

/// Settings for the fingerprints of all detectors.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FingerprintConfig {
    /// Environment variable that holds a secret of 16 bytes or more. It keys all hashes of text. Nobody
    /// without the secret can then craft a page that is a near-duplicate of another (docs/guarantees.md). All
    /// instances must have the same secret; a different one changes the fingerprint hash. Unset: anybody can
    /// compute the fingerprints.
    pub secret_env: Option<String>,
}
