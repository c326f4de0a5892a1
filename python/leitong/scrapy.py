"""Leitong as an item pipeline of Scrapy, which drops near-duplicates while a site is crawled.

    ITEM_PIPELINES = {"leitong.scrapy.Deduplicate": 300}
    LEITONG_TABLE = "known-pages"  # optional: a folder where the next crawl finds what this one has seen
    LEITONG_CONFIG = "leitong.toml"  # optional

An item has "text" or "html" (a str or bytes), and best a "url", as the pages of `leitong.Deduplicator` have.
"""

from __future__ import annotations

from itemadapter import ItemAdapter
from scrapy.exceptions import DropItem

from . import Deduplicator, Table

__all__ = ["Deduplicate"]


class Deduplicate:
    """Drops items whose page is a duplicate of an earlier one, and counts each kind of verdict in the statistics."""

    @classmethod
    def from_crawler(cls, crawler):
        return cls(crawler)

    def __init__(self, crawler):
        self.stats = crawler.stats
        settings = crawler.settings
        self.table = Table(settings["LEITONG_TABLE"]) if settings.get("LEITONG_TABLE") else None
        self.deduplicator = Deduplicator(settings.get("LEITONG_CONFIG"), table=self.table)

    def process_item(self, item):
        page = ItemAdapter(item).asdict()
        verdict = self.deduplicator.decide(page)
        self.stats.inc_value(f"leitong/{verdict.kind}")
        if verdict.is_duplicate:
            raise DropItem(f"{verdict.kind}: {verdict.url} repeats {verdict.canonical_url}")
        return item

    def close_spider(self):
        if self.table:
            self.table.save(self.deduplicator)
            self.table.close()
