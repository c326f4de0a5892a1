//! Markdown of made pages: golden texts, and properties that a parser of CommonMark checks.

use proptest::prelude::*;
use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use crate::extract::markdown::Base;
use crate::extract::{Document, ExtractConfig, Extractor};

/// Returns the Markdown of all blocks of a page.
fn markdown(html: &str) -> String {
    let mut extractor = Extractor::for_markdown(&ExtractConfig::default());
    extractor.chooser.choose_all(html);
    let base = Base::new("https://a.example/x/", None);
    super::of_blocks(&extractor.chooser.main_text(html), &base)
}

/// Returns the main text of all blocks of a page, without white space.
fn main_text(html: &str) -> String {
    let mut extractor = Extractor::new(&ExtractConfig::default());
    extractor.chooser.choose_all(html);
    let page = extractor.chooser.main_text(html);
    assert!(page.tree.structure.spans.is_empty(), "recorded only for Markdown");
    let document = Document { paragraphs: page.paragraphs(), ..Document::default() };
    bare(&document.text())
}

/// Returns `text` without invisible characters.
fn bare(text: &str) -> String {
    text.chars().filter(|c| !crate::extract::parse::text::is_blank(*c) && !c.is_control()).collect()
}

/// Returns the text that a Markdown parser reads, without white space and images. Panics on HTML and indented code.
fn read(markdown: &str) -> String {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_FOOTNOTES;
    let mut read = String::new();
    let mut in_image = 0;
    for event in Parser::new_ext(markdown, options) {
        match event {
            Event::Start(Tag::Image { .. }) => in_image += 1,
            Event::End(TagEnd::Image) => in_image -= 1,
            Event::Text(text) | Event::Code(text) if in_image == 0 => read.push_str(&bare(&text)),
            Event::Start(
                Tag::Heading { .. }
                | Tag::Paragraph
                | Tag::BlockQuote(_)
                | Tag::CodeBlock(CodeBlockKind::Fenced(_))
                | Tag::List(_)
                | Tag::Item
                | Tag::Table(_)
                | Tag::TableHead
                | Tag::TableRow
                | Tag::TableCell
                | Tag::Emphasis
                | Tag::Strong
                | Tag::Link { .. },
            )
            | Event::End(_)
            | Event::Text(_)
            | Event::Code(_)
            | Event::SoftBreak
            | Event::HardBreak
            | Event::TaskListMarker(_) => {}
            other => panic!("{other:?} in {markdown:?}"),
        }
    }
    read
}

fn check(cases: &[(&str, &str)]) {
    for (html, expected) in cases {
        let written = markdown(html);
        assert_eq!(written, expected.trim_start_matches('\n'), "{html}");
        assert_eq!(read(&written), main_text(html), "{html}");
    }
}

#[test]
fn headings_paragraphs_and_line_breaks() {
    check(&[
        ("<h1>One</h1><p>Two<h3>Three <b>bold</b></h3><p>Four", "# One\n\nTwo\n\n### Three bold\n\nFour"),
        ("<p>a<br>b<br><br>c", "a\\\nb\n\nc"),
        ("<h2>One<br>two</h2>", "## One two"),
        ("<h2>C#</h2><h2>Key #</h2>", "## C\\#\n\n## Key \\#"),
        ("<p>一行\n二行", "一行二行"),
    ]);
}

