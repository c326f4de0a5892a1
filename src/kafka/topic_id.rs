//! The ids of topics, and what this program may do with them, as a broker says it. rdkafka
//! does not wrap this question of librdkafka's (`DescribeTopics`), so it is put here in its
//! own terms: unsafe code, as in `headers.rs`, `static_names.rs` and nowhere else (`tests/local/purity.rs`).
//!
//! Invariants: every object that librdkafka hands out is owned by one of
//! the guards below, which gives it back once, also where an error ends
//! the function early; nothing borrowed from an answer outlives it.

#![expect(unsafe_code, reason = "librdkafka's DescribeTopics has no safe wrapper in rdkafka 0.39")]

use std::ffi::{CStr, CString, c_char};
use std::ptr::{self, NonNull};
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use rdkafka::ClientContext;
use rdkafka::bindings as sys;
use rdkafka::client::Client;

use crate::log::identity::TopicId;

/// What a broker says of one topic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Described {
    /// It is there, and this is its id.
    Id(TopicId),
    /// It is there, and the broker knows no ids.
    WithoutId,
    /// There is no such topic, or the broker has not heard of it yet.
    Missing,
}

/// What one may do with a topic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// To read records.
    Read,
    /// To write records.
    Write,
    /// To ask where it begins and ends.
    Describe,
    /// To ask for its settings.
    DescribeConfigs,
    /// To delete its records.
    Delete,
}

impl Operation {
    /// As librdkafka numbers it.
    fn number(self) -> u32 {
        use sys::rd_kafka_AclOperation_t as Acl;
        match self {
            Self::Read => Acl::RD_KAFKA_ACL_OPERATION_READ as u32,
            Self::Write => Acl::RD_KAFKA_ACL_OPERATION_WRITE as u32,
            Self::Describe => Acl::RD_KAFKA_ACL_OPERATION_DESCRIBE as u32,
            Self::DescribeConfigs => Acl::RD_KAFKA_ACL_OPERATION_DESCRIBE_CONFIGS as u32,
            Self::Delete => Acl::RD_KAFKA_ACL_OPERATION_DELETE as u32,
        }
    }
}

/// The operations on a topic that are allowed; none where the broker does not say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allowed(Option<Vec<u32>>);

impl Allowed {
    /// Those of `wanted` that are not allowed.
    pub fn lacks(&self, wanted: &[Operation]) -> Vec<Operation> {
        let Some(allowed) = &self.0 else { return Vec::new() };
        wanted.iter().copied().filter(|operation| !allowed.contains(&operation.number())).collect()
    }
}

/// Something of librdkafka's that is to be given back.
struct Owned<T> {
    object: NonNull<T>,
    give_back: unsafe extern "C" fn(*mut T),
}

impl<T> Owned<T> {
    /// Takes what a constructor of librdkafka returned.
    /// `give_back` must be the destructor of what it made.
    fn new(object: *mut T, give_back: unsafe extern "C" fn(*mut T)) -> anyhow::Result<Self> {
        let object = NonNull::new(object).context("librdkafka is out of memory")?;
        Ok(Self { object, give_back })
    }

    fn get(&self) -> *mut T {
        self.object.as_ptr()
    }
}

impl<T> Drop for Owned<T> {
    fn drop(&mut self) {
        // SAFETY: the object came from its constructor (see
        // `new`), is not null, and nobody else gives it back.
        unsafe { (self.give_back)(self.object.as_ptr()) }
    }
}

/// What a broker says of these topics, in their order: `broker`, or,
/// without one, the one that librdkafka holds for the controller, which may
/// be one that has died. Blocks until it answers, at most for `timeout`.
///
/// # Errors
/// No answer, or one that makes no sense.
pub fn describe<C: ClientContext>(
    client: &Client<C>,
    topics: &[&str],
    broker: Option<i32>,
    timeout: Duration,
) -> anyhow::Result<Vec<Described>> {
    // SAFETY: `described` asks for no more than `ask` promises.
    let read = |description, topic: &str| unsafe { described(description, topic) };
    ask(client, topics, Options { broker, timeout, operations: false }, read)
}

