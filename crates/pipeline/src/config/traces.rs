//! Settings of traces: those of `[traces]`, and the environment variables of OpenTelemetry.
//!
//! In: [`TracesConfig`] and a function that looks variables up. Out: [`Settings`], or an error. Pure.

use std::time::Duration;

use percent_encoding::percent_decode_str;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use url::Url;

use crate::config::redact;

/// Traces of pages on their way through `leitong run` (docs/operations.md#traces), for an OpenTelemetry collector.
/// Address, sampling and service name come from the variables `OTEL_…`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TracesConfig {
    /// Record spans of pages and send them to the collector that `OTEL_EXPORTER_OTLP_ENDPOINT` names.
    pub enabled: bool,
    /// Limit on spans that wait for the collector. Further spans are dropped and counted.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub queue_spans: usize,
}

impl Default for TracesConfig {
    fn default() -> Self {
        // 8,192 spans are sixteen requests of 512 spans, OpenTelemetry's default, or the spans of about a
        // thousand pages.
        Self { enabled: false, queue_spans: 8192 }
    }
}

/// The settings in force, from the file and the environment.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Address of the collector.
    pub endpoint: Url,
    /// Headers of each request.
    pub headers: Vec<(String, String)>,
    /// Time limit of one request.
    pub timeout: Duration,
    /// Share of pages without a context that are traced.
    pub sample_ratio: f64,
    /// Attributes of the spans' resource, without those that the program adds.
    pub resource: Vec<(String, String)>,
    /// Limit on waiting spans.
    pub queue_spans: usize,
    /// Limit on spans in one request.
    pub batch_spans: usize,
    /// Maximum time for which a span waits for others.
    pub delay: Duration,
}

impl TracesConfig {
    /// Returns the settings in force; `None` if nothing is traced. `lookup` returns environment variables.
    ///
    /// # Errors
    /// A message that names the wrong value and the remedy.
    pub fn settings(&self, lookup: impl Fn(&str) -> Option<String>) -> Result<Option<Settings>, String> {
        let variable =
            |name: &str| lookup(name).map(|value| value.trim().to_owned()).filter(|v| !v.is_empty());
        let is_off = variable("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true"));
        if !self.enabled || is_off {
            return Ok(None);
        }
        let exporter = |name: &str| {
            let own = format!("OTEL_EXPORTER_OTLP_TRACES_{name}");
            variable(&own).map(|value| (own, value)).or_else(|| {
                let common = format!("OTEL_EXPORTER_OTLP_{name}");
                variable(&common).map(|value| (common, value))
            })
        };
        let endpoint = endpoint(exporter)?;
        let mut resource = pairs(&variable("OTEL_RESOURCE_ATTRIBUTES").unwrap_or_default());
        let name = variable("OTEL_SERVICE_NAME");
        let has_name = resource.iter().any(|(key, _)| key == "service.name");
        if let Some(name) = name.or_else(|| (!has_name).then(|| "leitong".to_owned())) {
            resource.retain(|(key, _)| key != "service.name");
            resource.push(("service.name".to_owned(), name));
        }
        let number =
            |name: &str, value: Option<String>, default: u64| match value {
                None => Ok(default),
                Some(value) => value.parse::<u64>().ok().filter(|number| *number > 0).ok_or_else(|| {
                    format!("{name} = {}: must be a whole number above 0", redact::text(&value))
                }),
            };
        let batching = |name: &str, default| number(name, variable(name), default);
        let (timeout, ms) = exporter("TIMEOUT").unzip();
        Ok(Some(Settings {
            endpoint,
            headers: exporter("HEADERS").map(|(_, value)| pairs(&value)).unwrap_or_default(),
            timeout: Duration::from_millis(number(&timeout.unwrap_or_default(), ms, 10_000)?),
            sample_ratio: ratio(variable)?,
            resource,
            queue_spans: self.queue_spans,
            batch_spans: usize::try_from(batching("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", 512)?).unwrap_or(512),
            delay: Duration::from_millis(batching("OTEL_BSP_SCHEDULE_DELAY", 5_000)?),
        }))
    }
}

/// Returns the collector's address. `exporter` returns the variable with this name for traces, or else for all
/// signals, and its value.
fn endpoint(exporter: impl Fn(&str) -> Option<(String, String)>) -> Result<Url, String> {
    let Some((name, value)) = exporter("ENDPOINT") else {
        return address("", "http://localhost:4318").map(with_path);
    };
    if let Some((protocol, value)) = exporter("PROTOCOL").filter(|(_, p)| p != "http/protobuf") {
        return Err(format!(
            "{protocol} = {}: only http/protobuf is supported; set it to that, and {name} to the collector's \
             address for it, usually http://HOST:4318",
            redact::name(&value, ["grpc", "http/json"].into_iter())
        ));
    }
    let address = address(&name, &value)?;
    // An address for traces is used as it is. The path is added to an address for all signals.
    Ok(if name.contains("TRACES") { address } else { with_path(address) })
}

