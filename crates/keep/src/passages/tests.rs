//! Tests of searches over all documents of a run.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

use super::letters::is_letter;
use super::repeated::{Counts, Search};
use super::*;
use crate::growth::{GROWTH_MAX, growth};
use crate::prefer::{Choice, Rules};
use crate::sink::whole_lines::WholeLines;
use crate::verify::texts::{TextCompressor, TextPlace};
use leitong_base::random::Random;

fn decision(number: u64, url: &str, text: Option<TextPlace>) -> Decision {
    Decision { url: url.to_owned(), text, ..Decision::of_cluster(number, number) }
}

/// A document: its url, and its text if it has one.
type Document = (String, Option<String>);

/// Stores documents as a run does.
fn stored(folder: &Path, documents: &[Document]) -> (Spooled, TextFile) {
    let mut texts = TextFile::create(folder).expect("a file");
    let mut spool = Spool::create(folder).expect("a file");
    let mut compressor = TextCompressor::default();
    for (number, (url, text)) in (0..).zip(documents) {
        let compressed = text.as_ref().and_then(|text| compressor.compress(url, text));
        let place = compressed.map(|compressed| texts.push(&compressed).expect("room"));
        spool.push(&decision(number, url, place)).expect("room");
    }
    (spool.finish().expect("room"), texts)
}

/// Lists the passages of documents, all of which are kept.
fn list(limits: Limits, documents: &[Document]) -> (Vec<Value>, Counts) {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut spooled, texts) = stored(folder.path(), documents);
    let choice = Choice::first(Rules::default());
    let mut search = Search::new(limits, folder.path(), &texts, &choice);
    let frequent = search.frequent(&mut spooled).expect("room");
    let path = folder.path().join("passages.jsonl");
    let mut lines = WholeLines::create(&path).expect("room");
    let counts = search.list(&mut spooled, &frequent, &mut lines).expect("room");
    assert_eq!(std::fs::read_dir(folder.path()).expect("the folder").count(), 1, "temporary files are gone");
    let part = WholeLines::part_of(&path).expect("a file");
    let written = std::fs::read_to_string(part).expect("the list");
    (written.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect(), counts)
}

const LIMITS: Limits = Limits { letters_min: 60, documents_min: 10, memory_bytes: 64 << 20 };

/// Returns text of rare words or ideographs, of about `chars` characters.
fn prose(random: &mut Random, chars: usize, is_chinese: bool) -> String {
    let mut text = String::new();
    while text.chars().count() < chars {
        if is_chinese {
            text.extend(char::from_u32(0x4e00 + random.below(6_000) as u32));
            text.push_str(if random.chance(0.1) { "，" } else { "" });
        } else {
            let letter = |random: &mut Random| char::from(b'a' + random.below(26) as u8);
            let word: String = (0..3 + random.below(7)).map(|_| letter(random)).collect();
            text.push_str(&word);
            text.push_str(if random.chance(0.1) { ". " } else { " " });
        }
    }
    text
}

fn spelled(text: &str) -> String {
    text.chars().filter(|c| is_letter(*c)).collect()
}

/// Creates documents with planted passages, and returns both. Each passage has 200 characters and is in twelve
/// documents. One more passage is in nine documents only, too few to be listed.
fn planted(seed: u64) -> (Vec<Document>, Vec<String>) {
    let mut random = Random::from_seed(seed);
    let passages: Vec<String> = (0..40).map(|at| prose(&mut random, 200, at % 2 == 0)).collect();
    let rare = prose(&mut random, 400, false);
    let mut parts: Vec<Vec<&str>> = vec![Vec::new(); 120];
    for passage in &passages {
        let first = random.below(120);
        (0..12).for_each(|at| parts[(first + 7 * at) % 120].push(passage));
    }
    (0..9).for_each(|at| parts[at * 3].push(&rare));
    let documents = parts.iter().enumerate().map(|(number, parts)| {
        let mut text = prose(&mut random, 500, number % 3 == 0);
        for part in parts {
            text.push_str(part);
            text.push_str(if random.chance(0.3) { "\n" } else { "" });
            text.push_str(&prose(&mut random, 300, number % 3 == 0));
        }
        (format!("https://www.site{}.example/{number}", number % 7), Some(text + "\n"))
    });
    (documents.collect(), passages)
}

