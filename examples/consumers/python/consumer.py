"""Reads verdicts and prints what an indexer does with each page.

usage: consumer.py BROKERS TOPIC GROUP [COUNT]
"""

import json
import sys

from confluent_kafka import Consumer, KafkaException

FORMAT_VERSION = 1


def action(headers, value):
    """Returns what to do with a page, by the headers alone if they are enough."""
    if int(headers["leitong.format.version"]) > FORMAT_VERSION:
        raise SystemExit("this verdict has a newer format: update this program")
    page, kind = headers["leitong.page.id"], headers["leitong.kind"]
    if kind == "UNIQUE" or headers["leitong.same.url"] == "true":
        return f"store {page}"
    verdict = json.loads(value)
    if kind == "UNDECIDABLE":
        return f"leave {page} {verdict['reason']}"
    if kind.endswith("_DUPLICATE"):
        return f"skip {page} {verdict['canonical_page_id']}"
    return None


def main(brokers, topic, group, count=None):
    consumer = Consumer(
        {
            "bootstrap.servers": brokers,
            "group.id": group,
            "isolation.level": "read_committed",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe([topic])
    left = int(count) if count else None
    try:
        while left is None or left > 0:
            message = consumer.poll(1.0)
            if message is None:
                continue
            if message.error():
                if message.error().retriable():
                    continue
                raise KafkaException(message.error())
            headers = {name: value.decode() for name, value in message.headers() or [] if value is not None}
            line = action(headers, message.value())
            if line:
                print(line, flush=True)
            # One commit per message is slow. A consumer that works in batches commits once per batch.
            consumer.commit(message, asynchronous=False)
            if left is not None:
                left -= 1
    except KeyboardInterrupt:
        pass
    finally:
        consumer.close()


if __name__ == "__main__":
    if len(sys.argv) not in (4, 5):
        sys.exit(__doc__.strip())
    main(*sys.argv[1:])
