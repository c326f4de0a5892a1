//! Converts values of Arrow arrays to JSON.
//!
//! Strings, numbers, booleans, lists and structs become their JSON equivalents. Timestamps become RFC 3339 in
//! UTC (timestamps without a zone are taken as UTC), dates become `YYYY-MM-DD`, and decimals become numbers
//! with all their digits. Bytes become text if they are UTF-8, or Base64 on request. Values without an
//! equivalent in JSON become null: NaN and infinity, times of day, intervals.
//!
//! The crate `arrow-json` would write bytes in hexadecimal and times without a zone without one, and has no limits for
//! the length of strings and lines, which a hostile file can raise at will. It needs an encoder of ours for these types,
//! and four more dependencies.

use std::fmt::Write as _;

use arrow_array::cast::{AsArray, downcast_array};
use arrow_array::types::{
    Date32Type, Date64Type, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, DecimalType,
    Float16Type, Float32Type, Float64Type, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType,
};
use arrow_array::{Array, ArrayRef, PrimitiveArray, downcast_dictionary_array, downcast_integer_array};
use arrow_schema::{DataType, TimeUnit};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::value::RawValue;
use time::format_description::well_known::Rfc3339;
use time::{Date, OffsetDateTime};

const MS_A_DAY: i64 = 86_400_000;

/// Size from which on no more values are written. A list may contain the same value any number of times.
const JSON_BYTES_MAX: usize = 512 << 20;

/// A writer of values to a JSON line.
pub(crate) struct JsonWriter {
    /// The text written so far.
    pub(crate) json: String,
    /// Maximum length of a string. Longer strings are truncated.
    pub(crate) string_bytes_max: usize,
    /// True if there were bytes that are not UTF-8 and are not written in Base64.
    pub(crate) not_utf8: bool,
    /// True if there were values without an equivalent in JSON, other than bytes.
    pub(crate) without_json: bool,
}

impl JsonWriter {
    pub(crate) fn new(string_bytes_max: usize) -> Self {
        Self { json: String::new(), string_bytes_max, not_utf8: false, without_json: false }
    }

    /// Writes a string with its quotes.
    pub(crate) fn string(&mut self, text: &str) {
        let text = &text[..text.floor_char_boundary(self.string_bytes_max)];
        // Serializing a string cannot fail.
        self.json += &serde_json::to_string(text).unwrap_or_default();
    }

    /// Writes the name of the next field of an object.
    pub(crate) fn name(&mut self, name: &str) {
        if !self.json.ends_with('{') {
            self.json.push(',');
        }
        self.string(name);
        self.json.push(':');
    }

    /// Writes a field with the value at `row` of `column`: bytes in Base64 if requested, and strings as the JSON in them
    /// if requested. Returns the place of the value.
    pub(crate) fn field(
        &mut self,
        name: &str,
        column: &ArrayRef,
        row: usize,
        (as_base64, is_json): (bool, bool),
    ) -> usize {
        self.name(name);
        let start = self.json.len();
        match is_json {
            true => self.json_text(column, row),
            false => self.value(column, row, as_base64),
        }
        start
    }

    /// Writes the JSON inside the string at `row`, or the string itself if it is not JSON.
    fn json_text(&mut self, array: &ArrayRef, row: usize) {
        let mut string = Self::new(self.string_bytes_max);
        string.value(array, row, false);
        let text = serde_json::from_str::<String>(&string.json).unwrap_or_default();
        let is_nested = text.trim_start().starts_with(['{', '[']);
        match serde_json::from_str::<&RawValue>(&text) {
            Ok(json) if is_nested => self.json += json.get(),
            _ => self.json += &string.json,
        }
        self.not_utf8 |= string.not_utf8;
        self.without_json |= string.without_json;
    }

    fn bytes(&mut self, bytes: &[u8], as_base64: bool) {
        if as_base64 {
            self.json.push('"');
            STANDARD.encode_string(&bytes[..bytes.len().min(self.string_bytes_max)], &mut self.json);
            self.json.push('"');
            return;
        }
        match simdutf8::basic::from_utf8(bytes) {
            Ok(text) => self.string(text),
            Err(_) => {
                self.not_utf8 = true;
                self.json += "null";
            }
        }
    }

    fn number(&mut self, number: impl std::fmt::Display) {
        // Writing to a string cannot fail.
        let _ = write!(self.json, "{number}");
    }

    fn float(&mut self, number: f64) {
        if number.is_finite() { self.number(number) } else { self.no_json() }
    }

    fn timestamp(&mut self, ns: i128) {
        let time = OffsetDateTime::from_unix_timestamp_nanos(ns).ok();
        match time.and_then(|time| time.format(&Rfc3339).ok()) {
            Some(time) => self.string(&time),
            None => self.no_json(),
        }
    }

    fn day(&mut self, days: i64) {
        let day = OffsetDateTime::UNIX_EPOCH.date().to_julian_day();
        let day =
            i32::try_from(days).ok().and_then(|days| Date::from_julian_day(day.checked_add(days)?).ok());
        match day {
            Some(day) => self.string(&day.to_string()),
            None => self.no_json(),
        }
    }