#[test]
fn emphasis_links_code_and_images() {
    check(&[
        ("a <b>b</b> <i>c</i> <strong><em>d</em></strong> e", "a **b** *c* **d** e"),
        ("a<b>b</b>c<i>d</i>e", "a**b**c*d*e"),
        ("<b> a </b>b", "**a** b"),
        ("<b>注意：</b>中文", "**注意**：中文"),
        ("中文<b>“引用”</b>中文", "中文“**引用**”中文"),
        ("<b>a</b><i>b</i> <b>c</b> <i>d</i>", "**a**b **c** *d*"),
        ("<a href=b?c=1&amp;d=2>x <b>y</b></a>", "[x **y**](https://a.example/x/b?c=1&d=2)"),
        ("see <a href='#n'>[1]</a>.", "see [\\[1\\]](https://a.example/x/#n)."),
        ("<a href=javascript:x()>x</a> <a name=y>y</a>", "x y"),
        ("<a href=/1><p>one<p>two</a>", "[one](https://a.example/1)\n\n[two](https://a.example/1)"),
        ("use <code>a`b</code> and <tt>c</tt>", "use ``a`b`` and `c`"),
        ("<code>`</code>", "`` ` ``"),
        ("a <code>const</code> <code>new</code> b", "a `const` `new` b"),
        ("<code>a </code><code>b</code>", "`a b`"),
        ("x <img src=i.png alt='a [b]'> y", "x ![a \\[b\\]](https://a.example/x/i.png) y"),
        (
            "<a href=/p><img src=data:image/gif;base64,R0 alt=logo></a> text",
            "[![logo]()](https://a.example/p) text",
        ),
        (
            "<p>one</p><figure><img src=i.png alt=cat><figcaption>A cat</figcaption></figure>",
            "one\n\n![cat](https://a.example/x/i.png)\n\nA cat",
        ),
        ("<p>one<p><img src=i.png alt=''><p>two", "one\n\ntwo"),
        // Images that scripts load must not have the address of a placeholder, or none.
        (
            "a <img src='data:image/gif;base64,R0' data-src=/b.png alt=c> d",
            "a ![c](https://a.example/b.png) d",
        ),
        ("a <img src=/p.gif data-original=/b.png alt=c>", "a ![c](https://a.example/b.png)"),
        ("a <img srcset='/b.png 1x, /c.png 2x' alt=c>", "a ![c](https://a.example/c.png)"),
        ("a <img src=/b.png srcset='/c.png 2x' alt=c>", "a ![c](https://a.example/b.png)"),
    ]);
}

#[test]
fn lists_quotations_and_code() {
    check(&[
        (
            "<ul><li>a<li>b<ol start=3><li>c<li>d</ol></ul>",
            "- a\n- b\n\n  3. c\n  4. d".replace("- a\n-", "- a\n\n-").as_str(),
        ),
        ("<ul><li>a<ul><li>b<ul><li>c</ul></ul><li>d</ul>", "- a\n  - b\n    - c\n- d"),
        ("<ul><li>a</li><ul><li>b</li></ul><li>c</ul>", "- a\n  - b\n- c"),
        ("<ol><li>a<p>b<li value=7>c<li>d</ol>", "1. a\n\n   b\n\n7. c\n\n8. d"),
        ("<ul><li>a</ul><ul><li>b</ul><ol><li>c</ol>", "- a\n\n* b\n\n1. c"),
        ("<dl><dt>Term<dd>Meaning<dd>Another</dl>", "- Term\n\n  Meaning\n\n  Another"),
        ("<blockquote><p>a<p>b<blockquote>c</blockquote></blockquote>d", "> a\n>\n> b\n>\n> > c\n\nd"),
        (
            "<pre><code class='language-rust'>fn a() {\n\n    b();\n}\n</code></pre>",
            "```rust\nfn a() {\n\n    b();\n}\n```",
        ),
        ("<div class='highlight-source-shell'><pre>ls ```\n</pre></div>", "````shell\nls ```\n````"),
        (
            "<figure class='highlight go'><table><tr><td class=code><pre>x := 1\n</pre></table></figure>",
            "```go\nx := 1\n```",
        ),
        // Only an attribute may name the language, as in Shiki's code blocks.
        ("<pre class=astro-code data-language=TS><code>let a\n</code></pre>", "```ts\nlet a\n```"),
        ("<div class=highlight><pre data-lang='c++'>a\n</pre></div>", "```c++\na\n```"),
        ("<pre data-language='a `b'>a\n</pre>", "```\na\n```"),
        // The language may be named in a class or in `lang` without a prefix, as highlight.js and docutils write it.
        ("<pre><code class='hljs rust'>a\n</code></pre>", "```rust\na\n```"),
        ("<pre class='code literal-block python'>a\n</pre>", "```python\na\n```"),
        ("<pre class='code' lang=ruby><code>a\n</code></pre>", "```ruby\na\n```"),
        ("<pre lang=en><code lang=go>a\n</code></pre>", "```go\na\n```"),
        ("<pre><code data-lang=sql class=x>a\n</code></pre>", "```sql\na\n```"),
        ("<pre class=E data-enlighter-language=java>a\n</pre>", "```java\na\n```"),
        ("<div class='c rust'><pre lang=en>a\n</pre></div>", "```\na\n```"),
        // The block around the program may have the attribute.
        ("<div data-language=kotlin><pre>a\n</pre></div>", "```kotlin\na\n```"),
        ("<figure data-lang=SQL><pre><code>a\n</code></pre></figure>", "```sql\na\n```"),
        ("<div data-lang=en><pre>a\n</pre></div>", "```\na\n```"),
        ("<ul><li>a<pre>b\nc</pre></ul>", "- a\n\n  ```\n  b\n  c\n  ```"),
        ("<pre><div>a</div><div>  b</div></pre>", "```\na\n  b\n```"),
        ("<ol start=-2><li>a</ol><ol start=9999999999><li>b</ol>", "1. a\n\n1) b"),
    ]);
}

