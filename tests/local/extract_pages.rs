//! Extraction of small hand-written pages: what must stay, what must go, and what no markup may break.

use leitong_base::work::Work;
use leitong_text::extract::{
    Document, ExtractConfig, ExtractError, Extractor, ParagraphKind, Syntax, extract,
};

fn document(html: &str) -> Document {
    extract(html, &ExtractConfig::default()).expect("within the limits")
}

const SENTENCE: &str =
    "The harvest began nine days later than in the year before, since a late frost had held the buds back.";

#[test]
fn paragraphs_headings_lists_and_code_are_recognised() {
    let html = "<html><head><title>Tea &amp; frost - The Daily Leaf</title></head><body>\
        <nav><ul><li><a href=/>Home</a><li><a href=/tea>Tea</a><li><a href=/about>About</a></ul></nav>\
        <main><h1>Tea &amp; frost</h1>\
        <p>The harvest began nine days later than in the year before, since a late frost had held the buds back.</p>\
        <p>Farmers on the southern slopes lost a fifth of their yield; on the northern ones hardly a leaf was missing.</p>\
        <h2>What it means for prices</h2>\
        <ul><li>Early leaves will cost about a third more than last spring, say the traders of the valley.\
        <li>Late leaves, which are picked in May, will cost the same as ever, or even a little less.</ul>\
        <blockquote><p>We have seen worse, and the plants recover faster than people do, said the oldest of the growers.</blockquote>\
        <p>Readers who want to compute the loss may use the rule of thumb that the co-operative has published:</p>\
        <pre><code>loss = frost_days * 0.02\n  if loss > 0.3: call(insurance)</code></pre>\
        <p>The next figures are expected at the end of the month, when all of the pickers have come home.</p></main>\
        <footer><p>Copyright 2026 The Daily Leaf. All rights reserved.</p></footer></body></html>";
    let document = document(html);
    assert_eq!(document.title.as_deref(), Some("Tea & frost"));
    let kinds: Vec<_> = document.paragraphs.iter().map(|p| p.kind).collect();
    for kind in [
        ParagraphKind::Paragraph,
        ParagraphKind::ListItem,
        ParagraphKind::Quote,
        ParagraphKind::Code,
        ParagraphKind::Heading(2),
    ] {
        assert!(kinds.contains(&kind), "{kind:?} is missing in {kinds:?}");
    }
    let text = document.text();
    assert!(!text.contains("Home") && !text.contains("Copyright"), "{text}");
    let item = document.paragraphs.iter().find(|p| p.kind == ParagraphKind::ListItem).expect("an item");
    assert_eq!(item.place.list_level, 1);
    let heading =
        item.place.heading.and_then(|at| document.paragraphs.get(at as usize)).map(|p| p.text.as_str());
    assert_eq!(heading, Some("What it means for prices"));
}

#[test]
fn deep_nesting_ends_as_an_error_or_a_document() {
    let shallow = format!("{}{SENTENCE}", "<div>".repeat(20_000));
    assert!(extract(&shallow, &ExtractConfig::default()).is_ok());
    let deep = "<div>".repeat(100_000);
    assert!(matches!(extract(&deep, &ExtractConfig::default()), Err(ExtractError::TooDeep { .. })));
}

/// Forum software gives its thread to crawlers only within `<noscript>`.
#[test]
fn a_page_drawn_by_scripts_is_read_from_its_noscript() {
    let posts = [
        "Has anybody managed to calibrate the second sensor without taking the whole case apart again?",
        "Yes, there is a small hole below the label; a paper clip is enough to reach the switch behind it.",
        "That worked at once, thank you. I had been looking at the wrong side of the board for two evenings.",
    ];
    let posts: Vec<String> = posts
        .iter()
        .map(|post| {
            format!("<div class='topic-body crawler-post'><div class='post'><p>{post}</p></div></div>")
        })
        .collect();
    let html = format!(
        "<html><head><title>Calibrating the second sensor - Makers</title></head><body><header><a href=/>Makers</a></header>\
         <noscript data-path='/t/1'><div id='main-outlet'><h1>Calibrating the second sensor</h1>{}</div></noscript>\
         <script>start()</script></body></html>",
        posts.concat()
    );
    assert!(document(&html).text().contains("a paper clip is enough"));
}

