//! Hostile text in every place that shows text of a page.

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::json;

use super::language::Language;
use super::*;
use leitong_base::record::FingerprintRecord;
use leitong_fingerprint::Shares;
use leitong_fingerprint::relation::Relation;
use leitong_pipeline::comparison::{Compared, Opinion, PairVerdict, Related, Side};
use leitong_pipeline::comparison::{Mark, Piece};
use leitong_text::extract::{NoContent, PageBlock, ParagraphKind};
use leitong_text::segment::Terms;

/// Returns a comparison in which every text is `says`.
fn comparison(says: &str) -> Comparison {
    let kinds = [
        ParagraphKind::Heading(1),
        ParagraphKind::Paragraph,
        ParagraphKind::ListItem,
        ParagraphKind::TableCell,
        ParagraphKind::Quote,
        ParagraphKind::Code,
    ];
    let block = |kept| {
        kinds.into_iter().map(move |kind| PageBlock {
            kind,
            text: says.to_owned(),
            kept,
            region: Some("nav"),
        })
    };
    let side = |refusal: Option<&str>| Side {
        name: says.to_owned(),
        charset: None,
        title: refusal.is_none().then(|| says.to_owned()),
        blocks: block(true).chain(block(false)).collect(),
        terms: Terms::default(),
        record: Box::new(FingerprintRecord::numbered(7, Some(vec![7; 138].into()))),
        refusal: refusal.map(str::to_owned),
        page_kind: Some(NoContent::Login),
    };
    let middle = says.floor_char_boundary(says.len() / 2);
    let piece = |text, mark| Piece { text, mark };
    let pieces = |marks: [Mark; 2]| {
        let piece = vec![piece(0..middle, marks[0]), piece(middle..says.len(), marks[1])];
        let kept = vec![piece; kinds.len()];
        kept.into_iter().chain(vec![Vec::new(); kinds.len()]).collect()
    };
    let opinion = |name| {
        let evidence = json!({ says: [says, [says, 1], { says: says }], "sketch_matches": says });
        let compared = Compared {
            near: true,
            distance: 1.0,
            similarity: 0.5,
            evidence: evidence.as_object().cloned().unwrap_or_default(),
        };
        Opinion { name, compared: Some(compared) }
    };
    Comparison {
        sides: [side(None), side(Some(says))],
        pieces: [pieces([Mark::Shared(0), Mark::Only]), pieces([Mark::NotCompared, Mark::Shared(0)])],
        shared: 0.5,
        cut: true,
        detector: "simhash",
        related: Some(Related { relation: Relation::Same, shares: Shares::ALL }),
        verdict: PairVerdict::Near,
        opinions: vec![opinion("simhash"), opinion("paragraph")],
    }
}

/// Returns all tags of a page, without the text between them. Unescaped text would change them.
fn tags(page: &str) -> Vec<&str> {
    // The style is our own and contains no tags.
    let (head, rest) = page.split_once("<style>").expect("a style");
    let (_, body) = rest.split_once("</style>").expect("its end");
    let tag = |part: &'_ str| -> (usize, usize) { (0, part.find('>').unwrap_or(part.len())) };
    let tags = |part| -> Vec<&str> {
        let parts: std::str::Split<'_, char> = str::split(part, '<');
        parts.skip(1).map(|part| &part[tag(part).0..tag(part).1]).collect()
    };
    [tags(head), tags(body)].concat()
}

/// Texts that try to become markup.
const HOSTILE: [&str; 12] = [
    "<script>alert(1)</script>",
    "</title><script>alert(1)</script>",
    "</style><img src=x onerror=alert(1)>",
    "\" onmouseover=\"alert(1)",
    "' onfocus='alert(1)' autofocus='",
    "--><svg onload=alert(1)>",
    "javascript:alert(1)",
    "&lt;script&gt;&#60;script&#62;",
    "]]><![CDATA[<b>",
    "</bdi></p></main><base href=//evil.example>",
    "\u{202e}\u{2066}evil\u{0}\u{1b}[31m",
    "<meta http-equiv=refresh content=0;url=//evil.example>",
];

#[test]
fn no_hostile_text_opens_a_tag_or_an_attribute() {
    for language in Language::ALL {
        let plain = file_of_comparison(&comparison("plain text"), language);
        for says in HOSTILE {
            let page = file_of_comparison(&comparison(says), language);
            assert_eq!(tags(&page), tags(&plain), "{says:?}");
            assert!(
                !page.contains('\u{202e}') && !page.contains('\u{1b}') && !page.contains('\0'),
                "{says:?}"
            );
        }
    }
}

proptest! {
    #[test]
    fn no_random_text_opens_a_tag_or_an_attribute(says in "[<>\"'&=/;:# a-c0-9!\\-\\[\\]\u{202e}\u{0}\u{7f}好é🦀]{2,40}") {
        let plain = file_of_comparison(&comparison("plain text"), Language::English);
        let page = file_of_comparison(&comparison(&says), Language::English);
        prop_assert_eq!(tags(&page), tags(&plain));
    }
}

#[test]
fn a_page_has_no_script_no_inline_style_and_nothing_from_elsewhere() {
    let page = file_of_comparison(&comparison("plain text"), Language::Chinese);
    for tag in tags(&page) {
        assert!(!tag.starts_with("script"), "{tag}");
        for part in [" style=", " on", " src=", "href=\"http", "href=\"//", "href=\"javascript"] {
            assert!(!tag.contains(part), "{part} in {tag}");
        }
    }
    assert!(page.starts_with("<!DOCTYPE html><html lang=\"zh-CN\">"));
    // The policy comes before everything that it applies to.
    let [policy, style] = ["Content-Security-Policy", "<style>"].map(|what| page.find(what).expect(what));
    assert!(policy < style);
    let ids: Vec<&str> = page.split(" id=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len(), "an id occurs twice: {ids:?}");
}

#[test]
fn the_beginning_of_an_endless_block_is_shown() {
    let mut comparison = comparison("plain text");
    let (block, end) = (comparison.sides[0].blocks[0].clone(), 2_999_997);
    comparison.sides[0].blocks = vec![PageBlock { text: "好".repeat(end / 3), ..block }];
    let piece = |text, mark| Piece { text, mark };
    comparison.pieces[0] = vec![vec![piece(0..299_997, Mark::Shared(0)), piece(299_997..end, Mark::Only)]];
    let page = file_of_comparison(&comparison, Language::English);
    assert!(page.contains("1 more blocks are not shown, or are cut."), "{}", page.len());
    assert!(page.matches('好').count() == 100_000 && page.len() < 400_000, "{}", page.len());
}

#[test]
fn large_pages_are_shown_in_part() {
    let mut comparison = comparison("plain text");
    let block = comparison.sides[0].blocks[0].clone();
    comparison.sides[0].blocks = vec![PageBlock { text: "x".repeat(10_000), ..block }; 5_000];
    comparison.pieces[0] = vec![Vec::new(); 5_000];
    let page = file_of_comparison(&comparison, Language::English);
    assert!(page.contains("4970 more blocks are not shown") && page.len() < 500_000, "{}", page.len());
}
