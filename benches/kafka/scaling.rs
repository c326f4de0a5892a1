//! Measures the stateless stage with one process and with two, each on its own core.

use std::fs;
use std::process::Command;
use std::time::Instant;

use crate::broker::topics::Row;
use crate::broker::worker::{Installation, Worker};
use crate::broker::{bootstrap, wait_until};
use crate::common::article;
use crate::{cpu_seconds, median};

/// Returns the CPU time that the machine has spent so far, in seconds.
fn machine_seconds() -> f64 {
    let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
    let fields: Vec<f64> =
        stat.lines().next().unwrap_or_default().split_whitespace().filter_map(|f| f.parse().ok()).collect();
    // User, nice, system, then idle and waiting, then interrupts.
    fields
        .iter()
        .enumerate()
        .filter(|(at, _)| ![3, 4].contains(at) && *at < 7)
        .map(|(_, ticks)| ticks)
        .sum::<f64>()
        / 100.0
}

/// Returns pages as crawlers write them: HTML of some 40 KB, a third of which is text. Extraction takes so
/// much time that the broker's share of the cores is small.
fn web_pages(count: usize, partitions: usize) -> Vec<Row> {
    let page = |i: usize| {
        let paragraphs: String = (0..24)
            .map(|p| {
                let text = article((i % 500) * 24 + p, 8);
                format!(
                    "<div class=\"row row-{p}\"><ul class=\"menu\">{}</ul></div>\n<p class=\"body-text\">{text}</p>\n",
                    "<li><a href=\"/menu\">首页</a></li>".repeat(20)
                )
            })
            .collect();
        let html = format!("<html><head><title>{i}</title></head><body>{paragraphs}</body></html>");
        let page = serde_json::json!({"id": format!("p{i}"), "url": format!("http://a/{i}"), "html": html});
        Row {
            partition: (i % partitions) as i32,
            value: Some(page.to_string().into_bytes()),
            ..Row::default()
        }
    };
    (0..count).map(page).collect()
}

/// Measures the stateless stage with one process and with two, each on its own core.
pub(crate) fn scaling() {
    let rows = web_pages(6_000, 4);
    let mut rates: [Vec<f64>; 2] = Default::default();
    for round in 0..3 {
        for processes in 1..=2 {
            let more = "[pipeline]\nthreads = 1\n[kafka.create]\npage_partitions = 4\n";
            let installation = Installation::new(&bootstrap(), &format!("scaling{round}-{processes}"), more);
            let workers: Vec<Worker> =
                (0..processes).map(|_| installation.worker(&["--role", "fingerprint"])).collect();
            for (core, worker) in workers.iter().enumerate() {
                worker.wait_until_ready();
                let pinned = Command::new("taskset")
                    .args(["-a", "-c", "-p", &core.to_string(), &worker.pid().to_string()])
                    .output();
                assert!(pinned.expect("taskset starts").status.success());
            }
            // The first worker owned all partitions until the others joined.
            let share = (4 / processes) as f64;
            let is_shared_out =
                || workers.iter().all(|worker| worker.metric("leitong_partitions_owned") == share);
            wait_until("the partitions are shared out", is_shared_out);
            installation.produce(&rows);
            let sent =
                || workers.iter().map(|worker| worker.metric("leitong_log_records_sent_total")).sum::<f64>();
            let cpu = || workers.iter().map(|worker| cpu_seconds(&worker.pid().to_string())).sum::<f64>();
            let (began, first, own, machine) = (Instant::now(), sent(), cpu(), machine_seconds());
            wait_until("all are sent", || sent() >= rows.len() as f64);
            let (pages, seconds) = (rows.len() as f64 - first, began.elapsed().as_secs_f64());
            let (own, machine) = (cpu() - own, machine_seconds() - machine);
            let rate = pages / seconds;
            println!(
                "scaling: {processes} process(es): {rate:.0} pages/s, {:.1} µs of CPU a page; they had {:.2} cores, all \
                 others {:.2}",
                own / pages * 1e6,
                own / seconds,
                (machine - own) / seconds
            );
            rates[processes - 1].push(rate);
        }
    }
    let [one, two] = rates.each_mut().map(|rates| median(rates));
    println!("scaling: {one:.0} pages/s with one, {two:.0} with two: {:.2} times as many\n", two / one);
}
