//! The query of a request → its options. An option that is not known is refused: one that is
//! misspelt must not be taken for one that was followed.

use url::form_urlencoded;

use super::problem::{Kind, Problem};
use crate::cluster::Asked;

/// The most of the nearest centroids that can be asked for: what a look-up keeps.
pub(super) const TOP_MAX: usize = 8;
/// Members of a cluster that are given unless another number is asked for.
const MEMBERS: usize = 100;
/// The most members that can be asked for.
const MEMBERS_MAX: usize = 10_000;

/// What a query may hold. Which of them a path takes is said in [`Options::parse`]'s `known`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Options {
    /// Of a look-up.
    pub(super) asked: Asked,
    /// The corpus of a look-up.
    pub(super) corpus: Option<String>,
    /// Names of the one page of a request, instead of those in its body.
    pub(super) url: Option<String>,
    pub(super) id: Option<String>,
    /// Members of a cluster.
    pub(super) members: usize,
}

/// Options of a page that is stored.
pub(super) const OF_STORED_PAGES: &[&str] = &["url", "id"];
/// Options of a page that is asked for by its url.
pub(super) const OF_PAGES: &[&str] = &["url"];
/// Options of a look-up.
pub(super) const OF_LOOK_UPS: &[&str] = &["url", "id", "corpus", "max_distance", "top"];
/// Options of a cluster.
pub(super) const OF_CLUSTERS: &[&str] = &["members"];

impl Options {
    /// Reads `query`, which may hold what is `known`.
    pub(super) fn parse(query: &str, known: &[&str]) -> Result<Self, Problem> {
        let mut options =
            Self { asked: Asked::default(), corpus: None, url: None, id: None, members: MEMBERS };
        let wrong = |detail: String| Problem::new(Kind::BadOption, detail);
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            if !known.contains(&&*name) {
                let there = match known {
                    [] => "this path takes none".to_owned(),
                    known => format!("there is {}", known.join(", ")),
                };
                return Err(wrong(format!("{name:?}: no such parameter; {there}")));
            }
            let number = |max: usize| match value.parse() {
                Ok(number) if number <= max => Ok(number),
                _ => Err(wrong(format!("{name}={value:?}: must be a whole number from 0 to {max}"))),
            };
            match &*name {
                "url" => options.url = Some(value.into_owned()).filter(|url| !url.is_empty()),
                "id" => options.id = Some(value.into_owned()).filter(|id| !id.is_empty()),
                "corpus" => options.corpus = Some(value.into_owned()),
                "top" => options.asked.top = number(TOP_MAX)?,
                "members" => options.members = number(MEMBERS_MAX)?,
                _ => match value.parse::<f64>() {
                    Ok(distance) if distance >= 0.0 => options.asked.max_distance = Some(distance),
                    _ => return Err(wrong(format!("{name}={value:?}: must be a number from 0 on"))),
                },
            }
        }
        Ok(options)
    }

    /// Refuses names of one page for a batch of several.
    pub(super) fn check_batch(&self) -> Result<(), Problem> {
        let given = [("url", &self.url), ("id", &self.id)];
        match given.iter().find(|(_, value)| value.is_some()) {
            None => Ok(()),
            Some((name, _)) => Err(Problem::new(
                Kind::BadOption,
                format!("{name:?} names one page, and the body is a batch; give each page its own {name:?}"),
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_and_others_refused() {
        let options = Options::parse("url=http%3A%2F%2Fa%2F%E4%BD%A0&top=3&max_distance=2.5", OF_LOOK_UPS)
            .expect("right");
        assert_eq!(options.url.as_deref(), Some("http://a/你"));
        assert_eq!(options.asked, Asked { max_distance: Some(2.5), top: 3 });
        for (query, says) in [
            ("topp=3", "\"topp\": no such parameter; there is url, id, corpus, max_distance, top"),
            ("top=9", "top=\"9\": must be a whole number from 0 to 8"),
            ("top=-1", "from 0 to 8"),
            ("max_distance=NaN", "must be a number from 0 on"),
            ("max_distance=", "must be a number from 0 on"),
        ] {
            let problem = Options::parse(query, OF_LOOK_UPS).expect_err(query);
            assert!(problem.kind == Kind::BadOption && problem.detail.contains(says), "{}", problem.detail);
        }
        assert!(Options::parse("url=x", &[]).is_err());
    }
}
