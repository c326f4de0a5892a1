//! Tests which text a page shows, and in which elements. The cases are our own; each states what the HTML standard
//! says.

use crate::extract::ExtractConfig;
use crate::extract::parse::segment::Segment;
use crate::extract::parse::tree::Tree;
use crate::extract::parse::{Builder, Show, Stack, Syntax, entities, scan};

/// Returns the blocks of a page, each as `enclosing elements: text`, without `<html>` and `<body>`.
fn blocks(html: &str, syntax: Syntax) -> Vec<String> {
    let (mut tree, mut stack) = (Tree::default(), Stack::default());
    let builder = Builder::new(html, &ExtractConfig::default(), Show::Also(&[]), &mut tree, &mut stack);
    let mut builder = builder.with_syntax(syntax);
    scan::scan(html.as_bytes(), &mut builder).expect("within the limits");
    let name = |node: u32| format!("{:?}", tree.nodes[node as usize].tag).to_lowercase();
    let line = |block: &crate::extract::parse::tree::Block| {
        let mut path: Vec<String> = tree.ancestors(block.node).map(name).collect();
        path.retain(|name| !matches!(name.as_str(), "html" | "body"));
        path.reverse();
        let mut text = String::new();
        let segments = &tree.segments[block.first_segment as usize..block.end_segment as usize];
        for segment in segments.iter().filter(|segment| **segment != Segment::LINE_BREAK) {
            entities::decode_into(&html[segment.range()], &mut text);
        }
        format!("{}: {}", path.join(" "), text.trim()).trim_start_matches(": ").to_owned()
    };
    tree.blocks.iter().map(line).collect()
}

fn check(cases: &[(&str, &[&str])]) {
    check_as(Syntax::default(), cases);
}

fn check_as(syntax: Syntax, cases: &[(&str, &[&str])]) {
    for (html, expected) in cases {
        assert_eq!(blocks(html, syntax), *expected, "{html}");
    }
}

/// A `<button>` without an end tag would hide the rest of the page if end tags of elements around it did not close
/// it.
#[test]
fn a_button_ends_with_the_element_that_holds_it() {
    check(&[
        ("<div><button>Menu</div><p>text", &["p: text"]),
        ("<div><button class=x /></div><p>text", &["p: text"]),
        ("<ul><li><button>a</li><li>text</ul>", &["ul li: text"]),
        ("<table><tr><td><button>a<td>text</table>", &["table tr td: text"]),
        ("<section><p>one<button>a</section>two", &["section p: one", "two"]),
        ("<div><button>a<button>b</button>text</div>", &["div: text"]),
        ("<form><button>a</form>text", &["text"]),
    ]);
}

#[test]
fn a_paragraph_continues_after_a_button_with_blocks() {
    check(&[
        ("<p>one<button><p>a</p></button>two", &["p: one", "p: two"]),
        ("<p>one<button></p></button>two", &["p: one", "p: two"]),
        ("<ul><li>one<button><li>a</button>two", &["ul li: one", "ul li: two"]),
    ]);
}

/// `<svg/>` and drawings without an end tag hid the rest of the page.
#[test]
fn drawings_end_when_they_close_themselves_or_html_begins() {
    check(&[
        ("<svg class=icon /><p>text", &["p: text"]),
        ("<svg/><p>text", &["p: text"]),
        ("<svg><path d=x><g><p>text", &["p: text"]),
        ("<p>one<svg><use href=#a /></svg>two", &["p: onetwo"]),
        ("<div><svg><path></div>text", &["text"]),
        ("<svg><g></p>text", &["text"]),
        ("<svg width=0/>text", &[]),
        ("<svg><title>a</title><style>p>b{}</style><script>c</script></svg>text", &["text"]),
        ("<svg><style><![CDATA[ a > b </svg> ]]></style></svg>text", &["text"]),
        ("<svg><foreignObject><p>a</p></foreignObject></svg>text", &["text"]),
        ("<table><tr><td><svg><td></svg>text</td></table>", &["table tr td: text"]),
        ("<svg><svg><g></svg>a</svg>text", &["text"]),
        ("<a href=x><svg><a>b</a></svg>text</a>", &["text"]),
    ]);
}

/// A title, description or foreign object of a drawing without its end tag hid the rest of the page.
#[test]
fn parts_of_drawings_and_formulas_without_end_tags_end_with_them() {
    for part in ["title", "desc", "foreignObject"] {
        check(&[(&format!("<div><svg><{part}>a</svg><p>one</p></div><p>two"), &["div p: one", "p: two"])]);
        check(&[(&format!("<svg><g><{part}>a</g></svg>one<p>two"), &["one", "p: two"])]);
    }
    for label in ["title", "desc"] {
        check(&[
            (&format!("<div><svg><{label}>a<p>one</p></div><p>two"), &["div p: one", "p: two"]),
            (&format!("<svg><path><{label}>a<h1>one</h1>two"), &["h1: one", "two"]),
            (&format!("<svg><{label}>a<b>b</b></svg>one"), &["one"]),
        ]);
    }
    for part in ["mtext", "mi", "annotation-xml", "annotation", "semantics"] {
        check(&[(&format!("<p>a</p><math><{part}></math><p>one</p>two"), &["p: a", "p: one", "two"])]);
        check(&[(&format!("<p>a</p><math><{part}><p>one</p>two"), &["p: a", "p: one", "two"])]);
    }
}

