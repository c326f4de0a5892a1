//! The state of a running worker as JSON on its admin port. An answer costs about as much as that of `/metrics`.

use std::sync::Arc;
use std::time::Instant;

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::http::request::Parts;
use hyper::{Response, StatusCode};
use metrics_exporter_prometheus::PrometheusHandle;
use parking_lot::Mutex;

use crate::answer::Answer;
use crate::port::same_site::SameSite;
use crate::state::exposition::Metrics;
use crate::state::live::{History, Live};
use leitong_base::record::Timestamp;
use leitong_graph::telemetry::health::Health;

/// The state of this process.
pub struct AdminState {
    pub(super) health: Arc<Health>,
    pub(super) metrics: PrometheusHandle,
    history: Mutex<History>,
    started: Instant,
    /// The check for requests that web pages of other sites send.
    site: SameSite,
}

impl AdminState {
    /// Creates the state of this process.
    #[must_use]
    pub fn begin(health: Arc<Health>, metrics: PrometheusHandle, is_loopback: bool) -> Self {
        Self {
            health,
            metrics,
            history: Mutex::default(),
            started: Instant::now(),
            site: SameSite::for_pages(is_loopback),
        }
    }

    /// Records the current counters. Must be called every [`MOMENT_S`](crate::MOMENT_S) seconds.
    pub fn tick(&self) {
        let metrics = Metrics::read(&self.metrics.render());
        let seconds = self.started.elapsed().as_secs_f64();
        self.history.lock().add(seconds, &metrics);
    }

    /// Answers a request for the state.
    pub(super) fn answer(&self, request: &Parts) -> Response<Full<Bytes>> {
        if let Some(why) = self.site.refusal(request.version, &request.headers) {
            let body = format!("{why}\n");
            let answer =
                Answer { status: StatusCode::FORBIDDEN, content_type: "text/plain; charset=utf-8", body };
            return answer.into_response();
        }
        let body = serde_json::to_string(&self.live()).unwrap_or_default();
        Answer { status: StatusCode::OK, content_type: "application/json", body }.into_response()
    }

    fn live(&self) -> Live {
        let metrics = Metrics::read(&self.metrics.render());
        let now = Timestamp::now().as_ms() as f64 / 1e3;
        Live {
            dead: self.health.dead(),
            not_ready: self.health.not_ready(),
            ..Live::from_metrics(&metrics, &self.history.lock(), now)
        }
    }
}

#[cfg(test)]
mod tests {
    use metrics_exporter_prometheus::PrometheusBuilder;

    use super::*;
    use crate::admin::tests::{ask, open_port};

    #[test]
    fn the_admin_port_serves_the_state_and_its_other_paths_are_unchanged() {
        let (runtime, port) = open_port();
        let address = port.address();
        let ask = |path: &str, host: &str| {
            let answer = ask(address, &format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n"));
            let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
            (head.to_owned(), body.to_owned())
        };
        let recorder = PrometheusBuilder::new().build_recorder();
        metrics::with_local_recorder(&recorder, || {
            metrics::gauge!("leitong_lag_records", "topic" => "<b>pages", "partition" => "3").set(12_345.0);
        });
        let health = Arc::new(Health::default());
        health.add("cluster").wait_for(0, "restoring <script>".to_owned());
        let state = Arc::new(AdminState::begin(health, recorder.handle(), true));
        state.tick();
        runtime.spawn(port.serve(state));
        let (head, body) = ask("/state", "127.0.0.1");
        assert!(head.contains("application/json"), "{head}");
        let state: serde_json::Value = serde_json::from_str(&body).expect("JSON");
        assert_eq!(state["lag"][0]["records"], 12_345);
        assert!(ask("/state", "evil.example").0.starts_with("HTTP/1.1 403"));
        assert!(ask("/state/else", "localhost").0.starts_with("HTTP/1.1 404"));
        // Probes and scrapers may use any host name.
        assert!(ask("/metrics", "worker-0.example").1.contains("leitong_lag_records"));
        assert!(ask("/readyz", "worker-0.example").0.starts_with("HTTP/1.1 503"));
    }
}
