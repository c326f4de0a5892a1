//! Google Cloud Storage and Azure, whose answers differ from those of S3 in lists, credentials and errors.

use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::server::{self, Answer, Request};
use super::{Objects, corpus, outcome, outcome_of_files, refusal};
use crate::common::{leitong, placeless};

/// A kind of store.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Google,
    Azure,
}

use Kind::{Azure, Google};

/// Number of objects in a part of a list.
const PART: usize = 2;

/// A store with one bucket, called `crawl`.
struct Cloud {
    kind: Kind,
    objects: Objects,
    /// Requests that still fail: every second one as too many, the others with a broken connection.
    faults: AtomicUsize,
    /// The fault of each list.
    list: fn(String) -> String,
    /// The keys that were asked for.
    asked: Mutex<Vec<String>>,
}

impl Cloud {
    /// Starts a store, and returns a way to run the program with it.
    fn start(
        kind: Kind,
        objects: Objects,
        faults: usize,
        list: fn(String) -> String,
    ) -> impl Fn() -> Command {
        let cloud = Self { kind, objects, faults: faults.into(), list, asked: Mutex::default() };
        let address = server::start(move |request| cloud.answer(request));
        move || {
            let mut command = leitong();
            let account = format!(
                "{{\"gcs_base_url\":\"{address}\",\"disable_oauth\":true,\"client_email\":\"\",\"private_key\":\"\",\
                 \"private_key_id\":\"\"}}"
            );
            match kind {
                Google => command.env("GOOGLE_SERVICE_ACCOUNT_KEY", account),
                Azure => command
                    .env("AZURE_STORAGE_USE_EMULATOR", "true")
                    .env("AZURITE_BLOB_STORAGE_URL", &address),
            };
            command
        }
    }

    fn answer(&self, request: &Request) -> Answer {
        let failing =
            self.faults.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        let mut answer = match failing {
            Ok(left) if left % 2 == 1 => return self.error(503, "ServerBusy").with("Retry-After", "1"),
            _ => self.sound(request),
        };
        answer.breaks = failing.is_ok();
        answer
    }

    fn error(&self, status: u16, code: &str) -> Answer {
        let message = "It went wrong.\nRequestId:1\nTime:2026-03-01T10:00:00Z";
        Answer::new(
            status,
            format!("<?xml version=\"1.0\"?><Error><Code>{code}</Code><Message>{message}</Message></Error>"),
        )
    }

    fn sound(&self, request: &Request) -> Answer {
        let authorization = request.header("authorization");
        let path = match self.kind {
            Azure if !authorization.starts_with("SharedKey devstoreaccount1:") => {
                return self.error(403, "AuthenticationFailed");
            }
            Google if authorization.contains("wrong") => return self.error(401, "AuthenticationRequired"),
            Azure => request.path.strip_prefix("/devstoreaccount1/").expect("the account"),
            Google => request.path.trim_start_matches('/'),
        };
        let (bucket, key) = path.split_once('/').unwrap_or((path, ""));
        if bucket != "crawl" {
            return self.error(404, if self.kind == Azure { "ContainerNotFound" } else { "NoSuchBucket" });
        }
        if key.is_empty() {
            return Answer::new(200, (self.list)(self.part(request)));
        }
        self.asked.lock().expect("a lock").push(key.to_owned());
        let Some((_, bytes)) = self.objects.iter().find(|(known, _)| known == key) else {
            return self.error(404, "NoSuchKey");
        };
        if !["", "\"1\""].contains(&request.header("if-match")) {
            return self.error(412, "ConditionNotMet");
        }
        request.range_of(bytes).with("ETag", "\"1\"").with("Last-Modified", "Sun, 01 Mar 2026 10:00:00 GMT")
    }

    /// Returns a part of the list of objects.
    fn part(&self, request: &Request) -> String {
        let prefix = request.query.get("prefix").map_or("", String::as_str);
        let (asks, marker) = match self.kind {
            Google => (("list-type", "2"), "continuation-token"),
            Azure => (("comp", "list"), "marker"),
        };
        assert_eq!(request.query[asks.0], asks.1);
        let from = request.query.get(marker).map_or(0, |token| token.parse().expect("a number"));
        let matching: Vec<_> = self.objects.iter().filter(|(key, _)| key.starts_with(prefix)).collect();
        let is_last = from + PART >= matching.len();
        let objects = matching.iter().skip(from).take(PART).map(|(key, bytes)| match self.kind {
            Google => format!(
                "<Contents><Key>{key}</Key><LastModified>2026-03-01T10:00:00Z</LastModified><ETag>\"1\"</ETag><Size>{}\
                 </Size></Contents>",
                bytes.len()
            ),
            Azure => format!(
                "<Blob><Name>{key}</Name><Properties><Last-Modified>Sun, 01 Mar 2026 10:00:00 GMT</Last-Modified>\
                 <Etag>1</Etag><Content-Length>{}</Content-Length><Content-Type>text/plain</Content-Type>\
                 <BlobType>BlockBlob</BlobType></Properties></Blob>",
                bytes.len()
            ),
        });
        let objects: String = objects.collect();
        let next = if is_last { String::new() } else { (from + PART).to_string() };
        match self.kind {
            Google if is_last => {
                format!("<ListBucketResult><IsTruncated>false</IsTruncated>{objects}</ListBucketResult>")
            }
            Google => format!(
                "<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>{next}</NextContinuationToken>\
                 {objects}</ListBucketResult>"
            ),
            Azure => format!(
                "\u{feff}<?xml version=\"1.0\" encoding=\"utf-8\"?><EnumerationResults ContainerName=\"crawl\"><Prefix>\
                 {prefix}</Prefix><Blobs>{objects}</Blobs><NextMarker>{next}</NextMarker></EnumerationResults>"
            ),
        }
    }
}

