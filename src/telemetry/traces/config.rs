//! Settings of traces: those of `[traces]`, and the environment variables of OpenTelemetry for what these leave open.
//!
//! In: [`TracesConfig`] and a look-up of variables. Out: [`Settings`], or what is wrong. Pure.

use std::time::Duration;

use percent_encoding::percent_decode_str;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use url::Url;

use crate::telemetry::redact;

/// Traces of the way that pages take through `leitong run` (docs/kafka.md#traces), for a collector of OpenTelemetry.
/// What is unset here is what the variables `OTEL_…` say, and else OpenTelemetry's default.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TracesConfig {
    /// Whether spans are made and sent.
    pub enabled: bool,
    /// The collector's address for OTLP over HTTP (protobuf), such as `http://localhost:4318`; without a
    /// path `/v1/traces` is asked. Unset: `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT`, `OTEL_EXPORTER_OTLP_ENDPOINT`
    /// or `http://localhost:4318`.
    pub endpoint: Option<String>,
    /// Share of the pages without a trace context that are traced. Pages with one are traced if it says
    /// so. Unset: `OTEL_TRACES_SAMPLER` and `OTEL_TRACES_SAMPLER_ARG`, or 1.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub sample_ratio: Option<f64>,
    /// What the spans' service is called. Unset: `OTEL_SERVICE_NAME`, or `leitong`.
    pub service_name: Option<String>,
    /// Spans that wait for the collector; those that find no room are dropped and counted.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub queue_spans: usize,
}

impl Default for TracesConfig {
    fn default() -> Self {
        Self { enabled: false, endpoint: None, sample_ratio: None, service_name: None, queue_spans: 8192 }
    }
}

/// What is in force.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Where requests go.
    pub(crate) endpoint: Url,
    /// Headers of each request.
    pub(crate) headers: Vec<(String, String)>,
    /// How long one request may take.
    pub(crate) timeout: Duration,
    /// Of pages without a context.
    pub(crate) sample_ratio: f64,
    /// What the spans are said to come from, without what the program adds.
    pub(crate) resource: Vec<(String, String)>,
    /// Spans that wait at most.
    pub(crate) queue_spans: usize,
    /// Spans of one request at most.
    pub(crate) batch_spans: usize,
    /// How long a span waits for others.
    pub(crate) delay: Duration,
}

