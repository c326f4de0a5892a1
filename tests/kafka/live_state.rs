//! The state of running workers over HTTP, and template alarms.

use serde_json::{Value, json};

use crate::broker::topics::Row;
use crate::broker::wait_until;
use crate::broker::worker::{Installation, Worker};
use crate::common::article;

fn state(worker: &Worker) -> Value {
    let (status, state) = worker.get("/state").expect("an answer");
    assert_eq!(status, 200, "{state}");
    serde_json::from_str(&state).expect("JSON")
}

/// Returns a page of `site`.
fn page(site: &str, number: usize, text: &str) -> Row {
    let id = format!("{site}-{number}");
    let page = serde_json::json!({ "id": id, "url": format!("https://{site}/{number}"), "text": text });
    Row { value: Some(page.to_string().into_bytes()), partition: (number % 3) as i32, ..Row::default() }
}

#[test]
fn workers_say_who_owns_what_and_a_template_is_named() {
    let installation = Installation::new(&crate::broker::bootstrap(), "live-state", "");
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
    wait_until("a standby", || {
        let states = [state(&first), state(&second)];
        let all = || states.iter();
        assert!(
            all().all(|state| state["not_ready"] == json!([]) && state["log_partitions"] == 1),
            "{states:?}"
        );
        let sum = |field: &str| all().filter_map(|state| state[field].as_u64()).sum::<u64>();
        assert!(sum("template_alarms") >= 1, "{states:?}");
        let dead: Vec<_> =
            all().flat_map(|state| state["dead_letters"].as_array().expect("a list")).collect();
        assert_eq!(dead, [&json!(["BROKEN_JSON", 1])]);
        let owners = all().filter(|state| state["owned"].to_string().contains("[\"cluster\",1]"));
        assert_eq!(owners.count(), 1, "{states:?}");
        // The other instance keeps a standby of the owner's table.
        let tables = || all().flat_map(|state| state["tables"].as_array().expect("a list"));
        let has = |field: &str| tables().any(|table| table[field].as_u64() > Some(0));
        has("centroids") && has("standby_centroids")
    });
    assert_eq!(second.terminate(), 0, "{}", second.log());
    assert_eq!(first.terminate(), 0, "{}", first.log());
}
