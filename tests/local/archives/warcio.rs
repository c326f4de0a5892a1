//! `warcio` and `cdxj-indexer`, from the environment that `make all-tools` creates.

use std::path::Path;
use std::process::Command;

/// Runs a program of the environment, which must succeed, and returns its output.
pub(crate) fn run(program: &str, arguments: &[&str]) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/tools/warcio/bin").join(program);
    let output = Command::new(&path).args(arguments).output();
    let output = output.unwrap_or_else(|error| panic!("{}: {error}; run `make all-tools`", path.display()));
    let [out, err] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).expect("UTF-8"));
    assert!(output.status.success(), "{program} {arguments:?}\n{out}\n{err}");
    out
}

/// Returns the records of a WARC file as `warcio` reads them, each with its fields, HTTP status and length of
/// the payload.
pub(crate) fn records(file: &Path) -> Vec<serde_json::Value> {
    const READ: &str = "
import json, sys
from warcio.archiveiterator import ArchiveIterator
with open(sys.argv[1], 'rb') as stream:
    for record in ArchiveIterator(stream, check_digests='raise'):
        http = record.http_headers
        print(json.dumps({'fields': dict(record.rec_headers.headers), 'version': record.rec_headers.protocol,
            'status': http and http.get_statuscode(), 'headers': http and dict(http.headers),
            'payload': len(record.content_stream().read())}))
";
    let out = run("python", &["-c", READ, file.to_str().expect("a name")]);
    out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}
