//! The position in a trace that messages carry: reads and writes the headers `traceparent` and `tracestate`
//! (W3C Trace Context, version 00).
//!
//! Invariant: reading never fails; malformed headers count as missing. Cost: 55 bytes are examined, and only
//! `tracestate` is copied.

use std::borrow::Cow;
use std::fmt;

/// Header that names the trace and the parent span.
pub const TRACEPARENT: &str = "traceparent";
/// Header with the state of the tracing systems that the trace has passed through.
pub const TRACESTATE: &str = "tracestate";
/// Maximum length of a `tracestate`, in bytes. The standard asks that values up to this length are passed on,
/// and allows longer ones to be dropped.
const STATE_BYTES_MAX: usize = 512;
/// Flag of a trace that is recorded.
const SAMPLED: u8 = 1;

/// A span of a trace, which other spans can continue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceContext {
    /// Id of the trace; never 0.
    pub(crate) trace_id: u128,
    /// Id of the span; never 0.
    pub(crate) span_id: u64,
    /// Flags as received. The lowest bit is set if the trace is recorded.
    pub flags: u8,
    /// State of vendors, as received.
    pub state: Option<Box<str>>,
}

impl TraceContext {
    /// Parses the two headers. Returns `None` if `traceparent` is missing or invalid. An invalid `tracestate`
    /// is ignored.
    pub fn read(traceparent: Option<&[u8]>, tracestate: Option<&[u8]>) -> Option<Self> {
        let (trace_id, span_id, flags) = parent(traceparent?)?;
        Some(Self { trace_id, span_id, flags, state: tracestate.and_then(state) })
    }

    /// Reads the last of each of the two headers of a message.
    pub fn from_headers<'a>(headers: impl Iterator<Item = (Cow<'a, str>, Option<&'a [u8]>)>) -> Option<Self> {
        let (mut parent, mut state) = (None, None);
        for (name, value) in headers {
            if name.eq_ignore_ascii_case(TRACEPARENT) {
                parent = value;
            } else if name.eq_ignore_ascii_case(TRACESTATE) {
                state = value;
            }
        }
        Self::read(parent, state)
    }

    /// Returns true if the spans of the trace are recorded.
    pub(crate) fn is_sampled(&self) -> bool {
        self.flags & SAMPLED != 0
    }

    /// Returns the context of a new trace that is recorded.
    pub fn sampled(trace_id: u128, span_id: u64) -> Self {
        Self { trace_id, span_id, flags: SAMPLED, state: None }
    }

    /// Returns the same trace at another span.
    pub fn at(&self, span_id: u64) -> Self {
        Self { span_id, ..self.clone() }
    }

    /// Returns the headers that pass the context on.
    pub fn headers(&self) -> impl Iterator<Item = (&'static str, String)> {
        let state = self.state.as_deref().map(|state| (TRACESTATE, state.to_owned()));
        std::iter::once((TRACEPARENT, self.to_string())).chain(state)
    }
}

impl fmt::Display for TraceContext {
    /// Writes the value of `traceparent`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Flags of later versions must not be passed on, since they may have another meaning.
        write!(f, "00-{:032x}-{:016x}-{:02x}", self.trace_id, self.span_id, self.flags & 3)
    }
}

/// Parses trace id, span id and flags. A later version may have more fields after those of version 00.
fn parent(value: &[u8]) -> Option<(u128, u64, u8)> {
    let (head, more) = value.split_at_checked(55)?;
    let text = std::str::from_utf8(head).ok()?;
    let mut fields = text.split('-');
    let mut field = |length: usize| {
        let field = fields.next().filter(|field| field.len() == length)?;
        let is_hex = field.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        is_hex.then_some(field)
    };
    let (version, trace_id, span_id, flags) = (field(2)?, field(32)?, field(16)?, field(2)?);
    let fits = match version {
        "ff" => false,
        "00" => more.is_empty(),
        _ => more.is_empty() || more.starts_with(b"-"),
    };
    let trace_id = u128::from_str_radix(trace_id, 16).ok().filter(|id| *id != 0)?;
    let span_id = u64::from_str_radix(span_id, 16).ok().filter(|id| *id != 0)?;
    let flags = u8::from_str_radix(flags, 16).ok()?;
    fits.then_some((trace_id, span_id, flags))
}

