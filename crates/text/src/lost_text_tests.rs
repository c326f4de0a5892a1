//! Tests of kinds of pages whose text, headline or authors were lost or wrong: each kind with several variants.

use leitong_base::work::Work;

use crate::extract::{Document, ExtractConfig, Extractor, Known, Syntax};
use crate::segment::{Lexicons, SegmentConfig, Segmenter};

pub(crate) const SENTENCES: [&str; 5] = [
    "The ferry between the bay and the outer islands will stop running at the end of October, the harbour board said.",
    "Passengers have complained for years about cancelled crossings, but the board blamed a worn gearbox.",
    "A replacement vessel could be chartered, although its draught is too deep for the old stone pier.",
    "Shopkeepers fear that deliveries of flour will become irregular, and several families have moved inland.",
    "The council promised to look for money, while the union offered two trawlers that may carry mail and people.",
];
const MENU: &str = "<nav><a href=/a>Harbour</a> <a href=/b>Weather</a></nav>";

fn paragraphs(sentences: &[&str]) -> String {
    sentences.iter().map(|sentence| format!("<p>{sentence}</p>")).collect()
}

fn document(html: &str) -> Document {
    Extractor::new(&ExtractConfig::default()).extract(html).expect("within the limits")
}

/// Asserts that the text of `html` has all sentences in order, and returns the text.
fn whole(html: &str) -> String {
    let text = document(html).text();
    let places: Vec<Option<usize>> = SENTENCES.iter().map(|sentence| text.find(sentence)).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{html}\n{text}");
    text
}

#[test]
fn parts_that_react_sends_later_are_in_their_places() {
    let all = |part: usize| paragraphs(&SENTENCES[part..=part]);
    let wait = "<div class=skeleton>Loading</div><!--/$-->";
    for end in [
        format!(
            "<!--$?--><template id=\"B:0\"></template>{wait}</article></main><div hidden id=\"S:0\">{}{}</div>",
            all(3),
            all(4)
        ),
        format!(
            "{}<!--$?--><template id=\"B:1\"></template>{wait}</article></main><div hidden id=\"S:1\">{}</div><script>\
             $RC(\"B:1\",\"S:1\")</script>",
            all(3),
            all(4)
        ),
        format!(
            "<!--$?--><template id=\"B:a\"></template>{wait}</article><!--$?--><template id=\"B:b\"></template>{wait}\
             </main><div hidden=\"\" id=\"S:b\"><ul><li><a href=x>More</a></ul></div><div hidden id=\"S:c\">{}</div>\
             <div hidden id=\"S:a\"><div>{}</div><template id=\"P:c\"></template></div>",
            all(4),
            all(3),
        ),
    ] {
        let html = format!(
            "<title>The last ferry</title>{MENU}<main><article><h1>The last ferry</h1>{}{end}",
            paragraphs(&SENTENCES[..3])
        );
        let text = whole(&html);
        assert!(!text.contains("Loading") && !text.contains("More"), "{text}");
    }
}

/// A part may hold its own place, or never end.
#[test]
fn broken_parts_of_react_take_linear_time() {
    let looped =
        "<template id=\"B:0\"></template><div hidden id=\"S:0\">a<template id=\"B:0\"></template></div>";
    document(looped);
    document(&"<!--$?--><template id=\"B:0\"></template><p hidden id=\"S:0\">".repeat(2_000));
}

#[test]
fn templates_lose_their_places_only() {
    let text = paragraphs(&SENTENCES);
    for template in [
        format!(
            "<script type='text/x-handlebars-template'><img src='{{{{v}}}}'><h1>{{{{t}}}}</h1>{text}</script>"
        ),
        format!("<script type='text/x-mustache'>{{{{#list}}}}{text}{{{{{{raw}}}}}}{{{{/list}}}}</script>"),
        format!(
            "<script type='text/x-underscore-template'><% if (a) {{ %>{text}<p><%= b %></p><% }} %></script>"
        ),
        format!("<script type=text/x-jsrender-tmpl>{text}<i>${{c}}</i></script>"),
        format!("<template>{{% block %}}{text}{{% endblock %}}</template>"),
    ] {
        let text = whole(&format!("<title>Ferry</title><body><ul><li><a href=/d>Docs</a></ul>{template}"));
        assert!(!text.contains('{') && !text.contains('%'), "{text}");
    }
    // A template is not read on a page with a text of its own.
    let page = format!(
        "<article>{text}</article><script type='text/template'><p>Dear {{{{x}}}}, hello.</p></script>"
    );
    assert!(!whole(&page).contains("Dear"));
}

