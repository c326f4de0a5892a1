//! Source metadata in verdicts: publisher, authors, date, canonical link, site, language.
//!
//! Pages are small and hand-written; each has one trap. `tools/measure/metadata.py` measures how often real
//! pages are read correctly (`make quality`).

use leitong::{Config, Deduplicator, Metadata, Page, TextReader};
use leitong_base::record::Timestamp;
use serde_json::{Value, json};

use crate::common::{article, dedup, run_with_input};

const SENTENCES: &str = "<p>今年头采茶比往年晚了九天，茶农说，四月初的一场倒春寒让茶芽迟迟没有冒出来，北坡的茶园受害最轻。</p>\
    <p>合作社的账本上写着，南坡减产两成，价格却比去年高出三成，来收茶的人天没亮就排起了队，一直排到村口的石桥边。</p>\
    <p>“再冷的春天我们也见过，”村里最年长的茶农说，“茶树比人恢复得快，等五月的雨一来，新叶又会铺满山坡。”</p>";

/// Returns the metadata of a page that was fetched in November 2026.
fn metadata_of(page: Page) -> Metadata {
    let fetched_at = Timestamp::from_rfc3339("2026-11-21T08:00:00Z");
    let page = Page { fetched_at, ..page };
    let document = TextReader::new(&Config::default()).read(&page).expect("a page with text");
    document.metadata.map(|metadata| *metadata).unwrap_or_default()
}

fn metadata(html: &str) -> Metadata {
    metadata_of(Page::html("https://a.example/tea/1.html", html))
}

/// Returns a page in Chinese with these parts.
fn chinese(head: &str, under_title: &str, after: &str) -> String {
    format!(
        "<html lang=\"zh-cn\"><head><title>头采茶晚了九天_山野茶讯</title>{head}</head><body>\
         <div class=\"nav\"><a href=\"/\">首页</a><a href=\"/x\">茶讯</a></div><h1>头采茶晚了九天</h1>\
         <div class=\"info\">{under_title}</div><div class=\"content\">{SENTENCES}</div><div>{after}</div>\
         <div class=\"footer\">版权所有 山野茶讯</div></body></html>"
    )
}

fn published(metadata: &Metadata) -> String {
    metadata.published_at.map(|time| time.to_string()).unwrap_or_default()
}

#[test]
fn all_metadata_of_a_page_are_found() {
    let html = chinese(
        "<meta property=\"og:site_name\" content=\"山野茶讯\"><link rel=\"canonical\" href=\"/tea/original.html\">",
        "2026年11月20日 08:30 来源：<a href=\"http://b.example/\">《农民日报》</a> 作者：李春山",
        "责任编辑：张迪",
    );
    let expected = Metadata {
        publisher: Some("农民日报".into()),
        credit_line: Some("来源： 《农民日报》".into()),
        authors: vec!["李春山".into()],
        published_at: leitong::PublicationTime::from_iso_8601("2026-11-20T08:30"),
        canonical_link: Some("https://a.example/tea/original.html".into()),
        site_name: Some("山野茶讯".into()),
        language: Some("zh-CN".into()),
    };
    assert_eq!(metadata(&html), expected);
}

/// The line is outside of the main text, and extraction rightly drops it.
#[test]
fn credit_lines_are_found_in_what_extraction_drops() {
    for line in ["来源：新华社", "（来源：新华社）", "稿源：新华社 编辑：张迪", "文章来源： 新华社 | 阅读 12"]
    {
        assert_eq!(metadata(&chinese("", line, "")).publisher.as_deref(), Some("新华社"), "{line}");
        assert_eq!(metadata(&chinese("", "", line)).publisher.as_deref(), Some("新华社"), "after: {line}");
    }
    let html = chinese("", "来源：新华社", "");
    let page = Page::html("https://a.example/", html);
    let document = TextReader::new(&Config::default()).read(&page).expect("a text");
    assert!(!document.text().contains("来源"), "the line is not main text");
}

#[test]
fn a_quoted_credit_line_does_not_count() {
    let quoted = SENTENCES.replace("茶树比人恢复得快", "那篇文章末尾写着来源：新华社，可新华社从没登过");
    let html = chinese("", "2026-11-20", "").replace(SENTENCES, &quoted);
    assert_eq!(metadata(&html).publisher, None);
    // The page's own line counts, wherever the quotation is.
    let html = chinese("", "2026-11-20 来源：农民日报", "").replace(SENTENCES, &quoted);
    assert_eq!(metadata(&html).publisher.as_deref(), Some("农民日报"));
}

#[test]
fn sources_of_pictures_and_empty_fields_do_not_count() {
    for line in [
        "图片来源：视觉中国",
        "来源：  | 发布时间：2026-11-20",
        "数据来源：国家统计局",
        "来自云南",
        "来源：网络",
    ] {
        assert_eq!(metadata(&chinese("", line, "")).publisher, None, "{line}");
    }
}