/// If a drawing's `</title>` were ignored, all text after a drawing without an end tag would become part of the
/// title.
#[test]
fn the_end_tag_of_a_title_ends_it_within_a_drawing() {
    check(&[
        ("<div><svg><title>a</title><path></div><span>text</span>", &["text"]),
        ("<svg><title>a</title><path><span>text</span>", &["text"]),
        ("<div><svg><title>a</title></svg>one</div>two", &["div: one", "two"]),
        ("one</title>two", &["onetwo"]),
    ]);
}

/// A text field ends an unclosed list of options before it, and a row a cell with an unclosed button.
#[test]
fn fields_and_parts_of_tables_end_what_is_open_before_them() {
    check(&[
        ("<select><option>a<textarea>b</textarea><p>text", &["p: text"]),
        ("<table>one<button>a<tbody><tr><td>two</table>", &["table: one", "table tbody tr td: two"]),
        ("<table><th>one<rtc>a<tr><td>two</table>", &["table th: one", "table tr td: two"]),
        (
            "<table><tr><td>one<button>a<td>two</table>three",
            &["table tr td: one", "table tr td: two", "three"],
        ),
        ("<table hidden><tr><td>a<tr><td>b</table>one", &["one"]),
    ]);
}

/// XHTML pages must not lose everything after a script, title or the like that closes itself.
#[test]
fn every_element_of_xhtml_may_close_itself() {
    for name in ["script src='x.js'", "title", "style", "textarea", "iframe", "noscript", "noframes"] {
        check_as(Syntax::Xml, &[(&format!("<head><{name}/></head><body><p>text</p>"), &["p: text"])]);
        // Without a content type, such a page is XML, since it would be blank as HTML.
        check(&[(&format!("<head><{name}/></head><body><p>text</p>"), &["p: text"])]);
    }
    check_as(
        Syntax::Xml,
        &[
            ("<p>a<![CDATA[ <b> & ]]>c<?php echo '>' ?>d</p>", &["p: a <b> & cd"]),
            ("<button/><svg/><template/><p>one<a href='x'/></p><div/>two", &["p: one", "two"]),
            ("<div><title>a</title><p/><script>b</script>c</div>d", &["div: c", "d"]),
        ],
    );
    check_as(Syntax::Html, &[("<p>one<script/><p>two", &["p: one"]), ("<title/><p>two", &[])]);
    // A later end tag ends the script, as in browsers.
    check(&[("<p>one<script src=a /><script></script>two", &["p: onetwo"])]);
}

#[test]
fn formulas_show_their_text_without_annotations() {
    check(&[
        ("<p>a <math><mi>x</mi><mo>=</mo><mn>2</mn></math> b", &["p: a x=2 b"]),
        ("<math><mi>x<annotation encoding=tex>x^2</annotation></math>", &["x"]),
        ("<math><mi>x</mi><annotation-xml>a</annotation-xml></math>b", &["xb"]),
        ("<math><mi>x<p>text", &["x", "p: text"]),
        ("<math/>text", &["text"]),
        ("<math><mtext>a<b>b</b></mtext></math>c", &["abc"]),
        ("<math><![CDATA[a<b]]></math>", &["a<b"]),
    ]);
}

/// With `<rb>` and `<rtc>`, annotations must not be in the text.
#[test]
fn ruby_shows_only_its_base_text() {
    check(&[
        ("<ruby><rb>東京</rb><rt>とうきょう</rt></ruby>です", &["東京です"]),
        ("<ruby><rb>東<rb>京<rtc><rt>とう<rt>きょう</ruby>です", &["東京です"]),
        ("<ruby>東京<rtc>とうきょう</ruby>です", &["東京です"]),
        ("<ruby><rb>東<rp>(<rt>とう<rp>)<rb>京<rt>きょう</ruby>です", &["東京です"]),
        ("<ruby><rtc>a<rb>京</ruby>です", &["京です"]),
    ]);
}

/// If a script writes another script, the rest of the first one must not become text of the page.
#[test]
fn a_script_may_hold_another_one_in_a_comment() {
    check(&[
        ("a<script><!--\nw('<script src=x></script>b');//--></script>c", &["ac"]),
        ("a<script><!-- <SCRIPT> </Script > d </script>c", &["ac"]),
        ("a<script><!-- --> '<script>' </script>c", &["ac"]),
        ("a<script>'<script>' </script>c", &["ac"]),
        ("a<script><!--><script></script>c", &["ac"]),
        ("a<script><!-- <scripty> </script>c", &["ac"]),
        ("a<script></script b='>' c>d", &["ad"]),
        ("a<script><!-- </script>b", &["ab"]),
    ]);
}