#[test]
fn steps_and_answers_stand_in_linked_data() {
    let [a, b, c, d, e] = SENTENCES;
    for (data, other) in [
        (
            format!(
                r#"{{"@type":["Recipe","NewsArticle"],"recipeIngredient":["{a}","{b}"],"review":{{"@type":"Review",
                "text":"Lovely"}},"recipeInstructions":[{{"@type":"HowToSection","name":"{c}","itemListElement":[
                {{"@type":"HowToStep","name":"Lovely","text":"{d}"}},{{"@type":"HowToStep","name":"{e}"}}]}}]}}"#
            ),
            "Lovely",
        ),
        (
            format!(
                r#"{{"@graph":[{{"@type":"http://schema.org/HowTo","name":"Lovely","supply":"{a}","step":[{{"text":"{b}",
                "@type":"HowToStep"}},{{"@type":"HowToStep","itemListElement":{{"@type":"HowToDirection","text":"{c}"}}}},
                {{"@type":"HowToTip","text":"{d} {e}"}}]}}]}}"#
            ),
            "Lovely",
        ),
        (
            format!(
                r#"{{"@type":"Recipe","name":"Lovely","recipeInstructions":"<p>{a}\n{b}</p>{c} {d}<br>{e}"}}"#
            ),
            "Lovely",
        ),
        (
            format!(
                r#"{{"@type":"QAPage","mainEntity":{{"@type":"Question","name":"Ferry?","text":"{a}","acceptedAnswer":
                {{"@type":"Answer","text":"{b} {c}"}},"suggestedAnswer":[{{"@type":"Answer","text":"{d} {e}"}}]}}}}"#
            ),
            "Answer",
        ),
        (format!(r#"{{"@type":"Product","name":"Lovely","description":"{a} {b} {c} {d} {e}"}}"#), "Lovely"),
    ] {
        let page = format!(
            "<title>Soup</title><script type='application/ld+json'>{data}</script><body><div id=app></div>"
        );
        assert!(!whole(&page).contains(other), "{data}");
    }
}

#[test]
fn the_body_of_an_article_is_whole() {
    let [a, b, c, d, e] = SENTENCES;
    for (one, two) in
        [("related-box", "ad"), ("comment", "share"), ("sidebar", "caption-text"), ("tags", "hidden-part")]
    {
        let body = format!(
            "<p>{a}</p><div class={one}><p>{b}</p><p>Soon.</p></div><p>{c}</p><section class={two}><p>{d}</p></section><p>{e}</p>"
        );
        let html = format!(
            "<title>The last ferry</title>{MENU}<div class=x><h1>The last ferry</h1><div itemprop=articleBody>{body}\
             <aside><p>Subscribe to our letters, which come on each Monday, and you will never miss a story again.</p></aside>\
             </div></div>"
        );
        assert!(whole(&html).contains("Soon."), "{one}");
    }
}

#[test]
fn sections_whose_id_repeats_their_title_are_text() {
    let [a, b, c, d, e] = SENTENCES;
    for title in [
        "Related work",
        "Related concepts",
        "Recommended settings",
        "Cookies",
        "Read more carefully",
        "3.1 Comments",
    ] {
        let id = title.to_lowercase().trim_start_matches("3.1 ").replace(' ', "-");
        for (open, close) in [
            (format!("<section id={id}><h2>{title}</h2>"), "</section>"),
            (format!("<section id=\"{id}\" class=\"level2\"><h2 class=a>{title}</h2>"), "</section>"),
            (
                format!("<div class=section id={id}><h2>{title}<a class=headerlink href=#{id}>¶</a></h2>"),
                "</div>",
            ),
            (format!("<div id={id}><span id=x></span><h3 id={id}>{title}</h3>"), "</div>"),
        ] {
            let html = format!(
                "<title>The last ferry</title><article><h1>The last ferry</h1><p>{a}</p><p>{b}</p>{open}<p>{c}</p><p>{d}</p>\
                 {close}<h2>Outlook</h2><p>{e}</p></article>"
            );
            assert!(whole(&html).contains(title), "{html}");
        }
    }
}

