"""A spider that follows all links of one host and writes what it fetches to Kafka, for Leitong.

usage: scrapy runspider crawl.py -a start=URL -s KAFKA_BROKERS=HOST:PORT -s KAFKA_TOPIC=TOPIC
"""

import base64
import datetime
import json
import urllib.parse

import scrapy
from confluent_kafka import Producer
from scrapy.linkextractors import LinkExtractor


def page(response):
    """Returns a response as a message of the page topic."""
    return {
        "url": response.url,
        "status": response.status,
        "fetched_at": datetime.datetime.now(datetime.timezone.utc).isoformat(),
        "content_type": response.headers.get("Content-Type", b"").decode("latin-1"),
        # The bytes as fetched: Leitong decodes them.
        "html_b64": base64.b64encode(response.body).decode("ascii"),
    }


class ToKafka:
    """Item pipeline: writes each item to a topic, with its url as the key."""

    @classmethod
    def from_crawler(cls, crawler):
        return cls(crawler)

    def __init__(self, crawler):
        self.stats = crawler.stats
        self.topic = crawler.settings["KAFKA_TOPIC"]
        settings = {
            "bootstrap.servers": crawler.settings["KAFKA_BROKERS"],
            # A broken connection neither loses nor duplicates a page.
            "enable.idempotence": True,
            "compression.type": "lz4",
            "message.max.bytes": 12_000_000,
        }
        self.producer = Producer(settings)

    def process_item(self, item):
        value = json.dumps(item).encode()
        while True:
            try:
                self.producer.produce(self.topic, value, key=item["url"].encode(), on_delivery=self.delivered)
                break
            except BufferError:
                # The broker is slower than the crawl.
                self.producer.poll(0.5)
        self.producer.poll(0)
        return item

    def delivered(self, error, message):
        if error is None:
            self.stats.inc_value("kafka/delivered")
        else:
            self.stats.inc_value("kafka/failed")
            print(f"{message.key().decode()} was not written: {error}")

    def close_spider(self):
        self.producer.flush()


class Site(scrapy.Spider):
    name = "site"
    custom_settings = {
        # Responses with other statuses than 200 are pages too; their verdict is UNDECIDABLE.
        "HTTPERROR_ALLOW_ALL": True,
        "ITEM_PIPELINES": {ToKafka: 100},
        "LOG_LEVEL": "INFO",
    }

    def __init__(self, start=None, **arguments):
        super().__init__(**arguments)
        if start is None:
            raise ValueError("-a start=URL says where to begin")
        self.start_urls = [start]
        self.links = LinkExtractor(allow_domains=[urllib.parse.urlsplit(start).netloc])

    def parse(self, response):
        yield page(response)
        if isinstance(response, scrapy.http.TextResponse):
            for link in self.links.extract_links(response):
                yield response.follow(link, self.parse)
