//! Reads what a page says about its source and itself: publisher, authors, date, canonical link, site, language.
//!
//! ```text
//! marks of the parser ───┐
//! linked data ───────────┼→ source, author, published, language, link → Metadata
//! lines around the text ─┘
//! ```
//! In: the tree of a page with its chosen blocks, or a text without markup; the page's URL, and the time after which it
//! cannot have been published. Out: [`Metadata`], with information from the page alone. Invariants: the text of the
//! page and its fingerprint do not depend on metadata; the input read is bounded (`lines`, `marks`, `linked`), and so
//! is the output ([`leitong_base::limits`]). `docs/extraction.md` has rules and measurements.

mod author;
mod byline;
mod date;
mod dateline;
mod language;
mod lines;
mod linked;
mod markup;
mod name;
mod published;
mod sender;
mod source;
mod words;

use crate::extract::document::Document;
use crate::extract::main_text::MainText;
use leitong_base::record::{Metadata, Timestamp};
use lines::{LinePlace, PageLine};
use linked::LinkedData;
use markup::Markup;
use source::Source;

/// Information about a page from outside of its body.
#[derive(Debug, Clone, Copy, Default)]
pub struct Known<'a> {
    /// The page's URL as received.
    pub url: &'a str,
    /// The time when it was fetched or else read; later dates cannot be dates of publication.
    pub latest: Option<Timestamp>,
}

/// Builds the tables, which are otherwise built on first use.
pub(super) fn build_tables() {
    source::build_tables();
    words::build_tables();
}

/// Returns the metadata of the page that `document` was extracted from.
pub(super) fn from_page(page: &MainText<'_>, document: &Document, known: Known<'_>) -> Metadata {
    let range = lines::range(page);
    let lines = range.map(|range| lines::from_page(page, range));
    let lines = lines.unwrap_or_default();
    let page = Markup { html: page.html, tree: page.tree, range };
    let linked = page.linked_data();
    let language = language::detect(document, page.languages(&linked));
    let source = publisher(Some((&page, &linked)), &lines);
    let mut metadata = Metadata {
        authors: page.authors(&lines, &linked, language.as_deref()),
        published_at: page.published(&lines, &linked, known),
        canonical_link: page.canonical_link(known.url),
        site_name: page.site_name(&linked),
        language,
        ..Metadata::default()
    };
    set_source(&mut metadata, source);
    // An editor is not an author; on pages in Chinese, neither is a name that is also the source.
    let is_chinese = metadata.language.as_deref().is_some_and(|language| language.starts_with("zh"));
    let is_source =
        |name: &String| metadata.publisher.as_ref().is_some_and(|known| known.eq_ignore_ascii_case(name));
    let is_other = |name: &&String| author::is_editor(&lines, name) || (is_chinese && is_source(name));
    let authors = metadata.authors.iter().filter(|name| !is_other(name)).cloned().collect();
    metadata.authors = authors;
    metadata
}

/// Returns the metadata of a text without markup.
pub(super) fn from_text(document: &Document, known: Known<'_>) -> Metadata {
    let lines = lines::from_text(document);
    let language = language::detect(document, []);
    let mut metadata = Metadata {
        authors: match author::from_lines(&lines) {
            authors if authors.is_empty() => byline::from_lines(&lines, language.as_deref()),
            authors => authors,
        },
        published_at: published::from_lines(&lines, known.latest)
            .or_else(|| published::from_url(known.url, known.latest)),
        language,
        ..Metadata::default()
    };
    set_source(&mut metadata, publisher(None, &lines));
    metadata
}

fn set_source(metadata: &mut Metadata, source: Option<Source>) {
    let Some(Source { publisher, line }) = source else { return };
    let mut line = without_stray_brackets(&line).to_owned();
    line.truncate(line.floor_char_boundary(Metadata::CREDIT_LINE_BYTES_MAX));
    metadata.publisher = Some(publisher);
    metadata.credit_line = Some(line);
}

/// Brackets and quotation marks.
const PAIRS: [(char, char); 9] = [
    ('《', '》'),
    ('“', '”'),
    ('「', '」'),
    ('【', '】'),
    ('"', '"'),
    ('『', '』'),
    ('（', '）'),
    ('(', ')'),
    ('[', ']'),
];

/// Returns `line` without brackets at its ends that have no counterpart, as in `来源：新华社）`.
fn without_stray_brackets(line: &str) -> &str {
    let mut line = line.trim();
    loop {
        let count = |c: char| line.matches(c).count();
        let stray = PAIRS.into_iter().find_map(|(open, close)| {
            if count(open) > count(close) {
                line.strip_prefix(open).or_else(|| line.strip_suffix(open))
            } else if count(close) > count(open) {
                line.strip_suffix(close).or_else(|| line.strip_prefix(close))
            } else {
                None
            }
        });
        match stray {
            Some(rest) => line = rest.trim(),
            None => return line,
        }
    }
}

