//! Settings that several detectors share.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How rare terms are, for detectors that ask.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct IdfConfig {
    /// A table that `leitong idf build` made; unset: the one that ships.
    /// A relative path starts at the configuration file's folder.
    pub file: Option<PathBuf>,
}

/// What makes fingerprints of any detector.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FingerprintConfig {
    /// The environment variable that holds a secret, of 16 bytes or more, which keys all hashes of
    /// text, so that nobody who lacks it can make a page the near-duplicate of another on purpose
    /// (docs/guarantees.md). Unset: fingerprints that anybody can compute. All instances must have
    /// the same one; another one is another fingerprint hash.
    pub secret_env: Option<String>,
}
