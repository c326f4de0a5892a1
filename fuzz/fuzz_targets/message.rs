//! Reads any bytes as a message of the page topic, in each format, with any header and key: the result is a page within
//! its limits, or an error in a few words. A protobuf page is read with its own fields.
//!
//! The first byte chooses the format; then come a header's and the key's length. Run: `fuzz/run.sh 60
//! message`.
#![no_main]

mod common;

use common::assert_within_limits;
use leitong::config::kafka::{PageFormat, PagesConfig, UrlFrom};
use leitong::pipeline::Message;
use leitong_base::proto;
use leitong_base::record::Received;
use leitong_text::page::PageConfig;
use leitong_text::page::mapping::{Mapping, MessageOutcome};
use libfuzzer_sys::fuzz_target;
use prost::Message as _;

const PAGE_BYTES_MAX: usize = 2048;

fuzz_target!(|data: &[u8]| {
    let [choice, header_bytes, key_bytes, rest @ ..] = data else { return };
    let (header, rest) = rest.split_at(usize::from(*header_bytes).min(rest.len()));
    let (key, value) = rest.split_at(usize::from(*key_bytes).min(rest.len()));
    let format = [PageFormat::Json, PageFormat::Protobuf, PageFormat::Html][usize::from(choice % 3)];
    let url_from = if choice & 64 == 0 { UrlFrom::Field } else { UrlFrom::Key };
    let config = PagesConfig { format, url_from, ..PagesConfig::default() };
    let name = if choice & 32 == 0 { "content-type" } else { "content-encoding" };
    let header = (choice & 128 != 0).then(|| (name.to_owned(), Some(header.to_vec())));
    let received =
        Received { key: Some(key.to_vec()), headers: header.into_iter().collect(), ..Received::default() };
    let message = Message { value: Some(value), received: Box::new(received) };
    let limits = PageConfig { bytes_max: PAGE_BYTES_MAX, line_bytes_max: 8192, ..PageConfig::default() };
    match message.read(&config, &Mapping::default(), &limits, true).outcome {
        Ok(MessageOutcome::Skipped(why)) => panic!("{why:?}"),
        Ok(MessageOutcome::Page(page)) => {
            assert_within_limits(&page, PAGE_BYTES_MAX);
            if format == PageFormat::Protobuf && choice & 192 == 0 && !value.starts_with(b"\x1f\x8b\x08") {
                let said = proto::Page::decode(value).expect("a page was read from it");
                assert_eq!((page.url, page.title, page.status), (said.url, said.title, said.status));
            }
        }
        Err(error) => assert!(!error.cause().as_str().is_empty() && !error.to_string().is_empty()),
    }
});
