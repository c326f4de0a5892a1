//! Fingerprints keyed by a secret: nobody without it can make one page the near-duplicate of another.

use std::path::Path;

use leitong::config::{Candidates, Confirm};
use leitong::{Config, DETECTORS};
use leitong_fingerprint::Detector;
use leitong_fingerprint::detectors::simhash::{SimHash, simhash_of};
use leitong_fingerprint::resources::Resources;
use leitong_fingerprint::secret::Secret;
use leitong_text::extract::Document;
use leitong_text::segment::{Lexicons, Segmenter, Terms};

use crate::common::{Run, leitong, run, write};

const SECRET: &str = "3f1d0f6be1c94f6d8a0c9f27";

fn segmenter() -> Segmenter {
    Segmenter::new(&Config::default().segment, &Lexicons::default()).expect("the defaults")
}

fn terms(segmenter: &Segmenter, text: &str) -> Terms {
    let mut terms = Terms::default();
    segmenter.segment(&Document::from_text(None, text), &mut terms);
    terms
}

fn keyed(secret: &str) -> Resources {
    Resources { secret: Some(Secret::new(secret).expect("long enough")), ..Resources::default() }
}

/// Returns a made-up word.
fn word(number: u64) -> String {
    let mut x = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x ^= x >> 29;
    (0..8).map(|at| char::from(b'a' + (x >> (8 * at) & 255) as u8 % 26)).collect()
}

/// A text of 200 words has the SimHash of another text with which it shares no word: the words, out of twenty
/// thousand made-up ones, whose hashes agree with it most. This takes a moment, and only the public hash.
#[test]
fn a_collision_made_without_the_secret_fails_with_it() {
    let segmenter = segmenter();
    let mut config = Config::default().simhash;
    (config.near.candidates, config.near.confirm) = (Candidates::Blocks, Confirm::None);
    let open = SimHash::new(&config);
    let victim: String = (0..300).map(|number| word(1_000_000 + number) + " ").collect();
    let victim = terms(&segmenter, &victim);
    let target = open.hash(&victim).expect("a SimHash");

    let mut words: Vec<(u32, String)> = (0..20_000)
        .map(word)
        .filter_map(|word| Some(((open.hash(&terms(&segmenter, &word))? ^ target).count_ones(), word)))
        .collect();
    words.sort_unstable();
    let crafted: String = words.iter().take(200).map(|(_, word)| word.clone() + " ").collect();
    let crafted = terms(&segmenter, &crafted);
    let near = |detector: &SimHash| {
        let [a, b] = [&victim, &crafted].map(|terms| detector.fingerprint(terms).expect("a fingerprint"));
        (detector.compare(&a, &b).near, (simhash_of(&a) ^ simhash_of(&b)).count_ones())
    };
    assert_eq!(near(&open), (true, 0), "the attack works where there is no secret");

    for secret in [SECRET, "another secret of these tests"] {
        let secret = Secret::new(secret).expect("long enough");
        let (near, distance) = near(&SimHash::keyed(&config, Some(&secret)));
        assert!(!near && distance > 16, "{distance} bits apart with a secret");
    }
}

