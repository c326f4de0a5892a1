//! The laws that every detector must obey on any input. Adding a detector to `DETECTORS` subjects it to these
//! tests.

use std::sync::LazyLock;

use leitong::{Config, DETECTORS};
use leitong_fingerprint::Detector;
use leitong_fingerprint::detectors::BASELINES;
use leitong_fingerprint::resources::Resources;
use leitong_text::extract::{Document, Paragraph, ParagraphKind, ParagraphPlace};
use leitong_text::segment::{Lexicons, Segmenter, Terms};
use proptest::prelude::*;

/// Maximum length of the evidence in a verdict, in bytes.
const EVIDENCE_BYTES_MAX: usize = 2 * 1024;

static SEGMENTER: LazyLock<Segmenter> =
    LazyLock::new(|| Segmenter::new(&Config::default().segment, &Lexicons::default()).expect("the defaults"));

/// All detectors, with their defaults and with the settings of their papers.
static ALL: LazyLock<Vec<(String, Box<dyn Detector>)>> = LazyLock::new(|| {
    let mut all = Vec::new();
    for (name, build) in DETECTORS {
        let default = build(&Config::default(), &Resources::default()).expect("the defaults");
        all.push(((*name).to_owned(), default));
        let paper = std::path::PathBuf::from(format!("examples/{name}-paper.toml"));
        if paper.exists() {
            let config = Config::from_detector_file(&paper).expect("the paper's setting");
            assert_eq!(config.detector, *name, "{}", paper.display());
            all.push((format!("{name} (paper)"), build(&config, &Resources::default()).expect("no files")));
        }
    }
    all
});

fn terms_of(document: &Document) -> Terms {
    let mut terms = Terms::default();
    SEGMENTER.segment(document, &mut terms);
    terms
}

fn terms(text: &str) -> Terms {
    terms_of(&Document::from_text(None, text))
}

fn keys(detector: &dyn Detector, fingerprint: &[u8]) -> (Vec<u64>, Vec<u64>) {
    let (mut inserted, mut probed) = (Vec::new(), Vec::new());
    detector.insert_keys(fingerprint, &mut inserted);
    detector.probe_keys(fingerprint, &mut probed);
    (inserted, probed)
}

/// Checks all laws about two fingerprints.
fn check_pair(name: &str, detector: &dyn Detector, a: &[u8], b: &[u8]) {
    let there = detector.compare(a, b);
    assert_eq!(there, detector.compare(b, a), "{name}: symmetric");
    assert!((detector.similarity(a, b) - detector.similarity(b, a)).abs() < 1e-9, "{name}: symmetric");
    assert!((0.0..=1.0).contains(&detector.similarity(a, b)), "{name}: a similarity is from 0 to 1");
    assert!(detector.distance(there.distance) >= 0.0, "{name}");
    if there.near {
        let ((inserted, _), (_, probed)) = (keys(detector, a), keys(detector, b));
        assert!(inserted.iter().any(|key| probed.contains(key)), "{name}: near fingerprints share a key");
    }
    if there.distance == 0 {
        assert_eq!(detector.equal_key(a), detector.equal_key(b), "{name}: what nothing is nearer to");
    }
    // The result is the same for many comparisons at once, as when very many centroids share a key.
    let compared = vec![detector.compared(b); 5];
    let mut near = Vec::new();
    detector.compare_all(a, &compared, &mut |number, comparison| {
        if comparison.near {
            near.push((number, comparison.distance));
        }
    });
    let found = detector.compare_found(a, compared[0]);
    let expected: Vec<(usize, u32)> =
        (0..compared.len()).filter(|_| found.near).map(|number| (number, found.distance)).collect();
    assert_eq!(near, expected, "{name}: compared with many at once");
    assert!(found.near || !there.near, "{name}: what is near is near by its compared part");
    let related = detector.related(a, b);
    assert_eq!(related, detector.related(b, a), "{name}: related either way");
    assert!(!(related && there.near), "{name}: near or related");
    assert!(!related || detector.related_found(a, compared[0]), "{name}: related by its compared part");
    if let Some(second) = detector.second_key() {
        let apart = ((second.of)(a) ^ (second.of)(b)).count_ones();
        assert!(
            apart <= second.max_distance || !there.near && (apart <= second.wide_distance || !related),
            "{name}: near, and second keys {apart} apart"
        );
        assert_eq!((second.of)(b), (second.of)(compared[0]), "{name}: of the compared part");
    }
    let evidence = serde_json::to_string(&detector.evidence(a, b)).expect("JSON");
    assert!(evidence.len() <= EVIDENCE_BYTES_MAX, "{name}: {} bytes of evidence: {evidence}", evidence.len());
    if let Some(setting) = detector.threshold_setting(there.distance) {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), &setting).expect("written");
        let config = Config::from_detector_file(file.path());
        assert!(config.is_ok(), "{name}: {setting}: {config:?}");
        if !BASELINES.contains(&detector.name()) {
            let config = Config::from_toml(&setting);
            assert!(config.is_ok(), "a run reads what `tune` suggests: {name}: {setting}: {config:?}");
        }
    }
}

