//! Decodes UTF-7 (RFC 2152), which the Encoding Standard lacks: UTF-16 in base64, between `+` and `-`.
//!
//! In: ASCII bytes. Out: the text, if they are UTF-7. Cost: a page without a declaration is read up to the first `+` that
//! is not UTF-7.

use super::utf16::is_usual;

/// Minimum number of encoded parts in a page that does not declare UTF-7.
const PARTS_MIN: usize = 4;

/// Returns true if `bytes` have the sign that begins encoded characters.
pub(super) fn may_be(bytes: &[u8]) -> bool {
    memchr::memchr(b'+', bytes).is_some()
}

/// Returns the text of `bytes`. If UTF-7 is not declared, every `+` must begin usual characters.
pub(super) fn decode(bytes: &[u8], is_declared: bool) -> Option<String> {
    // Grows as it is needed, since most pages are given up at their first `+`.
    let mut text = String::new();
    let (mut rest, mut parts) = (bytes, 0);
    while let Some(plus) = memchr::memchr(b'+', rest) {
        text.push_str(std::str::from_utf8(&rest[..plus]).ok()?);
        rest = &rest[plus + 1..];
        if let Some(after) = rest.strip_prefix(b"-") {
            text.push('+');
            rest = after;
            continue;
        }
        let end = rest.iter().position(|byte| sextet(*byte).is_none()).unwrap_or(rest.len());
        match characters(&rest[..end]) {
            Some(characters) if is_declared || reads_as_text(&characters) => {
                text.push_str(&characters);
                parts += 1;
            }
            None if is_declared => text.push(char::REPLACEMENT_CHARACTER),
            _ => return None,
        }
        rest = rest[end..].strip_prefix(b"-").unwrap_or(&rest[end..]);
    }
    text.push_str(std::str::from_utf8(rest).ok()?);
    (parts >= if is_declared { 1 } else { PARTS_MIN }).then_some(text)
}

/// Returns true if most characters are usual, and none is a control character.
fn reads_as_text(characters: &str) -> bool {
    let usual = characters.chars().filter(|c| is_usual(*c)).count();
    !characters.contains(char::is_control) && usual * 3 >= characters.chars().count()
}

/// Returns the UTF-16 in base64, or `None` if it is not valid.
fn characters(base64: &[u8]) -> Option<String> {
    let (mut bits, mut count, mut units) = (0_u32, 0, Vec::new());
    for byte in base64 {
        bits = bits << 6 | sextet(*byte)?;
        count += 6;
        if count >= 16 {
            count -= 16;
            units.push((bits >> count) as u16);
            bits &= (1 << count) - 1;
        }
    }
    // Fewer than six bits fill up the last character, and they are zero.
    if units.is_empty() || count >= 6 || bits != 0 {
        return None;
    }
    String::from_utf16(&units).ok()
}

fn sextet(byte: u8) -> Option<u32> {
    let value = match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    };
    Some(u32::from(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_between_plus_and_minus_is_read() {
        let page = b"Caf+AOk- 1 +- 1, +ZeVnLIqe- and na+AO8-ve +AGEA6Q-";
        assert_eq!(decode(page, false).as_deref(), Some("Café 1 + 1, 日本語 and naïve aé"));
        assert_eq!(decode(b"+AOk", true).as_deref(), Some("é"));
        assert_eq!(decode(b"a +++ +AOk-", true).as_deref(), Some("a \u{fffd} é"));
    }

    #[test]
    fn plus_signs_of_other_texts_stay() {
        for text in ["C++, 1 + 1 and a+b", "+AOk- once", "call +4930123456, +4930123457, +4930123458, +49301"]
        {
            assert_eq!(decode(text.as_bytes(), false), None, "{text}");
        }
    }
}
