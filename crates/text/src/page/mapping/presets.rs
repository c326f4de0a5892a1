//! The presets for crawlers and data sets.
//!
//! If a crawler provides a page in several forms, HTML comes before text derived from it, so pages from
//! all crawlers go through the same extraction. The requested url comes before the final url after redirects,
//! because crawlers identify their records by the requested one.

use super::preset::{Condition, Framing, KEY, Preset};
use crate::page::body::BodyForm;
use crate::page::field::Field;

/// All presets, the default first.
pub const PRESETS: &[Preset] = &[
    JSON,
    SCRAPY_CLUSTER,
    NUTCH,
    NORCONEX,
    OS_SCRAPY,
    FRONTERA,
    HERITRIX_LOG,
    CDR3,
    KATANA,
    CRAWL4AI,
    APIFY,
    SPIDER,
    FINEWEB,
    DOLMA,
    DATATROVE,
    OSCAR,
    THE_PILE,
    WARC_RECORD,
    RAW_BODY,
];

const JSON: Preset = Preset {
    name: "json",
    about: "Leitong's own format: `url`, `html`, … (alternative names of the fields are accepted)",
    // Repeats the rules of the parser in `page::json`, for configurations that change a part of them.
    fields: &[
        (Field::Id, &["/id", "/page_id", "/doc_id", "/_id"]),
        (Field::Url, &["/url", "/uri", "/page_url", "/response_url", "/target_uri", "/link"]),
        (Field::Body(BodyForm::Text), &["/text"]),
        (Field::Body(BodyForm::Html), &["/html"]),
        (Field::Body(BodyForm::Base64), &["/html_b64"]),
        (Field::Body(BodyForm::Html), &["/raw_html", "/html_content", "/page_source", "/rawHtml"]),
        (Field::Body(BodyForm::Mixed), &["/body", "/raw_content"]),
        (Field::Body(BodyForm::Base64), &["/body_b64", "/body_base64", "/html_base64"]),
        (Field::Body(BodyForm::Content), &["/content"]),
        (Field::Title, &["/title"]),
        (Field::Charset, &["/charset", "/encoding"]),
        (Field::ContentType, &["/content_type", "/contentType", "/content-type", "/mime_type", "/mimetype"]),
        (Field::Status, &["/status", "/status_code", "/statusCode", "/http_status", "/httpStatusCode"]),
        (Field::FetchedAt, &["/fetched_at", "/fetchedAt", "/fetch_time", "/crawled_at", "/timestamp"]),
    ],
    signature: &[&["/url"], &["/html", "/html_b64", "/text"]],
    ..Preset::EMPTY
};

const SCRAPY_CLUSTER: Preset = Preset {
    name: "scrapy-cluster",
    about: "Scrapy Cluster's `crawled_firehose`",
    fields: &[
        (Field::Url, &["/url", "/response_url"]),
        (Field::Body(BodyForm::Mixed), &["/body"]),
        (Field::Charset, &["/encoding"]),
        (Field::ContentType, &["/response_headers/Content-Type", "/response_headers/content-type"]),
        (Field::Status, &["/status_code"]),
        (Field::FetchedAt, &["/timestamp"]),
    ],
    passthrough: &[("appid", "/appid"), ("crawlid", "/crawlid"), ("attrs", "/attrs")],
    literals: &["json failed to parse"],
    signature: &[&["/appid"], &["/crawlid"], &["/url", "/response_url"]],
    ..Preset::EMPTY
};

const NUTCH: Preset = Preset {
    name: "nutch",
    about: "Apache Nutch's `indexer-kafka`: every value is an array of strings",
    fields: &[
        (Field::Id, &["/id"]),
        (Field::Url, &["/url", "/id"]),
        (Field::Body(BodyForm::Mixed), &["/binaryContent"]),
        (Field::Body(BodyForm::Content), &["/content"]),
        (Field::Title, &["/title"]),
        (Field::ContentType, &["/type"]),
        (Field::FetchedAt, &["/tstamp", "/date"]),
    ],
    signature: &[
        &["/url/0", "/id/0"],
        &["/content/0", "/binaryContent/0"],
        &["/tstamp/0", "/digest/0", "/boost/0"],
    ],
    ..Preset::EMPTY
};

