//! Properties of extraction and decoding over mutated markup, on the stable toolchain: no panic, the same
//! result twice, no invented text. The seeds are the pages of `tests/data/markup`.

use leitong_text::decode::decode;
use leitong_text::extract::{ExtractConfig, Extractor, extract};
use leitong_text::page::Hints;
use proptest::prelude::*;

fn seeds() -> Vec<String> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/markup");
    let files = std::fs::read_dir(folder).expect("the seeds are part of the sources");
    let mut paths: Vec<_> = files.map(|file| file.expect("a readable folder").path()).collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read_to_string(path).expect("a seed is UTF-8")).collect()
}

/// Pieces of markup that are difficult for parsers.
const PIECES: [&str; 24] = [
    "<",
    ">",
    "</",
    "<!--",
    "-->",
    "<p>",
    "</p>",
    "<td>",
    "</table>",
    "<a href='",
    "\"",
    "'",
    "&",
    "&amp",
    ";",
    "<script>",
    "</script>",
    "<pre>",
    "<br>",
    "\0",
    "\u{feff}",
    "一",
    "<svg>",
    "<li class=comment>",
];

/// Returns a seed with pieces inserted, removed and doubled.
fn mutated() -> impl Strategy<Value = String> {
    let edits = prop::collection::vec(
        (any::<prop::sample::Index>(), 0..3_u8, prop::sample::select(&PIECES[..])),
        0..12,
    );
    (prop::sample::select(seeds()), edits).prop_map(|(mut page, edits)| {
        for (place, edit, piece) in edits {
            let places: Vec<usize> = page.char_indices().map(|(at, _)| at).collect();
            let Some(&at) = places.get(place.index(places.len().max(1))) else { continue };
            match edit {
                0 => page.insert_str(at, piece),
                1 => page.truncate(at),
                _ => page = [&page[..at], &page[at..], &page[at..]].concat(),
            }
        }
        page
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn a_page_gives_the_same_document_with_fresh_and_with_used_buffers(pages in prop::collection::vec(mutated(), 1..4)) {
        let mut extractor = Extractor::new(&ExtractConfig::default());
        for page in pages {
            prop_assert_eq!(extractor.extract(&page), extract(&page, &ExtractConfig::default()));
        }
    }

    #[test]
    fn no_word_of_a_document_is_invented(page in mutated()) {
        let document = extract(&page, &ExtractConfig::default());
        for paragraph in document.map(|document| document.paragraphs).unwrap_or_default() {
            prop_assert!(!paragraph.text.is_empty());
            for word in paragraph.text.split_whitespace().filter(|word| word.chars().all(|c| c.is_ascii_lowercase())) {
                let letters = word.chars().all(|c| page.contains(c) || page.contains('&'));
                prop_assert!(letters, "{word:?} is not of the page");
            }
        }
    }

    #[test]
    fn any_bytes_are_decoded_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..400), label in "[a-z0-9-]{0,12}") {
        let hints = Hints { charset: Some(label), content_type: None };
        if let Ok(decoded) = decode(&bytes, &hints) {
            prop_assert!(decoded.text.len() <= bytes.len() * 4 + 4);
        }
    }

    #[test]
    fn text_survives_its_own_encoding(text in "[一-龥]{30,60}[，。a-z ]{1,9}") {
        for encoding in [encoding_rs::GBK, encoding_rs::GB18030] {
            let (bytes, _, lost) = encoding.encode(&text);
            let hints = Hints { charset: Some(encoding.name().to_owned()), content_type: None };
            let decoded = decode(&bytes, &hints).map(|decoded| decoded.text.into_owned());
            prop_assert!(!lost);
            prop_assert_eq!(decoded, Ok(text.clone()));
        }
    }
}
