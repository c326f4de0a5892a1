//! Checks the environment variables for stores before `object_store` uses them. That crate accepts some
//! invalid values, and panics when it builds the first request.

use std::io;

use url::Url;

use super::scheme::Scheme;

/// Characters that are not allowed in urls. A parser for browsers accepts them, but the parser for requests
/// does not.
const NOT_IN_URLS: &[u8] = br#""<>\^`{|}"#;

/// Returns an error for settings with which no request to `bucket` can be made.
pub(super) fn check(scheme: &Scheme, bucket: &str) -> io::Result<()> {
    checked(scheme, bucket, |name| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned()))
        .map_err(|problem| {
            io::Error::new(io::ErrorKind::InvalidInput, format!("{}://{bucket}: {problem}", scheme.name))
        })
}

fn checked(scheme: &Scheme, bucket: &str, variable: impl Fn(&str) -> Option<String>) -> Result<(), String> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || scheme.punctuation.contains(c);
    if !bucket.chars().all(is_name) {
        return Err(format!("not the name of a {}; use letters, digits, `.`, `-` and `_`", scheme.container));
    }
    for name in scheme.addresses {
        let Some(value) = variable(name) else { continue };
        let is_in_url = |byte: u8| byte.is_ascii_graphic() && !NOT_IN_URLS.contains(&byte);
        let problem = match Url::parse(&value) {
            _ if value.is_empty() => "it is empty (to use the default, unset it)".to_owned(),
            _ if !value.bytes().all(is_in_url) => {
                "it contains white space, or characters that urls do not have".to_owned()
            }
            Ok(url)
                if !url.username().is_empty()
                    || url.password().is_some()
                    || url.query().is_some()
                    || url.fragment().is_some() =>
            {
                "it has a user, password, query or fragment, which requests to stores do not have".to_owned()
            }
            Ok(url) if matches!(url.scheme(), "http" | "https") && url.has_host() => continue,
            Ok(_) => "it does not begin with http:// or https://, and a host".to_owned(),
            Err(error) => error.to_string(),
        };
        // The address may contain a password, so it is not shown.
        return Err(format!(
            "{name} is not the address of a store: {problem}; write it like https://s3.example.com:9000"
        ));
    }
    for name in scheme.words {
        let is_word = |value: &String| value.bytes().all(|byte| byte.is_ascii_graphic());
        if variable(name).is_some_and(|value| !is_word(&value)) {
            return Err(format!(
                "{name} contains white space or characters other than ASCII; set it without them"
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A port above 65535, a space at the end, a host that is not ASCII, and an empty address must not make
    /// the program panic. No error may show the password in an address.
    #[test]
    fn invalid_settings_are_named_instead_of_causing_a_panic() {
        let check = |name: &str, value: &str| {
            let (scheme, _) = Scheme::parse("s3://").expect("the feature is on");
            checked(scheme, "crawl-1.a_b", |asked| (asked == name).then(|| value.to_owned()))
        };
        for (name, value) in [
            ("AWS_ENDPOINT_URL", "http://127.0.0.1:99999"),
            ("AWS_ENDPOINT_URL", "http://127.0.0.1:port"),
            ("AWS_ENDPOINT_URL_S3", "127.0.0.1:9000"),
            ("AWS_ENDPOINT", "localhost"),
            ("AWS_ENDPOINT", "http://"),
            ("AWS_ENDPOINT", "http://[::1"),
            ("AWS_ENDPOINT_URL", ""),
            ("AWS_ENDPOINT_URL", "http://127.0.0.1:9000 "),
            ("AWS_ENDPOINT_URL", "http://\u{e9}.example"),
            ("AWS_ENDPOINT_URL", "http://a\\b.example"),
            ("AWS_ENDPOINT_URL", "https://user:pa55@s3.example"),
            ("AWS_ENDPOINT_URL", "https://s3.example/?key=pa55"),
            ("AWS_ENDPOINT_URL", "https://s3.example/#pa55"),
            ("AWS_REGION", "eu west"),
            ("AWS_ACCESS_KEY_ID", "key\n"),
            ("AWS_SESSION_TOKEN", "\u{65b0}"),
        ] {
            let problem = check(name, value).expect_err(value);
            assert!(problem.starts_with(name) && !problem.contains("pa55"), "{problem}");
        }
        for value in ["http://127.0.0.1:9000", "https://s3.example.com/", "http://[::1]:9000"] {
            assert_eq!(check("AWS_ENDPOINT_URL", value), Ok(()));
        }
        let (scheme, _) = Scheme::parse("s3://").expect("the feature is on");
        assert!(checked(scheme, "a b", |_| None).is_err());
    }
}