const NORCONEX: Preset = Preset {
    name: "norconex",
    about: "Norconex' committer for Kafka: the key is the url; one value is a string, several are an array",
    fields: &[
        (Field::Url, &[KEY, "/id", "/document.reference"]),
        (Field::Body(BodyForm::Content), &["/content"]),
        (Field::Title, &["/title", "/dc:title", "/document.title"]),
        (Field::Charset, &["/document.contentEncoding"]),
        (Field::ContentType, &["/document.contentType", "/Content-Type", "/content-type"]),
        (Field::Status, &["/collector.http.statusCode", "/crawler.http.statusCode"]),
        (Field::FetchedAt, &["/collector.crawl-date", "/crawler.crawl-date", "/Date", "/date"]),
    ],
    null_deletes: true,
    signature: &[
        &["/id"],
        &["/content"],
        &[
            "/document.reference",
            "/document.contentType",
            "/document.contentFamily",
            "/collector.depth",
            "/crawler.depth",
            "/collector.content-type",
            "/collector.is-crawl-new",
        ],
    ],
    ..Preset::EMPTY
};

const OS_SCRAPY: Preset = Preset {
    name: "os-scrapy",
    about: "os-scrapy-kafka-pipeline: `request`, `response`, `meta`",
    fields: &[
        (Field::Url, &["/request/url", "/response/url", "/url"]),
        (Field::Body(BodyForm::Mixed), &["/response/body"]),
        (Field::Charset, &["/response/encoding", "/meta/encoding"]),
        (Field::ContentType, &["/response/headers/Content-Type", "/response/headers/content-type"]),
        (Field::Status, &["/response/status"]),
        (Field::FetchedAt, &["/meta/timestamp", "/response/timestamp", "/timestamp"]),
    ],
    no_page: &[("/response", Condition::Missing)],
    signature: &[&["/request/url"], &["/response/body", "/response/status"]],
    ..Preset::EMPTY
};

const FRONTERA: Preset = Preset {
    name: "frontera",
    about: "Frontera's spider log, MessagePack or JSON codec; only its `page_crawled` messages contain a page",
    framing: Framing::Frontera,
    fields: &[
        (Field::Url, &["/r/url"]),
        (Field::Body(BodyForm::Base64), &["/r/body"]),
        (Field::Charset, &["/r/meta/encoding"]),
        (Field::ContentType, &["/r/headers/Content-Type", "/r/headers/content-type"]),
        (Field::Status, &["/r/status_code"]),
        (Field::FetchedAt, &["/r/meta/timestamp"]),
    ],
    ..Preset::EMPTY
};

const HERITRIX_LOG: Preset = Preset {
    name: "heritrix-log",
    about: "Heritrix' `KafkaCrawlLogFeed`: bodies are in WARC files in the folder `input.warc_dir`",
    fields: &[
        (Field::Url, &["/url"]),
        (Field::WarcFile, &["/warc_filename"]),
        (Field::WarcOffset, &["/warc_offset"]),
        (Field::ContentType, &["/mimetype"]),
        (Field::Status, &["/status_code"]),
        (Field::FetchedAt, &["/timestamp"]),
    ],
    // 0 is a queued url, negative numbers are failures, and 1 is a DNS look-up.
    statuses: &["100-999"],
    signature: &[&["/url"], &["/hop_path", "/via"], &["/warc_filename", "/content_digest"]],
    ..Preset::EMPTY
};

const CDR3: Preset = Preset {
    name: "cdr3",
    about: "the Crawl Data Repository's schema, versions 2 and 3",
    fields: &[
        (Field::Id, &["/_id"]),
        (Field::Url, &["/url"]),
        (Field::Body(BodyForm::Mixed), &["/raw_content"]),
        (Field::Body(BodyForm::Text), &["/extracted_text"]),
        (
            Field::ContentType,
            &["/response_headers/Content-Type", "/response_headers/content-type", "/content_type"],
        ),
        (Field::FetchedAt, &["/timestamp_crawl", "/timestamp"]),
    ],
    signature: &[&["/url"], &["/raw_content", "/extracted_text"], &["/timestamp_crawl", "/team"]],
    ..Preset::EMPTY
};