/// What this program may do with these topics, in their order.
///
/// # Errors
/// No answer, or one that makes no sense.
pub fn allowed<C: ClientContext>(
    client: &Client<C>,
    topics: &[&str],
    timeout: Duration,
) -> anyhow::Result<Vec<Allowed>> {
    // SAFETY: `operations_of` asks for no more than `ask` promises.
    let read = |description, topic: &str| unsafe { operations_of(description, topic) };
    ask(client, topics, Options { broker: None, timeout, operations: true }, read)
}

/// How brokers are asked.
struct Options {
    broker: Option<i32>,
    timeout: Duration,
    /// For the operations that are allowed as well.
    operations: bool,
}

/// Asks for these topics, and hands what is said of each to
/// `read`: a description that is null or alive, and the name.
fn ask<C: ClientContext, T>(
    client: &Client<C>,
    topics: &[&str],
    Options { broker, timeout, operations }: Options,
    read: impl Fn(*const sys::rd_kafka_TopicDescription_t, &str) -> anyhow::Result<T>,
) -> anyhow::Result<Vec<T>> {
    let rk = client.native_ptr();
    let timeout_ms = i32::try_from(timeout.as_millis()).unwrap_or(i32::MAX);
    let names: Vec<CString> = topics.iter().map(|name| CString::new(*name)).collect::<Result<_, _>>()?;
    let mut pointers: Vec<*const c_char> = names.iter().map(|name| name.as_ptr()).collect();

    // SAFETY: `rk` is the handle of `client`, which is borrowed for the whole of
    // this function. `pointers` holds as many strings as we say, each ends in a
    // NUL, and both live to the end of this function; librdkafka copies them.
    let (queue, collection, options) = unsafe {
        (
            Owned::new(sys::rd_kafka_queue_new(rk), sys::rd_kafka_queue_destroy)?,
            Owned::new(
                sys::rd_kafka_TopicCollection_of_topic_names(pointers.as_mut_ptr(), pointers.len()),
                sys::rd_kafka_TopicCollection_destroy,
            )?,
            Owned::new(
                sys::rd_kafka_AdminOptions_new(
                    rk,
                    sys::rd_kafka_admin_op_t::RD_KAFKA_ADMIN_OP_DESCRIBETOPICS,
                ),
                sys::rd_kafka_AdminOptions_destroy,
            )?,
        )
    };
    let mut why = [0; 256];
    // SAFETY: all objects are alive (`Owned`); `why` is as long as we say.
    // The request is copied; its answer goes to `queue`, which librdkafka
    // counts references to, so that giving it back early is allowed as well.
    unsafe {
        let set = sys::rd_kafka_AdminOptions_set_request_timeout;
        let code = set(options.get(), timeout_ms, why.as_mut_ptr(), why.len());
        ensure!(code == sys::rd_kafka_resp_err_t::RD_KAFKA_RESP_ERR_NO_ERROR, "a time-out of {timeout:?}");
        if let Some(broker) = broker {
            let set = sys::rd_kafka_AdminOptions_set_broker;
            let code = set(options.get(), broker, why.as_mut_ptr(), why.len());
            ensure!(code == sys::rd_kafka_resp_err_t::RD_KAFKA_RESP_ERR_NO_ERROR, "a broker {broker}");
        }
        if operations {
            let refused = sys::rd_kafka_AdminOptions_set_include_authorized_operations(options.get(), 1);
            if !refused.is_null() {
                sys::rd_kafka_error_destroy(refused);
                bail!("librdkafka does not ask for the operations that are allowed");
            }
        }
        sys::rd_kafka_DescribeTopics(rk, collection.get(), options.get(), queue.get());
    }
    // The request itself ends after `timeout`; a little later its answer is here, whatever it is.
    // SAFETY: the queue is alive, and nobody else serves it. An event that comes is ours to give back.
    let event = unsafe { sys::rd_kafka_queue_poll(queue.get(), timeout_ms.saturating_add(1000)) };
    let event =
        Owned::new(event, sys::rd_kafka_event_destroy).ok().context("no answer about ids of topics")?;
    // SAFETY: the event is alive; the text of its error belongs to it, and is copied at once.
    unsafe {
        if sys::rd_kafka_event_error(event.get()) != sys::rd_kafka_resp_err_t::RD_KAFKA_RESP_ERR_NO_ERROR {
            bail!("no answer about ids of topics: {}", text(sys::rd_kafka_event_error_string(event.get())));
        }
    }
    // SAFETY: the event is alive, and this returns null if it is of another kind. The
    // descriptions belong to the event, which outlives `descriptions`; there are `count` of them.
    let descriptions = unsafe {
        let result = sys::rd_kafka_event_DescribeTopics_result(event.get());
        ensure!(!result.is_null(), "another answer than that about ids of topics");
        let mut count = 0;
        let first = sys::rd_kafka_DescribeTopics_result_topics(result, &raw mut count);
        ensure!(
            !first.is_null() && count == topics.len(),
            "an answer about {count} of {} topics",
            topics.len()
        );
        std::slice::from_raw_parts(first, count)
    };
    // Each description is null or belongs to the event, which is alive.
    descriptions.iter().zip(topics).map(|(one, topic)| read(*one, topic)).collect()
}

