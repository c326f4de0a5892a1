//! Substitutes `${VAR}` and `${VAR:-default}` in string values.

use thiserror::Error;

/// Reason why a string cannot be substituted.
#[derive(Debug, Error, PartialEq, Eq)]
pub(super) enum EnvError {
    #[error("the environment variable {0} is not set; set it, or write ${{{0}:-default}}")]
    Unset(String),
    #[error("`${{` without `}}`; close it, or write `$${{` for a literal `${{`")]
    Unclosed,
    #[error("`${{…}}` has no name of an environment variable; use letters, digits and `_`")]
    BadName,
}

/// Returns `text` with each `${VAR}` replaced by the result of `lookup`, and `$${` by `${`. As in a shell,
/// the default is also used if the variable is empty.
pub(super) fn substitute(text: &str, lookup: impl Fn(&str) -> Option<String>) -> Result<String, EnvError> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        if rest[..at].ends_with('$') {
            out.push_str(&rest[..at - 1]);
            out.push_str("${");
            rest = &rest[at + 2..];
            continue;
        }
        out.push_str(&rest[..at]);
        let (inside, after) = rest[at + 2..].split_once('}').ok_or(EnvError::Unclosed)?;
        let (name, default) = match inside.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (inside, None),
        };
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if name.is_empty() || !name.chars().all(is_name) {
            return Err(EnvError::BadName);
        }
        match (lookup(name), default) {
            (Some(value), None) => out.push_str(&value),
            (Some(value), Some(_)) if !value.is_empty() => out.push_str(&value),
            (_, Some(default)) => out.push_str(default),
            (None, None) => return Err(EnvError::Unset(name.to_owned())),
        }
        rest = after;
    }
    out.push_str(rest);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn substituted(text: &str) -> Result<String, EnvError> {
        substitute(text, |name| match name {
            "HOME" => Some("/home/lei".to_owned()),
            "EMPTY" => Some(String::new()),
            "TRICK" => Some("${HOME}".to_owned()),
            _ => None,
        })
    }

    #[test]
    fn substitutes_variables_and_defaults() {
        for (text, expected) in [
            ("", ""),
            ("no variables, 5$", "no variables, 5$"),
            ("${HOME}/words.txt", "/home/lei/words.txt"),
            ("${A:-x}${HOME:-y}${EMPTY:-z}", "x/home/leiz"),
            ("[${EMPTY}]", "[]"),
            ("${A:-}", ""),
            ("$${HOME}", "${HOME}"),
            ("${TRICK}", "${HOME}"),
        ] {
            assert_eq!(substituted(text).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn each_error_is_named() {
        assert_eq!(substituted("${NOPE}"), Err(EnvError::Unset("NOPE".to_owned())));
        assert_eq!(substituted("a ${HOME"), Err(EnvError::Unclosed));
        assert_eq!(substituted("${a b}"), Err(EnvError::BadName));
        assert_eq!(substituted("${}"), Err(EnvError::BadName));
    }
}