/// Every detector finds the same pages near with a secret as without one.
#[test]
fn near_pages_stay_near_with_a_secret() {
    let segmenter = segmenter();
    let paragraph = |seed: u64, count: u64| -> String {
        (0..count)
            .map(|i| {
                let words: Vec<String> = (0..12).map(|j| word((seed + i * 7 + j * j) % 60)).collect();
                words.join(" ") + ". "
            })
            .collect()
    };
    let article = |seed: u64| -> String { (0..12).map(|i| paragraph(seed + i * 31, 6) + "\n").collect() };
    let copy = |seed: u64| article(seed).replacen(&paragraph(seed, 6), &paragraph(seed, 5), 1);
    for (name, build) in DETECTORS {
        let open = build(&Config::default(), &Resources::default()).expect("no files");
        let keyed = build(&Config::default(), &keyed(SECRET)).expect("no files");
        let (mut distances, mut near, mut far) = ([0_u32; 2], [0_u32; 2], [0_u32; 2]);
        for seed in 0..6 {
            let [page, copy, other] =
                [article(seed), copy(seed), article(seed + 1_000_003)].map(|text| terms(&segmenter, &text));
            let compared = |detector: &dyn Detector, other: &Terms| {
                let [a, b] = [&page, other].map(|terms| detector.fingerprint(terms).expect("a fingerprint"));
                detector.compare(&a, &b)
            };
            for (number, detector) in [&open, &keyed].into_iter().enumerate() {
                let comparison = compared(&**detector, &copy);
                distances[number] += comparison.distance;
                near[number] += u32::from(comparison.near);
                far[number] += u32::from(!compared(&**detector, &other).near);
                assert!(compared(&**detector, &page).near, "{name}, text {seed}: a page is near itself");
            }
        }
        // A detector that samples a text by its hashes takes another sample with a secret. With either sample, it may
        // err on a copy at its threshold.
        assert!(
            near[0].abs_diff(near[1]) <= 2 && far[0].abs_diff(far[1]) <= 2,
            "{name}: {near:?} of 6 copies near, {far:?} of 6 others far, without and with a secret"
        );
        let unit = if *name == "simhash" { 3 * 6 } else { 6 * 1_500 };
        assert!(
            distances[0].abs_diff(distances[1]) <= unit,
            "{name}: {distances:?} without and with a secret"
        );
    }
}

/// Every hash in a fingerprint or its keys differs.
#[test]
fn a_secret_changes_every_hash_of_every_detector() {
    let segmenter = segmenter();
    let text: String =
        (0..40).map(|i| format!("{} {} {} {}. ", word(i % 9), word(i % 5), word(i % 7), word(i))).collect();
    let terms = terms(&segmenter, &text);
    for (name, build) in DETECTORS {
        let keys = |resources: &Resources| {
            let detector = build(&Config::default(), resources).expect("no files");
            let fingerprint = detector.fingerprint(&terms).expect("a fingerprint");
            let mut keys = Vec::new();
            detector.insert_keys(&fingerprint, &mut keys);
            assert!(!keys.is_empty(), "{name}");
            keys
        };
        let (open, one, other) = (
            keys(&Resources::default()),
            keys(&keyed(SECRET)),
            keys(&keyed("another secret of these tests")),
        );
        assert!(open.iter().all(|key| !one.contains(key)), "{name}");
        assert!(one.iter().all(|key| !other.contains(key)), "{name}");
        assert_eq!(one, keys(&keyed(SECRET)), "{name}: the same secret, the same keys");
    }
}

fn dedup(config: &Path, secret: Option<&str>, table: Option<&Path>) -> Run {
    let mut command = leitong();
    command.arg("dedup").arg("--config").arg(config).env_remove("FINGERPRINTS");
    command.envs(secret.map(|secret| ("FINGERPRINTS", secret)));
    table.map(|table| command.arg("--table").arg(table));
    Run::from_output(command.arg("examples/pages.jsonl").output().expect("the program starts"))
}

#[test]
fn the_secret_comes_from_the_environment_and_is_shown_nowhere() {
    let folder = tempfile::tempdir().expect("a folder");
    let open = run(["dedup", "examples/pages.jsonl"]);
    let config = write(folder.path(), "leitong.toml", "[fingerprint]\nsecret_env = \"FINGERPRINTS\"\n");
    let table = folder.path().join("table");
    let one = dedup(&config, Some(SECRET), Some(&table));
    assert_eq!(one.status, open.status, "{}", one.stderr);
    // The same verdicts, with other fingerprints, digests and hashes.
    for (keyed, open) in one.verdicts().iter().zip(open.verdicts()) {
        assert_eq!(keyed["kind"], open["kind"], "{keyed}");
        assert_eq!(keyed["canonical_page_id"], open["canonical_page_id"]);
        assert_ne!(keyed["fingerprint_hash"], open["fingerprint_hash"]);
        for field in ["fingerprint", "text_digest"] {
            assert!(keyed[field] != open[field] || open[field].is_null(), "{field}: {keyed}");
        }
    }
    // A table made with one secret is refused with another, and without any.
    let other = dedup(&config, Some("another secret of these tests"), Some(&table));
    assert_eq!(other.status, 1, "{}", other.stderr);
    let shown = |run: &Run| [run.stdout.contains(SECRET), run.stderr.contains(SECRET)];
    assert_eq!([shown(&one), shown(&other)], [[false; 2]; 2]);

    // Errors mention the variable, not its value.
    for (secret, problem) in [
        (None, "fingerprint.secret_env = \"FINGERPRINTS\": is not set"),
        (Some("pass4711word"), "fingerprint.secret_env = \"FINGERPRINTS\": 12 bytes are too few"),
    ] {
        let wrong = dedup(&config, secret, None);
        assert_eq!(wrong.status, 2, "{}", wrong.stderr);
        assert!(wrong.stderr.contains(problem), "{}", wrong.stderr);
        assert!(!wrong.stderr.contains("4711"), "{}", wrong.stderr);
    }
}

