//! Decodes HZ (RFC 1843), which the Encoding Standard lacks: GB 2312 in ASCII bytes, between `~{` and `~}`.
//!
//! In: ASCII bytes. Out: the text, if they are HZ. Cost: a search for `~{`; decodes only pages that have it.

use encoding_rs::GBK;

use super::plausible::reads_as_chinese;

/// Returns true if `bytes` have the mark that begins Chinese.
pub(super) fn may_be(bytes: &[u8]) -> bool {
    memchr::memmem::find(bytes, b"~{").is_some()
}

/// Returns the text of `bytes`. If HZ is not declared, the text must read as Chinese.
pub(super) fn decode(bytes: &[u8], is_declared: bool) -> Option<String> {
    if !may_be(bytes) {
        return None;
    }
    let text = GBK.decode_without_bom_handling(&gbk(bytes)).0.into_owned();
    (is_declared || reads_as_chinese(&text)).then_some(text)
}

/// Converts HZ to GBK. Chinese ends at the end of its line, even without `~}`.
fn gbk(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let (mut at, mut is_chinese) = (0, false);
    while let Some(&byte) = bytes.get(at) {
        let next = bytes.get(at + 1).copied();
        match (byte, next) {
            (b'~', Some(b'{')) => is_chinese = true,
            (b'~', Some(b'}')) => is_chinese = false,
            (b'~', Some(b'~')) if !is_chinese => out.push(b'~'),
            // The line goes on.
            (b'~', Some(b'\n')) if !is_chinese => {}
            (0x21..=0x7e, Some(next @ 0x21..=0x7e)) if is_chinese => {
                out.extend_from_slice(&[byte | 0x80, next | 0x80]);
            }
            _ => {
                is_chinese &= byte != b'\n';
                out.push(byte);
                at += 1;
                continue;
            }
        }
        at += 2;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chinese_between_tildes_is_read() {
        let text = decode(b"a ~~ b ~{VPND~} c ~{VPND\nplain ~\nsame line", true);
        assert_eq!(text.as_deref(), Some("a ~ b 中文 c 中文\nplain same line"));
    }

    #[test]
    fn tildes_and_braces_of_other_texts_stay() {
        assert_eq!(decode(b"div ~ {color: red} p~{margin: 0}", false), None);
        assert_eq!(decode(b"~{VPND~}", true).as_deref(), Some("中文"));
    }
}
