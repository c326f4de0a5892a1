//! Settings for reading messages of other programs: `[input]`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The program that writes the pages: a preset, and differences from it. None of this is part of a hash: it
/// locates the text of a page and does not change how it is processed. So pages from all crawlers are
/// compared with each other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct InputConfig {
    /// The program that writes the messages or lines: `json` (Leitong's own fields), `scrapy-cluster`,
    /// `nutch`, `norconex`, `os-scrapy`, `frontera`, `heritrix-log`, `cdr3`, `katana`, `crawl4ai`, `apify`,
    /// `spider`, `fineweb`, `dolma`, `datatrove`, `oscar`, `the-pile`, `warc-record`, `raw-body`. `leitong
    /// preset detect` finds the preset for a sample.
    pub preset: String,
    /// Folder with the WARC files that messages of `heritrix-log` name.
    pub warc_dir: Option<PathBuf>,
    /// JSON pointers to fields, such as `/response/body`, that replace those of the preset. Of several, the first
    /// that finds a usable value counts. `@key` is the key of the message.
    pub fields: FieldsConfig,
    /// Values of a message that its verdict returns: a name of your choice, and a JSON pointer. Together with
    /// the values of the preset, they are the `passthrough` of the verdict; 4 KiB at most.
    pub passthrough: PassthroughConfig,
    /// Messages to read. All others are counted, and get no verdict.
    pub filter: FilterConfig,
}

/// For each field, JSON pointers (`/response/body`) in order of preference: the first one that finds a usable value
/// counts. `@key` is the key of the message. An empty list means the pointers of the preset. If a message has several
/// bodies, `text` takes precedence over `html`, `html_b64`, `body` and `content`, in this order. A pointer for one of
/// these five replaces all bodies of the preset.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FieldsConfig {
    /// The page's id. Without one, it is derived from the url.
    pub id: Vec<String>,
    /// The url.
    pub url: Vec<String>,
    /// The main text.
    pub text: Vec<String>,
    /// Decoded HTML.
    pub html: Vec<String>,
    /// The Base64 of bytes in any encoding.
    pub html_b64: Vec<String>,
    /// Decoded HTML, or the Base64 of bytes in any encoding. The characters of the value decide.
    pub body: Vec<String>,
    /// HTML, or the main text. The first character decides.
    pub content: Vec<String>,
    /// The page's title according to the crawler.
    pub title: Vec<String>,
    /// The charset of the body's bytes.
    pub charset: Vec<String>,
    /// The `Content-Type`.
    pub content_type: Vec<String>,
    /// The HTTP status.
    pub status: Vec<String>,
    /// The time at which the page was fetched.
    pub fetched_at: Vec<String>,
}

/// JSON pointers by name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct PassthroughConfig(pub BTreeMap<String, String>);

/// The messages to read.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FilterConfig {
    /// HTTP statuses to read, such as `200` or `200-299`. A message without a status is read. Empty: use the
    /// preset's, which usually means all (and pages whose status is not 2xx are UNDECIDABLE).
    pub statuses: Vec<String>,
    /// Content types to read, such as `text/html` or `text/*`. A message without a content type is read.
    /// Empty: all.
    pub content_types: Vec<String>,
    /// Whole values that are not messages, in addition to the preset's.
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
