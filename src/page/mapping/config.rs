//! Settings of how messages of other programs are read: `[input]`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What writes the pages: a preset, and what differs from it. None of it is part of a hash:
/// it says which text is a page's, not what becomes of it, so pages of all crawlers meet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct InputConfig {
    /// What writes the messages, or lines: `json` (Leitong's own fields), `scrapy-cluster`,
    /// `nutch`, `norconex`, `os-scrapy`, `frontera`, `heritrix-log`, `cdr3`, `katana`, `crawl4ai`,
    /// `apify`, `spider`, `fineweb`, `dolma`, `datatrove`, `oscar`, `the-pile`, `warc-record`, `raw-body`.
    /// `leitong preset detect` finds out.
    pub preset: String,
    /// Folder of the WARC files that messages of `heritrix-log` name.
    pub warc_dir: Option<PathBuf>,
    /// Where fields stand that are elsewhere than the preset says.
    pub fields: FieldsConfig,
    /// What of a message comes back in its verdict: a name of your choice, and a JSON pointer.
    /// Together they are the verdict's `passthrough`, with the preset's own; 4 KiB at most.
    pub passthrough: PassthroughConfig,
    /// Which messages are read; the others are counted, and get no verdict.
    pub filter: FilterConfig,
}

/// JSON pointers (`/response/body`) in order of preference: the first one wins that hits a value
/// which fits. `@key` is the key of a message. Empty: as the preset says. Of several bodies `text`
/// wins over `html`, `html_b64`, `body` and `content`; naming one replaces all of the preset's.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FieldsConfig {
    /// The page's id; without one it is made of the url.
    pub id: Vec<String>,
    /// The url.
    pub url: Vec<String>,
    /// The main text.
    pub text: Vec<String>,
    /// Decoded HTML.
    pub html: Vec<String>,
    /// Bytes in any encoding, in Base64.
    pub html_b64: Vec<String>,
    /// Decoded HTML, or Base64 of bytes in any encoding, as its characters tell.
    pub body: Vec<String>,
    /// HTML, or the main text, as its first character tells.
    pub content: Vec<String>,
    /// The title that the crawler knows.
    pub title: Vec<String>,
    /// The charset of the body's bytes.
    pub charset: Vec<String>,
    /// The `Content-Type`.
    pub content_type: Vec<String>,
    /// The HTTP status.
    pub status: Vec<String>,
    /// When the page was fetched.
    pub fetched_at: Vec<String>,
}

/// Pointers by names.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct PassthroughConfig(pub BTreeMap<String, String>);

/// Which messages are read.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FilterConfig {
    /// HTTP statuses that are read, such as `200` or `200-299`; a message without one is
    /// read. Empty: as the preset says, mostly all (and what is not 2xx is UNDECIDABLE).
    pub statuses: Vec<String>,
    /// Content types that are read, such as `text/html` or
    /// `text/*`; a message without one is read. Empty: all.
    pub content_types: Vec<String>,
    /// Whole values that are no messages, beside the preset's own.
    pub literals: Vec<String>,
}

impl Default for InputConfig {
    fn default() -> Self {
        Self {
            preset: "json".to_owned(),
            warc_dir: None,
            fields: FieldsConfig::default(),
            passthrough: PassthroughConfig::default(),
            filter: FilterConfig::default(),
        }
    }
}
