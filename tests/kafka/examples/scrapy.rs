//! A crawl by Scrapy, from a site on the loopback interface to verdicts.

use std::collections::BTreeMap;
use std::net::TcpStream;
use std::process::{Child, Stdio};

use super::{Example, examples, with};
use crate::broker::wait_until;
use crate::broker::worker::Installation;
use crate::common::free_ports;

/// Serves the site until it is dropped.
struct Site(Child);

impl Drop for Site {
    fn drop(&mut self) {
        self.0.kill().expect("killed");
        self.0.wait().expect("it ends");
    }
}

#[test]
fn scrapy_crawls_a_site_to_its_verdicts() {
    let readme = std::fs::read_to_string(examples().join("scrapy/README.md")).expect("the README");
    let example = Example::new("scrapy", &readme);
    let [_install, serve, crawl] = &example.commands[..] else { panic!("{:?}", example.commands) };
    let more = "[kafka.create]\npage_partitions = 1\n";
    let installation = Installation::new(&crate::broker::bootstrap(), "scrapy", more);
    let port = free_ports(1)[0].to_string();
    let serve = format!("exec {}", with(serve, &[("8000", &port)]));
    let mut serve = example.shell(&serve);
    let _site = Site(serve.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts"));
    wait_until("the site is served", || TcpStream::connect(format!("127.0.0.1:{port}")).is_ok());
    let pages = installation.topic("pages");
    let ours = [("8000", &*port), ("localhost:9092", &installation.bootstrap), ("leitong.pages", &pages)];
    let crawl = with(crawl, &ours);
    let mut worker = installation.worker(&[]);
    example.run(&crawl);
    installation.wait_for_verdicts(8);
    // A second crawl: every page is a copy of its earlier crawl, or undecidable again.
    example.run(&crawl);
    let verdicts = installation.wait_for_verdicts(16);
    assert_eq!(worker.terminate(), 0, "{}", worker.log());
    assert_eq!(installation.dead_letters(), []);

    let site = format!("http://127.0.0.1:{port}");
    let mut of_page: BTreeMap<&str, Vec<_>> = BTreeMap::new();
    for verdict in &verdicts {
        let path = verdict["url"].as_str().and_then(|url| url.strip_prefix(&*site)).expect("of this site");
        of_page.entry(path).or_default().push(verdict);
    }
    let said = |path: &str, crawl: usize| {
        let verdict = of_page[path][crawl];
        let text = |field: &str| verdict[field].as_str().unwrap_or_default().to_owned();
        (text("kind"), text("reason"), text("canonical_url").replace(&site, ""))
    };
    let undecidable = |reason: &str| ("UNDECIDABLE".to_owned(), reason.to_owned(), String::new());
    for crawl in 0..2 {
        assert_eq!(said("/login.html", crawl), undecidable("NO_CONTENT"));
        assert_eq!(said("/missing.html", crawl), undecidable("HTTP_STATUS"));
    }
    // The page that comes first is the original.
    for pair in [["/news/river.html", "/mirror/river.html"], ["/zh/night-market.html", "/zh/reprint.html"]] {
        let [first, second] = if said(pair[0], 0).0 == "UNIQUE" { pair } else { [pair[1], pair[0]] };
        assert_eq!(said(first, 0).0, "UNIQUE");
        let (kind, _, canonical) = said(second, 0);
        assert!(kind.ends_with("_DUPLICATE") && canonical == first, "{second}: {kind} of {canonical}");
        let (kind, _, canonical) = said(first, 1);
        assert!(kind == "EXACT_DUPLICATE" && canonical == first, "{first}: {kind} of {canonical}");
        assert_eq!(of_page[first][1]["same_url"], true);
    }
}
