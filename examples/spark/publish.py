"""Clustering by the worker: writes records of fingerprints from Parquet to its fingerprint log, and its verdicts to Parquet.

usage: publish.py FINGERPRINTS OUT.parquet --brokers HOST:PORT --source NAME [--epoch NUMBER]
                  [--log TOPIC] [--verdicts TOPIC]

NAME identifies this set of records; a later set needs another name or a higher epoch. If it is run again after a crash, or twice at once, it
writes the same records to the same places of NAME, and the worker accepts each place once. It ends when every record has a verdict.
"""

import argparse
import json
import time

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from leitong_steps import VerdictFile, batches, count

import leitong

# After this time without a verdict, no worker seems to be running.
PATIENCE_S = 120


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("fingerprints", metavar="FINGERPRINTS")
    parser.add_argument("out", metavar="OUT.parquet")
    parser.add_argument("--brokers", required=True, metavar="HOST:PORT")
    parser.add_argument("--source", required=True, metavar="NAME")
    parser.add_argument("--epoch", type=int, default=0, metavar="NUMBER")
    parser.add_argument("--log", default="leitong.fingerprints", metavar="TOPIC")
    parser.add_argument("--verdicts", default="leitong.verdicts", metavar="TOPIC")
    return parser.parse_args()


def publish(options):
    """Writes all records to the log."""
    # Idempotence keeps the order of retried records: a record whose predecessor is missing does not count.
    producer = Producer({"bootstrap.servers": options.brokers, "enable.idempotence": True, "linger.ms": 20, "compression.type": "lz4"})
    partitions = len(producer.list_topics(options.log, timeout=30).topics[options.log].partitions)
    if partitions == 0:
        raise SystemExit(f"there is no topic {options.log}; make it with `leitong topics create`")
    source = leitong.LogSource(options.source, epoch=options.epoch, log_partitions=partitions)
    failed = []

    def delivered(error, _):
        if error is not None:
            failed.append(error)

    for batch in batches(options.fingerprints):
        for partition, value in source.place(batch):
            while True:
                try:
                    producer.produce(options.log, value, partition=partition, on_delivery=delivered)
                    break
                except BufferError:
                    producer.poll(0.1)
        producer.poll(0)
        if failed:
            break
    producer.flush()
    if failed:
        raise SystemExit(f"not delivered: {failed[0]}; run it again, which goes on where it matters")


def verdicts(options, total):
    """Yields the verdicts on all records, each once."""
    consumer = Consumer(
        {
            "bootstrap.servers": options.brokers,
            "group.id": "not-used",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
        }
    )
    topic = consumer.list_topics(options.verdicts, timeout=30).topics[options.verdicts]
    # Reads all partitions from their beginning: an earlier run may already have verdicts.
    consumer.assign([TopicPartition(options.verdicts, partition, 0) for partition in topic.partitions])
    seen, left, last = bytearray(total), total, time.monotonic()
    try:
        while left:
            if time.monotonic() - last > PATIENCE_S:
                raise SystemExit(f"no verdict on {left} records for {PATIENCE_S} s; does a worker run? (leitong run)")
            for message in consumer.consume(1000, timeout=1.0):
                if message.error():
                    if message.error().retriable():
                        continue
                    raise KafkaException(message.error())
                verdict = json.loads(message.value())
                source = verdict["source"]
                if (source.get("topic"), source.get("epoch")) != (options.source, options.epoch):
                    continue
                offset = source["offset"]
                if offset >= total or seen[offset]:
                    raise SystemExit(f"{options.source} is the name of other records as well: {message.value().decode()}")
                seen[offset], left, last = 1, left - 1, time.monotonic()
                yield verdict
    finally:
        consumer.close()


def row(verdict):
    is_duplicate = verdict["kind"].endswith("_DUPLICATE") and not verdict["same_url"]
    return verdict["page_id"], verdict["kind"], is_duplicate, verdict["canonical_page_id"], verdict["cluster_id"]


def main():
    options = arguments()
    publish(options)
    with VerdictFile(options.out) as out:
        out.write(row(verdict) for verdict in verdicts(options, count(options.fingerprints)))


main()