#[test]
fn words_in_elements_of_their_own_are_words() {
    let style = "style=\"position:relative; display: inline-block; opacity: 1\"";
    let split = |sentence: &str, letters: bool| -> String {
        let word = |word: &str| match letters {
            true => format!(
                "<div {style}>{}</div>",
                word.chars().map(|c| format!("<div {style}>{c}</div>")).collect::<String>()
            ),
            false => format!("<div class=word {style} aria-hidden=true>{word}</div>"),
        };
        sentence.split(' ').map(word).collect::<Vec<_>>().join(" ")
    };
    for letters in [true, false] {
        for (open, close) in [("<p>", "</p>"), ("<div class=split>", "</div>"), ("<h3>", "</h3>")] {
            let text: String = SENTENCES
                .iter()
                .map(|sentence| format!("{open}{}{close}", split(sentence, letters)))
                .collect();
            let html =
                format!("<title>The last ferry</title><article><h1>The last ferry</h1>{text}</article>");
            assert_eq!(whole(&html).lines().count(), SENTENCES.len(), "{open} {letters}");
        }
    }
    // Boxes in a row stay boxes.
    let boxes: String =
        SENTENCES.iter().map(|text| format!("<div style='display:inline-block'>{text}</div>")).collect();
    assert_eq!(whole(&format!("<article>{boxes}</article>")).lines().count(), SENTENCES.len());
}

#[test]
fn readers_get_the_articles_own_headline() {
    let text = paragraphs(&SENTENCES);
    for (html, begins) in [
        (format!("<title>Islands - Bay News</title><article><h1>The last ferry</h1>{text}</article>"), true),
        (format!("<title>The last ferry</title><h1>The <b>last</b> ferry</h1><div>{text}</div>"), true),
        (format!("<title>Bay News</title><main><header><h1>The last ferry</h1></header>{text}</main>"), true),
        (
            format!(
                "<title>Islands</title><header><h1><a href=/>Bay News</a></h1></header><main><h1>The last ferry</h1>{text}</main>"
            ),
            true,
        ),
        (
            format!(
                "<title>x</title><header><h1>Bay News</h1></header><main><h2>The last ferry</h2>{text}</main>"
            ),
            true,
        ),
        (
            format!(
                "<meta property=og:site_name content='Bay News'><h1>Bay News</h1><div><h2>The last ferry</h2>{text}</div>"
            ),
            true,
        ),
    ] {
        let mut extractor = Extractor::for_markdown(&ExtractConfig::default());
        let page =
            extractor.extract_page(&html, Syntax::Html, &mut Work::unbounded()).expect("within the limits");
        let markdown = page.markdown("https://a.example/").expect("for Markdown");
        let document = Document { headline: page.headline(), ..page.document };
        let text = document.text_with_headline();
        assert_eq!(text.lines().next() == Some("The last ferry"), begins, "{html}: {text}");
        assert!(!begins || markdown.starts_with('#'), "{html}: {markdown}");
        assert!(!text.contains("Bay News") && !markdown.contains("Bay News"), "{html}: {markdown}");
        assert!(text.matches("last ferry").count() <= 1, "{html}: {text}");
    }
}

#[test]
fn references_that_are_escaped_twice_are_letters() {
    let french = "L'&eacute;t&eacute; o&ugrave; l'&icirc;le br&ucirc;la, &lt;b&gt; &amp; `n&eacute;` fut &#233;cras&eacute;.";
    let text = |text: &str| Document::from_text(None, text).text();
    assert_eq!(text(french), "L'été où l'île brûla, &lt;b&gt; &amp; `n&eacute;` fut écrasé.\n");
    assert_eq!(text(&"&#1057;&#1090;&#x430;&#1088;".repeat(3)), "СтарСтарСтар\n");
    for unchanged in [
        "Write &eacute; for the letter, &agrave; for the next, &uuml; and &ouml; in German, &ntilde; in Spain.\n",
        "caf&eacute; and R&D, a&b; x&lt;y, &c., AT&T\n",
        &format!("{french}{}\n", " many other words".repeat(200)),
    ] {
        assert_eq!(text(unchanged), unchanged);
    }
    let page = format!(
        "<article>{}<p>{}</p><pre>n&amp;eacute; n&amp;eacute;</pre></article>",
        paragraphs(&SENTENCES),
        french.repeat(8).replace('&', "&amp;")
    );
    let found = whole(&page);
    assert!(
        found.contains("L'été où") && found.contains("&lt;b&gt; &amp;") && !found.contains("br&ucirc;"),
        "{found}"
    );
    let links =
        format!("<article>{}{}</article>", paragraphs(&SENTENCES), "<a href='?a=1&amp;b=2'>x</a>".repeat(20));
    whole(&links);
}