    /// Writes the value at `row` of `array`. With `as_base64`, bytes are written in Base64.
    fn value(&mut self, array: &dyn Array, row: usize, as_base64: bool) {
        if self.is_full() {
            return;
        }
        if array.is_null(row) {
            self.json += "null";
            return;
        }
        match array.data_type() {
            DataType::Boolean => self.json += if array.as_boolean().value(row) { "true" } else { "false" },
            kind if kind.is_integer() => downcast_integer_array!(
                array => self.number(array.value(row)),
                _ => self.no_json()
            ),
            DataType::Float16 => self.float(array.as_primitive::<Float16Type>().value(row).to_f64()),
            DataType::Float32 => self.float(array.as_primitive::<Float32Type>().value(row).into()),
            DataType::Float64 => self.float(array.as_primitive::<Float64Type>().value(row)),
            DataType::Decimal32(..) => self.decimal::<Decimal32Type>(array, row),
            DataType::Decimal64(..) => self.decimal::<Decimal64Type>(array, row),
            DataType::Decimal128(..) => self.decimal::<Decimal128Type>(array, row),
            DataType::Decimal256(..) => self.decimal::<Decimal256Type>(array, row),
            DataType::Utf8 => self.string(array.as_string::<i32>().value(row)),
            DataType::LargeUtf8 => self.string(array.as_string::<i64>().value(row)),
            DataType::Utf8View => self.string(array.as_string_view().value(row)),
            DataType::Binary => self.bytes(array.as_binary::<i32>().value(row), as_base64),
            DataType::LargeBinary => self.bytes(array.as_binary::<i64>().value(row), as_base64),
            DataType::BinaryView => self.bytes(array.as_binary_view().value(row), as_base64),
            DataType::FixedSizeBinary(_) => self.bytes(array.as_fixed_size_binary().value(row), as_base64),
            DataType::Timestamp(unit, _) => self.timestamp(nanoseconds(array, row, *unit)),
            DataType::Date32 => self.day(array.as_primitive::<Date32Type>().value(row).into()),
            DataType::Date64 => self.day(array.as_primitive::<Date64Type>().value(row).div_euclid(MS_A_DAY)),
            DataType::List(_) => self.list(&array.as_list::<i32>().value(row)),
            DataType::LargeList(_) => self.list(&array.as_list::<i64>().value(row)),
            DataType::FixedSizeList(..) => self.list(&array.as_fixed_size_list().value(row)),
            DataType::Map(..) => self.map(array, row),
            DataType::Struct(fields) => {
                let columns = array.as_struct().columns();
                let names = fields.iter().map(|field| field.name().as_str());
                self.object(names.zip(columns), row);
            }
            DataType::Dictionary(..) => self.dictionary(array, row, as_base64),
            DataType::Null => self.json += "null",
            _ => self.no_json(),
        }
    }

    /// Returns true if values were left out, because there are too many.
    pub(crate) fn is_full(&self) -> bool {
        self.json.len() > JSON_BYTES_MAX
    }

    /// Writes null for a value without an equivalent in JSON.
    fn no_json(&mut self) {
        self.without_json = true;
        self.json += "null";
    }

    /// Writes an object with the value at `row` of each column.
    fn object<'a>(&mut self, columns: impl Iterator<Item = (&'a str, &'a ArrayRef)>, row: usize) {
        self.json.push('{');
        for (name, column) in columns {
            self.name(name);
            self.value(column, row, false);
        }
        self.json.push('}');
    }

    fn list(&mut self, items: &ArrayRef) {
        self.json.push('[');
        for item in 0..items.len() {
            if self.is_full() {
                return;
            }
            if item > 0 {
                self.json.push(',');
            }
            self.value(items, item, false);
        }
        self.json.push(']');
    }

    /// Writes a map as an object. Its keys become text.
    fn map(&mut self, array: &dyn Array, row: usize) {
        let entries = array.as_map().value(row);
        let (keys, values) = (entries.column(0), entries.column(1));
        self.json.push('{');
        for entry in 0..entries.len() {
            if self.is_full() {
                return;
            }
            if entry > 0 {
                self.json.push(',');
            }
            let mut key = Self::new(self.string_bytes_max);
            key.value(keys, entry, false);
            match key.json.starts_with('"') {
                true => self.json += &key.json,
                false => self.string(&key.json),
            }
            self.json.push(':');
            self.value(values, entry, false);
        }
        self.json.push('}');
    }

    fn decimal<T: DecimalType>(&mut self, array: &dyn Array, row: usize) {
        let array: PrimitiveArray<T> = downcast_array(array);
        self.json += &array.value_as_string(row);
    }

    fn dictionary(&mut self, array: &dyn Array, row: usize, as_base64: bool) {
        downcast_dictionary_array!(
            array => match array.key(row) {
                Some(key) => self.value(array.values(), key, as_base64),
                None => self.json += "null",
            },
            _ => self.no_json()
        );
    }
}

/// Returns the timestamp at `row`, in nanoseconds since the Unix epoch.
fn nanoseconds(array: &dyn Array, row: usize, unit: TimeUnit) -> i128 {
    let (count, ns) = match unit {
        TimeUnit::Second => (array.as_primitive::<TimestampSecondType>().value(row), 1_000_000_000),
        TimeUnit::Millisecond => (array.as_primitive::<TimestampMillisecondType>().value(row), 1_000_000),
        TimeUnit::Microsecond => (array.as_primitive::<TimestampMicrosecondType>().value(row), 1_000),
        TimeUnit::Nanosecond => (array.as_primitive::<TimestampNanosecondType>().value(row), 1),
    };
    i128::from(count) * ns
}