impl TracesConfig {
    /// What is in force, with `lookup` for environment variables; none where nothing is traced.
    ///
    /// # Errors
    /// What is wrong, which value, and what to do.
    pub fn settings(&self, lookup: impl Fn(&str) -> Option<String>) -> Result<Option<Settings>, String> {
        let variable =
            |name: &str| lookup(name).map(|value| value.trim().to_owned()).filter(|v| !v.is_empty());
        let is_off = variable("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true"));
        if !self.enabled || is_off {
            return Ok(None);
        }
        let of_traces = |name: &str| {
            let own = format!("OTEL_EXPORTER_OTLP_TRACES_{name}");
            variable(&own).map(|value| (own, value)).or_else(|| {
                let common = format!("OTEL_EXPORTER_OTLP_{name}");
                variable(&common).map(|value| (common, value))
            })
        };
        let endpoint = match (&self.endpoint, of_traces("ENDPOINT")) {
            (Some(endpoint), _) => of_setting("traces.endpoint", endpoint)?,
            (None, Some((name, value))) => {
                if let Some((protocol, value)) = of_traces("PROTOCOL").filter(|(_, p)| p != "http/protobuf") {
                    return Err(format!(
                        "{protocol} = {value:?}: only http/protobuf is spoken; set traces.endpoint to the collector's \
                         address for it, mostly http://HOST:4318"
                    ));
                }
                match name.contains("TRACES") {
                    // The one address is taken as it is, the other is that of all signals.
                    true => address(&name, &value)?,
                    false => with_path(address(&name, &value)?, true),
                }
            }
            (None, None) => of_setting("traces.endpoint", "http://localhost:4318")?,
        };
        let mut resource = pairs(&variable("OTEL_RESOURCE_ATTRIBUTES").unwrap_or_default());
        let name = self.service_name.clone().or_else(|| variable("OTEL_SERVICE_NAME"));
        let has_name = resource.iter().any(|(key, _)| key == "service.name");
        if let Some(name) = name.or_else(|| (!has_name).then(|| "leitong".to_owned())) {
            resource.retain(|(key, _)| key != "service.name");
            resource.push(("service.name".to_owned(), name));
        }
        let number = |name: &str, value: Option<String>, default: u64| match value {
            None => Ok(default),
            Some(value) => value
                .parse::<u64>()
                .ok()
                .filter(|number| *number > 0)
                .ok_or_else(|| format!("{name} = {value:?}: must be a whole number above 0")),
        };
        let of_queue = |name: &str, default| number(name, variable(name), default);
        let (timeout, ms) = of_traces("TIMEOUT").unzip();
        Ok(Some(Settings {
            endpoint,
            headers: of_traces("HEADERS").map(|(_, value)| pairs(&value)).unwrap_or_default(),
            timeout: Duration::from_millis(number(&timeout.unwrap_or_default(), ms, 10_000)?),
            sample_ratio: self.ratio(variable)?,
            resource,
            queue_spans: self.queue_spans,
            batch_spans: usize::try_from(of_queue("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", 512)?).unwrap_or(512),
            delay: Duration::from_millis(of_queue("OTEL_BSP_SCHEDULE_DELAY", 5_000)?),
        }))
    }

    /// A page with a context is always traced as that says, as the samplers `parentbased_…` have it.
    fn ratio(&self, variable: impl Fn(&str) -> Option<String>) -> Result<f64, String> {
        if let Some(ratio) = self.sample_ratio {
            return Ok(ratio);
        }
        let Some(sampler) = variable("OTEL_TRACES_SAMPLER") else { return Ok(1.0) };
        match sampler.strip_prefix("parentbased_").unwrap_or(&sampler) {
            "always_on" => Ok(1.0),
            "always_off" => Ok(0.0),
            "traceidratio" => {
                let Some(ratio) = variable("OTEL_TRACES_SAMPLER_ARG") else { return Ok(1.0) };
                let number = ratio.parse::<f64>().ok().filter(|ratio| (0.0..=1.0).contains(ratio));
                number.ok_or_else(|| {
                    format!("OTEL_TRACES_SAMPLER_ARG = {ratio:?}: must be a number from 0 to 1")
                })
            }
            _ => Err(format!(
                "OTEL_TRACES_SAMPLER = {sampler:?}: always_on, always_off and traceidratio are known, with and without \
                 parentbased_; set traces.sample_ratio"
            )),
        }
    }

    /// What is wrong whatever the environment says.
    #[must_use]
    pub fn fault(&self) -> Option<String> {
        Self { enabled: true, ..self.clone() }.settings(|_| None).err()
    }
}

fn of_setting(name: &str, value: &str) -> Result<Url, String> {
    Ok(with_path(address(name, value)?, false))
}

fn address(name: &str, value: &str) -> Result<Url, String> {
    let url = Url::parse(value).ok().filter(Url::has_host);
    let value = redact::address(value);
    match url {
        Some(url) if url.scheme() == "http" => Ok(url),
        Some(url) if url.scheme() == "https" => Err(format!(
            "{name} = {value:?}: https is not spoken; name a collector of this machine or network, as in \
             \"http://localhost:4318\", which sends them on"
        )),
        _ => Err(format!("{name} = {value:?}: must be an address as in \"http://localhost:4318\"")),
    }
}

/// With the path of traces, where there is none or `always`.
fn with_path(mut url: Url, always: bool) -> Url {
    let path = url.path().trim_end_matches('/').to_owned();
    if always || path.is_empty() {
        url.set_path(&format!("{path}/v1/traces"));
    }
    url
}