/// The label of an author's element, a link's words or the site must not be taken for a person.
#[test]
fn authors_are_people_and_not_labels() {
    let text = paragraphs(&SENTENCES);
    for (head, line, expected) in [
        ("", "<p class=authors><i>Von: </i><a href=/o>Lena Orth</a></p>", &["Lena Orth"][..]),
        ("", "<div class=author><span>Recipe by</span><span>Lena Orth</span></div>", &["Lena Orth"]),
        ("", "<div class=author><b>Submitted by</b> <a href=/o>Lena Orth</a></div>", &["Lena Orth"]),
        ("", "<div class=author><b>PAR</b> <a href=/o>Lena Orth</a></div>", &["Lena Orth"]),
        ("", "<div class=author-links><a href=#c>Zu den Kommentaren springen</a></div>", &[]),
        ("<meta name=author content=Von>", "<p>By Lena Orth</p>", &["Lena Orth"]),
        ("<meta name=author content='Bay Post'><meta property=og:site_name content='Bay Post'>", "", &[]),
        (
            "<meta name=author content='bay.example, Bay, Wales'><link rel=canonical href=https://www.bay.example/f>",
            "<p>By Lena Orth</p>",
            &["Lena Orth"],
        ),
    ] {
        let html = format!(
            "<title>Ferry to stop</title>{head}<body><main><h1>Ferry to stop</h1>{line}{text}</main>"
        );
        let mut extractor = Extractor::new(&ExtractConfig::default());
        let page =
            extractor.extract_page(&html, Syntax::Html, &mut Work::unbounded()).expect("within the limits");
        let metadata = page.metadata(Known { url: "https://a.example/ferry", latest: None });
        assert_eq!(metadata.authors, expected, "{line}");
    }
}

/// Spellings that look the same must give the same terms.
#[test]
fn spellings_that_look_alike_are_compared_as_one() {
    let segmenter = Segmenter::new(&SegmentConfig::default(), &Lexicons::default()).expect("defaults");
    for (one, other) in [
        ("Ştefan şi Ţara moţilor", "Ștefan și Țara moților"),
        ("oʻzbek gʻisht maʼno", "o'zbek g’isht ma’no"),
        ("Hawaiʻi Oʻahu", "Hawai‘i O'ahu"),
        ("പുലർച്ചെ കുട്ടികൾ", "പുലര\u{d4d}\u{200d}ച്ചെ കുട്ടികള\u{d4d}\u{200d}"),
        ("Ο δήμος της ευφυΐας", "Ο ΔΗΜΟΣ ΤΗΣ ΕΥΦΥΪΑΣ"),
        ("Iğdır'ın ılık İlkbaharı", "IĞDIR'IN ILIK İLKBAHARI"),
        ("die Straße", "DIE STRASSE"),
        ("the ferry", "t̲h̲e̲ f̶e̶r̶r̶y̶"),
        ("the ferry", "ᴛʜᴇ ꜰᴇʀʀʏ"),
        ("the ferry", "🆃🅷🅴 🅕🅔🅡🅡🅨"),
    ] {
        assert_eq!(segmenter.normalized(one), segmenter.normalized(other), "{one}");
    }
    for (one, other) in
        [("O0", "00"), ("l1", "11"), ("v1.O", "v1.0"), ("5", "S"), ("2 ≠ 3", "2 = 3"), ("día", "dia")]
    {
        assert_ne!(segmenter.normalized(one), segmenter.normalized(other), "{one}");
    }
}