/// Tasks that are done must not look like other items.
#[test]
fn checkboxes_make_a_task_list() {
    check(&[
        (
            "<ul><li><input type=checkbox checked disabled> a<li><input type=checkbox> b<ul><li><p><input \
             type=CHECKBOX checked=''>c</p></ul><li>d</ul>",
            "- [x] a\n- [ ] b\n  - [x] c\n- d",
        ),
        ("<ol><li><label><input type=checkbox># a</label></ol>", "1. [ ] # a"),
        ("<ul><li>a <input type=checkbox> b<li><input type=radio>c</ul>", "- a b\n- c"),
        ("<ul><li><p>a<p><input type=checkbox>b</ul>", "- a\n\n  b"),
        ("<p><input type=checkbox checked>a", "a"),
        ("<ul><li>[x] a</ul>", "- \\[x] a"),
    ]);
}

/// Numbers of lines must not be glued to the code, the language must not be lost, and lines must not become paragraphs.
#[test]
fn programs_have_no_numbers_of_lines() {
    let rows = |lines: &[&str]| -> String {
        let row = |line: &&str| {
            format!("<tr><td class='blob-num' data-line-number=1><td class='blob-code x'>{line}</td>")
        };
        lines.iter().map(row).collect()
    };
    for (html, expected) in [
        (
            "<pre><code class=language-sh><span class=ln>1</span>a\n<span class=ln>2</span>  b\n</code></pre>",
            "```sh\na\n  b\n```",
        ),
        (
            "<pre><span></span><span class='linenos'> 9</span>a\n<span class=linenos>10</span>b</pre>",
            "```\na\nb\n```",
        ),
        (
            "<table><tr><td><pre><span class=lnt>1\n</span><span class=lnt>2\n</span></pre><td><pre><code \
             class=language-go>a\nb</code></pre></table>",
            "```go\na\nb\n```",
        ),
        (
            "<div class='language-ruby highlighter-rouge'><div class=highlight><pre class=highlight><code><table \
             class=rouge-table><tbody><tr><td class=rouge-code><pre>a\n</pre></table></code></pre></div></div>",
            "```ruby\na\n```",
        ),
        (
            &format!(
                "<div class='data type-python'><table>{}</table></div>",
                rows(&["def <b>a</b>():", "", "    <i>b</i>()", "\n", "\tc"])
            ),
            "```python\ndef a():\n\n    b()\n\n\tc\n```",
        ),
        ("<p>a <span class=ln>1</span>", "a 1"),
    ] {
        assert_eq!(markdown(html), expected, "{html}");
    }
}