const KATANA: Preset = Preset {
    name: "katana",
    about: "ProjectDiscovery's katana, `-jsonl`",
    fields: &[
        (Field::Url, &["/request/endpoint", "/endpoint"]),
        (Field::Body(BodyForm::Html), &["/response/body"]),
        (
            Field::ContentType,
            &[
                "/response/headers/content_type",
                "/response/headers/Content-Type",
                "/response/headers/content-type",
            ],
        ),
        (Field::Status, &["/response/status_code"]),
        (Field::FetchedAt, &["/timestamp"]),
    ],
    no_page: &[("/response", Condition::Missing)],
    signature: &[&["/request/endpoint"]],
    ..Preset::EMPTY
};

const CRAWL4AI: Preset = Preset {
    name: "crawl4ai",
    about: "Crawl4AI's `CrawlResult`",
    fields: &[
        (Field::Url, &["/url", "/redirected_url"]),
        (Field::Body(BodyForm::Html), &["/html", "/cleaned_html", "/fit_html"]),
        (Field::Body(BodyForm::Text), &["/markdown/raw_markdown", "/markdown", "/fit_markdown"]),
        (Field::Title, &["/metadata/title"]),
        (Field::ContentType, &["/response_headers/content-type", "/response_headers/Content-Type"]),
        (Field::Status, &["/status_code"]),
        (Field::FetchedAt, &["/crawled_at", "/timestamp"]),
    ],
    no_page: &[("/success", Condition::False)],
    signature: &[&["/url"], &["/success"], &["/html", "/cleaned_html", "/markdown"]],
    ..Preset::EMPTY
};

const APIFY: Preset = Preset {
    name: "apify",
    about: "data sets of Apify's Website Content Crawler and similar scrapers",
    fields: &[
        (Field::Url, &["/url", "/crawl/loadedUrl", "/loadedUrl"]),
        (Field::Body(BodyForm::Html), &["/html", "/body"]),
        (Field::Body(BodyForm::Text), &["/text", "/markdown"]),
        (Field::Title, &["/metadata/title", "/title"]),
        (Field::Status, &["/crawl/httpStatusCode", "/httpStatusCode"]),
        (Field::FetchedAt, &["/crawl/loadedTime", "/loadedTime"]),
    ],
    no_page: &[("/#error", Condition::True)],
    signature: &[&["/url"], &["/crawl/loadedUrl", "/crawl/loadedTime", "/loadedUrl", "/#error", "/#debug"]],
    ..Preset::EMPTY
};

const SPIDER: Preset = Preset {
    name: "spider",
    about: "spider: answers of its API, and `spider scrape --output-html`",
    fields: &[
        (Field::Url, &["/url"]),
        (Field::Body(BodyForm::Html), &["/html", "/content/raw"]),
        (
            Field::Body(BodyForm::Content),
            &["/content", "/content/markdown", "/content/text", "/text", "/markdown"],
        ),
        (Field::Title, &["/metadata/title"]),
        (Field::ContentType, &["/headers/content-type"]),
        (Field::Status, &["/status", "/status_code"]),
    ],
    signature: &[&["/url"], &["/costs", "/links"], &["/content", "/html"]],
    ..Preset::EMPTY
};

const FINEWEB: Preset = Preset {
    name: "fineweb",
    about: "documents of FineWeb, FineWeb-Edu and FineWeb2",
    fields: &[
        (Field::Id, &["/id"]),
        (Field::Url, &["/url"]),
        (Field::Body(BodyForm::Text), &["/text"]),
        (Field::FetchedAt, &["/date"]),
    ],
    signature: &[&["/text"], &["/dump"], &["/url"], &["/file_path", "/language_score", "/token_count"]],
    ..Preset::EMPTY
};

const DOLMA: Preset = Preset {
    name: "dolma",
    about: "documents of Dolma's toolkit: `id`, `text`, `source`, `metadata`",
    fields: &[
        (Field::Id, &["/id"]),
        (Field::Url, &["/metadata/url", "/metadata/warc_url", "/url"]),
        (Field::Body(BodyForm::Text), &["/text"]),
        (Field::Title, &["/metadata/title"]),
        (Field::FetchedAt, &["/metadata/date_download", "/metadata/warc_date", "/created"]),
    ],
    passthrough: &[("source", "/source")],
    signature: &[&["/id"], &["/text"], &["/source"], &["/added", "/created", "/version"]],
    ..Preset::EMPTY
};