fn name(kind: Kind, rest: &str) -> String {
    format!("{}://{rest}", if kind == Google { "gs" } else { "az" })
}

#[test]
fn objects_of_google_and_azure_are_read_as_files_are() {
    let folder = tempfile::tempdir().expect("a folder");
    let corpus = corpus(folder.path());
    let (verdicts, kept) = outcome_of_files(folder.path(), &corpus);
    for kind in [Google, Azure] {
        for (input, faults) in
            [("crawl/crawl 2026/", 0), ("crawl/crawl 2026/**/*.*[lq]*", 0), ("crawl/crawl 2026", 6)]
        {
            let command = Cloud::start(kind, corpus.clone(), faults, |list| list);
            let input = name(kind, input);
            let (run, found, copied) = outcome(command(), folder.path(), std::slice::from_ref(&input));
            assert_eq!(run.status, 0, "{input}: {}", run.stderr);
            assert!(placeless(&found) == placeless(&verdicts) && copied == kept, "{input}");
            let first = found[0]["source"]["input"].as_str().expect("a name");
            assert_eq!(first, name(kind, "crawl/crawl 2026/a.jsonl"));
        }
    }
}

#[test]
fn errors_name_the_setting_to_change() {
    let folder = tempfile::tempdir().expect("a folder");
    let told = |stderr: &str, told: &[&str]| {
        assert!(told.iter().all(|told| stderr.contains(told)), "{told:?}: {stderr}");
    };
    for kind in [Google, Azure] {
        let start = |list| Cloud::start(kind, corpus(folder.path()), 0, list);
        let container = if kind == Google { "bucket" } else { "container" };
        let stderr = refusal(start(|list| list)(), &name(kind, "none/"));
        told(&stderr, &["It went wrong; there is no such ", container, "check its name, "]);
        assert!(!stderr.contains("RequestId"), "{stderr}");
        let stderr = refusal(start(|list| list)(), &name(kind, "crawl/b.jsonl"));
        told(&stderr, &["crawl/b.jsonl: no object has this name"]);
        told(
            &refusal(start(|list| list)(), &name(kind, "/b.jsonl")),
            &["the name has no ", container, "expected "],
        );
        let mut command = start(|list| list)();
        let words = match kind {
            Google => {
                command.env("GOOGLE_BEARER_TOKEN", "wrong");
                ["401", "check GOOGLE_APPLICATION_CREDENTIALS"]
            }
            Azure => {
                command.env("AZURE_STORAGE_TOKEN", "wrong");
                ["AuthenticationFailed", "check AZURE_STORAGE_ACCOUNT_NAME"]
            }
        };
        told(&refusal(command, &name(kind, "crawl/")), &words[1..]);
        let page = refusal(start(|_| "<html><body>Log in</body></html>".to_owned())(), &name(kind, "crawl/"));
        told(&page, &["not a complete list of objects; it begins with \"<html>", "; check "]);
        let cut = refusal(start(|list| list[..list.len() - 20].to_owned())(), &name(kind, "crawl/"));
        told(&cut, &["not a complete list of objects"]);
        let circle = start(|list| {
            let list = list.replace("false", "true").replace("<NextMarker></", "<NextMarker>2</");
            list.replace(
                "true</IsTruncated><C",
                "true</IsTruncated><NextContinuationToken>2</NextContinuationToken><C",
            )
        });
        told(&refusal(circle(), &name(kind, "crawl/crawl 2026/")), &["circular"]);
    }
    let mut command = leitong();
    command.env("AZURE_STORAGE_ENDPOINT", "http://a b");
    told(&refusal(command, "az://crawl/"), &["AZURE_STORAGE_ENDPOINT is not the address of a store"]);
    told(&refusal(leitong(), "az://crawl/"), &["az://crawl: ", "check the environment variables AZURE_…"]);
}

/// A key that no request can name must cost only itself, and the empty objects that stand for folders nothing.
#[test]
fn an_object_with_an_impossible_key_costs_only_itself() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut objects = corpus(folder.path());
    objects.push(("crawl 2026/x//y.jsonl".to_owned(), b"{}".to_vec()));
    objects.push(("crawl 2026/z/".to_owned(), Vec::new()));
    for kind in [Google, Azure] {
        let command = Cloud::start(kind, objects.clone(), 0, |list| list);
        let (run, found, _) = outcome(command(), folder.path(), &[name(kind, "crawl/crawl 2026/")]);
        assert_eq!((run.status, found.len()), (3, 150), "{}", run.stderr);
        assert!(run.stderr.contains("(\"crawl 2026/x//y.jsonl\")"), "{}", run.stderr);
    }
}
