//! `leitong top` next to running workers, and its count of template alarms.

use serde_json::Value;

use crate::broker::topics::Row;
use crate::broker::wait_until;
use crate::broker::worker::{Installation, Worker};
use crate::common::{article, run};

fn url(worker: &Worker) -> String {
    let log = worker.plain_log();
    let address = log.split("admin port: ").nth(1).and_then(|rest| rest.split_whitespace().next());
    address.expect("an address").to_owned()
}

/// Returns a page of `site`.
fn page(site: &str, number: usize, text: &str) -> Row {
    let id = format!("{site}-{number}");
    let page = serde_json::json!({ "id": id, "url": format!("https://{site}/{number}"), "text": text });
    Row { value: Some(page.to_string().into_bytes()), partition: (number % 3) as i32, ..Row::default() }
}

#[test]
fn all_workers_are_on_one_screen_and_a_template_is_named() {
    let installation = Installation::new(&crate::broker::bootstrap(), "top", "");
    installation.keep_standbys();
    let mut first = installation.worker(&[]);
    first.wait_until_ready();
    let mut second = installation.worker(&[]);
    second.wait_until_ready();
    // One form, filled in (with words: different numbers would make short texts non-duplicates); copies of
    // one text on many sites; and a message that is not a page.
    let form = article(7, 60);
    let mut rows: Vec<Row> = (0..40)
        .map(|number| page("form.example", number, &format!("{form}{}", article(20 + number, 1))))
        .collect();
    rows.extend((0..40).map(|number| page(&format!("copy{number}.example"), number, &article(8, 60))));
    rows.push(Row { value: Some(b"no page".to_vec()), ..Row::default() });
    installation.feed(&rows, rows.len());
    wait_until("the alarm", || {
        first.metric("leitong_templates_total") + second.metric("leitong_templates_total") > 0.0
    });
    let said = first.plain_log() + &second.plain_log();
    let named: Vec<&str> =
        said.lines().filter(|line| line.contains("a cluster looks like a template")).collect();
    let [named] = named[..] else { panic!("once: {said}") };
    for expected in ["site=\"form.example\"", "canonical_page_id=\"form.example-", "pages=10"] {
        assert!(named.contains(expected), "{expected}: {named}");
    }
    let owner = if first.metric("leitong_templates_total") > 0.0 { &first } else { &second };
    let (_, state) = owner.get("/console/state.json").expect("an answer");
    let state: Value = serde_json::from_str(&state).expect("JSON");
    assert_eq!(state["templates"][0]["what"], "cluster", "{state}");
    assert_eq!(state["templates"][0]["site"], "form.example", "{state}");
    let (_, page) = owner.get("/console/").expect("an answer");
    assert!(page.contains("Possible templates") && page.contains("form.example"), "{page}");

    let (a, b) = (url(&first), url(&second));
    let of_owner = url(owner).trim_start_matches("http://").to_owned();
    wait_until("a standby", || {
        let both = run(["top", "--once", "--admin", &a, "--admin", &b]);
        assert_eq!(both.status, 0, "{}", both.stderr);
        let frame = both.stdout;
        assert!(frame.contains("2 worker(s), 2 answering, 2 ready"), "{frame}");
        assert!(
            frame.contains(&format!("{of_owner} (")) && !frame.contains("none of these workers"),
            "{frame}"
        );
        assert!(frame.contains("dead letters 1") && frame.contains("dead letters: BROKEN_JSON 1"), "{frame}");
        assert!(frame.contains("fingerprint ") && frame.contains("cluster 1"), "{frame}");
        assert!(frame.contains(&format!("template alarms (see the workers' logs): {of_owner} 1")), "{frame}");
        assert!(!frame.contains('\u{1b}'), "no terminal, no escapes: {frame:?}");
        let table = frame.lines().skip_while(|line| !line.starts_with("PARTITION")).nth(1).expect("a table");
        // The other instance keeps a standby of the owner's table.
        table.matches('(').count() == 2
    });
    assert_eq!(second.terminate(), 0, "{}", second.log());
    let one_away = run(["top", "--once", "--admin", &format!("{a},{b}")]);
    assert_eq!(one_away.status, 1, "somebody has to look: {}", one_away.stdout);
    assert!(one_away.stdout.contains("2 worker(s), 1 answer"), "{}", one_away.stdout);
    assert!(one_away.stdout.contains("no answer: "), "{}", one_away.stdout);
    // The configuration has port 0.
    let nowhere = installation.leitong(&["top", "--once"]);
    assert!(nowhere.status == 2 && nowhere.stderr.contains("--admin"), "{}", nowhere.stderr);
    let no_port = run(["top", "--admin", "https://a.example/"]);
    assert!(no_port.status == 2 && no_port.stderr.contains("http://HOST:PORT"), "{}", no_port.stderr);
    assert_eq!(first.terminate(), 0, "{}", first.log());
}