/// Formulas must not be written as the letters that MathML has in a row, nor be left out.
#[test]
fn formulas_are_their_tex_source() {
    let math = |attributes: &str, tex: &str| {
        format!(
            "<math{attributes}><semantics><mrow><mi>x</mi><mn>2</mn></mrow>{}</semantics></math>",
            if tex.is_empty() {
                String::new()
            } else {
                format!("<annotation encoding='application/x-tex'>{tex}</annotation>")
            }
        )
    };
    for (html, expected) in [
        (&*format!("so ({}), <b>b</b>", math("", "x_1 &lt; y*z*")), "so ($x_1 < y*z*$), **b**"),
        (&format!("so {}", math(" display=block", "x\n^2")), "so $$x ^2$$"),
        (&format!("so {} is", math(" alttext='x^{2}'", "")), "so $x^{2}$ is"),
        (&format!("so {} is", math("", "")), "so x2 is"),
        ("so <span class=MathJax_Preview>x^2</span><script type='math/tex'>x^2</script> is", "so $x^2$ is"),
        ("so <script type='math/tex; mode=display'>x_2</script> is", "so $x_2$ is"),
        ("a <span class=MathJax_Preview>x^2</span> b", "a x^2 b"),
        ("a <img class=latex src=x.png alt='\\frac{1}{2}'> b", "a $\\frac{1}{2}$ b"),
        (
            &format!("<table><tr><th>a<th>b<tr><td>c<td>{}</table>", math("", "|x|")),
            "| a | b |\n| --- | --- |\n| c | $\\|x\\|$ |",
        ),
    ] {
        assert_eq!(markdown(html), expected, "{html}");
    }
}

/// TeX that a script shows as formulas must not get escapes, and other dollars stay text.
#[test]
fn formulas_between_delimiters_are_their_tex_source() {
    let script = "<script src=/MathJax.js></script>";
    for (html, expected) in [
        (r"so \(x_1 &lt; y*z*\), <b>b</b>", "so $x_1 < y*z*$, **b**"),
        (r"so <a href=/1>$a_1$ and</a> \[x\\ y\]", r"so [$a_1$ and](https://a.example/1) $$x\\ y$$"),
        (r"use <code>\(a\)</code> \(<code>b</code>\) for $5 and $6", r"use `\(a\)` \\(`b`\\) for $5 and $6"),
        (r"$a$, $$b$$, $c$$, from $5 to 7$5, $ cd $ $$", "$a$, $$b$$, $c$$, from $5 to 7$5, $ cd $ $$"),
        (r"\begin{cases}a\\b\end{cases}\) \begin{x", r"$$\begin{cases}a\\b\end{cases}$$\\) \begin{x"),
        (r"\$a_1\$ \\(b\\) \(", r"\\$a_1\\$ \\\\(b\\\\) \\("),
    ] {
        assert_eq!(markdown(&format!("{script}<p>{html}")), expected, "{html}");
    }
    assert_eq!(markdown(r"<p>so \(x_1\)"), r"so \\(x_1\\)");
}