#[test]
fn datelines_name_agency_and_reporters() {
    let html = chinese("", "", "")
        .replace("<p>今年头采茶", "<p>新华社昆明11月20日电（记者李春山、王小茶）今年头采茶");
    let metadata = metadata(&html);
    assert_eq!(metadata.publisher.as_deref(), Some("新华社"));
    assert_eq!(metadata.credit_line.as_deref(), Some("新华社昆明11月20日电"));
    assert_eq!(metadata.authors, ["李春山", "王小茶"]);
}

#[test]
fn reprints_in_english_name_where_they_come_from() {
    let text = article(3, 30);
    let html = |line: &str| {
        format!(
            "<html lang=en><head><title>Harvest came late</title></head><body><h1>Harvest came late</h1>\
             <p>By Jane Doe and John Roe</p><p>{text}</p><p>{line}</p></body></html>"
        )
    };
    let found = metadata(&html("This article was originally published by The Conversation."));
    assert_eq!(found.publisher.as_deref(), Some("The Conversation"));
    assert_eq!(found.authors, ["Jane Doe", "John Roe"]);
    assert_eq!(metadata(&html("It was first published in March 2022.")).publisher, None);
}

#[test]
fn time_zones_are_kept_as_stated() {
    for (said, expected) in [
        ("2026-11-20T08:30:00+08:00", "2026-11-20T08:30:00+08:00"),
        ("2026-11-20T08:30:00Z", "2026-11-20T08:30:00Z"),
        ("2026-11-20T08:30:00-0330", "2026-11-20T08:30:00-03:30"),
        ("2026-11-20 08:30", "2026-11-20T08:30"),
        ("20261120", "2026-11-20"),
        ("2026-11-20T08:30:00+99:00", "2026-11-20T08:30:00"),
        ("0001-01-01T00:00:00Z", ""),
        ("1970-01-01T00:00:00Z", ""),
        ("yesterday", ""),
    ] {
        let meta = format!("<meta property=\"article:published_time\" content=\"{said}\">");
        assert_eq!(published(&metadata(&chinese(&meta, "", ""))), expected, "{said}");
    }
}

/// A date after the fetch cannot be the page's date; the next one may be.
#[test]
fn dates_in_the_future_are_skipped() {
    let meta = "<meta name=\"pubdate\" content=\"2027-05-01\">";
    assert_eq!(published(&metadata(&chinese(meta, "2026-11-20 08:30 来源：新华社", ""))), "2026-11-20T08:30");
    assert_eq!(published(&metadata(&chinese(meta, "", ""))), "");
    // The page's time zone may be a day ahead.
    let meta = "<meta name=\"pubdate\" content=\"2026-11-22 01:00\">";
    assert_eq!(published(&metadata(&chinese(meta, "", ""))), "2026-11-22T01:00");
}

#[test]
fn dates_are_found_in_linked_data_and_time_elements() {
    let linked = "<script type=\"application/ld+json\">{\"@type\":\"NewsArticle\",\"datePublished\":\"2026-11-19T07:00:00+08:00\",\
        \"author\":[{\"@type\":\"Person\",\"name\":\"李春山\"}],\"publisher\":{\"@type\":\"Organization\",\"name\":\"山野茶讯\"},\
        \"review\":{\"author\":\"A Reader\",\"datePublished\":\"2020-01-01\"}}</script>";
    let found = metadata(&chinese(linked, "", ""));
    assert_eq!(
        (published(&found).as_str(), &found.authors[..]),
        ("2026-11-19T07:00:00+08:00", &["李春山".to_owned()][..])
    );
    assert_eq!(found.site_name.as_deref(), Some("山野茶讯"));
    assert_eq!(found.publisher, None, "the site itself is not a source");
    let time = "<time datetime=\"2026-11-18T09:00+08:00\">三天前</time>";
    assert_eq!(published(&metadata(&chinese("", time, ""))), "2026-11-18T09:00+08:00");
}

#[test]
fn pages_in_gb18030_are_read_as_well() {
    let html = chinese("<meta charset=\"gb18030\">", "2026年11月20日 来源：农民日报 作者：李春山", "");
    let (bytes, _, _) = encoding_rs::GB18030.encode(&html);
    let found = metadata_of(Page::bytes("https://a.example/", bytes.into_owned()));
    assert_eq!(found.publisher.as_deref(), Some("农民日报"));
    assert_eq!((found.authors, found.language.as_deref()), (vec!["李春山".to_owned()], Some("zh-CN")));
}