#[test]
fn planted_passages_are_found_and_nothing_else() {
    let seed = std::env::var("LEITONG_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(7);
    println!("LEITONG_SEED={seed}");
    let (documents, passages) = planted(seed);
    let (lines, counts) = list(LIMITS, &documents);
    let texts: Vec<String> =
        documents.iter().map(|(_, text)| spelled(text.as_deref().unwrap_or_default())).collect();
    for passage in &passages {
        let letters = spelled(passage);
        let is_part = |line: &&Value| letters.contains(&spelled(line["text"].as_str().expect("a text")));
        let best = lines.iter().filter(is_part).map(|line| line["letters"].as_u64().expect("a number")).max();
        assert!(best.unwrap_or(0) >= 60, "{passage}: {best:?}");
    }
    assert_eq!(lines.len(), passages.len(), "each is listed once");
    for line in &lines {
        let text = spelled(line["text"].as_str().expect("a text"));
        assert!(passages.iter().any(|passage| spelled(passage).contains(&text)), "{line}");
        let holding = texts.iter().enumerate().filter(|(_, document)| document.contains(&text));
        let sites: BTreeSet<usize> = holding.clone().map(|(number, _)| number % 7).collect();
        assert_eq!(line["documents"], holding.count(), "{line}");
        assert_eq!((&line["sites"], line["site"].is_null()), (&sites.len().into(), sites.len() > 1));
    }
    assert_eq!((counts.passages, counts.searched, counts.not_searched), (lines.len() as u64, 120, 0));
}

#[test]
fn little_memory_gives_the_same_list() {
    let (documents, _) = planted(11);
    let roomy = list(LIMITS, &documents);
    assert!(roomy.0.len() >= 40);
    assert_eq!(list(Limits { memory_bytes: 1, ..LIMITS }, &documents), roomy, "hundreds of runs on disk");
}

#[test]
fn whole_lines_are_listed_whole_and_as_they_were_joined() {
    let mut random = Random::from_seed(3);
    let footer = "share this page with friends\nall rights reserved by the owner\nprint · send · save\n\
                  terms of use and privacy";
    let documents: Vec<_> = (0..12)
        .map(|number| {
            let text = format!("{}\n{footer}\n", prose(&mut random, 300, false));
            (format!("https://a.example/{number}"), Some(text))
        })
        .collect();
    let (lines, _) = list(LIMITS, &documents);
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert_eq!(lines[0]["text"], footer.replace('\n', " "));
    assert_eq!((&lines[0]["site"], &lines[0]["bytes"]), (&"a.example".into(), &footer.len().into()));
}

#[test]
fn odd_documents_are_searched_as_well() {
    let equal_lines =
        "every line of this page is the same, and there are very many of them here\n".repeat(20_000);
    let one_letter = "a".repeat(1_000_000);
    let texts = [Some(equal_lines), Some(one_letter), Some(String::new()), Some("短".to_owned()), None];
    let documents: Vec<_> = (0..50).map(|number| ("urn:x".to_owned(), texts[number % 5].clone())).collect();
    let (lines, counts) = list(LIMITS, &documents[..10]);
    assert_eq!((lines.len(), counts.searched, counts.not_searched), (0, 8, 2));
    let (lines, counts) = list(Limits { documents_min: 2, ..LIMITS }, &documents[..10]);
    assert_eq!(counts.searched, 8);
    assert!(lines.iter().all(|line| line["documents"] == 2 && line["sites"] == 1 && line["site"].is_null()));
    assert!((2..6).contains(&lines.len()), "{}", lines.len());
}

/// Two pages may have thousands of sentences in common, with others in between.
#[test]
fn a_list_of_many_passages_of_one_document_costs_what_its_text_costs() {
    let documents = |passages: usize| -> Vec<Document> {
        let mut random = Random::from_seed(9);
        let shared: Vec<String> = (0..passages).map(|_| prose(&mut random, 90, false)).collect();
        let mut document = |url: &str| {
            let between = |shared: &String| format!("{shared}\n{}\n", prose(&mut random, 90, false));
            (url.to_owned(), Some(shared.iter().map(between).collect::<String>()))
        };
        vec![document("https://a.example/1"), document("https://b.example/2")]
    };
    let limits = Limits { documents_min: 2, ..LIMITS };
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build().expect("a thread");
    let grown = growth(200, documents, |documents| {
        let (lines, _) = one.install(|| list(limits, documents));
        assert_eq!(lines.len(), documents[0].1.as_ref().expect("a text").lines().count() / 2);
    });
    assert!(grown < GROWTH_MAX, "{grown}");
}