/// No formula may bring in tags, links or code, or end early.
#[test]
fn formulas_are_no_markup() {
    let hostile = [
        "<img src=x onerror=alert(1)> [a](javascript:alert(2)) `code`",
        "</p><script>alert(3)</script>",
        "x$$\n\n# heading\n\n<b>y",
        "x$ [a](b) ![c](d) <!-- e",
        "a\\\\$ <i>b\\",
        "https://a.example www.a.example a@b.example",
    ];
    for tex in hostile {
        let escaped = tex.replace('<', "&lt;").replace('>', "&gt;");
        for html in [
            format!(
                "so <math><semantics><mi>x</mi><annotation encoding='application/x-tex'>{escaped}</annotation></semantics></math> is"
            ),
            format!("so <math display=block alttext='{escaped}'><mi>x</mi></math> is"),
            format!("so <img class=latex src=x.png alt='{escaped}'> is"),
            format!("<script src=katex.js></script>so \\({escaped}\\) is"),
            format!("so <script type='math/tex'>{}</script> is", tex.replace("</script>", "")),
            format!("so <script type='math/tex; mode=display'>{}</script> is", tex.replace("</script>", "")),
        ] {
            let markdown = markdown(&html);
            let events: Vec<Event<'_>> = Parser::new_ext(&markdown, Options::all()).collect();
            let is_plain = |event: &Event<'_>| {
                matches!(
                    event,
                    Event::Text(_)
                        | Event::InlineMath(_)
                        | Event::DisplayMath(_)
                        | Event::Start(Tag::Paragraph)
                        | Event::End(TagEnd::Paragraph)
                )
            };
            assert!(events.iter().all(is_plain), "{markdown}: {events:?}");
            let bare: Vec<Event<'_>> = Parser::new_ext(&markdown, Options::ENABLE_GFM).collect();
            assert!(bare.iter().all(is_plain), "{markdown}: {bare:?}");
            assert!(!markdown.contains("://") && !markdown.contains("www."), "{markdown}");
        }
    }
}

#[test]
fn tables_of_data_and_of_layout() {
    check(&[
        (
            "<table><tr><th>a<th>b|c<tr><td>1<td><b>x</b><br>y<tr><td><td>3</table>",
            "| a | b\\|c |\n| --- | --- |\n| 1 | **x** y |\n|  | 3 |",
        ),
        ("<table><tr><td>1<td>2<tr><td>3<td>4</table>", "|  |  |\n| --- | --- |\n| 1 | 2 |\n| 3 | 4 |"),
        (
            "<table><caption>Cap</caption><tr><th colspan=2>a<th>b<tr><td rowspan=2>1<td>2<td>3<tr><td>4<td>5</table>",
            "Cap\n\n| a |  | b |\n| --- | --- | --- |\n| 1 | 2 | 3 |\n|  | 4 | 5 |",
        ),
        (
            "<table><tr><td><p>Left<td><table><tr><th>k<th>v<tr><td>1<td>2</table></table>",
            "Left\n\n| k | v |\n| --- | --- |\n| 1 | 2 |",
        ),
        ("<table role=presentation><tr><td>a<td>b<tr><td>c<td>d</table>", "a\n\nb\n\nc\n\nd"),
        ("<table><tr><td><h2>a</h2><td>b<tr><td>c<td>d</table>", "## a\n\nb\n\nc\n\nd"),
        ("<table><tr><td>only<tr><td>one</table>", "only\n\none"),
        (
            "<table><tr><th>a<th>b<tr><td><code>x|y</code><td><code>\\|</code></table>",
            "| a | b |\n| --- | --- |\n| `x\\|y` | \\\\\\| |",
        ),
        (
            "<ul><li>x<table><tr><th>a<th>b<tr><td><ul><li>1<li>2</ul><td>3</table></ul>",
            "- x\n\n  | a | b |\n  | --- | --- |\n  | 1 2 | 3 |",
        ),
    ]);
}

