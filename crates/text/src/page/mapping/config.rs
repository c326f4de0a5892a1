//! Settings for reading messages of other programs: `[input]`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::page::body::BodyForm;
use crate::page::field::Field;

/// The program that writes the pages: a preset, and differences from it. None of this is part of a hash: it
/// locates the text of a page and does not change how it is processed. So pages from all crawlers are
/// compared with each other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct InputConfig {
    /// The program that writes the messages or lines: `json` (Leitong's own fields), `scrapy-cluster`,
    /// `nutch`, `norconex`, `os-scrapy`, `heritrix-log`, `cdr3`, `katana`, `crawl4ai`, `apify`, `spider`, `fineweb`,
    /// `dolma`, `datatrove`, `oscar`, `the-pile`, `warc-record`, `raw-body`. `leitong preset detect` finds the preset
    /// for a sample, and `leitong preset list NAME` prints one, whose `[input]` you can copy and change.
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
/// bodies, `html` takes precedence over `html_b64`, `body`, `content` and `text`, in this order; with Leitong's own
/// fields, `text` comes first. A pointer for one of these five replaces all bodies of the preset.
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
    /// The name of the WARC file in `warc_dir` that contains the body.
    pub warc_file: Vec<String>,
    /// The offset of the body's record in this file.
    pub warc_offset: Vec<String>,
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

impl FieldsConfig {
    /// Returns the fields that have pointers, with these. Bodies are in order of preference.
    pub(super) fn lists(&self, text_first: bool) -> Vec<(Field, &[String])> {
        let mut lists = vec![
            (Field::Id, &self.id[..]),
            (Field::Url, &self.url),
            (Field::Body(BodyForm::Text), &self.text),
            (Field::Body(BodyForm::Html), &self.html),
            (Field::Body(BodyForm::Base64), &self.html_b64),
            (Field::Body(BodyForm::Mixed), &self.body),
            (Field::Body(BodyForm::Content), &self.content),
            (Field::WarcFile, &self.warc_file),
            (Field::WarcOffset, &self.warc_offset),
            (Field::Title, &self.title),
            (Field::Charset, &self.charset),
            (Field::ContentType, &self.content_type),
            (Field::Status, &self.status),
            (Field::FetchedAt, &self.fetched_at),
        ];
        if !text_first {
            lists.sort_by_key(|(field, _)| *field == Field::Body(BodyForm::Text));
        }
        lists.retain(|(_, pointers)| !pointers.is_empty());
        lists
    }
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
    /// Messages to skip, in addition to the preset's: a JSON pointer, and `true`, `false` or `missing`, as in
    /// `"/success" = "false"`. `missing` means that none of the fields is there that are read from this value. The
    /// pointer `""` is the whole value, which may also be `null` or the text of a failure.
    pub skip_if: BTreeMap<String, String>,
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