/// `key=value,key=value`, percent-encoded; what is none of it is passed over.
fn pairs(text: &str) -> Vec<(String, String)> {
    let decoded = |text: &str| percent_decode_str(text.trim()).decode_utf8_lossy().into_owned();
    let pairs = text.split(',').filter_map(|pair| pair.split_once('='));
    pairs.map(|(key, value)| (decoded(key), decoded(value))).filter(|(key, _)| !key.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(config: &TracesConfig, variables: &[(&str, &str)]) -> Result<Option<Settings>, String> {
        let found = |name: &str| variables.iter().find(|(known, _)| *known == name);
        config.settings(|name| found(name).map(|(_, value)| (*value).to_owned()))
    }

    fn on() -> TracesConfig {
        TracesConfig { enabled: true, ..TracesConfig::default() }
    }

    #[test]
    fn nothing_is_traced_unless_it_is_asked_for() {
        let variables = [("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318")];
        assert_eq!(settings(&TracesConfig::default(), &variables), Ok(None));
        assert_eq!(settings(&on(), &[("OTEL_SDK_DISABLED", "TRUE")]), Ok(None));
        let defaults = settings(&on(), &[]).expect("right").expect("on");
        assert_eq!(defaults.endpoint.as_str(), "http://localhost:4318/v1/traces");
        assert_eq!(defaults.resource, [("service.name".to_owned(), "leitong".to_owned())]);
        assert!((defaults.sample_ratio - 1.0).abs() < f64::EPSILON);
    }

    #[test]
    fn the_file_goes_before_the_environment() {
        let variables = [
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://a:1/otlp/"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "Authorization=Bearer%20x, b = 2,broken"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "250"),
            ("OTEL_RESOURCE_ATTRIBUTES", "service.name=other,deployment.environment.name=test"),
            ("OTEL_TRACES_SAMPLER", "parentbased_traceidratio"),
            ("OTEL_TRACES_SAMPLER_ARG", "0.25"),
            ("OTEL_BSP_SCHEDULE_DELAY", "100"),
        ];
        let found = settings(&on(), &variables).expect("right").expect("on");
        assert_eq!(found.endpoint.as_str(), "http://a:1/otlp/v1/traces");
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        assert_eq!(found.headers, [pair("Authorization", "Bearer x"), pair("b", "2")]);
        assert_eq!((found.timeout, found.delay), (Duration::from_millis(250), Duration::from_millis(100)));
        let resource = [pair("service.name", "other"), pair("deployment.environment.name", "test")];
        assert_eq!(found.resource, resource);
        assert!((found.sample_ratio - 0.25).abs() < f64::EPSILON);
        let config = TracesConfig {
            endpoint: Some("http://b:2/x".to_owned()),
            sample_ratio: Some(0.5),
            service_name: Some("mine".to_owned()),
            ..on()
        };
        let found = settings(&config, &variables).expect("right").expect("on");
        assert_eq!(found.endpoint.as_str(), "http://b:2/x");
        assert!(found.resource.contains(&pair("service.name", "mine")));
        assert_eq!(found.resource.iter().filter(|(key, _)| key == "service.name").count(), 1);
        assert!((found.sample_ratio - 0.5).abs() < f64::EPSILON);
        // The variable of traces alone is taken as it is.
        let own = [variables[0], ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://c:3/in")];
        let found = settings(&on(), &own).expect("right").expect("on");
        assert_eq!(found.endpoint.as_str(), "http://c:3/in");
    }

    /// The endpoint was named with user, password and key in errors.
    #[test]
    fn errors_show_no_credentials_of_the_endpoint() {
        for value in
            ["https://user:hunter2@a/", "ftp://user:hunter2@a/", "user:hunter2@a", "https://a/?key=hunter2"]
        {
            let config = TracesConfig { endpoint: Some(value.to_owned()), ..on() };
            let fault = config.fault().unwrap_or_default();
            assert!(fault.starts_with("traces.endpoint = ") && !fault.contains("hunter2"), "{fault}");
            let variables = [("OTEL_EXPORTER_OTLP_ENDPOINT", value)];
            let fault = settings(&on(), &variables).err().unwrap_or_default();
            assert!(fault.contains("OTEL_EXPORTER") && !fault.contains("hunter2"), "{fault}");
        }
    }

    #[test]
    fn what_cannot_be_followed_is_told() {
        let endpoint = |value: &str| TracesConfig { endpoint: Some(value.to_owned()), ..on() };
        for (value, says) in
            [("https://a/", "https is not spoken"), ("localhost:4318", "must be"), ("", "must be")]
        {
            let fault = endpoint(value).fault().unwrap_or_default();
            assert!(fault.starts_with("traces.endpoint = ") && fault.contains(says), "{value:?}: {fault}");
        }
        for (variables, says) in [
            (&[("OTEL_TRACES_SAMPLER", "jaeger_remote")][..], "OTEL_TRACES_SAMPLER = "),
            (&[("OTEL_TRACES_SAMPLER", "traceidratio"), ("OTEL_TRACES_SAMPLER_ARG", "2")], "from 0 to 1"),
            (&[("OTEL_EXPORTER_OTLP_TIMEOUT", "soon")], "OTEL_EXPORTER_OTLP_TIMEOUT = \"soon\""),
            (
                &[("OTEL_EXPORTER_OTLP_ENDPOINT", "http://a:4317"), ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")],
                "http/protobuf",
            ),
        ] {
            let fault = settings(&on(), variables).err().unwrap_or_default();
            assert!(fault.contains(says), "{variables:?}: {fault}");
        }
    }
}
