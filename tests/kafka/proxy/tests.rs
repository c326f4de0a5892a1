//! The proxy itself: ordinary clients work through it, and a late request is late.

use std::time::{Duration, Instant};

use rdkafka::ClientConfig;
use rdkafka::producer::{BaseProducer, BaseRecord, Producer};

use super::{Api, Fault, Network, Rule};
use crate::admin::Admin;
use crate::broker::topics::{self, Row};
use crate::broker::wait_until;
use crate::broker::worker::Installation;

fn transactional(bootstrap: &str) -> BaseProducer {
    ClientConfig::new()
        .set("bootstrap.servers", bootstrap)
        .set("client.id", "proxy-test")
        .set("transactional.id", "proxy-test")
        .create()
        .expect("a producer")
}

/// One transaction that holds one message.
fn transaction(producer: &BaseProducer, topic: &str, value: &str) {
    producer.begin_transaction().expect("begun");
    producer.send(BaseRecord::<(), str>::to(topic).payload(value)).expect("sent");
    producer.commit_transaction(Duration::from_secs(20)).expect("committed");
}

#[test]
fn clients_work_through_the_proxy_and_faults_strike_what_they_are_about() {
    let network = Network::start(1, 1, 1, "");
    let direct = network.brokers.bootstrap();
    let installation = Installation::without_topics(&direct, "proxy", "");
    let topic = installation.topic("pages");
    Admin::of(&installation).create_topic(&topic, 1, &[]);
    let through = network.bootstrap(0);
    topics::produce(through, &topic, &[Row::page(0, "a", "甲")]);
    assert_eq!(topics::read_all(through, &topic).len(), 1);

    let producer = transactional(through);
    producer.init_transactions(Duration::from_secs(20)).expect("ready");
    let committed = || topics::read_all(&direct, &topic).len();
    for (fault, soon) in [
        (Fault::CutBefore, true),
        (Fault::CutAfter, true),
        (Fault::Twice, true),
        (Fault::ResponseLate(3000), false),
        (Fault::Late(0), true),
    ] {
        let before = committed();
        network.rules.set(0, vec![Rule { api: Api::END_TXN, client: "-test", fault, one_in: 1, times: 1 }]);
        let began = Instant::now();
        transaction(&producer, &topic, fault.name());
        assert_eq!(began.elapsed() < Duration::from_millis(3000), soon, "{fault:?}: {:?}", began.elapsed());
        assert_eq!(committed(), before + 1, "{fault:?}");
        assert_eq!(network.rules.counted(0, &format!("EndTxn {}", fault.name())), 1);
        wait_until("a late request is answered", 20, || {
            !matches!(fault, Fault::Late(_))
                || network.rules.counted(0, "EndTxn late and accepted")
                    + network.rules.counted(0, "EndTxn late and refused")
                    == 1
        });
    }
    network.heal();

    // What the late request does: it commits a transaction
    // of which nobody has said that it is complete.
    let before = committed();
    network.rules.set(
        0,
        vec![Rule { api: Api::END_TXN, client: "-test", fault: Fault::Late(6000), one_in: 1, times: 1 }],
    );
    transaction(&producer, &topic, "first");
    assert_eq!(committed(), before + 1, "the client has asked again, and was answered");
    assert_eq!(
        network.rules.counted(0, "EndTxn delivered late"),
        1,
        "the one from before; this one is under way"
    );
    producer.begin_transaction().expect("begun");
    producer.send(BaseRecord::<(), str>::to(&topic).payload("half")).expect("sent");
    producer.flush(Duration::from_secs(10)).expect("delivered");
    // Read first: on a slow machine the request may arrive meanwhile.
    let readable = committed();
    assert!(
        readable == before + 1 || network.rules.counted(0, "EndTxn delivered late") == 2,
        "nobody has committed, and {} messages more can be read",
        readable - before
    );
    wait_until("it arrives", 20, || network.rules.counted(0, "EndTxn delivered late") == 2);
    wait_until("it is answered", 20, || network.rules.counted(0, "EndTxn late and accepted") >= 1);
    wait_until("half a transaction can be read", 10, || committed() == before + 2);

    // A frozen link lets nothing pass, and then all of it.
    network.freeze(Some(0), None, Duration::from_millis(700));
    let began = Instant::now();
    topics::produce(through, &topic, &[Row::page(0, "b", "乙")]);
    assert!(began.elapsed() >= Duration::from_millis(600), "{:?}", began.elapsed());
    network.reset(None, None);
    topics::produce(through, &topic, &[Row::page(0, "c", "丙")]);
    assert_eq!(committed(), before + 4);
}