/// `config check` does not show the secret; it shows the hash derived from it.
#[test]
fn checking_the_configuration_shows_no_secret() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = write(folder.path(), "leitong.toml", "[fingerprint]\nsecret_env = \"FINGERPRINTS\"\n");
    let check = |secret: &str| {
        let mut command = leitong();
        command.args(["config", "check"]).arg(&config).env("FINGERPRINTS", secret).env("RUST_LOG", "trace");
        Run::from_output(command.output().expect("the program starts"))
    };
    let (one, other) = (check(SECRET), check("another secret of these tests"));
    assert_eq!((one.status, other.status), (0, 0), "{}", one.stderr);
    assert_ne!(one.stdout, other.stdout, "the fingerprint hash follows from the secret");
    assert!(!format!("{}{}", one.stdout, one.stderr).contains(SECRET));
    let config = Config::from_file(&config).expect("a right configuration");
    assert!(format!("{config:?}").contains("FINGERPRINTS"));
}

/// A secret may be entered as the value of another setting. Errors and reports must not show it.
#[test]
fn a_secret_in_the_wrong_setting_is_shown_nowhere() {
    let folder = tempfile::tempdir().expect("a folder");
    for (settings, key) in [
        ("detector = \"s3cr3t\"", "detector"),
        ("corpus.by = \"s3cr3t\"", "corpus.by"),
        ("page.bytes_max = \"s3cr3t\"", "page.bytes_max"),
        ("recrawls.enabled = \"s3cr3t\"", "recrawls.enabled"),
        ("detector = [\"s3cr3t\"]", "detector"),
        ("detector = { a = \"s3cr3t\" }", "detector"),
        ("input.preset = \"s3cr3t\"", "input.preset"),
        ("input.filter.statuses = [\"200\", \"s3cr3t\"]", "input.filter.statuses"),
        ("extract.nodes_max = \"s3cr3t\"", "extract.nodes_max"),
        ("canonical.prefer = [\"s3cr3t\"]", "canonical.prefer"),
        ("kafka.bootstrap_servers = \"user:s3cr3t\"", "kafka.bootstrap_servers"),
        ("kafka.bootstrap_servers = \"a:9092,user:s3cr3t\"", "kafka.bootstrap_servers"),
        ("kafka.topics.pages = \"s3cr3t!\"", "kafka.topics.pages"),
        ("kafka.instance_id = \"s3cr3t!\"", "kafka.instance_id"),
        ("kafka.app = \"${s3cr3t\"", "kafka.app"),
        ("kafka.app = \"s3cr3t${no name}\"", "kafka.app"),
        ("admin.address = \"user:s3cr3t\"", "admin.address"),
        ("api.address = \"user:s3cr3t\"", "api.address"),
        ("api.hosts = [\"s3cr3t/\"]", "api.hosts"),
        ("api.token_env = \"s3cr3t\"\napi.token_file = \"x\"", "api.token_env"),
        ("traces.endpoint = \"user:s3cr3t\"", "traces.endpoint"),
    ] {
        let config = write(folder.path(), "leitong.toml", settings);
        for arguments in [
            ["config", "check"].as_slice(),
            &["doctor", "--offline", "--config"],
            &["dedup", "-", "--config"],
        ] {
            let mut command = leitong();
            command.args(arguments).arg(&config).env("RUST_LOG", "trace");
            let run = Run::from_output(command.output().expect("the program starts"));
            assert_ne!(run.status, 0, "{settings}: {}", run.stderr);
            let said = run.stdout + &run.stderr;
            assert!(said.contains(key) && !said.contains("s3cr3t"), "{arguments:?}, {settings}: {said}");
        }
    }
}
