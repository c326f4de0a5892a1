//! Datasets of the Hugging Face Hub, which redirects requests for content to another host.

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::{Arc, Mutex};

use serde_json::json;

use super::server::{self, Answer, Request};
use super::{Objects, corpus, documents, lines, outcome, outcome_of_files, refusal};
use crate::common::{leitong, placeless};

const TOKEN: &str = "hf_local";
const DATASET: &str = "datasets/org/crawl.zh";
/// The commits of `main`, one after the other.
const COMMITS: [&str; 2] =
    ["1111111111111111111111111111111111111111", "2222222222222222222222222222222222222222"];
/// Number of entries in a part of a list.
const PART: usize = 2;

/// Something that goes wrong instead of the answer to a request.
#[derive(Clone, Copy, PartialEq)]
enum Fault {
    /// Too many requests; the header says when to ask again.
    Busy(&'static str, &'static str),
    Unavailable,
    /// The connection breaks within the answer.
    Cut,
    /// The Hub answers with a page.
    Page,
    /// The list leads back to its start.
    Circle,
    /// The content has become shorter.
    Shrunk,
}

/// The Hub, with its host of content.
#[derive(Default)]
struct Hub {
    /// The files of each commit.
    files: Vec<BTreeMap<String, Vec<u8>>>,
    /// The number of the commit that `main` is, and will be after the next request for content.
    main: Mutex<(usize, usize)>,
    /// Faults, by the part of the address that each concerns.
    faults: Mutex<Vec<(&'static str, Fault)>>,
    /// The addresses that were asked for, those of the host of content with its name.
    asked: Mutex<Vec<String>>,
    /// The address of the Hub, and of the host of content.
    hosts: Mutex<[String; 2]>,
}

impl Hub {
    fn start(commits: Vec<Objects>, faults: &[(&'static str, Fault)]) -> Arc<Self> {
        let files = commits.into_iter().map(|files| files.into_iter().collect()).collect();
        let hub = Arc::new(Self { files, faults: Mutex::new(faults.to_vec()), ..Self::default() });
        let [front, content] = [Arc::clone(&hub), Arc::clone(&hub)];
        let front = server::start(move |request| front.answer(request));
        let content = server::start(move |request| content.content(request));
        *hub.hosts.lock().expect("a lock") = [front, content];
        hub
    }

    /// Returns the program, configured to reach the Hub.
    fn leitong(&self) -> Command {
        let mut command = leitong();
        command.env("HF_ENDPOINT", &self.hosts.lock().expect("a lock")[0]).env("HF_TOKEN", TOKEN);
        command.env_remove("HF_HOME").env_remove("HF_TOKEN_PATH");
        command
    }

    /// Returns what goes wrong with the answer for `path`, which then happens only once, unless it stays wrong.
    fn fault(&self, path: &str) -> Option<Fault> {
        let mut faults = self.faults.lock().expect("a lock");
        let at = faults.iter().position(|(part, _)| path.contains(part))?;
        match faults[at].1 {
            stays @ (Fault::Page | Fault::Circle | Fault::Shrunk) => Some(stays),
            _ => Some(faults.remove(at).1),
        }
    }

    fn answer(&self, request: &Request) -> Answer {
        self.asked.lock().expect("a lock").push(request.path.clone());
        let error = |status, problem: &str| Answer::new(status, json!({ "error": problem }).to_string());
        match self.fault(&request.path) {
            Some(Fault::Busy(header, value)) => return error(429, "Too many requests").with(header, value),
            Some(Fault::Unavailable) => return error(503, "Service unavailable"),
            Some(Fault::Page) => return Answer::new(200, "<html>Log in</html>"),
            Some(Fault::Cut) => return Answer { breaks: true, ..self.sound(request) },
            Some(Fault::Circle) => {
                return self
                    .sound(request)
                    .with("Link", "<https://elsewhere.test/?recursive=true&cursor=2>; rel=\"next\"");
            }
            Some(Fault::Shrunk) | None => {}
        }
        if request.path.contains("/gated") {
            return error(403, "Access to dataset org/gated is restricted.");
        }
        if request.header("authorization") != format!("Bearer {TOKEN}") {
            return error(401, "Invalid username or password.");
        }
        self.sound(request)
    }

    fn sound(&self, request: &Request) -> Answer {
        let missing = |problem: &str| Answer::new(404, json!({ "error": problem }).to_string());
        if let Some(revision) = request.path.strip_prefix(&format!("/api/{DATASET}/revision/")) {
            let number = match revision {
                "main" => self.main.lock().expect("a lock").0,
                "refs/convert/parquet" => 0,
                _ => match COMMITS.iter().position(|commit| *commit == revision) {
                    Some(number) => number,
                    None => return missing(&format!("Invalid rev id: {revision}")),
                },
            };
            return Answer::new(200, json!({ "id": "org/crawl.zh", "sha": COMMITS[number] }).to_string());
        }
        let below = |start: &str| {
            let rest = request.path.strip_prefix(&format!("{start}{DATASET}/"))?.split_once('/')?.1;
            let (commit, path) = rest.split_once('/').unwrap_or((rest, ""));
            Some((COMMITS.iter().position(|known| *known == commit)?, path.to_owned()))
        };
        if let Some((number, folder)) = below("/api/") {
            return self.tree(request, number, &folder);
        }
        let Some((number, path)) = below("/") else { return missing("Repository not found") };
        if !self.files[number].contains_key(&path) {
            return missing("Entry not found");
        }
        let mut main = self.main.lock().expect("a lock");
        main.0 = main.1;
        let host = &self.hosts.lock().expect("a lock")[1];
        let path = path.replace(' ', "%20");
        Answer::new(302, "").with("Location", format!("{host}/{number}/{path}?signature=1"))
    }

    /// Returns a part of the entries below a folder.
    fn tree(&self, request: &Request, number: usize, folder: &str) -> Answer {
        let start = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let mut entries = Vec::new();
        for (path, bytes) in self.files[number].iter().filter(|(path, _)| path.starts_with(&start)) {
            let parent = path[..path.rfind('/').unwrap_or(0)].to_owned();
            if parent.len() > folder.len()
                && !entries.iter().any(|entry: &serde_json::Value| entry["path"] == parent)
            {
                entries.push(json!({ "type": "directory", "oid": "0", "size": 0, "path": parent }));
            }
            entries.push(json!({ "type": "file", "oid": "1", "size": bytes.len(), "path": path }));
        }
        assert_eq!(request.query["recursive"], "true");
        if entries.is_empty() {
            return Answer::new(404, json!({ "error": format!("{folder} does not exist") }).to_string());
        }
        let from = request.query.get("cursor").map_or(0, |cursor| cursor.parse().expect("a number"));
        let part = entries.iter().skip(from).take(PART).collect::<Vec<_>>();
        let answer = Answer::new(200, json!(part).to_string());
        match from + PART < entries.len() {
            true => answer.with(
                "Link",
                format!("<https://elsewhere.test/api?recursive=true&cursor={}>; rel=\"next\"", from + PART),
            ),
            false => answer,
        }
    }

    /// Answers as the host of content, whose addresses are signed.
    fn content(&self, request: &Request) -> Answer {
        self.asked.lock().expect("a lock").push(format!("content{}", request.path));
        assert_eq!(request.header("authorization"), "", "the token is not for this host");
        if request.method == "HEAD" || request.query.get("signature").is_none_or(|signature| signature != "1")
        {
            return Answer::new(403, "<Error><Code>SignatureDoesNotMatch</Code></Error>");
        }
        if !request.header("if-match").is_empty() {
            return Answer::new(412, "");
        }
        let (number, path) = request.path[1..].split_once('/').expect("a commit");
        let bytes = &self.files[number.parse::<usize>().expect("a number")][path];
        let answer = match self.fault(&format!("content/{path} {}", request.header("range"))) {
            Some(Fault::Cut) => Answer { breaks: true, ..request.range_of(bytes) },
            Some(Fault::Shrunk) if request.header("range") != "bytes=0-0" => {
                request.range_of(&bytes[..bytes.len() - 9])
            }
            Some(Fault::Busy(header, value)) => return Answer::new(429, "").with(header, value),
            _ => request.range_of(bytes),
        };
        answer.with("ETag", "\"of-content\"").with("Last-Modified", "Sun, 01 Mar 2026 10:00:00 GMT")
    }
}

fn hf(path: &str) -> String {
    format!("hf://{DATASET}{path}")
}

#[test]
fn datasets_are_read_as_files_are() {
    let folder = tempfile::tempdir().expect("a folder");
    let corpus = corpus(folder.path());
    let (verdicts, kept) = outcome_of_files(folder.path(), &corpus);
    let hub = Hub::start(vec![corpus], &[]);
    let named = ["a.jsonl", "b/**/*.jsonl.gz", "b/*.parquet"].map(|name| hf(&format!("/crawl 2026/{name}")));
    let convert = hf("@refs/convert/parquet/crawl 2026/");
    let escaped = hf("@refs%2Fconvert%2Fparquet/crawl 2026");
    for inputs in [
        &[hf("/crawl 2026/")][..],
        &named,
        &[convert],
        &[escaped],
        &[hf(&format!("@{}/crawl 2026", COMMITS[0]))],
    ] {
        let (run, found, copied) = outcome(hub.leitong(), folder.path(), inputs);
        assert_eq!(run.status, 0, "{inputs:?}: {}", run.stderr);
        assert!(placeless(&found) == placeless(&verdicts) && copied == kept, "{inputs:?}");
        let pinned = hf(&format!("@{}/crawl 2026/a.jsonl", COMMITS[0]));
        assert_eq!(found[0]["source"]["input"], pinned, "what was read is named with its commit");
    }
    let asked = hub.asked.lock().expect("a lock");
    assert_eq!(asked.iter().filter(|path| path.contains("/revision/")).count(), 5, "once in each run");
}

/// Text and copied documents must be of one version, even if somebody commits in between.
#[test]
fn a_revision_that_moves_is_read_as_it_was() {
    let folder = tempfile::tempdir().expect("a folder");
    let first = corpus(folder.path());
    let (verdicts, kept) = outcome_of_files(folder.path(), &first);
    let second = vec![("crawl 2026/a.jsonl".to_owned(), lines(&documents(500, 3, 0)))];
    let hub = Hub::start(vec![first, second], &[]);
    *hub.main.lock().expect("a lock") = (0, 1);
    let (run, found, copied) = outcome(hub.leitong(), folder.path(), &[hf("/crawl 2026/")]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    assert!(placeless(&found) == placeless(&verdicts) && copied == kept);
    let (run, found, _) = outcome(hub.leitong(), folder.path(), &[hf("/crawl 2026/")]);
    assert_eq!((run.status, found.len()), (0, 3), "the next run reads the next commit: {}", run.stderr);
}

#[test]
fn busy_hosts_and_broken_answers_cost_only_time() {
    let folder = tempfile::tempdir().expect("a folder");
    let corpus = corpus(folder.path());
    let (verdicts, kept) = outcome_of_files(folder.path(), &corpus);
    let faults = [
        ("/revision/", Fault::Busy("Retry-After", "1")),
        ("/revision/", Fault::Unavailable),
        ("/tree/", Fault::Busy("RateLimit", "\"api\";r=0;t=1")),
        ("/tree/", Fault::Cut),
        ("/resolve/", Fault::Unavailable),
        ("content/crawl 2026/a.jsonl", Fault::Busy("Retry-After", "1")),
        ("content/crawl 2026/a.jsonl bytes=65536-", Fault::Cut),
        ("content/crawl 2026/b/rows.parquet", Fault::Cut),
    ];
    let hub = Hub::start(vec![corpus], &faults);
    let (run, found, copied) = outcome(hub.leitong(), folder.path(), &[hf("/crawl 2026/")]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    assert!(hub.faults.lock().expect("a lock").is_empty(), "all of it went wrong");
    assert!(placeless(&found) == placeless(&verdicts) && copied == kept, "and nothing is to be seen of it");
}

#[test]
fn errors_say_what_to_do() {
    let folder = tempfile::tempdir().expect("a folder");
    let hub = |faults: &[(&'static str, Fault)]| Hub::start(vec![corpus(folder.path())], faults);
    let told = |stderr: &str, told: &[&str]| {
        assert!(told.iter().all(|told| stderr.contains(told)), "{told:?}: {stderr}");
        assert!(!stderr.contains(TOKEN), "{stderr}");
    };
    let sound = hub(&[]);
    for (input, words) in [
        (hf("/crawl 2026/b.jsonl"), &["b.jsonl: no object has this name"][..]),
        (hf("/crawl 2026/*.warc"), &["as a pattern it matches no object"]),
        (
            hf("@v9/a.jsonl"),
            &["404", "Invalid rev id: v9; there is no such dataset; check its name", "revision"],
        ),
        (
            "hf://datasets/org/none/a".to_owned(),
            &["Repository not found", "there is no such dataset", "HF_TOKEN"],
        ),
        (
            "hf://datasets/org/gated/a".to_owned(),
            &["403", "is restricted; ", "set HF_TOKEN", "accept its conditions"],
        ),
        (
            "hf://org/name/a".to_owned(),
            &["the name has no dataset; expected hf://datasets/ORG/NAME[@REVISION]/PATH"],
        ),
        ("hf://datasets/org/a b/c".to_owned(), &["not the name of a dataset"]),
    ] {
        told(&refusal(sound.leitong(), &input), words);
    }
    let mut wrong = sound.leitong();
    wrong.env("HF_TOKEN", "hf_other");
    told(
        &refusal(wrong, &hf("/a.jsonl")),
        &["401", "Invalid username or password; ", "set HF_TOKEN to a token"],
    );
    let mut none = sound.leitong();
    none.env_remove("HF_TOKEN").env("HOME", folder.path());
    told(&refusal(none, &hf("/a.jsonl")), &["set HF_TOKEN to a token"]);
    for (fault, words) in [
        (("/revision/", Fault::Page), &["the Hub's answer names no commit", "<html>", "HF_ENDPOINT"][..]),
        (("/tree/", Fault::Page), &["not a complete list of objects", "<html>", "HF_ENDPOINT"]),
        (("/tree/", Fault::Circle), &["circular", "cursor"]),
        (
            ("content/crawl 2026/a.jsonl", Fault::Shrunk),
            &["a.jsonl at byte 0", "was replaced while it was read"],
        ),
    ] {
        told(&refusal(hub(&[fault]).leitong(), &hf("/crawl 2026/")), words);
    }
}

/// The file with the token is the one of the Hub's own programs.
#[test]
fn the_token_of_the_hubs_programs_is_used() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("token"), format!("{TOKEN}\n")).expect("written");
    let hub = Hub::start(vec![corpus(folder.path())], &[]);
    let mut command = hub.leitong();
    command.env_remove("HF_TOKEN").env("HF_HOME", folder.path());
    let (run, found, _) =
        outcome(command, folder.path(), &[hf("/crawl 2026/empty.jsonl"), hf("/crawl 2026/a.jsonl")]);
    assert_eq!((run.status, found.len()), (0, 60), "{}", run.stderr);
}
