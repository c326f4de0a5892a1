//! Decodes any bytes with any hints: decoding ends, and the length of the result is bounded by the input.
//!
//! The first byte chooses the hints. Run: `fuzz/run.sh 60 decode`.
#![no_main]

use leitong_text::decode::decode;
use leitong_text::page::Hints;
use libfuzzer_sys::fuzz_target;

const LABELS: [&str; 8] =
    ["", "utf-8", "gbk", "big5", "shift_jis", "iso-2022-jp", "windows-1252", "nonsense"];

/// Returns true if bytes that are valid UTF-8 may mean something else in this charset.
fn is_other(charset: &str, body: &[u8]) -> bool {
    match charset {
        "HZ-GB-2312" | "UTF-7" => body.is_ascii(),
        name => name.starts_with("UTF-16") || name.starts_with("IBM"),
    }
}

fuzz_target!(|data: &[u8]| {
    let Some((choice, body)) = data.split_first() else { return };
    let label = LABELS[usize::from(choice % 8)];
    let hints = Hints {
        charset: (choice & 8 != 0).then(|| label.to_owned()),
        content_type: (choice & 16 != 0).then(|| format!("text/html; charset={label}")),
    };
    if let Ok(decoded) = decode(body, &hints) {
        // No encoding yields more than one character per byte, and none has more than four bytes.
        assert!(decoded.text.len() <= body.len() * 4 + 4);
        if let Ok(text) = std::str::from_utf8(body)
            && !body.contains(&0)
            && !body.contains(&0x1b)
            && !is_other(decoded.charset, body)
        {
            assert_eq!(decoded.text, text.strip_prefix('\u{feff}').unwrap_or(text));
        }
    }
});
