//! Decompresses any bytes as an HTTP response with any coding in its head: decompression ends, within the page's limit.
//!
//! The first byte chooses a head; with the empty one, the other bytes are head and body. Run: `fuzz/run.sh 60 http`.
#![no_main]

mod common;

use common::assert_within_limits;
use leitong_text::page::{Body, WarcKind, WarcRecord};
use libfuzzer_sys::fuzz_target;

const HEADS: [&str; 8] = [
    "",
    "HTTP/1.1 200 OK\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Encoding: deflate\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Encoding: br\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Encoding: zstd\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Encoding: gzip, br\r\n\r\n",
];
const PAGE_BYTES_MAX: usize = 64 * 1024;

fuzz_target!(|data: &[u8]| {
    let Some((choice, body)) = data.split_first() else { return };
    let head = usize::from(choice % 8);
    let content = [HEADS[head].as_bytes(), body].concat();
    let record = WarcRecord {
        kind: WarcKind::Response,
        url: Some("http://fuzz/".to_owned()),
        date: None,
        content_type: None,
        content_bytes: content.len() as u64,
        is_cut_short: choice & 8 != 0,
        content,
    };
    let page = record.clone().into_page(PAGE_BYTES_MAX).expect("there is a url");
    assert_within_limits(&page, PAGE_BYTES_MAX);
    if head == 1 {
        assert_eq!(
            (page.status, &page.body),
            (Some(200), &Body::HtmlBytes(body.to_vec())),
            "what is not packed stays"
        );
    }
    assert_eq!(record.into_page(PAGE_BYTES_MAX), Ok(page));
});
