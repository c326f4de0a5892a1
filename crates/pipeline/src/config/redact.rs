//! Values of settings without users, passwords and keys, for logs, errors and reports.

use url::Url;

use super::check::nearest;

/// Sign that replaces everything secret.
pub(super) const HIDDEN: &str = "…";

/// Describes a text that was refused as a value. Only its length is shown, since somebody may have entered a
/// secret in the wrong place.
#[must_use]
pub fn text(text: &str) -> String {
    match text.chars().count() {
        0 => "\"\"".to_owned(),
        1 => "(1 character, not shown)".to_owned(),
        count => format!("({count} characters, not shown)"),
    }
}

/// Returns a name that was refused. It is shown only if it is a misspelling of one of the `known` names.
#[must_use]
pub fn name<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> String {
    nearest(name, known).map_or_else(|| text(name), |_| format!("{name:?}"))
}

/// Returns an address, or a list of addresses, without anything that may be secret: everything before the
/// last `@` except the scheme, everything after `?` or `#`, and what is written instead of a port.
#[must_use]
pub fn address(text: &str) -> String {
    // A password may contain any character. After a slash, the rest of it looks like a path. So an `@` after
    // the host is treated as the end of a password.
    if let Ok(url) = Url::parse(text)
        && url.has_host()
        && !url[url::Position::AfterHost..].contains('@')
    {
        return redacted_url(&url);
    }
    let (scheme, rest) = match text.find("://") {
        // Text before `://` may be a part of a password unless it looks like a scheme.
        Some(at) if text[..at].bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') => {
            text.split_at(at + 3)
        }
        _ => ("", text),
    };
    let (hidden, rest) = match rest.rsplit_once('@') {
        Some((_, rest)) => (HIDDEN, format!("@{rest}")),
        None => ("", rest.to_owned()),
    };
    let query = rest.find(['?', '#']);
    let (rest, query) = query.map_or((&*rest, ""), |at| (&rest[..at], &rest[at..=at]));
    let query_hidden = if query.is_empty() { "" } else { HIDDEN };
    let rest = rest.split(',').map(without_false_port).collect::<Vec<_>>().join(",");
    format!("{scheme}{hidden}{rest}{query}{query_hidden}")
}

/// Returns an address of a list. Its port is hidden unless it is a number, because `user:password` looks like
/// a host and a port.
fn without_false_port(address: &str) -> String {
    match address.rsplit_once(':') {
        Some((host, port))
            if !port.trim().trim_end_matches('/').bytes().all(|byte| byte.is_ascii_digit())
                && !port.ends_with(']') =>
        {
            format!("{host}:{HIDDEN}")
        }
        _ => address.to_owned(),
    }
}

fn redacted_url(url: &Url) -> String {
    let has_user = !url.username().is_empty() || url.password().is_some();
    let user = if has_user { format!("{HIDDEN}@") } else { String::new() };
    let host = &url[url::Position::BeforeHost..url::Position::AfterPath];
    let query = if url.query().is_some() { format!("?{HIDDEN}") } else { String::new() };
    let fragment = if url.fragment().is_some() { format!("#{HIDDEN}") } else { String::new() };
    format!("{}://{user}{host}{query}{fragment}", url.scheme())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A secret that was entered as the value of another setting must not be shown in errors and in logs.
    #[test]
    fn a_refused_name_is_shown_only_if_it_is_a_misspelling() {
        let known = || ["simhash", "paragraph"].into_iter();
        assert_eq!(name("simhsh", known()), "\"simhsh\"");
        assert_eq!(name("s3cr3t", known()), "(6 characters, not shown)");
        assert_eq!(text("密"), "(1 character, not shown)");
    }

    #[test]
    fn users_passwords_and_keys_are_left_out_and_hosts_are_not() {
        for (text, shown) in [
            ("http://collector:4318/v1/traces", "http://collector:4318/v1/traces"),
            ("http://user:hunter2@collector:4318/a@b", "http://…@b"),
            ("https://user:/hunter2@host/", "https://…@host/"),
            ("https://user:12/hunter2@host/", "https://…@host/"),
            ("ssl://a,ssl://user:hunter2@b:9092", "ssl://…@b:9092"),
            ("http://hunter2@collector/", "http://…@collector/"),
            ("http://collector/v1?key=hunter2&x=hunter2#hunter2", "http://collector/v1?…#…"),
            ("https://user:hun/ter2@host:99999/", "https://…@host:99999/"),
            ("user:hunter2@broker:9092", "…@broker:9092"),
            ("user:hun,ter2@a:9092,user:hunter2@b:9092", "…@b:9092"),
            ("sasl_ssl://user:hunter2@a:9092", "sasl_ssl://…@a:9092"),
            ("a:9092?key=hunter2", "a:9092?…"),
            ("http://a b/?hunter2", "http://a b/?…"),
            ("broker-0:9092, broker-1:9092", "broker-0:9092, broker-1:9092"),
            ("user:hunter2", "user:…"),
            ("a:9092,user:hunter2", "a:9092,user:…"),
            ("ssl://user:hunter2", "ssl://user:…"),
            ("user:12/hunter2", "user:…"),
            ("[::1]:9092,[::1]", "[::1]:9092,[::1]"),
            ("", ""),
        ] {
            assert_eq!(address(text), shown, "{text}");
        }
    }
}
