//! The proxy itself: ordinary clients work through it, and a late request is late.

use std::time::{Duration, Instant};

use rdkafka::ClientConfig;
use rdkafka::producer::{BaseProducer, BaseRecord, Producer};

use super::{Api, Fault, Network, Rule};
use crate::admin::Admin;
use crate::broker::topics::{self, Row};
use crate::broker::worker::Installation;
use crate::broker::{HANG_LIMIT, wait_until};

fn transactional(bootstrap: &str) -> BaseProducer {
    ClientConfig::new()
        .set("bootstrap.servers", bootstrap)
        .set("client.id", "proxy-test")
        .set("transactional.id", "proxy-test")
        .create()
        .expect("a producer")
}

/// Sends one transaction with one message.
fn transaction(producer: &BaseProducer, topic: &str, value: &str) {
    producer.begin_transaction().expect("begun");
    producer.send(BaseRecord::<(), str>::to(topic).payload(value)).expect("sent");
    producer.commit_transaction(*HANG_LIMIT).expect("committed");
}

fn committed(network: &Network, topic: &str) -> usize {
    topics::read_all(&network.brokers.bootstrap(), topic).len()
}

/// Demonstrates the damage of a late request: it commits a transaction that nobody has declared complete.
fn late_request_commits_half_a_transaction(network: &Network, topic: &str) {
    let counted = |what: &str| network.rules.counted(0, &format!("EndTxn {what}"));
    for late_ms in (0..).map(|attempt| 3000 << attempt) {
        let producer = transactional(network.bootstrap(0));
        producer.init_transactions(*HANG_LIMIT).expect("ready");
        let (before, delivered, accepted) =
            (committed(network, topic), counted("delivered late"), counted("late and accepted"));
        let fault = Fault::Late(late_ms);
        network.rules.set(0, vec![Rule { api: Api::END_TXN, client: "-test", fault, one_in: 1, times: 1 }]);
        transaction(&producer, topic, "first");
        assert_eq!(committed(network, topic), before + 1, "the client has asked again, and was answered");
        producer.begin_transaction().expect("begun");
        producer.send(BaseRecord::<(), str>::to(topic).payload("half")).expect("sent");
        topics::flush(&producer);
        let readable = committed(network, topic);
        if counted("delivered late") > delivered {
            // The machine is too busy: the request arrived before all of this was done. Try again with a
            // longer delay.
            wait_until("it is over", || counted("late and over") == counted("late"));
            continue;
        }
        assert_eq!(readable, before + 1, "nobody has committed the second one");
        wait_until("it is answered", || counted("late and accepted") > accepted);
        wait_until("half a transaction can be read", || committed(network, topic) == before + 2);
        return;
    }
}

#[test]
fn clients_work_through_the_proxy_and_faults_hit_their_targets() {
    let network = Network::start(1, 1, 1, "");
    let direct = network.brokers.bootstrap();
    let installation = Installation::without_topics(&direct, "proxy", "");
    let topic = installation.topic("pages");
    Admin::new(&installation).create_topic(&topic, 1, &[]);
    let through = network.bootstrap(0);
    topics::produce(through, &topic, &[Row::page(0, "a", "甲")]);
    assert_eq!(topics::read_all(through, &topic).len(), 1);

    let producer = transactional(through);
    producer.init_transactions(*HANG_LIMIT).expect("ready");
    let committed = || committed(&network, &topic);
    for (fault, least_ms) in [
        (Fault::CutBefore, 0),
        (Fault::CutAfter, 0),
        (Fault::Twice, 0),
        (Fault::ResponseLate(3000), 3000),
        (Fault::Late(0), 0),
    ] {
        let before = committed();
        network.rules.set(0, vec![Rule { api: Api::END_TXN, client: "-test", fault, one_in: 1, times: 1 }]);
        let began = Instant::now();
        transaction(&producer, &topic, fault.name());
        assert!(began.elapsed() >= Duration::from_millis(least_ms), "{fault:?}: {:?}", began.elapsed());
        assert_eq!(committed(), before + 1, "{fault:?}");
        assert_eq!(network.rules.counted(0, &format!("EndTxn {}", fault.name())), 1);
        wait_until("a late request is answered", || {
            !matches!(fault, Fault::Late(_))
                || network.rules.counted(0, "EndTxn late and accepted")
                    + network.rules.counted(0, "EndTxn late and refused")
                    == 1
        });
    }
    network.heal();

    late_request_commits_half_a_transaction(&network, &topic);

    // A frozen link passes nothing, and later everything.
    let before = committed();
    let began = Instant::now();
    network.freeze(Some(0), None, Duration::from_millis(700));
    topics::produce(through, &topic, &[Row::page(0, "b", "乙")]);
    assert!(began.elapsed() >= Duration::from_millis(700), "{:?}", began.elapsed());
    network.reset(None, None);
    topics::produce(through, &topic, &[Row::page(0, "c", "丙")]);
    assert_eq!(committed(), before + 2);
}