/// Checks all laws about one fingerprint.
fn check_one(name: &str, detector: &dyn Detector, fingerprint: &[u8]) {
    assert!(detector.is_fingerprint(fingerprint), "{name}: knows its own");
    let same = detector.compare(fingerprint, fingerprint);
    assert!(same.near && same.distance == 0, "{name}: a text is near itself: {same:?}");
    assert!((detector.similarity(fingerprint, fingerprint) - 1.0).abs() < 1e-9, "{name}: wholly similar");
    if let Some(equal) = detector.equal_key(fingerprint) {
        let (inserted, probed) = keys(detector, fingerprint);
        assert!(inserted.contains(&equal) && probed.contains(&equal), "{name}: the equal key is a key");
    }
    let shown = detector.display(fingerprint);
    assert!(!shown.is_empty() && shown.len() <= 64, "{name}: {shown}");
    assert!(shown.bytes().all(|byte| byte.is_ascii_hexdigit()), "{name}: {shown}");
    check_pair(name, detector, fingerprint, fingerprint);
}

/// Words that similar texts are generated from.
const WORDS: [&str; 24] = [
    "指纹",
    "网页",
    "重复",
    "爬虫",
    "聚类",
    "算法",
    "相似",
    "标题",
    "系统",
    "正文",
    "检测",
    "距离",
    "rust",
    "kafka",
    "crawler",
    "page",
    "duplicate",
    "cluster",
    "fingerprint",
    "我们的",
    "2026",
    "图书馆",
    "气象站",
    "天文台",
];

/// Returns an article of some paragraphs of some sentences; `seed` determines all words.
fn article(seed: u64, paragraphs: usize) -> String {
    let mut state = seed.wrapping_mul(2).wrapping_add(1);
    let mut next = |n: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % n
    };
    let mut text = String::new();
    for _ in 0..paragraphs {
        for _ in 0..3 {
            for _ in 0..9 {
                text.push_str(WORDS[next(WORDS.len())]);
                text.push(' ');
            }
            text.push('。');
        }
        text.push('\n');
    }
    text
}

#[test]
fn names_of_detectors_are_unique_and_plain() {
    let mut names: Vec<&str> = DETECTORS.iter().map(|(name, _)| *name).collect();
    for (name, detector) in ALL.iter() {
        assert!(name.starts_with(detector.name()));
        assert!(detector.name().bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-'), "{name}");
    }
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), DETECTORS.len());
}

#[test]
fn empty_and_tiny_texts_have_no_fingerprint() {
    for text in ["", "\n", "。", "?!", "的", "the"] {
        for (name, detector) in ALL.iter() {
            assert_eq!(detector.fingerprint(&terms(text)), None, "{name}: {text:?}");
        }
    }
}

#[test]
fn an_article_has_a_fingerprint_and_another_one_is_not_near() {
    let texts = std::fs::read_to_string("tests/golden/texts.jsonl").expect("the golden texts");
    let texts: Vec<String> = texts
        .lines()
        .map(|line| {
            serde_json::from_str::<serde_json::Value>(line).expect("JSON")["text"]
                .as_str()
                .expect("a text")
                .to_owned()
        })
        .collect();
    let (zh, en) = (article_of(&texts, "雷同"), ENGLISH);
    for (name, detector) in ALL.iter() {
        let [Some(zh), Some(en)] = [detector.fingerprint(&terms(&zh)), detector.fingerprint(&terms(en))]
        else {
            panic!("{name}: an article has a fingerprint");
        };
        check_one(name, &**detector, &zh);
        check_one(name, &**detector, &en);
        check_pair(name, &**detector, &zh, &en);
        assert!(!detector.compare(&zh, &en).near, "{name}: other texts are not near");
    }
}

/// Returns the golden texts that contain `word`, concatenated.
fn article_of(texts: &[String], word: &str) -> String {
    texts.iter().filter(|text| text.contains(word)).map(|text| format!("{text}\n")).collect()
}

const ENGLISH: &str = "A crawler fetches the same article many times, since other sites reprint it. The crawler \
keeps a fingerprint of every article, and a new article whose fingerprint is near an old fingerprint is a reprint. \
A fingerprint that is near no other fingerprint founds a cluster of its own.\n\
The cluster keeps its first article as its centroid permanently. Later articles are compared with the centroid alone, so \
that a chain of small edits never drifts away from the article that founded the cluster.\n";