/// What is said of `topic`, which is the one that was asked for.
///
/// # Safety
/// `description` is null or alive.
unsafe fn described(
    description: *const sys::rd_kafka_TopicDescription_t,
    topic: &str,
) -> anyhow::Result<Described> {
    ensure!(!description.is_null(), "nothing was said of topic {topic}");
    // SAFETY: `description` is not null and alive; name, error and id
    // belong to it. Errors are told by their names, since a broker may
    // send numbers that the enum of this librdkafka does not have.
    unsafe {
        let name = text(sys::rd_kafka_TopicDescription_name(description));
        ensure!(name == topic, "an answer about topic {name} in place of {topic}");
        let error = sys::rd_kafka_TopicDescription_error(description);
        if !error.is_null() {
            match &*text(sys::rd_kafka_error_name(error)) {
                "NO_ERROR" => {}
                "UNKNOWN_TOPIC_OR_PART" | "_UNKNOWN_TOPIC" => return Ok(Described::Missing),
                name => bail!("topic {topic}: {name}"),
            }
        }
        let id = sys::rd_kafka_TopicDescription_topic_id(description);
        ensure!(!id.is_null(), "no id of topic {topic}");
        let halves =
            [sys::rd_kafka_Uuid_most_significant_bits(id), sys::rd_kafka_Uuid_least_significant_bits(id)];
        let bytes: Vec<u8> = halves.iter().flat_map(|half| half.to_be_bytes()).collect();
        Ok(TopicId::from_bytes(&bytes).map_or(Described::WithoutId, Described::Id))
    }
}

/// What one may do with `topic`, which is the one that was asked for.
///
/// # Safety
/// `description` is null or alive.
unsafe fn operations_of(
    description: *const sys::rd_kafka_TopicDescription_t,
    topic: &str,
) -> anyhow::Result<Allowed> {
    // A broker may name operations that the enum of this librdkafka does not have.
    const { assert!(size_of::<sys::rd_kafka_AclOperation_t>() == size_of::<u32>()) };
    ensure!(!description.is_null(), "nothing was said of topic {topic}");
    // SAFETY: `description` is not null and alive; the operations belong to
    // it, there are `count` of them, and each is a number of 32 bits.
    unsafe {
        let mut count = 0;
        let first = sys::rd_kafka_TopicDescription_authorized_operations(description, &raw mut count);
        if first.is_null() {
            return Ok(Allowed(None));
        }
        Ok(Allowed(Some(std::slice::from_raw_parts(first.cast::<u32>(), count).to_vec())))
    }
}

/// A text of librdkafka's, copied.
///
/// # Safety
/// `text` is null, or ends in a NUL and is alive.
unsafe fn text(text: *const c_char) -> String {
    if ptr::eq(text, ptr::null()) {
        return String::new();
    }
    // SAFETY: not null, and else as promised to this function.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}
