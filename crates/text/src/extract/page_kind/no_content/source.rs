//! Searches the source of a page without text for marks of firewalls and script applications, and for the text shown
//! without scripts.
//!
//! Cost: a few passes over the first [`BYTES_MAX`] bytes, only of pages that show next to no text.

use memchr::memmem;

use crate::extract::document::NoContent;
use crate::extract::page_kind::no_content::judge::{Judge, TextOrigin};
use crate::extract::parse::text::without_tags;

/// Maximum bytes of the source that are searched.
const BYTES_MAX: usize = 128 << 10;

/// Maximum bytes of visible text of a page that is an empty shell.
const SHELL_TEXT_BYTES_MAX: u64 = 60;

/// Marks of the scripts that check visitors: names that pages with content do not have in the bytes searched.
#[rustfmt::skip]
const CHECKS: [&[u8]; 12] = [
    b"_cf_chl_opt", b"cf-challenge", b"captcha-delivery.com", b"_Incapsula_Resource", b"px-captcha",
    b"acw_sc__v2", b"TencentCaptcha", b"AliyunCaptcha", b"awsWafCookieDomainList", b"x5secdata",
    b"challenges.cloudflare.com/turnstile", b"wappass.baidu.com",
];

/// Attributes of elements that only the pages of such checks have, whatever their text says.
const CHECK_ATTRIBUTES: [&[u8]; 6] = [
    b"id=\"anubis_challenge\"",
    b"/.within.website/x/cmd/anubis/static/js/",
    b"id=\"px-captcha\"",
    b"id=\"sec-if-cpt-container\"",
    b"src=\"https://geo.captcha-delivery.com/",
    b"class=\"wordfence-block\"",
];

/// Maximum bytes at the start of a page that are searched for attributes. Pages of checks are small.
const CHECK_BYTES_MAX: usize = 32 << 10;

/// Marks of the script that fills a 404 page with notices of missing children.
const ERRORS: [&[u8]; 2] = [b"404/search_children.js", b"volunteer.cdn-go.cn/404"];

/// Elements that script applications fill, and code that redirects.
#[rustfmt::skip]
const SHELLS: [&[u8]; 16] = [
    b"id=\"root\"", b"id=root", b"id=\"app\"", b"id=app", b"id='app'", b"id=\"__next\"", b"id=\"__nuxt\"",
    b"id=\"react-root\"", b"id=\"main-app\"", b"<app-root", b"ng-app", b"ng-version", b"location.href",
    b"location.replace", b"location.reload", b"http-equiv=\"refresh\"",
];

/// Maximum number of `<noscript>` elements that are read.
const NOSCRIPTS_MAX: usize = 8;
/// Maximum bytes of text that are read of each `<noscript>` element.
const NOSCRIPT_BYTES_MAX: usize = 1_000;

/// Maximum number of buttons that are read.
const BUTTONS_MAX: usize = 8;
/// Maximum length in bytes of a button's label.
const BUTTON_BYTES_MAX: usize = 200;

/// Reads the words on the buttons of a page, which its blocks do not contain.
pub(super) fn labels(html: &str, judge: &mut Judge) {
    let labels = contents(start_of(html), ["<button", "</button"]).take(BUTTONS_MAX);
    labels.filter(|label| label.len() <= BUTTON_BYTES_MAX).for_each(|label| judge.label(label.trim()));
}

/// Returns the text of each element with these tags.
fn contents<'a>(source: &'a str, [begin, end]: [&'a str; 2]) -> impl Iterator<Item = String> {
    memmem::find_iter(source.as_bytes(), begin).map(move |from| {
        let rest = &source[from..];
        without_tags(&rest[..rest.find(end).unwrap_or(rest.len())])
    })
}

/// Returns the part of a page that is searched.
fn start_of(html: &str) -> &str {
    &html[..html.floor_char_boundary(BYTES_MAX)]
}

/// Reads the source of a page that shows `bytes` bytes of text.
pub(super) fn read(html: &str, bytes: u64, judge: &mut Judge) {
    let source = start_of(html);
    let has = |marks: &[&[u8]]| marks.iter().any(|mark| memmem::find(source.as_bytes(), mark).is_some());
    for shown in contents(source, ["<noscript", "</noscript"]).take(NOSCRIPTS_MAX) {
        judge.read(&shown[..shown.floor_char_boundary(NOSCRIPT_BYTES_MAX)], TextOrigin::Source);
    }
    if has(&CHECKS) {
        judge.mark(NoContent::Blocked);
    }
    if has(&ERRORS) {
        judge.mark(NoContent::Error);
    }
    if bytes <= SHELL_TEXT_BYTES_MAX && memmem::find(source.as_bytes(), b"<script").is_some() && has(&SHELLS)
    {
        judge.mark(NoContent::Shell);
    }
}

/// Returns true if the page has an element of a check. Pages that write about one have such attributes in their text.
pub(super) fn is_check(html: &str) -> bool {
    let source = &html.as_bytes()[..html.len().min(CHECK_BYTES_MAX)];
    CHECK_ATTRIBUTES.iter().any(|attribute| {
        memmem::find_iter(source, attribute)
            .any(|at| memchr::memrchr2(b'<', b'>', &source[..at]).is_some_and(|tag| source[tag] == b'<'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_are_known_by_their_elements_and_not_by_texts_about_them() {
        assert!(is_check(
            "<p>Un instant<script id=\"anubis_challenge\" type=\"application/json\">{}</script>"
        ));
        assert!(!is_check("<pre>&lt;script id=\"anubis_challenge\"&gt;</pre>"));
        assert!(!is_check("<p>id=\"anubis_challenge\""));
    }
}
