//! The fields of the input that are written with each text (`--fields`).

use std::path::{Path, PathBuf};

use crate::annotate;
use crate::error::{Error, Result};
use crate::fields::{object, value_in};
use leitong_formats::Form;
use leitong_formats::source::InputRules;
use leitong_text::page::mapping::{first_name, pointer_to_field, segments};

/// Maximum number of columns that an error lists.
const NAMED_MAX: usize = 20;

/// The fields that every text has.
pub(crate) const OWN: [&str; 11] = [
    "id",
    "url",
    "title",
    "text",
    "language",
    "published_at",
    "fetched_at",
    "authors",
    "publisher",
    "site_name",
    "reason",
];

/// A field of the input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputField {
    /// The name of the field in the output.
    pub name: String,
    /// The JSON pointer of the field in the input.
    pub pointer: String,
}

impl InputField {
    /// Reads `FIELD` or `NAME=FIELD`, where a field is the name of a column or a JSON pointer that starts with `/`.
    /// Without a name, the last part of the pointer is the name in the output.
    ///
    /// # Errors
    /// A message about what is wrong.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (name, field) = match text.split_once('=') {
            Some((name, field)) if !name.starts_with('/') => (Some(name), field),
            _ => (None, text),
        };
        if field.is_empty() || name == Some("") {
            return Err("expected a column, a JSON pointer such as /meta/source, or NAME=/POINTER".to_owned());
        }
        let pointer = match field.starts_with('/') {
            true => field.to_owned(),
            false => pointer_to_field(field),
        };
        let last = segments(&pointer).last().unwrap_or_default();
        Ok(Self { name: name.unwrap_or(&last).to_owned(), pointer })
    }

    /// Returns an error message if two fields have the same name in the output.
    #[must_use]
    pub fn conflict(fields: &[Self]) -> Option<String> {
        let names: Vec<&str> = fields.iter().map(|field| field.name.as_str()).collect();
        fields.iter().enumerate().find_map(|(at, Self { name, pointer })| {
            let taken = OWN.contains(&name.as_str()) || annotate::names().any(|added| added == name);
            (taken || names[..at].contains(&name.as_str())).then(|| {
                format!(
                    "{pointer}: the output already has a field {name:?}; give this one another name, as in \
                 input_{name}={pointer}"
                )
            })
        })
    }

    /// Rejects fields that an input cannot have. `forms` has the form of each input's documents.
    ///
    /// # Errors
    /// [`Error::WrongOption`].
    pub(crate) fn check(
        fields: &[Self],
        inputs: &[PathBuf],
        forms: &[Form],
        rules: &InputRules,
    ) -> Result<()> {
        if rules.warc_base.is_some() && !fields.is_empty() {
            return Err(Error::wrong_option("--fields: WARC records have no fields; leave it out"));
        }
        for (path, form) in inputs.iter().zip(forms) {
            if let Some(missing) = Self::missing(fields, path, form) {
                return Err(Error::wrong_option(format_args!(
                    "--fields: {missing}; leave it out, or use a separate run"
                )));
            }
        }
        Ok(())
    }

    /// Returns an error message if the input at `path`, whose documents have this form, cannot have one of the fields:
    /// a column is missing, or its documents have no fields.
    fn missing(fields: &[Self], path: &Path, form: &Form) -> Option<String> {
        let of_table = |names: &[String]| {
            let field = fields.iter().find(|field| !names.contains(&field.first()))?;
            let shown: Vec<_> = names.iter().take(NAMED_MAX).map(|name| format!("{name:?}")).collect();
            Some(format!(
                "{}: there is no column {:?}; the columns are {}{}",
                path.display(),
                field.first(),
                shown.join(", "),
                if names.len() > NAMED_MAX { ", …" } else { "" }
            ))
        };
        let of_other =
            |what: &str| fields.first().map(|_| format!("{}: {what} have no fields", path.display()));
        match form {
            Form::Csv(form) => of_table(&form.names()),
            Form::Rows(form) => of_table(&form.names()),
            Form::Page => of_other("HTML pages"),
            Form::Warc => of_other("WARC records"),
            Form::Lines | Form::Unreadable | Form::Empty => None,
        }
    }

    /// Returns the name of the top-level field.
    pub(crate) fn first(&self) -> String {
        first_name(&self.pointer).unwrap_or_default()
    }
}

/// Returns the values of `fields` in a JSON object, as JSON on one line. `None` for a field that is missing.
pub(super) fn values(json: &[u8], fields: &[InputField]) -> Vec<Option<String>> {
    if fields.is_empty() {
        return Vec::new();
    }
    let object = object(json);
    let value = |field: &InputField| {
        let value = value_in(object.as_ref()?, &field.pointer)?;
        // Line ends are white space here: in strings, JSON escapes them.
        Some(value.replace(['\n', '\r'], " "))
    };
    fields.iter().map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_named_by_column_pointer_or_a_name_of_their_own() {
        let field =
            |name: &str, pointer: &str| Ok(InputField { name: name.to_owned(), pointer: pointer.to_owned() });
        assert_eq!(InputField::parse("source"), field("source", "/source"));
        assert_eq!(InputField::parse("a/b"), field("a/b", "/a~1b"));
        assert_eq!(InputField::parse("/meta/source"), field("source", "/meta/source"));
        assert_eq!(InputField::parse("from=/meta/url"), field("from", "/meta/url"));
        assert_eq!(InputField::parse("/a=b"), field("a=b", "/a=b"));
        assert!(InputField::parse("").is_err() && InputField::parse("=x").is_err());
    }

    #[test]
    fn two_fields_of_one_name_are_refused() {
        let fields = |texts: &[&str]| -> Vec<InputField> {
            texts.iter().map(|text| InputField::parse(text).expect("a field")).collect()
        };
        for texts in [&["/meta/url"][..], &["/a/x", "/b/x"], &["text"], &["leitong_kind"]] {
            assert!(InputField::conflict(&fields(texts)).is_some(), "{texts:?}");
        }
        assert_eq!(InputField::conflict(&fields(&["/a/x", "y=/b/x", "source"])), None);
    }

    #[test]
    fn values_keep_their_json() {
        let json =
            br#"{"a":{"b":[1,{"c/d":12345678901234567890.50}]},"cell":"{\"x\": [true]}","s":"\u4e2d\n"}"#;
        let values = |pointers: &[&str]| {
            let fields: Vec<_> =
                pointers.iter().map(|pointer| InputField::parse(pointer).expect("a field")).collect();
            super::values(json, &fields)
        };
        let some = |value: &str| Some(value.to_owned());
        assert_eq!(
            values(&["/a/b/1/c~1d", "/cell/x/0", "/s", "/a/x", "/s/x", "/none"]),
            [some("12345678901234567890.50"), some("true"), some(r#""\u4e2d\n""#), None, None, None]
        );
        assert_eq!(super::values(b"no JSON", &[InputField::parse("x").expect("a field")]), [None]);
    }
}