/// Returns the share of pages without a context that are traced. A page with a context is always traced
/// as the context says, as the samplers `parentbased_…` do.
fn ratio(variable: impl Fn(&str) -> Option<String>) -> Result<f64, String> {
    let Some(sampler) = variable("OTEL_TRACES_SAMPLER") else { return Ok(1.0) };
    match sampler.strip_prefix("parentbased_").unwrap_or(&sampler) {
        "always_on" => Ok(1.0),
        "always_off" => Ok(0.0),
        "traceidratio" => {
            let Some(ratio) = variable("OTEL_TRACES_SAMPLER_ARG") else { return Ok(1.0) };
            let number = ratio.parse::<f64>().ok().filter(|ratio| (0.0..=1.0).contains(ratio));
            number.ok_or_else(|| {
                let shown = redact::text(&ratio);
                format!("OTEL_TRACES_SAMPLER_ARG = {shown}: must be a number from 0 to 1")
            })
        }
        _ => Err(format!(
            "OTEL_TRACES_SAMPLER = {}: must be always_on, always_off or traceidratio, with or without \
             parentbased_",
            redact::name(&sampler, ["always_on", "always_off", "traceidratio"].into_iter())
        )),
    }
}

fn address(name: &str, value: &str) -> Result<Url, String> {
    let url = Url::parse(value).ok().filter(Url::has_host);
    let value = redact::address(value);
    match url {
        Some(url) if url.scheme() == "http" => Ok(url),
        Some(url) if url.scheme() == "https" => Err(format!(
            "{name} = {value:?}: https is not supported; name a collector on this machine or network that forwards the spans, \
             as in \"http://localhost:4318\""
        )),
        _ => Err(format!("{name} = {value:?}: must be an address as in \"http://localhost:4318\"")),
    }
}

/// Adds the path of traces.
fn with_path(mut url: Url) -> Url {
    url.set_path(&format!("{}/v1/traces", url.path().trim_end_matches('/')));
    url
}

/// Parses `key=value,key=value` with percent-encoding. Malformed parts are skipped.
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
    fn nothing_is_traced_unless_it_is_enabled() {
        let variables = [("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318")];
        assert_eq!(settings(&TracesConfig::default(), &variables), Ok(None));
        assert_eq!(settings(&on(), &[("OTEL_SDK_DISABLED", "TRUE")]), Ok(None));
        let defaults = settings(&on(), &[]).expect("valid").expect("on");
        assert_eq!(defaults.endpoint.as_str(), "http://localhost:4318/v1/traces");
        assert_eq!(defaults.resource, [("service.name".to_owned(), "leitong".to_owned())]);
        assert!((defaults.sample_ratio - 1.0).abs() < f64::EPSILON);
    }

    #[test]
    fn variables_of_opentelemetry_are_read() {
        let variables = [
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://a:1/otlp/"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "Authorization=Bearer%20x, b = 2,broken"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "250"),
            ("OTEL_RESOURCE_ATTRIBUTES", "service.name=other,deployment.environment.name=test"),
            ("OTEL_TRACES_SAMPLER", "parentbased_traceidratio"),
            ("OTEL_TRACES_SAMPLER_ARG", "0.25"),
            ("OTEL_BSP_SCHEDULE_DELAY", "100"),
        ];
        let found = settings(&on(), &variables).expect("valid").expect("on");
        assert_eq!(found.endpoint.as_str(), "http://a:1/otlp/v1/traces");
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        assert_eq!(found.headers, [pair("Authorization", "Bearer x"), pair("b", "2")]);
        assert_eq!((found.timeout, found.delay), (Duration::from_millis(250), Duration::from_millis(100)));
        let resource = [pair("service.name", "other"), pair("deployment.environment.name", "test")];
        assert_eq!(found.resource, resource);
        assert!((found.sample_ratio - 0.25).abs() < f64::EPSILON);
        // The variable for traces alone is used as it is.
        let own = [variables[0], ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://c:3/in")];
        let found = settings(&on(), &own).expect("valid").expect("on");
        assert_eq!(found.endpoint.as_str(), "http://c:3/in");
    }

    /// Errors show the endpoint without user, password and key.
    #[test]
    fn errors_show_no_credentials_of_the_endpoint() {
        for value in
            ["https://user:hunter2@a/", "ftp://user:hunter2@a/", "user:hunter2@a", "https://a/?key=hunter2"]
        {
            let variables = [("OTEL_EXPORTER_OTLP_ENDPOINT", value)];
            let fault = settings(&on(), &variables).err().unwrap_or_default();
            assert!(fault.contains("OTEL_EXPORTER") && !fault.contains("hunter2"), "{fault}");
        }
    }

    #[test]
    fn invalid_settings_are_reported() {
        for (variables, says) in [
            (&[("OTEL_EXPORTER_OTLP_ENDPOINT", "https://a/")][..], "https is not supported"),
            (&[("OTEL_EXPORTER_OTLP_ENDPOINT", "localhost:4318")], "must be"),
            (&[("OTEL_TRACES_SAMPLER", "jaeger_remote")], "OTEL_TRACES_SAMPLER = "),
            (&[("OTEL_TRACES_SAMPLER", "traceidratio"), ("OTEL_TRACES_SAMPLER_ARG", "2")], "from 0 to 1"),
            (
                &[("OTEL_EXPORTER_OTLP_TIMEOUT", "soon")],
                "OTEL_EXPORTER_OTLP_TIMEOUT = (4 characters, not shown)",
            ),
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