/// The choice of a hidden text refers to the tree of the page. If the page is then parsed without that
/// text, extraction must neither panic nor write the footer as the main text.
#[test]
fn a_short_hidden_text_is_kept_if_a_page_has_no_other() {
    let short = "You need to enable scripts to read this page, so please turn them on in the settings of your \
                 browser, and then load the page again.";
    let long = format!(
        "{short} If that does not help, ask the people who look after the network of your house or office."
    );
    let menu =
        "<nav><ul><li><a href=/>Home</a><li><a href=/tea>Tea</a><li><a href=/frost>Frost</a></ul></nav>";
    let footer = "<footer><p>Copyright 2026 The Daily Leaf</p><p>Imprint</p></footer>";
    let mut extractor = Extractor::new(&ExtractConfig::default());
    for (hidden, bytes) in [(short, 80..120), (long.as_str(), 160..200)] {
        assert!(bytes.contains(&hidden.split_whitespace().map(str::len).sum::<usize>()), "{hidden}");
        for (before, after) in [("", ""), (menu, footer), (menu, ""), ("", footer)] {
            let html = format!(
                "<title>x</title><body>{before}<div style='display:none'><p>{hidden}</p></div>{after}"
            );
            let page = extractor.extract_page(&html, Syntax::default(), &mut Work::unbounded());
            let page = page.expect("within the limits");
            assert_eq!(page.document.text().trim_end(), hidden, "{html}");
            let kept: Vec<_> = page.blocks().into_iter().filter(|block| block.kept).collect();
            assert!(matches!(&kept[..], [block] if block.text == hidden), "{kept:?}");
        }
    }
}

/// News sites drawn by scripts give their text only to search engines.
#[test]
fn a_page_without_text_is_read_from_its_linked_data() {
    let html = format!(
        "<html><head><title>Frost</title><script type='application/ld+json'>{{\"@type\":\"NewsArticle\",\
         \"articleBody\":\"{SENTENCE}\\n\\u8336 {SENTENCE}\"}}</script></head><body><div id=app></div></body></html>"
    );
    let text = document(&html).text();
    assert_eq!(text.lines().count(), 2, "{text}");
    assert!(text.starts_with(SENTENCE) && text.contains('茶'), "{text}");
}

/// Returns the page of a script application: only an element to draw into.
fn shell(head: &str, body: &str) -> String {
    format!("<html><head><title>Frost</title>{head}</head><body><div id=app></div>{body}</body></html>")
}

fn linked(data: &str) -> String {
    format!("<script type='application/ld+json'>{data}</script>")
}

#[test]
fn a_shop_without_text_is_read_from_the_description_in_its_linked_data() {
    let product = format!(
        "{{\"@type\":\"Product\",\"name\":\"Sledge\",\"description\":\"<p>{SENTENCE} It is made of <b>ash</b>.</p>\",\
         \"brand\":{{\"description\":\"A family.\"}}}}"
    );
    let text = document(&shell(&linked(&product), "")).text();
    assert_eq!(text, format!("{SENTENCE} It is made of ash.\n"));
    let no_product = product.replace("Product", "Organization");
    assert_eq!(document(&shell(&linked(&no_product), "")).text(), "");
}

#[test]
fn questions_and_answers_of_linked_data_come_in_their_order() {
    let page = format!(
        "{{\"@type\":\"QAPage\",\"mainEntity\":{{\"@type\":\"Question\",\"text\":\"Why does the ice sing?\",\
         \"acceptedAnswer\":{{\"@type\":\"Answer\",\"text\":\"{SENTENCE}\"}}}}}}"
    );
    let text = document(&shell(&linked(&page), "")).text();
    assert_eq!(text, format!("Why does the ice sing?\n{SENTENCE}\n"));
}

/// Next.js and similar frameworks write the data of a page into a script.
#[test]
fn a_page_without_text_is_read_from_its_state() {
    let description = format!("<meta name=description content='{SENTENCE}'>");
    let state = |text: &str| {
        format!(
            "<script id=__NEXT_DATA__ type=application/json>{{\"props\":{{\"seo\":\"{SENTENCE}\",\
             \"consent\":\"{}\",\"post\":{{\"html\":\"<p>{text}</p><p>The <i>second</i> part.</p>\"}}}}}}</script>",
            "We and our partners keep cookies on your device, which you may refuse at any time. ".repeat(9)
        )
    };
    let text = document(&shell(&description, &state(SENTENCE))).text();
    assert_eq!(text, format!("{SENTENCE}\nThe second part.\n"));
    // Messages that all pages of an application have are not this page's text.
    for (head, other) in
        [("", SENTENCE), ("<meta name=description content='Skating on the river at dusk'>", SENTENCE)]
    {
        assert_eq!(document(&shell(head, &state(other))).text(), "", "{head}");
    }
}

