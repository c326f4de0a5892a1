//! The kinds of stores, as data: how their objects are named, which variables configure them, and what to check when
//! a request fails.

use super::list::Dialect;

/// A kind of store.
#[derive(Debug)]
pub(super) struct Scheme {
    /// The part of names before `://`.
    pub(super) name: &'static str,
    /// The word for a set of objects.
    pub(super) container: &'static str,
    /// The form of names.
    pub(super) form: &'static str,
    /// The characters of a container's name, other than letters and digits.
    pub(super) punctuation: &'static str,
    /// Variables that contain an address. The first one is named in errors.
    pub(super) addresses: &'static [&'static str],
    /// Variables that become part of a request's headers.
    pub(super) words: &'static [&'static str],
    /// Advice if there is no such container.
    pub(super) check_container: &'static str,
    /// Advice if the store refuses the credentials.
    pub(super) check_credentials: &'static str,
    /// Advice if there are no credentials.
    pub(super) set_credentials: &'static str,
    /// Advice if the store cannot be reached.
    pub(super) check_address: &'static str,
    /// How the store writes lists.
    pub(super) dialect: Dialect,
}

/// The kinds of stores.
static SCHEMES: &[Scheme] = &[
    Scheme {
        name: "s3",
        container: "bucket",
        form: "s3://BUCKET/KEY",
        punctuation: ".-_",
        addresses: &[
            "AWS_ENDPOINT_URL",
            "AWS_ENDPOINT_URL_S3",
            "AWS_ENDPOINT",
            "AWS_METADATA_ENDPOINT",
            "AWS_CONTAINER_CREDENTIALS_FULL_URI",
        ],
        words: &["AWS_ACCESS_KEY_ID", "AWS_SESSION_TOKEN", "AWS_REGION", "AWS_DEFAULT_REGION"],
        check_container: "AWS_ENDPOINT_URL and AWS_REGION",
        check_credentials: "check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and, if there is one, AWS_SESSION_TOKEN; \
                            for public data, set AWS_SKIP_SIGNATURE=true",
        set_credentials: "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_SKIP_SIGNATURE=true for public data",
        check_address: "check AWS_ENDPOINT_URL and AWS_REGION, and set AWS_ALLOW_HTTP=true if the endpoint has no TLS",
        dialect: Dialect::S3,
    },
    Scheme {
        name: "gs",
        container: "bucket",
        form: "gs://BUCKET/KEY",
        punctuation: ".-_",
        addresses: &["GOOGLE_BASE_URL"],
        words: &["GOOGLE_BEARER_TOKEN"],
        check_container: "and GOOGLE_BASE_URL if it is set",
        check_credentials: "check GOOGLE_APPLICATION_CREDENTIALS or GOOGLE_SERVICE_ACCOUNT; for public data, set \
                            GOOGLE_SKIP_SIGNATURE=true",
        set_credentials: "name a file with them in GOOGLE_APPLICATION_CREDENTIALS or GOOGLE_SERVICE_ACCOUNT, or set \
                          GOOGLE_SKIP_SIGNATURE=true for public data",
        check_address: "check the network, and GOOGLE_BASE_URL if it is set",
        // Google's lists have the same form.
        dialect: Dialect::S3,
    },
    Scheme {
        name: "az",
        container: "container",
        form: "az://CONTAINER/BLOB",
        punctuation: ".-_$",
        addresses: &[
            "AZURE_STORAGE_ENDPOINT",
            "AZURE_ENDPOINT",
            "AZURE_AUTHORITY_HOST",
            "AZURE_STORAGE_AUTHORITY_HOST",
            "AZURITE_BLOB_STORAGE_URL",
        ],
        words: &["AZURE_STORAGE_ACCOUNT_NAME", "AZURE_STORAGE_TOKEN"],
        check_container: "and AZURE_STORAGE_ACCOUNT_NAME",
        check_credentials: "check AZURE_STORAGE_ACCOUNT_NAME, and AZURE_STORAGE_ACCOUNT_KEY, AZURE_STORAGE_SAS_TOKEN \
                            or AZURE_CLIENT_ID and AZURE_CLIENT_SECRET; for public data, set AZURE_SKIP_SIGNATURE=true",
        set_credentials: "set AZURE_STORAGE_ACCOUNT_KEY, AZURE_STORAGE_SAS_TOKEN or AZURE_CLIENT_ID and \
                          AZURE_CLIENT_SECRET, or AZURE_SKIP_SIGNATURE=true for public data",
        check_address: "check the network, AZURE_STORAGE_ACCOUNT_NAME, and AZURE_STORAGE_ENDPOINT if it is set, and \
                        set AZURE_ALLOW_HTTP=true if the endpoint has no TLS",
        dialect: Dialect::AZURE,
    },
    Scheme {
        name: "hf",
        container: "dataset",
        form: "hf://datasets/ORG/NAME[@REVISION]/PATH",
        punctuation: ".-_/@%~+",
        addresses: &["HF_ENDPOINT"],
        words: &["HF_TOKEN"],
        check_container: "and its revision; if it is private or gated, set HF_TOKEN",
        check_credentials: "check the dataset's name, set HF_TOKEN to a token of an account that may read it, and \
                            accept its conditions on its page if it has any",
        set_credentials: "set HF_TOKEN",
        check_address: "check the network, and HF_ENDPOINT if it is set",
        dialect: Dialect::HUB,
    },
];

impl Scheme {
    /// Returns the kind of store of a name, and the rest of the name. `None` if it does not name an object.
    pub(super) fn parse(name: &str) -> Option<(&'static Self, &str)> {
        let (scheme, rest) = name.split_once("://")?;
        Some((SCHEMES.iter().find(|known| known.name == scheme)?, rest))
    }

    /// Splits what follows `://` into the container and the key. The container is empty if the name has none.
    pub(super) fn split<'a>(&self, rest: &'a str) -> (&'a str, &'a str) {
        if self.name != "hf" {
            return rest.split_once('/').unwrap_or((rest, ""));
        }
        // A revision may be a reference, such as `refs/convert/parquet`.
        let parts = if rest.split('/').nth(2).is_some_and(|name| name.ends_with("@refs")) { 5 } else { 3 };
        let is_dataset = rest.starts_with("datasets/")
            && rest.split('/').take(parts).filter(|part| !part.is_empty()).count() == parts;
        let end = rest.match_indices('/').nth(parts - 1).map_or(rest.len(), |(at, _)| at);
        match is_dataset {
            true => (&rest[..end], rest[end..].trim_start_matches('/')),
            false => ("", ""),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_split_into_container_and_key() {
        for (name, container, key) in [
            ("s3://a/b/c", "a", "b/c"),
            ("s3://a", "a", ""),
            ("s3:///b", "", "b"),
            ("hf://datasets/a/b/c/d", "datasets/a/b", "c/d"),
            ("hf://datasets/a/b@v1", "datasets/a/b@v1", ""),
            ("hf://datasets/a/b@refs/convert/parquet/c/", "datasets/a/b@refs/convert/parquet", "c/"),
            ("hf://datasets/a/b@refs/pr", "", ""),
            ("hf://datasets/a", "", ""),
            ("hf://datasets//a/b", "", ""),
            ("hf://models/a/b/c", "", ""),
        ] {
            let (scheme, rest) = Scheme::parse(name).expect("a kind of store");
            assert_eq!(scheme.split(rest), (container, key), "{name}");
        }
    }
}