#[test]
fn texts_without_markup_have_credit_lines_too() {
    let text = format!(
        "头采茶晚了九天\n2026-11-20 来源：农民日报\n{}",
        SENTENCES.replace("<p>", "").replace("</p>", "\n")
    );
    let found = metadata_of(Page::text("https://a.example/", text));
    assert_eq!((found.publisher.as_deref(), published(&found).as_str()), (Some("农民日报"), "2026-11-20"));
    assert_eq!(found.language.as_deref(), Some("zh"));
}

/// All lengths are bounded, and an overlong text is not a name.
#[test]
fn hostile_lengths_stay_within_the_limits() {
    let long = "茶".repeat(50_000);
    let link = "x".repeat(50_000);
    let many = (0..5_000)
        .map(|n| format!("<span class=author>Jane{n} Doe</span><span class=source>来源：{n}</span>"));
    let names = (0..500).map(|n| format!("Jane{n} Doe")).collect::<Vec<_>>().join(", ");
    let html = chinese(
        &format!(
            "<meta name=author content=\"{names}\"><meta property=og:site_name content=\"{long}\"><base href=\"{link}\">\
             <link rel=canonical href=\"/{link}\"><meta http-equiv=content-language content=\"{link}\">\
             <meta name=source content=\"{long}\"><script type=\"application/ld+json\">{{\"author\":[{}1]}}</script>",
            "\"a\",".repeat(50_000)
        ),
        &format!("来源：{long} 作者：{long} {}", "9".repeat(10_000)),
        &many.collect::<String>(),
    );
    let found = metadata(&html);
    let fits = |value: &Option<String>, most: usize| value.as_ref().is_none_or(|value| value.len() <= most);
    assert!(fits(&found.publisher, Metadata::PUBLISHER_BYTES_MAX), "{found:?}");
    assert!(fits(&found.credit_line, Metadata::CREDIT_LINE_BYTES_MAX), "{found:?}");
    assert!(fits(&found.canonical_link, Metadata::CANONICAL_LINK_BYTES_MAX), "{found:?}");
    assert!(fits(&found.site_name, Metadata::SITE_NAME_BYTES_MAX), "{found:?}");
    assert!(fits(&found.language, Metadata::LANGUAGE_BYTES_MAX), "{found:?}");
    assert!(found.authors.len() <= Metadata::AUTHORS_MAX, "{found:?}");
    assert!(found.authors.iter().all(|name| name.len() <= Metadata::AUTHOR_BYTES_MAX), "{found:?}");
}

#[test]
fn verdicts_and_extraction_have_metadata_unless_switched_off() {
    let html = chinese("", "2026-11-20 来源：农民日报", "");
    let line = format!(
        "{}\n",
        json!({ "url": "https://a.example/1", "html": html, "fetched_at": "2026-11-21T08:00:00Z" })
    );
    let verdict = &dedup(&line).verdicts()[0];
    let expected = json!({
        "publisher": "农民日报", "credit_line": "来源：农民日报", "authors": [], "published_at": "2026-11-20",
        "canonical_link": null, "site_name": null, "language": "zh-CN",
    });
    assert_eq!(verdict["metadata"], expected);
    let extracted = run_with_input(["extract", "--jsonl", "-"], &line);
    let extracted: Value = serde_json::from_str(&extracted.stdout).expect("JSON");
    assert_eq!(extracted["metadata"], expected);

    let folder = tempfile::tempdir().expect("a folder");
    let config = folder.path().join("off.toml");
    std::fs::write(&config, "[extract]\nmetadata = false\n").expect("written");
    let off =
        run_with_input(["dedup".as_ref(), "--config".as_ref(), config.as_os_str(), "-".as_ref()], &line);
    let off = &off.verdicts()[0];
    assert_eq!(off["metadata"], Value::Null);
    for same in ["fingerprint", "text_digest", "fingerprint_hash"] {
        assert_eq!(off[same], verdict[same], "{same} does not depend on it");
    }
}

#[test]
fn an_embedding_program_has_metadata_in_its_verdicts() {
    let mut deduplicator = Deduplicator::new(&Config::default()).expect("defaults");
    let page = Page::html("https://a.example/1", chinese("", "来源：农民日报", ""));
    let verdict = deduplicator.decide(page).expect("a table in memory");
    let metadata = verdict.metadata.as_ref().expect("the page says something");
    assert_eq!(metadata.publisher.as_deref(), Some("农民日报"));
    assert!(verdict.to_protobuf().windows("农民日报".len()).any(|bytes| bytes == "农民日报".as_bytes()));
}

#[test]
fn pages_without_metadata_have_null() {
    let text = "The ferry sails again from Monday on, and those who live on the islands come to see it.";
    let verdict = &dedup(format!("{}\n", json!({ "url": "urn:x", "text": text }))).verdicts()[0];
    assert_eq!(verdict["metadata"], Value::Null);
}