#[test]
fn markup_within_old_raw_elements_is_text() {
    check(&[
        ("<xmp><b>a</b></xmp>b", &["xmp: <b>a</b>", "b"]),
        ("a<plaintext><p>b</plaintext>", &["a", "plaintext: <p>b</plaintext>"]),
        ("<p>a<listing>b</listing>c", &["p: a", "listing: b", "c"]),
    ]);
}

#[test]
fn end_tags_close_nothing_outside_of_their_scope() {
    check(&[
        ("<template><table></template><p>text", &["p: text"]),
        ("<table><tr><td><template></table></template>text</table>", &["table tr td: text"]),
        ("<select><option>a<select>text", &["text"]),
        ("<select><option>a<input>text", &["text"]),
        ("<table><tr><td><select><option>a<tr><td>text", &["table tr td: text"]),
        ("<p>a<object><p>b</object>c", &["p: a", "p p: b", "p: c"]),
        ("a</", &["a</"]),
    ]);
}

/// The content of a declarative shadow root is shown, and must not be skipped like that of any other template.
#[test]
fn shadow_trees_are_shown_and_other_templates_are_not() {
    check(&[
        (
            "<x-a><template shadowrootmode=open><p>one</p><slot></slot></template><p>two</x-a>",
            &["custom p: one", "custom p: two"],
        ),
        ("<div><template shadowrootmode='Closed'>one</template>two</div>", &["div: one", "div: two"]),
        ("<div><template shadowrootmode=''>one</template>two</div>", &["div: two"]),
        ("<div><template shadowrootmode=none>one</template>two</div>", &["div: two"]),
        ("<div><template>one</template>two</div>", &["div: two"]),
        (
            "<div><template shadowrootmode=open>one<template>x</template><slot></slot></template></div>",
            &["div: one"],
        ),
        ("<template><template shadowrootmode=open>one</template></template>two", &["two"]),
        ("<div hidden><template shadowrootmode=open>one</template></div>two", &["two"]),
    ]);
}

/// `shadowroot` is the former name of the attribute. Such a shadow tree must not be skipped.
#[test]
fn the_former_attribute_of_shadow_trees_is_read_alike() {
    check(&[
        ("<div><template shadowroot=open><p>one</p></template></div>two", &["div p: one", "two"]),
        ("<div><template ShadowRoot='CLOSED'>one</template></div>", &["div: one"]),
        ("<div><template shadowroot=open shadowrootmode=open>one</template></div>", &["div: one"]),
        ("<div><template shadowrootmode=open shadowroot=''>one</template></div>", &["div: one"]),
        ("<div><template shadowroot=x>one</template>two</div>", &["div: two"]),
    ]);
}

/// A page may have one shadow tree for each name of the attribute, or its text also outside of the shadow tree for
/// older browsers. It must not have this text twice.
#[test]
fn a_host_shows_one_shadow_tree_and_other_content_only_in_slots() {
    check(&[
        (
            "<x-a><template shadowrootmode=open>one</template><template shadowroot=open>one</template></x-a>two",
            &["custom: one", "two"],
        ),
        (
            "<x-a><template shadowrootmode=open>one</template></x-a><x-a><template shadowrootmode=open>two</template></x-a>",
            &["custom: one", "custom: two"],
        ),
        (
            "<x-a><template shadowrootmode=open>one</template><p>two</p><p>three</p></x-a>four",
            &["custom: one", "four"],
        ),
        ("<x-a><template shadowrootmode=open></template><p>two</p></x-a>", &["custom p: two"]),
        (
            "<x-a><template shadowrootmode=open><x-b><template shadowrootmode=open>one<slot></slot></template><p>two</p></x-b>\
             </template><p>three</p></x-a>",
            &["custom custom: one", "custom custom p: two"],
        ),
        (
            "<x-a><template shadowrootmode=open>one<template><slot></slot></template></template><p>two</p></x-a>",
            &["custom: one"],
        ),
        ("<x-a><template hidden shadowrootmode=open>one</template><p>two</p></x-a>", &["custom p: two"]),
    ]);
}

/// One reading or option without end tag must not take the rest of the page with it.
#[test]
fn readings_and_stray_options_without_end_tag_end_before_the_next_block() {
    for begun in
        ["<rt>x", "<rp>(", "<rtc>x", "<ruby><rt>x", "<option>x", "<optgroup>x<option>x", "<rp/>", "<option/>"]
    {
        let html = format!("<div>one{begun}<p>two</p><div>three</div></div><p>four</p>");
        check(&[(&html, &["div: one", "div p: two", "div div: three", "p: four"])]);
    }
    check(&[
        ("<p>one<ruby>a<rt><span>x</span></rt></ruby>b</p>two", &["p: oneab", "two"]),
        ("<div>one<select><option><p>x</p></select><p>two</p></div>", &["div: one", "div p: two"]),
        ("<div>one<datalist><option>x<option>x</datalist>two</div>", &["div: onetwo"]),
    ]);
}
