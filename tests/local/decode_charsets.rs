//! Charset detection on real files. Needs `LEITONG_DATA`, the folder of `charsets.jsonl.gz`; passes without
//! it. Every Chinese file must be right, and at least 95 % of all files.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

use base64::Engine;
use leitong_text::decode::decode;
use leitong_text::page::Hints;

/// Returns the names that the decoder may return for a charset's name in the data. Lists those that differ in more than
/// case.
fn names_of(given: &str) -> &'static [&'static str] {
    match given {
        "gb2312" => &["GBK", "gb18030"],
        "big5" => &["Big5"],
        "euc-tw" => &["EUC-TW"],
        "utf-8" | "utf-8-sig" => &["UTF-8"],
        "euc-kr" | "cp949" => &["EUC-KR"],
        "euc-jp" => &["EUC-JP"],
        "shift_jis" | "cp932" => &["Shift_JIS"],
        "koi8-r" => &["KOI8-R", "KOI8-U"],
        "iso-2022-jp" => &["ISO-2022-JP"],
        "iso-2022-kr" => &["ISO-2022-KR"],
        "utf-16" => &["UTF-16LE", "UTF-16BE"],
        "utf-16le" => &["UTF-16LE"],
        "utf-16be" => &["UTF-16BE"],
        "utf-32" => &["UTF-32LE", "UTF-32BE"],
        "utf-32le" => &["UTF-32LE"],
        "utf-32be" => &["UTF-32BE"],
        "windows-1252" => &["windows-1252"],
        name if name.starts_with("windows-1251") => &["windows-1251"],
        name if name.starts_with("iso-8859-5") => &["ISO-8859-5"],
        _ => &[],
    }
}

#[test]
fn charsets_of_real_files_are_found() {
    let Some(folder) = std::env::var_os("LEITONG_DATA") else { return };
    let path = std::path::Path::new(&folder).join("charsets.jsonl.gz");
    let mut decompressed =
        Command::new("gzip").arg("-dc").arg(&path).stdout(Stdio::piped()).spawn().expect("gzip is installed");
    let output: Box<dyn Read> = Box::new(decompressed.stdout.take().expect("a pipe"));
    let (mut all, mut wrong) = (0, Vec::new());
    for line in BufReader::new(output).lines() {
        let file: serde_json::Value = serde_json::from_str(&line.expect("a line")).expect("JSON");
        let bytes = base64::engine::general_purpose::STANDARD
            .decode(file["html_b64"].as_str().expect("bytes"))
            .expect("base64");
        let truth = file["encoding_true"].as_str().expect("a charset");
        let found = decode(&bytes, &Hints::default()).map_or("none", |decoded| decoded.charset);
        all += 1;
        if !names_of(truth).contains(&found) {
            wrong.push((truth.to_owned(), found, file["id"].to_string()));
        }
    }
    decompressed.wait().expect("gzip ends");
    println!("{} of {all} right; wrong: {wrong:#?}", all - wrong.len());
    assert!(wrong.len() * 20 <= all, "below 95 %");
    assert!(!wrong.iter().any(|(truth, ..)| ["gb2312", "big5", "euc-tw"].contains(&truth.as_str())));
}
