//! Parses the query of a request into options. Unknown options are refused, so a misspelt option is not
//! silently ignored.

use url::form_urlencoded;

use super::problem::{Problem, ProblemKind};
use leitong_cluster::PreviewOptions;

/// Maximum number of nearest centroids that can be requested. A look-up keeps no more.
const TOP_MAX: usize = 8;
/// Default of [`Options::members`].
const MEMBERS: usize = 100;
/// Maximum number of members that can be requested.
const MEMBERS_MAX: usize = 10_000;

/// The options of all paths. The argument `known` of [`Options::parse`] names those of one path.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Options {
    /// Options of a look-up.
    pub(super) preview: PreviewOptions,
    /// Corpus of a look-up.
    pub(super) corpus: Option<String>,
    /// Url of the only page of a request, instead of the one in its body.
    pub(super) url: Option<String>,
    /// Id of the only page of a request, instead of the one in its body.
    pub(super) id: Option<String>,
    /// Maximum number of members of a cluster in an answer.
    pub(super) members: usize,
}

/// Options for storing pages.
pub(super) const STORE_OPTIONS: &[&str] = &["url", "id"];
/// Options for a page that is found by its url.
pub(super) const PAGE_OPTIONS: &[&str] = &["url"];
/// Options for look-ups.
pub(super) const LOOK_UP_OPTIONS: &[&str] = &["url", "id", "corpus", "max_distance", "top"];
/// Options for clusters.
pub(super) const CLUSTER_OPTIONS: &[&str] = &["members"];

impl Options {
    /// Parses `query`, which may contain the options in `known`.
    pub(super) fn parse(query: &str, known: &[&str]) -> Result<Self, Problem> {
        let mut options =
            Self { preview: PreviewOptions::default(), corpus: None, url: None, id: None, members: MEMBERS };
        let wrong = |detail: String| Problem::new(ProblemKind::BadOption, detail);
        let mut given: Vec<String> = Vec::new();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            if !known.contains(&&*name) {
                let available = match known {
                    [] => "this path has no parameters".to_owned(),
                    known => format!("choose one of {}", known.join(", ")),
                };
                return Err(wrong(format!("{name:?}: no such parameter; {available}")));
            }
            if given.iter().any(|given| *given == name) {
                return Err(wrong(format!("{name:?} is given twice; give it once")));
            }
            given.push(name.to_string());
            let text = |value: &str| match value.trim().is_empty() {
                true => Err(wrong(format!("{name:?} is empty; leave it out, or give it a value"))),
                false => Ok(Some(value.to_owned())),
            };
            let number = |max: usize| match value.parse() {
                Ok(number) if number <= max => Ok(number),
                _ => Err(wrong(format!("{name}={value:?}: must be a whole number from 0 to {max}"))),
            };
            match &*name {
                "url" => options.url = text(&value)?,
                "id" => options.id = text(&value)?,
                "corpus" => options.corpus = Some(value.into_owned()),
                "top" => options.preview.top = number(TOP_MAX)?,
                "members" => options.members = number(MEMBERS_MAX)?,
                _ => match value.parse::<f64>() {
                    Ok(distance) if distance >= 0.0 => options.preview.max_distance = Some(distance),
                    _ => {
                        return Err(wrong(format!(
                            "{name}={value:?}: must be a number that is not negative"
                        )));
                    }
                },
            }
        }
        Ok(options)
    }

    /// Refuses url and id in the query of a batch, since they name one page.
    pub(super) fn check_batch(&self) -> Result<(), Problem> {
        let given = [("url", &self.url), ("id", &self.id)];
        match given.iter().find(|(_, value)| value.is_some()) {
            None => Ok(()),
            Some((name, _)) => Err(Problem::new(
                ProblemKind::BadOption,
                format!(
                    "{name:?} names one page, but the body is a batch; give each page in it its own {name:?}"
                ),
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_options_are_read_and_others_refused() {
        let options =
            Options::parse("url=http%3A%2F%2Fa%2F%E4%BD%A0&top=3&max_distance=2.5", LOOK_UP_OPTIONS)
                .expect("valid");
        assert_eq!(options.url.as_deref(), Some("http://a/你"));
        assert_eq!(options.preview, PreviewOptions { max_distance: Some(2.5), top: 3 });
        for (query, says) in [
            ("topp=3", "\"topp\": no such parameter; choose one of url, id, corpus, max_distance, top"),
            ("top=9", "top=\"9\": must be a whole number from 0 to 8"),
            ("top=-1", "from 0 to 8"),
            ("max_distance=NaN", "must be a number that is not negative"),
            ("max_distance=", "must be a number that is not negative"),
            // An empty url must not count as missing, and a second url must not replace the first.
            ("url=", "\"url\" is empty; leave it out"),
            ("id=%20", "\"id\" is empty; leave it out"),
            ("url=a&top=1&url=b", "\"url\" is given twice"),
        ] {
            let problem = Options::parse(query, LOOK_UP_OPTIONS).expect_err(query);
            assert!(
                problem.kind == ProblemKind::BadOption && problem.detail.contains(says),
                "{}",
                problem.detail
            );
        }
        assert!(Options::parse("url=x", &[]).is_err());
    }
}