#[test]
fn a_thread_of_discourse_is_read_from_its_state() {
    let posts = [SENTENCE, "It sings because it cracks.", "So it was last year, too."];
    let posts: Vec<_> =
        posts.iter().map(|post| format!(r#"{{"id":1,"username":"ash","cooked":"<p>{post}</p>"}}"#)).collect();
    let topic = format!(r#"{{"post_stream":{{"posts":[{}]}},"title":"Frost"}}"#, posts.join(","));
    let state = serde_json::json!({"topic_12": topic, "site": "{\"name\":\"Ice\"}"}).to_string();
    let html = shell(
        &format!("<meta name=description content='{SENTENCE}'>"),
        &format!(
            "<div class=hidden id=data-preloaded data-preloaded=\"{}\"></div>",
            state.replace('"', "&quot;")
        ),
    );
    let text = document(&html).text();
    assert_eq!(text, format!("{SENTENCE}\nIt sings because it cracks.\nSo it was last year, too.\n"));
}

#[test]
fn a_consent_banner_is_never_the_text() {
    let html = String::from(
        "<html><body><h1>Opening hours</h1><ul><li><a href=/a>North</a><li><a href=/b>South</a></ul>\
         <div id='onetrust-consent-sdk'><div class='policy'><p>We and our partners use cookies in the harvest of \
         figures on how this site is read.</p></div></div>\
         <div><p>The hall is open from nine to five on every day but Monday, and on feast days until noon, says the \
         warden, who has held the keys for thirty years and never once been late.</p></div></body></html>",
    );
    let text = document(&html).text();
    assert!(!text.contains("harvest") && text.contains("warden"), "{text}");
}

#[test]
fn a_page_of_too_many_parts_is_refused() {
    let config = ExtractConfig { nodes_max: 1000, ..ExtractConfig::default() };
    for part in ["<p>", "x<br>", "<td>x"] {
        let refused = extract(&part.repeat(2000), &config);
        assert_eq!(refused, Err(ExtractError::TooManyNodes { nodes_max: 1000 }), "{part}");
    }
}

#[test]
fn broken_markup_is_read_to_its_end() {
    for html in [
        "",
        "<",
        "<a",
        "<a href",
        "<a href=",
        "<a href='",
        "</",
        "</a",
        "<!",
        "<!-",
        "<!--",
        "<!-- -",
        "<!-->",
        "<?",
        "<script>",
        "<script></scrip",
        "<title>",
        "<p>&",
        "&#",
        "&#x110000;",
        "<table><td><table></td>",
        "<b><p></b>x</p>",
        "\0<p\0>\0",
        "<p =>",
        "<p a=b=c d>x",
        "</p></p></br>",
        "<ul></li><li></ul></li>",
    ] {
        let _ = document(html);
    }
}

/// Every kind of markup that could make a search restart at each tag, at 400 KB: only linear code passes.
#[test]
fn floods_are_read_in_linear_time() {
    let count = 40_000;
    for part in [
        "<b>",
        "</b>",
        "<i><p>",
        "<a>",
        "<p>",
        "<li>",
        "<td>",
        "<table>",
        "</table>",
        "<ul><li>",
        "<font><a href=x>",
        "<!--",
        "<![CDATA[",
        "&",
        "&amp",
        "&#x",
        "<x y='",
        "<x y=\"z\" ",
        "</",
        "<br>",
        "<script",
        "<svg>",
        "<h1>",
        "<b></i>",
        "<p></b>",
        "<option>",
        "<select>",
        "<button><p>",
        "\0",
        "<",
        ">",
        "<dd><dt>",
        "x<br>",
    ] {
        let html = part.repeat(count);
        let config = ExtractConfig { depth_max: 1_000_000, nodes_max: 1_000_000, ..ExtractConfig::default() };
        assert!(extract(&html, &config).is_ok(), "{part}");
    }
}

/// Links from headings to themselves, and "edit" links of wikis, are not part of the headings.
#[test]
fn marks_within_a_line_are_not_part_of_its_text() {
    let html = format!(
        "<html><body><main><h1>Frost</h1><h2>Loss<a class=headerlink href=#loss>¶</a></h2><p>{SENTENCE}</p>\
         <h2><span>Prices</span><span class='mw-editsection'>[<a href=/e>edit</a>]</span></h2><p>{SENTENCE} {SENTENCE}</p>\
         <p>It is <span class='sr-only'>Opens in a new tab</span> over, they say, and nobody in the valley is sorry.</p></main></body></html>"
    );
    let text = document(&html).text();
    assert!(text.contains("Loss\n") && text.contains("Prices\n") && text.contains("It is over,"), "{text}");
    assert!(!text.contains('¶') && !text.contains("edit") && !text.contains("new tab"), "{text}");
}
