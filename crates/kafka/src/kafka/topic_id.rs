//! Asks brokers for the ids of topics, and for the operations that this program may perform on them. rdkafka
//! does not wrap this request of librdkafka (`DescribeTopics`), so it is called directly. Unsafe code is only
//! here, in `headers.rs` and in `static_names.rs` (`tests/local/purity.rs`).
//!
//! Invariants: every object from librdkafka is owned by one of the guards below, which destroys it once, even
//! if an error ends the function early. Nothing borrowed from an answer outlives the answer.

#![expect(unsafe_code, reason = "librdkafka's DescribeTopics has no safe wrapper in rdkafka 0.39")]

use std::ffi::{CStr, CString, c_char};
use std::ptr::{self, NonNull};
use std::time::Duration;

use rdkafka::ClientContext;
use rdkafka::bindings as sys;
use rdkafka::bindings::rd_kafka_AclOperation_t as Acl;
use rdkafka::client::Client;

use crate::kafka::error::{Result, refused};
use leitong_base::error::Context;
use leitong_cluster::log::TopicId;

/// A broker's answer about one topic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Described {
    /// The topic exists and has this id.
    Id(TopicId),
    /// The topic exists, but the broker knows no ids.
    WithoutId,
    /// The topic does not exist, or the broker has not heard of it yet.
    Missing,
}

/// An operation on a topic, with librdkafka's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Operation {
    /// Reading records.
    Read = Acl::RD_KAFKA_ACL_OPERATION_READ as u32,
    /// Writing records.
    Write = Acl::RD_KAFKA_ACL_OPERATION_WRITE as u32,
    /// Asking where the topic begins and ends.
    Describe = Acl::RD_KAFKA_ACL_OPERATION_DESCRIBE as u32,
    /// Asking for the topic's settings.
    DescribeConfigs = Acl::RD_KAFKA_ACL_OPERATION_DESCRIBE_CONFIGS as u32,
    /// Deleting records.
    Delete = Acl::RD_KAFKA_ACL_OPERATION_DELETE as u32,
}

/// The operations on a topic that are permitted; `None` inside if the broker does not tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Allowed(Option<Vec<u32>>);

impl Allowed {
    /// Returns the operations in `wanted` that are not permitted.
    pub(crate) fn lacks(&self, wanted: &[Operation]) -> Vec<Operation> {
        let Some(allowed) = &self.0 else { return Vec::new() };
        wanted.iter().copied().filter(|operation| !allowed.contains(&(*operation as u32))).collect()
    }
}

/// An object from librdkafka that must be destroyed.
struct Owned<T> {
    object: NonNull<T>,
    destroy: unsafe extern "C" fn(*mut T),
}

impl<T> Owned<T> {
    /// Takes the result of a constructor in librdkafka. `destroy` must be the matching destructor.
    fn new(object: *mut T, destroy: unsafe extern "C" fn(*mut T)) -> Result<Self> {
        let object = NonNull::new(object).context("librdkafka is out of memory")?;
        Ok(Self { object, destroy })
    }

    fn get(&self) -> *mut T {
        self.object.as_ptr()
    }
}

impl<T> Drop for Owned<T> {
    fn drop(&mut self) {
        // SAFETY: the object came from its constructor (see `new`), is not null, and is not destroyed
        // anywhere else.
        unsafe { (self.destroy)(self.object.as_ptr()) }
    }
}

/// Returns the answer about these topics, in their order. Asks `broker` or, if that is `None`, the broker
/// that librdkafka believes to be the controller, which may have died. Blocks until the answer arrives, at
/// most for `timeout`.
///
/// # Errors
/// Fails if there is no answer, or a malformed one.
pub(crate) fn describe<C: ClientContext>(
    client: &Client<C>,
    topics: &[&str],
    broker: Option<i32>,
    timeout: Duration,
) -> Result<Vec<Described>> {
    // SAFETY: `described` requires no more than `ask` guarantees.
    let read = |description, topic: &str| unsafe { described(description, topic) };
    ask(client, topics, Options { broker, timeout, operations: false }, read)
}

/// Returns the operations that this program may perform on these topics, in their order.
///
/// # Errors
/// Fails if there is no answer, or a malformed one.
pub(crate) fn allowed<C: ClientContext>(
    client: &Client<C>,
    topics: &[&str],
    timeout: Duration,
) -> Result<Vec<Allowed>> {
    // SAFETY: `operations_of` requires no more than `ask` guarantees.
    let read = |description, topic: &str| unsafe { operations_of(description, topic) };
    ask(client, topics, Options { broker: None, timeout, operations: true }, read)
}