/// Markup that never ends, or nests far deeper than any page: the text stays, and the output stays small.
#[test]
fn hostile_markup_stays_text_of_bounded_size() {
    for (open, count) in [
        ("<ul><li>x", 5_000),
        ("<blockquote>x", 5_000),
        ("<b>x", 5_000),
        ("<table><tr><td>x", 5_000),
        ("<a href=y>x", 5_000),
        ("<i>x<p>", 5_000),
        ("<div><a href=y><b>x", 5_000),
        ("<ol><li><blockquote>x", 5_000),
        ("<pre>x<div>", 5_000),
        ("<dl><dt>x<dd>", 5_000),
        ("<h1>x", 5_000),
        ("<code>x", 5_000),
        ("<table><tr><td rowspan=100 colspan=100>x<td>", 2_000),
    ] {
        let html = open.repeat(count);
        let written = markdown(&html);
        assert!(bare(&written).matches('x').count() >= count, "{open}");
        assert!(written.len() < 100 * html.len() + 1000, "{open}: {} bytes", written.len());
        if open != "<ol><li><blockquote>x" {
            assert_eq!(read(&written), main_text(&html), "{open}");
        }
    }
}

/// Pieces of text of which some are signs of Markdown.
#[rustfmt::skip]
const PIECES: [&str; 64] = [
    "a", "bc", " ", "  ", "*", "**", "_", "__", "`", "``", "[", "]", "(", ")", "](x)", "#", "# ", "> ",
    "- ", "+ ", "1. ", "2) ", "|", "\\", "&lt;", "&gt;", "&amp;", "&amp;amp;", "~", "~~", "!", "![", ":",
    "---", "===", "中", "文。", "，", "“", "”", "é", "\u{301}", "😀", "$", "^", "[^", ";", "<br>", "\n",
    "&nbsp;", "http://b.example/", ".", "x;", "copy;", "/b", "\u{200b}", "&#96;", "\u{2028}", "\u{feff}", "=",
    "1234567890. ", ":--", "[x] ", "###### ",
];

fn text() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(&PIECES[..]);
    prop::collection::vec(pieces, 1..8).prop_map(|pieces| pieces.concat())
}

fn inline() -> impl Strategy<Value = String> {
    let leaf = text();
    leaf.prop_recursive(3, 12, 4, |inner| {
        #[rustfmt::skip]
        const TAGS: [&str; 10] = [
            "b", "i", "em", "strong", "code", "a href='/u(v)?w=1&x;=2'", "span", "tt",
            "img src=i alt='k]*'", "a",
        ];
        let tag = prop::sample::select(&TAGS[..]);
        prop::collection::vec((tag, inner, text()), 1..4).prop_map(|parts| {
            let part = |(tag, inner, text): (&str, String, String)| {
                let name = tag.split(' ').next().unwrap_or_default();
                let close = if name == "img" { String::new() } else { format!("</{name}>") };
                format!("<{tag}>{inner}{close}{text}")
            };
            parts.into_iter().map(part).collect()
        })
    })
}

/// Tags of blocks.
#[rustfmt::skip]
const BLOCKS: [&str; 24] = [
    "p", "div", "h1", "h3", "ul><li", "ol start=4><li", "ol><li", "li", "blockquote", "pre", "dl><dt", "dd",
    "table><tr><td", "td", "tr><td", "table><tr><th>x<th", "figure", "section", "br", "hr", "/ul", "/table",
    "/ol", "pre><code class=lang-x",
];

fn blocks() -> impl Strategy<Value = String> {
    inline().prop_recursive(4, 24, 4, |inner| {
        let tag = prop::sample::select(&BLOCKS[..]);
        prop::collection::vec((tag, inner, any::<bool>()), 1..4).prop_map(|parts| {
            let part = |(tag, inner, closes): (&str, String, bool)| {
                let name = tag.split([' ', '>']).next().unwrap_or_default();
                let close = if closes { format!("</{name}>") } else { String::new() };
                format!("<{tag}>{inner}{close}")
            };
            parts.into_iter().map(part).collect()
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// The words of the Markdown, as a parser reads it, are those of the main text, and no HTML is in it (the
    /// reader fails if there is).
    #[test]
    fn a_parser_reads_the_words_of_the_main_text(html in blocks()) {
        let written = markdown(&html);
        prop_assert_eq!(read(&written), main_text(&html), "{:?}", written);
    }
}