/// Returns the publisher from the most trusted place: the line under the title, metadata and marked elements, the end
/// of the text, the lines after it, the dateline.
fn publisher(page: Option<(&Markup<'_>, &LinkedData)>, lines: &[PageLine]) -> Option<Source> {
    let of_lines = |places: &[LinePlace]| {
        lines
            .iter()
            .filter(|line| places.contains(&line.place))
            .find_map(|line| source::from_line(&line.text, line.place))
    };
    let linked = || {
        let (page, linked) = page?;
        let is_site = linked.source == linked.publisher || linked.source == page.site_name(linked);
        let name = linked.source.clone().filter(|_| !is_site)?;
        let publisher = name::publisher(&name)?;
        Some(Source { publisher, line: name })
    };
    of_lines(&[LinePlace::Top])
        .or_else(|| page.and_then(|(page, _)| page.source()))
        .or_else(|| of_lines(&[LinePlace::First, LinePlace::Last]))
        .or_else(|| of_lines(&[LinePlace::After]))
        .or_else(|| of_lines(&[LinePlace::Within]))
        .or_else(linked)
        .or_else(|| {
            let first = lines.iter().filter(|line| matches!(line.place, LinePlace::First | LinePlace::Top));
            first.filter_map(|line| dateline::parse(&line.text)).find_map(|dateline| dateline.source)
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extract::{ExtractConfig, Extractor, Syntax};
    use leitong_base::work::Work;

    fn metadata_of(html: &str) -> Metadata {
        let mut extractor = Extractor::new(&ExtractConfig::default());
        let page = extractor.extract_page(html, Syntax::default(), &mut Work::unbounded());
        page.expect("within the limits").metadata(Known { url: "https://a.example/ferry", latest: None })
    }

    /// 195 lines of real pages would keep one bracket of a pair.
    #[test]
    fn lines_lose_brackets_without_counterpart() {
        for (line, expected) in [
            ("来源：新华社）", "来源：新华社"),
            ("（来源：新华社", "来源：新华社"),
            ("（来源：新华社）", "（来源：新华社）"),
            ("来源：新华社（北京））", "来源：新华社（北京）"),
            ("【（来源：新华社", "来源：新华社"),
            ("）", ""),
            ("", ""),
        ] {
            assert_eq!(without_stray_brackets(line), expected, "{line}");
        }
    }

    const TEXT: &str = "<p>The ferry between the bay and the outer islands will stop running at the end of October, the \
        harbour board said on Tuesday after a meeting that lasted most of the evening.</p><p>Passengers have complained \
        for years about cancelled crossings, but the board blamed a worn gearbox that no workshop can repair.</p>\
        <p>A replacement vessel could be chartered, although its draught is too deep for the old stone pier.</p>";

    /// Dates of related articles, comments and page footers must not be taken for the article's date.
    #[test]
    fn the_date_of_publication_is_the_articles_own() {
        let time = "<time datetime=2019-02-03>3 Feb 2019</time>";
        let article = |above: &str, below: &str| {
            format!("<article>{}{TEXT}{below}</article>", above.replace("H1", "<h1>Ferry to stop</h1>"))
        };
        let today = "<time datetime=2026-01-01>Today</time>";
        let own = [
            article(&format!("H1<p>{time}</p>"), ""),
            article(&format!("<header>H1{time}</header>"), ""),
            article("H1", &format!("<footer>Posted on {time}</footer>")),
            article("H1<span itemprop=datePublished datetime=2019-02-03>x</span>", ""),
            format!("<div>{today}</div>") + &article(&format!("H1<p>By Lena Orth, {time}</p>"), ""),
            format!("<div><a href=x>A storm is coming</a> {today}</div>")
                + &article(&format!("H1<p>{time}</p>"), ""),
        ];
        let time = "<time datetime=2019-02-03>long ago</time>";
        let link = format!("<a href=x>Older</a> {time}");
        let dated = "<i itemprop=datePublished datetime=2019-02-03>x</i>";
        let plain = article("H1", "");
        let others = [
            format!("{plain}<aside><h3>Related</h3>{link}</aside>"),
            format!("{plain}<div class=related-stories>{link}</div>"),
            article("H1", &format!("<ol class=comments><li>A reader, {time}: Good.</ol>")),
            format!("{plain}<article><h2>Other</h2>{time}</article>"),
            format!("{plain}<div><h3>2 Comments</h3><div><b>Joe</b> {time}<p>Good.</div></div>"),
            format!("<aside>{time}</aside>{plain}"),
            format!("<div>{time} 3 °C</div>{plain}"),
            format!("{plain}<footer>{time}</footer>"),
            format!("{plain}<div>{link}</div>"),
            article(
                &format!(
                    "H1<p>The old ferry, which nobody in the town had loved, was taken out of service on {time} after \
                     forty years, and sold to a museum in the capital.</p>"
                ),
                "",
            ),
            article(&format!("H1<p>The farewell is on {time}.</p>"), ""),
            article("H1", &format!("<ul><li>{time}: the last trip to the islands</ul>{TEXT}")),
            article("H1", &format!("<p>The farewell will be held on {time} at noon</p>")),
            format!("{plain}<div class=comment>{dated}</div>"),
        ];
        let of = |body: &str| {
            metadata_of(&format!("<title>Ferry to stop</title><body><main>{body}</main>")).published_at
        };
        for body in own {
            assert_eq!(of(&body).map(|date| date.to_string()).as_deref(), Some("2019-02-03"), "{body}");
        }
        for body in others {
            assert_eq!(of(&body), None, "{body}");
        }
    }

    /// The date of an update must not be taken for the date of publication, even if it comes first in the line.
    #[test]
    fn the_date_of_publication_is_not_that_of_an_update() {
        let [new, old] = ["2022-02-02", "2021-05-06"].map(|day| format!("<time datetime={day}>{day}</time>"));
        for line in [
            format!("Updated {new} · Published {old}"),
            format!("Last updated on: {new}, published {old}"),
            format!("Published {old} · Updated {new}"),
            format!("{old} (modified {new})"),
            format!("Updated <b></b>{new} <i>by</i> Published {old}"),
        ] {
            let page = format!(
                "<title>Ferry to stop</title><body><main><h1>Ferry to stop</h1><p>{line}</p>{TEXT}</main>"
            );
            let date = metadata_of(&page).published_at.map(|date| date.to_string());
            assert_eq!(date.as_deref(), Some("2021-05-06"), "{line}");
        }
    }

    /// Content management systems write the date into the footer of the article, after its author.
    #[test]
    fn a_date_below_the_text_counts_after_its_words() {
        let footer = "<footer><span class=vcard>Author <a href=/lena>Lena Orth</a></span><span>Posted on <a href=/ferry>\
                      <time datetime=2019-02-03>3 Feb 2019</time></a></span> <a href=/tag>ferries</a></footer>";
        for (footer, expected) in
            [(footer.to_owned(), Some("2019-02-03")), (footer.replace("Posted on", "Opened"), None)]
        {
            let page = format!(
                "<title>Ferry</title><article><h1>Ferry</h1>{TEXT}<h2>Lena Orth</h2>{footer}</article>"
            );
            let found = metadata_of(&page).published_at.map(|date| date.to_string());
            assert_eq!(found.as_deref(), expected, "{footer}");
        }
    }

    /// A page of a theme that names no author must not get the author of its first comment.
    #[test]
    fn a_reader_who_comments_is_not_the_author() {
        let comments = "<div id=comments><h3>2 Comments</h3><ol class=comment-list><li class=comment><div \
                        class='comment-author vcard'><b class=fn>Mr. Brown</b> says:</div><p>Good riddance.</p><li \
                        class=comment><div class='comment-author vcard'><b class=fn>Ann</b> says:</div><p>Oh no.</ol></div>";
        let page = format!("<title>Ferry</title><article><h1>Ferry</h1>{TEXT}</article>{comments}");
        assert_eq!(metadata_of(&page).authors, [""; 0]);
    }

    #[test]
    fn the_canonical_link_is_an_address_of_a_page() {
        for (link, base, expected) in [
            ("https://b.example/1#top", "", Some("https://b.example/1")),
            ("2", "<base href=/base/>", Some("https://a.example/base/2")),
            ("", "", None),
            ("javascript:alert(1)", "", None),
            ("https://user:secret@b.example/", "", None),
            (&format!("/{}", "é".repeat(1000)), "", None),
        ] {
            let found =
                metadata_of(&format!("{base}<link rel=canonical href='{link}'>{TEXT}")).canonical_link;
            assert_eq!(found.as_deref(), expected, "{link}");
        }
    }

    /// An author after an opening bracket must not keep it.
    #[test]
    fn authors_lose_brackets_without_counterpart() {
        let page = "<title>渡轮停航</title><body><h1>渡轮停航</h1><p>来源：新华社 作者：[王小明 2021-05-06 07:08</p><p>渡轮公司周二宣布，\
            航线将于十月底停运。乘客多年来一直抱怨航班取消，但董事会将责任归咎于一个磨损的变速箱，国内没有任何工厂能够修理它。</p>";
        assert_eq!(metadata_of(page).authors, ["王小明"]);
    }

    /// Sites write the type of scripts with references, parameters and spaces.
    #[test]
    fn linked_data_is_read_however_its_type_is_written() {
        let data = r#"{"@type":"NewsArticle","author":{"@type":"Person","name":"Lena Orth"}}"#;
        let page = |kind: &str, data: &str| {
            metadata_of(&format!("<title>Ferry</title><script type=\"{kind}\">{data}</script><body>{TEXT}"))
                .authors
        };
        for kind in [
            "application/ld+json",
            "application/ld&plus;json",
            "application/ld&#43;json",
            " Application/LD+JSON ",
            "application/ld+json; charset=utf-8",
            "application/ld+json;charset=utf-8",
        ] {
            assert_eq!(page(kind, data), ["Lena Orth"], "{kind}");
        }
        for other in ["application/json", "text/javascript", "application/ld+jsonp", "", "ld+json"] {
            assert_eq!(page(other, data), [""; 0], "{other}");
        }
    }
}
