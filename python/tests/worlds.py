"""Records with made fingerprints: crowds under few keys, chains, series and articles, drawn by a seed.

Real texts would take longer to fingerprint than to cluster, and seldom crowd under one key.
"""

import random

import leitong

# The settings with which records may be of any corpus.
TOML = '[corpus]\nby = "header"\n'
HASH = bytes.fromhex(leitong.Fingerprinter().fingerprint_hash)[::-1]


def record(number, fingerprint, *, text=None, corpus="", url=None):
    """Returns a record (`FingerprintRecord` of `fingerprint.proto`); undecidable without a fingerprint."""
    digest = (number + 1_000_000 if text is None else text).to_bytes(16, "big")
    page_id = f"page-{number}"
    made = b"\x08\x01" + _bytes(3, page_id.encode()) + _bytes(4, (url or page_id).encode())
    made += (_bytes(5, corpus.encode()) if corpus else b"") + b"\x31" + HASH
    if fingerprint is None:
        return made + b"\x60\x01"
    return made + _bytes(10, _bytes(1, digest) + b"\x10\x64") + _bytes(11, _bytes(1, b"simhash") + _bytes(2, fingerprint))


def fingerprint(simhash, values, bands, *, size=3_000, address=(0, 0, 0), passages=(0,) * 10):
    """Returns the bytes of a fingerprint: see `encoding.rs` of the detector simhash."""
    site, name, article = address
    values = bytes(low | high << 4 for low, high in zip(values[::2], values[1::2]))
    address = site.to_bytes(2, "big") + name.to_bytes(6, "big") + article.to_bytes(4, "big")
    keys = b"".join(key.to_bytes(4, "big") for key in (*bands, *passages))
    return simhash.to_bytes(8, "big") + size.to_bytes(2, "big") + values + bytes(36) + address + keys


def world(seed, count=90, first=0):
    """Returns records of documents that repeat, vary, continue and excerpt one another, under few keys; their numbers begin with `first`."""
    draw = random.Random(seed)
    crowd, drift = draw.choice([2, 8, 40]), draw.choice([4, 14, 26])
    corpora = draw.choice([[""], ["", "a", "b"]])
    documents, records = [], []
    for number in range(first, first + count):
        if draw.random() < 0.05:
            records.append(record(number, None))
            continue
        if documents and draw.random() < 0.75:
            simhash, values, bands, passages, _ = draw.choice(documents[-draw.choice([1, 5, 90]) :])
            values, bands, passages = list(values), list(bands), list(passages)
        else:
            simhash, values = draw.getrandbits(64), [draw.randrange(16) for _ in range(64)]
            bands = [draw.randrange(crowd) for _ in range(4)]
            passages = [draw.randrange(crowd) for _ in range(10)]
        for at in draw.sample(range(64), draw.randrange(drift)):
            values[at] = draw.randrange(16)
        for _ in range(draw.choice([0, 3, 9])):
            simhash ^= 1 << draw.randrange(64)
        for keys in (bands, passages):
            for at in draw.sample(range(len(keys)), draw.randrange(len(keys))):
                keys[at] = draw.randrange(crowd)
        known = draw.random() < 0.7
        address = (draw.randrange(1, 4), draw.randrange(1, 9), draw.choice([0, 0, 1, 2])) if known else (0, 0, 0)
        made = fingerprint(simhash, values, bands, size=draw.choice([900, 3_000, 5_000]), address=address, passages=passages)
        text = draw.choice(documents)[4] if documents and draw.random() < 0.1 else number
        documents.append((simhash, values, bands, passages, text))
        url = f"https://s{address[0]}.example/{address[1]}" if known else None
        records.append(record(number, made, text=text, corpus=draw.choice(corpora), url=url))
    return records


def crowd(count, alike, first=0):
    """Returns records of documents that share one key; all are near one another, or none."""
    draw = random.Random(7)
    base, values = draw.getrandbits(64), [draw.randrange(16) for _ in range(64)]
    records = []
    for number in range(first, first + count):
        bands = [5] + [1_000 * number + at + 10 for at in range(3)]
        of_document = values if alike else [draw.randrange(16) for _ in range(64)]
        simhash = base ^ number if alike else draw.getrandbits(64)
        records.append(record(number, fingerprint(simhash, of_document, bands)))
    return records


def chain(count, first=0):
    """Returns records of documents of which each is near its neighbours only, under one key."""
    draw = random.Random(11)
    simhash, values, records = draw.getrandbits(64), [draw.randrange(16) for _ in range(64)], []
    for number in range(first, first + count):
        for at in range(26):
            values[(number * 26 + at) % 64] = draw.randrange(16)
        bands = [5] + [1_000 * number + at + 10 for at in range(3)]
        records.append(record(number, fingerprint(simhash ^ number % 16, values, bands)))
    return records


def _bytes(field, value):
    length, made = len(value), b""
    while length > 127:
        made += bytes([length & 127 | 128])
        length >>= 7
    return bytes([field << 3 | 2]) + made + bytes([length]) + value


def comparable(verdict):
    """Returns a verdict without what differs from run to run: its time, and the generation of the log."""
    verdict = dict(verdict)
    del verdict["decided_at"]
    verdict["cluster_id"] = verdict["cluster_id"] and verdict["cluster_id"][-16:]
    return verdict