const DATATROVE: Preset = Preset {
    name: "datatrove",
    about: "documents of datatrove's JsonlWriter: `text`, `id`, `metadata`",
    fields: &[
        (Field::Id, &["/id"]),
        (Field::Url, &["/metadata/url", "/url"]),
        (Field::Body(BodyForm::Text), &["/text"]),
        (Field::FetchedAt, &["/metadata/date", "/date"]),
    ],
    signature: &[
        &["/id"],
        &["/text"],
        &["/metadata/url", "/metadata/file_path", "/metadata/dump", "/metadata/language"],
    ],
    ..Preset::EMPTY
};

const OSCAR: Preset = Preset {
    name: "oscar",
    about: "documents of OSCAR 22.01 and later: `content` or `text`, and the headers of the WARC record",
    fields: &[
        // A number in `id` identifies a line only within one file.
        (Field::Id, &["/warc_headers/warc-record-id", "/meta/warc_headers/warc-record-id"]),
        (Field::Url, &["/warc_headers/warc-target-uri", "/meta/warc_headers/warc-target-uri"]),
        (Field::Body(BodyForm::Text), &["/content", "/text"]),
        (Field::FetchedAt, &["/warc_headers/warc-date", "/meta/warc_headers/warc-date"]),
    ],
    signature: &[
        &["/content", "/text"],
        &[
            "/warc_headers/warc-target-uri",
            "/warc_headers/warc-record-id",
            "/meta/warc_headers/warc-target-uri",
            "/meta/warc_headers/warc-record-id",
        ],
    ],
    ..Preset::EMPTY
};

const THE_PILE: Preset = Preset {
    name: "the-pile",
    about: "documents of The Pile and SlimPajama: `text` and the name of its subset, without id and url",
    fields: &[(Field::Url, &[KEY, "/url"]), (Field::Body(BodyForm::Text), &["/text"])],
    passthrough: &[
        ("pile_set_name", "/meta/pile_set_name"),
        ("redpajama_set_name", "/meta/redpajama_set_name"),
    ],
    signature: &[&["/text"], &["/meta/pile_set_name", "/meta/redpajama_set_name"]],
    ..Preset::EMPTY
};

const WARC_RECORD: Preset = Preset {
    name: "warc-record",
    about: "one WARC record per message, plain or gzip (WARC files need no preset)",
    framing: Framing::WarcRecord,
    ..Preset::EMPTY
};

const RAW_BODY: Preset = Preset {
    name: "raw-body",
    about: "the body as fetched, in any charset; the key is the url (`run` only)",
    framing: Framing::RawBody,
    fields: &[(Field::Url, &[KEY])],
    ..Preset::EMPTY
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::mapping::pointer::Pointer;

    #[test]
    fn all_pointers_are_valid() {
        for preset in PRESETS {
            let fields = preset.fields.iter().flat_map(|(_, pointers)| *pointers);
            let passed = preset.passthrough.iter().map(|(_, pointer)| pointer);
            let no_page = preset.no_page.iter().map(|(pointer, _)| pointer);
            let signature = preset.signature.iter().copied().flatten();
            for pointer in fields.chain(passed).chain(no_page).chain(signature).filter(|p| **p != KEY) {
                assert!(Pointer::parse(pointer).is_some(), "{}: {pointer}", preset.name);
            }
        }
    }

    /// The preset `json` has its own list of names. The list must contain all names that the parser for Leitong's own
    /// format accepts.
    #[test]
    fn the_json_preset_knows_all_alternative_names() {
        for (field, names) in crate::page::aliases::ALIASES {
            let lists = JSON.fields.iter().filter(|(known, _)| *known == field);
            let known: Vec<_> = lists.flat_map(|(_, pointers)| *pointers).collect();
            for name in names {
                assert!(known.iter().any(|pointer| pointer[1..] == **name), "{name}");
            }
        }
    }
}