/// Parses a list of `key=value` in characters that are allowed in a header. Its entries are not checked,
/// because each tracing system decides on its own.
fn state(value: &[u8]) -> Option<Box<str>> {
    let text = std::str::from_utf8(value).ok()?.trim();
    let is_visible = text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\t'));
    let fits = !text.is_empty() && text.len() <= STATE_BYTES_MAX && text.contains('=');
    (is_visible && fits).then(|| text.into())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    fn read(traceparent: &str) -> Option<TraceContext> {
        TraceContext::read(Some(traceparent.as_bytes()), None)
    }

    #[test]
    fn the_last_trace_context_counts_among_any_other_headers() {
        let last = PARENT.replace("4bf92f3577b34da6", "b7ad6b7169203331");
        let mut headers = vec![
            ("traceparent", PARENT.as_bytes()),
            ("TraceState", b"a=1"),
            ("other", b"\xff"),
            ("Traceparent", last.as_bytes()),
        ];
        let read = |headers: &[(&'static str, &[u8])]| {
            let headers = headers.iter().map(|(name, value)| ((*name).into(), Some(*value)));
            TraceContext::from_headers(headers)
        };
        let context = read(&headers).expect("a context");
        assert_eq!((context.to_string(), context.state.as_deref()), (last.clone(), Some("a=1")));
        assert_eq!(read(&[]), None);
        headers.push(("traceparent", b"nonsense"));
        assert_eq!(read(&headers), None);
    }

    #[test]
    fn valid_headers_are_read_and_written_again() {
        let context = TraceContext::read(Some(PARENT.as_bytes()), Some(b"a=1,b@c=2")).expect("a context");
        assert_eq!(
            (context.trace_id, context.span_id),
            (0x4bf9_2f35_77b3_4da6_a3ce_929d_0e0e_4736, 0x00f0_67aa_0ba9_02b7)
        );
        assert!(context.is_sampled());
        let headers: Vec<_> = context.headers().collect();
        assert_eq!(headers, [(TRACEPARENT, PARENT.to_owned()), (TRACESTATE, "a=1,b@c=2".to_owned())]);
        let child = context.at(7).to_string();
        assert_eq!(child, "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000007-01");
        assert!(!read(&PARENT.replace("-01", "-00")).expect("a context").is_sampled());
        // The known fields of a later version are read, and version 00 is written.
        let later = read(&(PARENT.replacen("00-", "cc-", 1) + "-what-the-future-holds"));
        assert_eq!(later.map(|context| context.to_string()).as_deref(), Some(PARENT));
        let random = read(&PARENT.replace("-01", "-fb")).expect("a context").to_string();
        assert!(random.ends_with("-03"), "{random}: only known flags are passed on");
    }

    #[test]
    fn malformed_headers_count_as_missing() {
        let zeros = "0".repeat(32);
        for malformed in [
            "",
            "00",
            "garbage",
            &PARENT[..54],
            &(PARENT.to_owned() + "-"),
            &(PARENT.to_owned() + "x"),
            &PARENT.replacen("00-", "ff-", 1),
            &PARENT.replacen("00-", "cc-", 1).replace("-01", "-01x"),
            &PARENT.replacen("00-", "0x-", 1),
            &PARENT.to_uppercase(),
            &PARENT.replace("4bf92f3577b34da6a3ce929d0e0e4736", &zeros),
            &PARENT.replace("00f067aa0ba902b7", "0000000000000000"),
            &PARENT.replace('-', "_"),
            &PARENT.replace("b7-01", "7-+01"),
            &PARENT.replace("4bf9", "４bf"),
        ] {
            assert_eq!(read(malformed), None, "{malformed:?}");
        }
        assert_eq!(TraceContext::read(None, Some(b"a=1")), None);
        assert_eq!(TraceContext::read(Some(b"\xff\0"), None), None);
        for (state, kept) in [
            (&b"a=1"[..], true),
            (b" a=1 ", true),
            (b"", false),
            (b"no list", false),
            (b"a=\xff", false),
            (b"a=1\nb=2", false),
            (&[b'='; 513], false),
        ] {
            let context = TraceContext::read(Some(PARENT.as_bytes()), Some(state)).expect("a context");
            assert_eq!(context.state.is_some(), kept, "{state:?}");
        }
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_are_read_or_ignored(
            parent in prop::collection::vec(any::<u8>(), 0..80),
            state in prop::collection::vec(any::<u8>(), 0..20),
        ) {
            if let Some(context) = TraceContext::read(Some(&parent), Some(&state)) {
                prop_assert!(context.trace_id != 0 && context.span_id != 0);
                prop_assert!(read(&context.to_string()).is_some());
            }
        }

        #[test]
        fn written_headers_are_read_back(trace_id in 1_u128.., span_id in 1_u64.., flags in 0_u8..4) {
            let context = TraceContext { trace_id, span_id, flags, state: None };
            prop_assert_eq!(read(&context.to_string()), Some(context));
        }
    }
}