/// Options of a request.
#[derive(Clone, Copy)]
struct Options {
    broker: Option<i32>,
    timeout: Duration,
    /// True to request the permitted operations as well.
    operations: bool,
}

/// Asks for these topics, and passes the answer about each to `read`: a description that is null or alive,
/// and the name.
fn ask<C: ClientContext, T>(
    client: &Client<C>,
    topics: &[&str],
    options: Options,
    read: impl Fn(*const sys::rd_kafka_TopicDescription_t, &str) -> Result<T>,
) -> Result<Vec<T>> {
    let event = answer(client, topics, options)?;
    let descriptions = descriptions(&event, topics.len())?;
    // Each description is null or belongs to the event, which is alive.
    descriptions.iter().zip(topics).map(|(one, topic)| read(*one, topic)).collect()
}

/// Sends a request for these topics, and waits for the answer, which may be an error.
fn answer<C: ClientContext>(
    client: &Client<C>,
    topics: &[&str],
    options: Options,
) -> Result<Owned<sys::rd_kafka_event_t>> {
    let rk = client.native_ptr();
    let names: Vec<CString> = topics
        .iter()
        .map(|name| CString::new(*name))
        .collect::<Result<_, _>>()
        .context("a topic's name contains NUL")?;
    let mut pointers: Vec<*const c_char> = names.iter().map(|name| name.as_ptr()).collect();
    // SAFETY: `rk` is the handle of `client`, which is borrowed during this whole function. `pointers` has
    // the given number of strings, each ends in a NUL, and both live to the end of this function. librdkafka
    // copies them.
    let (queue, collection, native_options) = unsafe {
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
    options.set_in(&native_options)?;
    // SAFETY: all objects are alive (`Owned`). The request is copied. Its answer goes to `queue`, whose
    // references librdkafka counts, so destroying it early is allowed as well.
    unsafe { sys::rd_kafka_DescribeTopics(rk, collection.get(), native_options.get(), queue.get()) };
    // The request itself ends after the timeout, and its answer of any kind arrives shortly after that.
    let wait_ms = options.timeout_ms().saturating_add(1000);
    // SAFETY: the queue is alive and served nowhere else. The caller owns the event.
    let event = unsafe { sys::rd_kafka_queue_poll(queue.get(), wait_ms) };
    Ok(Owned::new(event, sys::rd_kafka_event_destroy)
        .ok()
        .context("brokers did not answer about topic ids")?)
}

impl Options {
    fn timeout_ms(&self) -> i32 {
        i32::try_from(self.timeout.as_millis()).unwrap_or(i32::MAX)
    }

    /// Sets these options in `native`.
    fn set_in(&self, native: &Owned<sys::rd_kafka_AdminOptions_t>) -> Result<()> {
        let is_set = |code| code == sys::rd_kafka_resp_err_t::RD_KAFKA_RESP_ERR_NO_ERROR;
        let mut why = [0; 256];
        // SAFETY: the options are alive (`Owned`), and `why` has the given length.
        unsafe {
            let set = sys::rd_kafka_AdminOptions_set_request_timeout;
            if !is_set(set(native.get(), self.timeout_ms(), why.as_mut_ptr(), why.len())) {
                return Err(refused!("librdkafka rejects a timeout of {:?}", self.timeout));
            }
            if let Some(broker) = self.broker {
                let set = sys::rd_kafka_AdminOptions_set_broker;
                if !is_set(set(native.get(), broker, why.as_mut_ptr(), why.len())) {
                    return Err(refused!("librdkafka rejects broker {broker}"));
                }
            }
            if self.operations {
                let refused = sys::rd_kafka_AdminOptions_set_include_authorized_operations(native.get(), 1);
                if !refused.is_null() {
                    sys::rd_kafka_error_destroy(refused);
                    return Err(refused!("librdkafka cannot request the permitted operations"));
                }
            }
        }
        Ok(())
    }
}

/// Returns the descriptions of `count` topics from an answer. Each is null or belongs to `event`.
fn descriptions(
    event: &Owned<sys::rd_kafka_event_t>,
    count: usize,
) -> Result<&[*const sys::rd_kafka_TopicDescription_t]> {
    // SAFETY: the event is alive; the text of its error belongs to it, and is copied at once.
    unsafe {
        if sys::rd_kafka_event_error(event.get()) != sys::rd_kafka_resp_err_t::RD_KAFKA_RESP_ERR_NO_ERROR {
            return Err(refused!(
                "brokers did not answer about topic ids: {}",
                text(sys::rd_kafka_event_error_string(event.get()))
            ));
        }
    }
    // SAFETY: the event is alive; the result is null if the event is of another kind. The descriptions belong
    // to the event, which outlives the returned slice, and `answered` is their number.
    unsafe {
        let result = sys::rd_kafka_event_DescribeTopics_result(event.get());
        if result.is_null() {
            return Err(refused!(
                "librdkafka returned the answer to another request than the one for topic ids"
            ));
        }
        let mut answered = 0;
        let first = sys::rd_kafka_DescribeTopics_result_topics(result, &raw mut answered);
        if first.is_null() || answered != count {
            return Err(refused!("brokers answered about {answered} of {count} topics"));
        }
        Ok(std::slice::from_raw_parts(first.cast_const().cast(), answered))
    }
}

/// Reads the answer about `topic`.
///
/// # Safety
/// `description` is null or alive.
unsafe fn described(description: *const sys::rd_kafka_TopicDescription_t, topic: &str) -> Result<Described> {
    if description.is_null() {
        return Err(refused!("the answer does not mention topic {topic}"));
    }
    // SAFETY: `description` is not null and alive; name, error and id belong to it. Errors are identified by
    // their names, since a broker may send numbers that are missing in the enum of this librdkafka.
    unsafe {
        let name = text(sys::rd_kafka_TopicDescription_name(description));
        if name != topic {
            return Err(refused!("the answer is about topic {name} instead of {topic}"));
        }
        let error = sys::rd_kafka_TopicDescription_error(description);
        if !error.is_null() {
            match &*text(sys::rd_kafka_error_name(error)) {
                "NO_ERROR" => {}
                "UNKNOWN_TOPIC_OR_PART" | "_UNKNOWN_TOPIC" => return Ok(Described::Missing),
                name => return Err(refused!("topic {topic}: {name}")),
            }
        }
        let id = sys::rd_kafka_TopicDescription_topic_id(description);
        if id.is_null() {
            return Err(refused!("the answer has no id of topic {topic}"));
        }
        let halves =
            [sys::rd_kafka_Uuid_most_significant_bits(id), sys::rd_kafka_Uuid_least_significant_bits(id)];
        let bytes: Vec<u8> = halves.iter().flat_map(|half| half.to_be_bytes()).collect();
        Ok(TopicId::from_bytes(&bytes).map_or(Described::WithoutId, Described::Id))
    }
}

/// Reads the permitted operations on `topic` from the answer.
///
/// # Safety
/// `description` is null or alive.
unsafe fn operations_of(
    description: *const sys::rd_kafka_TopicDescription_t,
    topic: &str,
) -> Result<Allowed> {
    // A broker may name operations that are missing in the enum of this librdkafka.
    const { assert!(size_of::<Acl>() == size_of::<u32>()) };
    if description.is_null() {
        return Err(refused!("the answer does not mention topic {topic}"));
    }
    // SAFETY: `description` is not null and alive. The operations belong to it, `count` is their number, and
    // each is a number of 32 bits.
    unsafe {
        let mut count = 0;
        let first = sys::rd_kafka_TopicDescription_authorized_operations(description, &raw mut count);
        if first.is_null() {
            return Ok(Allowed(None));
        }
        Ok(Allowed(Some(std::slice::from_raw_parts(first.cast::<u32>(), count).to_vec())))
    }
}

/// Copies a text from librdkafka.
///
/// # Safety
/// `text` is null, or ends in a NUL and is alive.
unsafe fn text(text: *const c_char) -> String {
    if ptr::eq(text, ptr::null()) {
        return String::new();
    }
    // SAFETY: not null, and otherwise as the caller guarantees.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use rdkafka::ClientConfig;
    use rdkafka::consumer::{BaseConsumer, Consumer};

    use super::*;

    #[test]
    fn a_broker_that_does_not_answer_is_an_error() {
        let nobody: BaseConsumer =
            ClientConfig::new().set("bootstrap.servers", "127.0.0.1:1").create().expect("a client");
        assert!(describe(nobody.client(), &["pages"], None, Duration::from_millis(300)).is_err());
    }
}