#[test]
fn broken_bytes_are_refused_or_harmless() {
    let good = terms(&article(7, 6));
    for (name, detector) in ALL.iter() {
        let fingerprint = detector.fingerprint(&good).expect("a fingerprint");
        assert!(!detector.is_fingerprint(&[]), "{name}: nothing is not a fingerprint");
        for at in 0..fingerprint.len() {
            for bit in [1, 0x80] {
                let mut broken = fingerprint.clone();
                broken[at] ^= bit;
                if detector.is_fingerprint(&broken) {
                    let _ = (detector.compare(&fingerprint, &broken), keys(&**detector, &broken));
                    let _ = (detector.evidence(&broken, &fingerprint), detector.display(&broken));
                }
            }
            if detector.is_fingerprint(&fingerprint[..at]) {
                let _ = (
                    detector.compare(&fingerprint, &fingerprint[..at]),
                    keys(&**detector, &fingerprint[..at]),
                );
                let _ = (
                    detector.evidence(&fingerprint[..at], &fingerprint),
                    detector.display(&fingerprint[..at]),
                );
            }
        }
    }
}

#[test]
fn evidence_is_bounded_for_the_longest_texts() {
    let long: String = (0..400).map(|i| article(i, 1)).collect();
    let words: String =
        (0..3_000).map(|i| format!("{}{i} ", "w".repeat(i % 90))).collect::<String>().repeat(2);
    for (name, detector) in ALL.iter() {
        for text in [&long, &words] {
            if let Some(fingerprint) = detector.fingerprint(&terms(text)) {
                check_one(name, &**detector, &fingerprint);
                assert!(fingerprint.len() <= 16 * 1024, "{name}: {} bytes", fingerprint.len());
            }
        }
    }
}

fn document() -> impl Strategy<Value = Document> {
    let kind = prop_oneof![
        Just(ParagraphKind::Paragraph),
        Just(ParagraphKind::ListItem),
        Just(ParagraphKind::Code),
        (1..=6_u8).prop_map(ParagraphKind::Heading),
    ];
    let text = prop_oneof![
        "\\PC{0,120}",
        "[中文网页。，!? a-c\\n]{0,120}",
        any::<u64>().prop_map(|seed| article(seed, 1))
    ];
    let paragraph = (kind, text, 0..4_u8).prop_map(|(kind, text, list_level)| {
        let mut paragraph = Paragraph::new(kind, text);
        paragraph.place = ParagraphPlace { heading: (list_level > 1).then_some(0), list_level };
        paragraph
    });
    prop::collection::vec(paragraph, 0..12).prop_map(|paragraphs| {
        let mut document = Document::default();
        document.paragraphs = paragraphs;
        document
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    /// No Unicode text panics, the same text always has the same fingerprint, and all laws hold.
    #[test]
    fn any_document_can_be_fingerprinted(a in document(), b in document()) {
        let (a, b) = (terms_of(&a), terms_of(&b));
        for (name, detector) in ALL.iter() {
            let (x, y) = (detector.fingerprint(&a), detector.fingerprint(&b));
            assert_eq!(x, detector.fingerprint(&a), "{name}: deterministic");
            x.iter().chain(&y).for_each(|fingerprint| check_one(name, &**detector, fingerprint));
            if let (Some(x), Some(y)) = (x, y) {
                check_pair(name, &**detector, &x, &y);
            }
        }
    }

    /// Texts that differ by a few edits, at the boundary of near, always share a key if they are near.
    #[test]
    fn near_fingerprints_share_a_key(seed: u64, paragraphs in 4..20_usize, edits in prop::collection::vec((any::<prop::sample::Index>(), 0..3_u8), 0..8)) {
        let text = article(seed, paragraphs);
        let mut lines: Vec<&str> = text.lines().collect();
        for (index, edit) in &edits {
            if lines.is_empty() {
                break;
            }
            let at = index.index(lines.len());
            match edit {
                0 => { lines.remove(at); }
                1 => lines.insert(at, "这一行是后来才加进去的，与原来的文章毫无关系，只是为了让两篇不同而已。"),
                _ => lines.swap(0, at),
            }
        }
        let (a, b) = (terms(&text), terms(&lines.join("\n")));
        for (name, detector) in ALL.iter() {
            if let (Some(x), Some(y)) = (detector.fingerprint(&a), detector.fingerprint(&b)) {
                check_pair(name, &**detector, &x, &y);
            }
        }
    }
}
