#!/usr/bin/env python3
"""Makes realistic near-duplicates of the labelled pages, and scores verdicts on them.

usage: quality_sets.py make DATA FOLDER [--part development|held-out] [--texts N] [--languages FILE] [--leitong PROGRAM]
       quality_sets.py addresses none|kept|own PAGES
       quality_sets.py score [--kinds FILE] PAGES VERDICTS…
       quality_sets.py relations PAGES VERDICTS
       quality_sets.py series FILE [--pages N]
       quality_sets.py largest VERDICTS
       quality_sets.py summary < ROWS

`make` writes one file of JSON lines per set into FOLDER. Each line is a page for `leitong dedup`, with the gold label
(`cluster`, `label`) and the `kind` of change. A copy comes at a random place after its original. Every random choice
follows from the seed of the set and the part, so a file can be reproduced to the byte.

The texts are halved by a hash of their id: choices based on measurements used only the part `development`. The published figures are
those of `held-out`, whose changed copies had no part in any choice. (The unchanged labelled pages had one.)

`series` writes a stream of pages of ten templates, in which only numbers and a few names differ: no two are copies. `largest` prints the
sizes of the largest clusters of some verdicts.

`addresses` prints labelled pages as they are, without `url`, or with each page on a host of its own. `score` prints a row of a table:
precision, recall, F1 and false duplicates of the first verdicts, and F1 with precision of the others. `--kinds` appends to a file how
many copies of each kind were found, and how the pages that were wrongly called duplicates differ from their canonical page.

`summary` writes a table of scores with the means over its sets and the weakest of them before it; sets without a copy have no F1.

sets:
  reprints    Chinese articles as other sites reprint them: lead dropped, credit lines, advertisements, truncated, first page only
  rewritten   Chinese articles with words replaced, and sentences deleted, inserted and moved
  english     English pages with words replaced, and sentences deleted, inserted and moved, and cut
  languages   the same with texts of other languages (JSON lines with `id`, `lang`, `text`), if a file is given
  short       pieces of 80 to 300 letters, Chinese and English, lightly edited; and hard negatives: the same sentences with
              other numbers, notices of one template with other names
  shells      Chinese articles put into the pages of other sites
  perturbed   Chinese and English texts, and copies of them by `leitong-lab perturb`
  relations   the same with excerpts of three tenths and of a half, and pages of two and three texts; `relations` prints which
              of these are related to a source page by their verdict, and how
"""
import argparse
import difflib
import gzip
import hashlib
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile

SEED = "leitong quality sets 1"
PARTS = ("development", "held-out")
# The first verdicts of `score` that are counted by kind: without addresses, with them, and on hosts of their own.
COUNTED_BY_KIND = 3


def lines(path):
    opener = gzip.open if str(path).endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8") as handle:
        for line in handle:
            if line.strip():
                yield json.loads(line)


def in_part(page_id, part):
    half = hashlib.sha256(page_id.encode()).digest()[0] % 2
    return PARTS[half] == part


def letters(text):
    return sum(not c.isspace() for c in text)


# --- texts and their sentences -----------------------------------------------------------------------------------


def is_chinese(text):
    return sum("\u4e00" <= c <= "\u9fff" for c in text[:2000]) * 5 > len(text[:2000])


def cut_sentences(paragraph):
    return [s for s in re.findall(r".*?(?:[。！？!?]+[”」』\"]?|\.(?=\s|$)|$)\s*", paragraph, re.S) if s.strip()]


def sentences_of(text):
    """Returns all sentences as [paragraph number, sentence]."""
    return [[n, s] for n, p in enumerate(p for p in text.split("\n") if p.strip()) for s in cut_sentences(p)]


def joined(sentences):
    paragraphs = {}
    for number, sentence in sentences:
        paragraphs.setdefault(number, []).append(sentence)
    return "\n".join("".join(paragraphs[number]) for number in sorted(paragraphs))


class Texts:
    """The texts of a set, and a pool of sentences and words from other texts."""

    def __init__(self, texts, rng):
        self.rng = rng
        others = rng.sample(texts, min(60, len(texts) // 3))
        taken = {page_id for page_id, _ in others}
        self.texts = [pair for pair in texts if pair[0] not in taken]
        self.donors = [s for _, text in others for _, s in sentences_of(text) if 10 <= letters(s) <= 300]
        self.words = [w for _, text in others for w in re.findall(r"[^\W\d_]{3,}", text) if not is_chinese(w)]
        self.bigrams = [w for _, text in others for w in re.findall(r"[\u4e00-\u9fff]{2}", text)]

    # Each change returns a new text; `share` is the share of its letters.

    def deleted(self, text, share):
        sentences = sentences_of(text)
        todo = letters(text) * share
        while todo > 0 and len(sentences) > 1:
            at = self.rng.randrange(len(sentences))
            size = letters(sentences[at][1])
            if size > 2 * todo + 20:
                if self.rng.random() < 0.2:
                    break
                continue
            todo -= size
            del sentences[at]
        return joined(sentences)

    def inserted(self, text, share):
        sentences = sentences_of(text)
        todo = letters(text) * share
        while todo > 0:
            donor = self.rng.choice(self.donors)
            at = self.rng.randrange(len(sentences))
            sentences.insert(at, [sentences[at][0], donor])
            todo -= letters(donor)
        return joined(sentences)

    def moved(self, text, share):
        sentences = sentences_of(text)
        movable = [n for n in range(len(sentences)) if self.rng.random() < share]
        order = [sentences[n][1] for n in movable]
        self.rng.shuffle(order)
        for n, sentence in zip(movable, order):
            sentences[n][1] = sentence
        return joined(sentences)

    def words_changed(self, text, share):
        if is_chinese(text):
            # One letter in two begins a word that may be replaced.
            return re.sub(
                r"[\u4e00-\u9fff]{2}",
                lambda word: self.rng.choice(self.bigrams) if self.rng.random() < share else word[0],
                text,
            )
        return re.sub(
            r"[^\W\d_]+",
            lambda word: self.rng.choice(self.words) if self.rng.random() < share else word[0],
            text,
        )

    def cut(self, text, share):
        """Returns the beginning, up to the end of a sentence."""
        sentences, kept, size = sentences_of(text), [], 0
        for sentence in sentences:
            kept.append(sentence)
            size += letters(sentence[1])
            if size >= letters(text) * share:
                break
        return joined(kept)

    def lead_dropped(self, text):
        paragraphs = [p for p in text.split("\n") if p.strip()]
        size = 0
        while len(paragraphs) > 2 and size < letters(text) * 0.08:
            size += letters(paragraphs.pop(0))
        return "\n".join(paragraphs)

    def credits(self, text):
        r = self.rng
        site = r.choice(["新华网", "网易科技", "开源中国", "搜狐", "每日经济", "红黑联盟", "中文业界资讯站"])
        head = f"{r.choice(self.donors)[:24]}\n2026-0{r.randint(1, 9)}-{r.randint(10, 28)} 来源：{site} 作者：小{r.randint(1, 9)} 阅读({r.randint(10, 9999)})\n"
        foot = r.choice(
            [
                f"\n（责任编辑：王{r.randint(1, 99)}）\n本文转载自{site}，版权归原作者所有，如有侵权请联系我们删除。",
                f"\n原文链接：http://www.example.com/{r.randint(1, 99999)}.html\n转载请注明出处：{site}\n标签：技术 新闻 编程",
                f"\n关注{site}公众号，获取更多精彩内容。\n分享到：微信 微博 QQ空间\n上一篇：{r.choice(self.donors)[:20]}\n下一篇：{r.choice(self.donors)[:20]}",
            ]
        )
        return head + text + foot

    def advertised(self, text, count):
        paragraphs = [p for p in text.split("\n") if p.strip()]
        for _ in range(count):
            r = self.rng
            advertisement = r.choice(
                [
                    f"【广告】限时优惠，{r.choice(self.donors)[:18]}，仅需{r.randint(9, 999)}元，点击购买！",
                    f"推荐阅读：{r.choice(self.donors)[:26]}",
                    f"扫描二维码，加入读者群 {r.randint(100000, 999999)}，与作者一起讨论。",
                    f"相关文章：{r.choice(self.donors)[:20]}；{r.choice(self.donors)[:20]}",
                ]
            )
            paragraphs.insert(r.randint(1, len(paragraphs)), advertisement)
        return "\n".join(paragraphs)


def edited_kinds(t):
    return {
        "deleted=0.15": lambda x: t.deleted(x, 0.15),
        "deleted=0.3": lambda x: t.deleted(x, 0.3),
        "words=0.03": lambda x: t.words_changed(x, 0.03),
        "words=0.08": lambda x: t.words_changed(x, 0.08),
        "inserted=0.2": lambda x: t.inserted(x, 0.2),
        "inserted=0.4": lambda x: t.inserted(x, 0.4),
        "moved=0.5": lambda x: t.moved(x, 0.5),
        "cut=0.8": lambda x: t.cut(x, 0.8),
        "cut=0.7": lambda x: t.cut(x, 0.7),
        "mixed": lambda x: t.words_changed(t.deleted(t.inserted(x, 0.1), 0.1), 0.03),
    }


def reprint_kinds(t):
    return {
        "lead-dropped": t.lead_dropped,
        "credits": t.credits,
        "advertised": lambda x: t.advertised(x, 5),
        "cut=0.7": lambda x: t.cut(x, 0.7),
        "page-1=0.6": lambda x: t.cut(x, 0.6),
        "cut-and-credits": lambda x: t.credits(t.cut(x, 0.75)),
        "all": lambda x: t.credits(t.advertised(t.lead_dropped(x), 4)),
    }


def rewritten_kinds(t):
    return {
        "words=0.05": lambda x: t.words_changed(x, 0.05),
        "words=0.12": lambda x: t.words_changed(x, 0.12),
        "deleted=0.3": lambda x: t.deleted(x, 0.3),
        "inserted=0.3": lambda x: t.inserted(x, 0.3),
        "moved=1": lambda x: t.moved(x, 1.0),
        "mixed": lambda x: t.moved(t.words_changed(t.deleted(t.inserted(x, 0.12), 0.12), 0.04), 0.3),
        "much": lambda x: t.moved(t.words_changed(t.deleted(t.inserted(x, 0.2), 0.2), 0.06), 0.5),
    }


# --- sets --------------------------------------------------------------------------------------------------------


def page(page_id, text, cluster, label, kind, length):
    # Copies are on other sites; the host does not reveal what they are.
    host = int(hashlib.sha256(page_id.encode()).hexdigest(), 16) % 97
    url = f"https://h{host}.example/{page_id}"
    return dict(id=page_id, url=url, text=text, cluster=cluster, label=label, kind=kind, length=length)


def stream(rng, originals, copies):
    """Returns originals in random order, each copy anywhere after its original."""
    placed = {}
    for p in originals:
        placed[p["cluster"]] = rng.random()
    keyed = [(placed[p["cluster"]], p) for p in originals]
    keyed += [(rng.uniform(placed[p["cluster"]], 1.0), p) for p in copies]
    keyed.sort(key=lambda pair: (pair[0], pair[1]["label"] == "dup"))
    return [p for _, p in keyed]


def unlike(texts):
    """Returns the texts that share less than a fifth of their passages of 30 letters with earlier texts."""
    seen, out = set(), []
    for page_id, text in texts:
        run = "".join(text.split())
        passages = {run[at : at + 30] for at in range(len(run) - 29)}
        sampled = {p for p in passages if hashlib.sha256(p.encode()).digest()[0] < 64}
        if len(sampled & seen) * 5 <= len(sampled):
            out.append((page_id, text))
        seen |= sampled
    return out


def length_class(text):
    for limit in (300, 600, 1000, 2000):
        if letters(text) < limit:
            return f"<{limit}"
    return "2000+"


def changed_set(texts, kinds_of, rng, count):
    t = Texts(texts, rng)
    kinds = list(kinds_of(t).items())
    drawn = t.texts[:]
    rng.shuffle(drawn)
    originals, copies = [], []
    for n, (page_id, text) in enumerate(drawn[: count + count // 3]):
        length = length_class(text)
        originals.append(page(page_id, text, page_id, "new", "original", length))
        if n < count:
            kind, change = kinds[n % len(kinds)]
            copies.append(page(f"{page_id}~{kind}", change(text), page_id, "dup", kind, length))
    return stream(rng, originals, copies)


def piece(text, rng):
    """Returns consecutive sentences of 80 to 300 letters, or None."""
    sentences = [s for _, s in sentences_of(text)]
    if len(sentences) < 4:
        return None
    start, wanted, out = rng.randrange(len(sentences) - 2), rng.randint(80, 260), ""
    for s in sentences[start:]:
        if letters(out) >= wanted:
            break
        out += s if is_chinese(out + s) else s.rstrip() + " "
    return out if 80 <= letters(out) <= 300 else None


def other_numbers(text, rng):
    """Replaces each number by another one with as many digits."""

    def another(found):
        digits = found[0]
        while True:
            new = "".join(rng.choice("0123456789") for _ in digits)
            if new != digits:
                return new

    return re.sub(r"\d+", another, text)


NOTICES = [
    "{city}今天{sky}，最高气温{n}℃，最低气温{n}℃，{wind}风{d}级，相对湿度{n}%。明天{sky}，气温{d}到{n}℃。空气质量指数{n}，PM2.5浓度{n}微克每立方米。未来三天气温变化较大，请注意适时增减衣物，外出时做好防护。",
    "截至今日收盘，上证指数报{big}点，涨跌幅{d}.{n}%，成交额{big}亿元；深证成指报{big}点，涨跌幅{d}.{n}%，成交额{big}亿元；创业板指报{big}点。两市共有{big}只股票上涨，{big}只股票下跌，涨停{n}只，跌停{d}只。北向资金全天净流入{n}.{n}亿元。",
    "{city}市农产品批发市场今日价格：大白菜每公斤{d}.{n}元，黄瓜每公斤{d}.{n}元，西红柿每公斤{d}.{n}元，土豆每公斤{d}.{n}元，猪肉每公斤{n}.{n}元，鸡蛋每公斤{d}.{n}元，草鱼每公斤{n}.{n}元。与昨日相比，{d}个品种上涨，{d}个品种下跌，其余品种价格平稳。",
    "双色球第{big}期开奖公告：红球号码{n}、{n}、{n}、{n}、{n}、{n}，蓝球号码{d}。本期一等奖开出{d}注，每注奖金{big}万元；二等奖开出{n}注，每注奖金{n}万元。全国销量{big}万元，奖池累计{big}万元。下期将于后天晚间开奖，敬请关注。",
    "The {team} beat the visitors {n}-{n} on Saturday. {name} scored {d} goals and {n} points before a crowd of {big}. The home side is now {n}-{n} on the season, while the visitors fell to {n}-{n}. The two teams meet again on the {n}th, with tickets from ${n}.",
    "Weather for {town}: high {n}, low {n}, wind {d} mph, humidity {n} percent. Chance of rain {n} percent. Sunrise at {d}:{n}, sunset at {d}:{n}. Tomorrow: high {n}, low {n}, wind {n} mph. Pollen count {big}. UV index {d}. Barometric pressure {n}.{n} inches and rising.",
]
# Only for `series`.
FURTHER_NOTICES = [
    "{city}市交通管理局通报：本周共查处酒后驾驶{n}起，超速行驶{big}起，闯红灯{big}起，违法停车{big}起。与上周相比，交通事故减少{d}起，受伤{n}人，直接经济损失{n}万元。市民可拨打热线{big}举报违法行为。",
    "{city}水文站今日早八时水位{n}.{n}米，流量每秒{big}立方米，较昨日上涨0.{n}米。上游水库蓄水量{big}万立方米，出库流量每秒{big}立方米。警戒水位为{n}.{d}米，目前距警戒水位{d}.{n}米，请沿岸居民注意防范。",
    "Quarterly report: revenue of ${big} million, up {n} percent from a year ago, and net income of ${n} million, or ${d}.{n} a share. Analysts had expected ${d}.{n} a share. The company opened {n} stores, closed {d}, and now employs {big} people. It expects revenue of ${big} million next quarter.",
    "Flight {big} from {town} departs at {d}:{n} from gate {n} and arrives at {d}:{n}, terminal {d}. Distance {big} miles, flying time {d} hours {n} minutes. Fares begin at ${big}. Seats left: {n}. Baggage allowance {n} pounds, excess baggage ${d} a pound. Check-in closes {n} minutes before departure.",
]
NAMES = dict(
    city=["北京", "上海", "广州", "成都", "武汉", "西安", "沈阳", "昆明"],
    sky=["晴", "多云", "小雨", "阴转晴"],
    wind=["东北", "西南", "东南", "西北"],
    team=["Tigers", "Bears", "Eagles", "Wolves"],
    name=["Miller", "Johnson", "Okafor", "Petrov"],
    town=["Springfield", "Ashland", "Dover", "Salem"],
)


def notice(template, rng, names):
    def fill(field):
        if field[1] == "d":
            return str(rng.randint(1, 9))
        if field[1] == "n":
            return str(rng.randint(10, 99))
        if field[1] == "big":
            return str(rng.randint(100, 9999))
        return names[field[1]]

    return re.sub(r"\{(\w+)\}", fill, template)


def short_set(chinese, english, rng, count):
    texts = chinese + english
    rng.shuffle(texts)
    t_zh, t_en = Texts(chinese, rng), Texts(english, rng)
    originals, copies, negatives = [], [], []
    n, seen = 0, set()
    for page_id, text in texts:
        if n >= 2 * count:
            break
        short = piece(text, rng)
        if short is None:
            continue
        t = t_zh if is_chinese(short) else t_en
        language = "zh" if is_chinese(short) else "en"
        n += 1
        passages = {run[at : at + 20] for run in ["".join(short.split())] for at in range(len(run) - 19)}
        if passages & seen:
            continue  # a footer or a licence under several texts
        seen |= passages
        originals.append(page(page_id, short, page_id, "new", "original", language))
        if n % 2 == 0:
            numbers = re.findall(r"\d+", short)
            if sum(map(len, numbers)) >= 6 and len(numbers) >= 3:
                new = f"{page_id}~numbers"
                negatives.append((page_id, page(new, other_numbers(short, rng), new, "new", "other-numbers", language)))
            continue
        kinds = {
            "words=0.03": lambda x: t.words_changed(x, 0.03),
            "words=0.06": lambda x: t.words_changed(x, 0.06),
            "credited": lambda x: (f"来源：新闻网 {x}（编辑：小李）" if language == "zh" else f"From our correspondent: {x} (Read more)"),
            "cut=0.85": lambda x: x[: int(len(x) * 0.85)],
            "one-sentence-less": lambda x: t.deleted(x, 0.15),
            "moved": lambda x: t.moved(x, 1.0),
            "punctuation": lambda x: re.sub(r"[，,；;]", " ", x),
        }
        names = list(kinds)
        kind = names[(n // 2) % len(names)]
        copies.append(page(f"{page_id}~{kind}", kinds[kind](short), page_id, "dup", kind, language))
    # Notices: for each template, some with one city and other numbers, some with other cities too. No two are copies.
    for number, template in enumerate(NOTICES):
        names = {field: rng.choice(values) for field, values in NAMES.items()}
        for k in range(count // 12):
            if k % 2:
                names = {field: rng.choice(values) for field, values in NAMES.items()}
            new = f"notice-{number}-{k}"
            text = notice(template, rng, names)
            originals.append(page(new, text, new, "new", "notice", "zh" if is_chinese(text) else "en"))
    where = {p["cluster"] for p in originals}
    keyed = stream(rng, originals, copies)
    for of, p in negatives:
        assert of in where
        first = next(at for at, q in enumerate(keyed) if q["id"] == of)
        keyed.insert(rng.randint(first + 1, len(keyed)), p)
    return keyed


# Excerpts and merged pages, which are usually not duplicates; and changes of `leitong-lab perturb`
# that nothing above makes.
RELATED = ["excerpt=0.3", "excerpt=0.5", "merged=2", "merged=3"]
PERTURBED = ["added=0.2", "deleted=0.2", "rewritten=0.1", "sentences-moved=1", "paragraphs-moved=0.5", "boilerplate=4", "headline", "width", "traditional"]


def perturbed_set(texts, rng, count, changes, label, leitong):
    """Returns originals and their copies by `leitong-lab perturb`, with a separate seed. The texts that it takes sentences from are left out."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "originals.jsonl"
        with open(file, "w", encoding="utf-8") as out:
            for page_id, text in texts:
                out.write(json.dumps(dict(id=page_id, url=f"https://original.example/{page_id}", text=text), ensure_ascii=False) + "\n")
        arguments = [argument for change in changes for argument in ("--change", change)]
        seed = str(rng.randrange(1 << 32))
        made = subprocess.run([leitong + "-lab", "perturb", *arguments, "--texts", str(count), "--seed", seed, str(file)], check=True, capture_output=True, text=True)
    copies, lengths = [], {page_id: length_class(text) for page_id, text in texts}
    for line in map(json.loads, made.stdout.rstrip("\n").split("\n")):
        copies.append(page(line["id"], line["text"], line["of"], label, line["change"], lengths[line["of"]]))
    of = {p["cluster"] for p in copies}
    originals = [page(page_id, text, page_id, "new", "original", lengths[page_id]) for page_id, text in texts if page_id in of]
    return stream(rng, originals, copies)


def shell(html, gold):
    """Returns a page without its main text: the parts before and after the paragraphs of the text, or None."""
    golden = [line.strip() for line in gold.split("\n") if letters(line) >= 15]
    if len(golden) < 3:
        return None
    starts = [html.find(line[:12]) for line in golden]
    if starts[0] < 0 or starts[-1] < 0 or starts[-1] <= starts[0]:
        return None
    begin, end = html.rfind("<p", 0, starts[0]), html.find("</p>", starts[-1])
    if begin < 0 or end < 0 or starts[0] - begin > 400:
        return None
    inner = html[begin : end + 4]
    for tag in ("div", "section", "article", "td", "ul"):
        if len(re.findall(f"<{tag}[ >]", inner)) != len(re.findall(f"</{tag}>", inner)):
            return None
    before, after = html[:begin], html[end + 4 :]
    # Descriptions, linked data and scripts that repeat the article's text belong to it, not to the shell.
    if any(line[:12] in before or line[:12] in after for line in golden):
        return None
    return before, after


def shells_set(texts, shells, rng, count):
    drawn = texts[:]
    rng.shuffle(drawn)
    originals, copies = [], []

    def in_shell(text):
        before, after = rng.choice(shells)
        escape = lambda s: s.replace("&", "&amp;").replace("<", "&lt;")
        return before + "".join(f"<p>{escape(p)}</p>\n" for p in text.split("\n") if p.strip()) + after

    for n, (page_id, text) in enumerate(drawn[: count + count // 3]):
        for kind, pages in (("original", originals), ("in-shell", copies)):
            if kind == "in-shell" and n >= count:
                continue
            p = page(page_id if kind == "original" else f"{page_id}~shell", "", page_id, "new" if kind == "original" else "dup", kind, length_class(text))
            del p["text"]
            p["html"] = in_shell(text)
            pages.append(p)
    return stream(rng, originals, copies)


# --- commands ----------------------------------------------------------------------------------------------------


def founders(data, name, part, least, most=20000):
    seen, out = set(), []
    for p in lines(data / f"{name}.jsonl.gz"):
        cluster = p.get("cluster", p["id"])
        text = p.get("text") or p.get("gold_text") or ""
        if cluster in seen or not in_part(cluster, part):
            continue
        seen.add(cluster)
        if least <= letters(text) <= most:
            out.append((p["id"], text))
    return out


def make(arguments):
    data, folder, part, count = arguments.data, arguments.folder, arguments.part, arguments.texts
    folder.mkdir(parents=True, exist_ok=True)
    rng = lambda name: random.Random(f"{SEED} {part} {name}")
    lctt, xitu = founders(data, "neardup_zh_lctt", part, 300), founders(data, "neardup_zh_xitu", part, 300)
    fudan = founders(data, "neardup_zh_fudan", part, 300)
    pages = founders(data, "extract_en_wcxb", part, 400) + founders(data, "extract_en_articles", part, 400)
    # A few gold texts occur twice.
    english = list({text[:200]: (page_id, text) for page_id, text in pages}.values())
    sets = {
        "reprints": lambda r: changed_set(r.sample(lctt, min(len(lctt), count)) + r.sample(fudan, min(len(fudan), count)), reprint_kinds, r, count),
        "rewritten": lambda r: changed_set(r.sample(lctt, min(len(lctt), count)) + r.sample(xitu, min(len(xitu), count)), rewritten_kinds, r, count),
        "english": lambda r: changed_set(english, edited_kinds, r, min(count, len(english) * 2 // 3 * 3 // 4)),
        "short": lambda r: short_set(lctt[:2000] + fudan[:1500], english[:], r, count),
    }
    shells = [s for name in ("extract_zh_articles", "pages_zh_gne") for p in lines(data / f"{name}.jsonl.gz") if (s := shell(p["html"], p.get("gold_text", "")))]
    sets["shells"] = lambda r: shells_set(r.sample(lctt, min(len(lctt), count)), shells, r, count // 2)
    if arguments.languages:
        texts = [(p["id"], p["text"]) for p in lines(arguments.languages) if in_part(p["id"], part)]
        by_language = {}
        for page_id, text in texts:
            by_language.setdefault(page_id.split("/")[0], []).append((page_id, text))
        by_language = {language: unlike(texts) for language, texts in by_language.items()}
        sets["languages"] = lambda r: [p for language in sorted(by_language) for p in changed_set(by_language[language], edited_kinds, r, len(by_language[language]) // 2)]
    both = unlike(lctt + english)
    leitong = arguments.leitong
    sets["perturbed"] = lambda r: perturbed_set(both, r, count, PERTURBED, "dup", leitong)
    # Not scored as duplicates or non-duplicates.
    sets["relations"] = lambda r: perturbed_set(both, r, count, RELATED, "ambiguous", leitong)
    for name, build in sets.items():
        with open(folder / f"{name}.jsonl", "w", encoding="utf-8") as out:
            for p in build(rng(name)):
                out.write(json.dumps(p, ensure_ascii=False) + "\n")


RELATIONS = ["SAME", "EXCERPT", "EXTENDS", "OVERLAPS", "ALIKE"]


def relations(arguments):
    """Prints lines of a table: for each kind, how many pages are related to one of their source pages, and how."""
    verdicts = {v["page_id"]: v for v in lines(arguments.verdicts)}
    cluster, texts, rows = {}, {}, {}
    for p in lines(arguments.pages):
        cluster[p["id"]], texts[p["id"]] = p["cluster"], "".join(p["text"].split())
        v = verdicts[p["id"]]
        duplicate = v["kind"] in ("EXACT_DUPLICATE", "NEAR_DUPLICATE")
        other = v["canonical_page_id"] if duplicate else v["related_page_id"]
        row = rows.setdefault(p["kind"], dict.fromkeys(["pages", "duplicates", "wrong", *RELATIONS], 0))
        row["pages"] += 1
        row["duplicates"] += duplicate
        # The other text of a merged page may be in the set as well, and in several copies.
        common = lambda: any(texts[other][at : at + 40] in texts[p["id"]] for at in range(0, max(1, len(texts[other]) - 40), 20))
        right = other is not None and (cluster[other] == p["cluster"] or common())
        row["wrong"] += other is not None and not right
        if right:
            row[v["relation"]] += 1
    for kind, row in sorted(rows.items()):
        print(f"| {kind} | {row['pages']} | " + " | ".join(str(row[relation]) for relation in RELATIONS) + f" | {row['wrong']} | {row['duplicates']} |")


def series(arguments):
    rng = random.Random(f"{SEED} series")
    templates = NOTICES + FURTHER_NOTICES
    with open(arguments.file, "w", encoding="utf-8") as out:
        for n in range(arguments.pages):
            names = {field: rng.choice(values) for field, values in NAMES.items()}
            text = notice(templates[n % len(templates)], rng, names)
            out.write(json.dumps(page(f"series-{n}", text, f"series-{n}", "new", "notice", ""), ensure_ascii=False) + "\n")


def largest(arguments):
    sizes = {}
    for v in lines(arguments.verdicts):
        canonical = v.get("canonical_page_id") or v["page_id"]
        sizes[canonical] = sizes.get(canonical, 0) + 1
    pages, top = sum(sizes.values()), sorted(sizes.values(), reverse=True)[:5]
    print(f"Pages: {pages}; clusters: {len(sizes)}; pages of the largest: {', '.join(map(str, top))}")


def addresses(arguments):
    for number, p in enumerate(lines(arguments.pages)):
        if arguments.which != "kept":
            p.pop("url", None)
        if arguments.which == "own":
            p["url"] = f"http://h{number}.example/"
        print(json.dumps(p, ensure_ascii=False))


def summary(_):
    rows = [line.rstrip("\n") for line in sys.stdin]
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows[2:]]
    scored = [c for c in cells if float(c[3])]
    without = ", ".join(c[0] for c in cells if not float(c[3]))
    mean = lambda column: sum(float(c[column].split()[0]) for c in scored) / len(scored)
    weakest = min(scored, key=lambda c: float(c[3]))
    print(f"Mean of {len(scored)} sets without addresses: F1 {mean(3):.3f}, precision {mean(1):.3f}. F1 with addresses: {mean(5):.3f};")
    print(f"with each page on a host of its own: {mean(6):.3f}; MinHash, J ≥ .5: {mean(7):.3f}, J ≥ .8: {mean(8):.3f}.")
    print(f"Weakest without addresses: {weakest[0]}, {weakest[3]}." + (f"\n{without} has no copies, so it has no F1." if without else ""))
    print()
    print("\n".join(rows))


def difference(page, canonical):
    """Returns how two pages differ of which one was wrongly called a duplicate of the other."""
    text = lambda p: p.get("text") or re.sub(r"<(script|style).*?</\1>|<[^>]*>", " ", p.get("html", ""), flags=re.S)
    # A word, a number with its points, or a Chinese letter; long texts are judged by their beginnings.
    a, b = (re.findall(r"\d[\d.,:/-]*|[\u3040-\u9fff]|[^\W\d]+", text(p))[:1500] for p in (page, canonical))
    blocks = [block for block in difflib.SequenceMatcher(None, a, b, autojunk=False).get_opcodes() if block[0] != "equal"]
    changed = [(a[i:j], b[k:l]) for _, i, j, k, l in blocks]
    apart = [sum(len(pair[side]) for pair in changed) for side in (0, 1)]
    if not changed:
        return "same words"
    if all(word[0].isdigit() for pair in changed for words in pair for word in words):
        return "numbers alone"
    if min(apart) * 10 < min(len(a), len(b)) and max(apart) > 4 * min(apart):
        return "one contains the other"
    if max(apart) * 20 < max(len(a), len(b)):
        return "a twentieth of the words"
    return "a fifth of the words" if max(apart) * 5 < max(len(a), len(b)) else "more"


def score(arguments):
    """Prints one row of a table."""
    pages = [p for p in lines(arguments.pages)]
    by_id = {p["id"]: p for p in pages}
    scored = [p for p in pages if p["label"] != "ambiguous"]
    copies = sum(p["label"] == "dup" for p in scored)
    kinds, cells = {}, []
    for at, file in enumerate(arguments.verdicts):
        verdicts = {v["page_id"]: v for v in lines(file)}
        right = wrong = 0
        for p in scored:
            v = verdicts[p["id"]]
            canonical = by_id.get(v.get("canonical_page_id"), {})
            found = v["kind"] in ("EXACT_DUPLICATE", "NEAR_DUPLICATE")
            ok = found and canonical.get("cluster") == p["cluster"]
            is_copy = p["label"] == "dup"
            right, wrong = right + (ok and is_copy), wrong + (found and not ok)
            if not arguments.kinds or at >= COUNTED_BY_KIND:
                continue
            for by in (p.get("kind"), p.get("length"), found and not ok and "differ: " + difference(p, canonical)):
                if by:
                    row = kinds.setdefault(by, [0, [0] * COUNTED_BY_KIND, [0] * COUNTED_BY_KIND])
                    row[0] += is_copy and at == 0 and not by.startswith("differ: ")
                    row[1][at] += is_copy and ok
                    row[2][at] += found and not ok
        precision = right / (right + wrong) if right + wrong else 1.0
        recall = right / copies if copies else 1.0
        f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
        if at == 0:
            cells += [f"{precision:.3f}", f"{recall:.3f}", f"{f1:.3f}", f"{wrong} of {len(scored)} ({100 * wrong / len(scored):.1f} %)"]
        else:
            cells.append(f"{f1:.3f} ({precision:.3f})")
    name = pathlib.Path(arguments.pages).name.split(".")[0]
    print(f"| `{name}` | " + " | ".join(cells) + " |")
    if arguments.kinds:
        with open(arguments.kinds, "a", encoding="utf-8") as out:
            for kind, (of, found, false) in sorted(kinds.items()):
                shown = lambda counts: " / ".join(map(str, counts))
                out.write(f"| {name}, {kind} | {shown(found) if of else ''} | {of or ''} | {shown(false)} |\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    p = commands.add_parser("make")
    p.add_argument("data", type=pathlib.Path)
    p.add_argument("folder", type=pathlib.Path)
    p.add_argument("--part", choices=PARTS, default="held-out")
    p.add_argument("--texts", type=int, default=700)
    p.add_argument("--languages", type=pathlib.Path)
    p.add_argument("--leitong", default="target/release/leitong")
    p.set_defaults(run=make)
    p = commands.add_parser("summary")
    p.set_defaults(run=summary)
    p = commands.add_parser("addresses")
    p.add_argument("which", choices=["none", "kept", "own"])
    p.add_argument("pages")
    p.set_defaults(run=addresses)
    p = commands.add_parser("score")
    p.add_argument("pages")
    p.add_argument("verdicts", nargs="+")
    p.add_argument("--kinds", type=pathlib.Path)
    p.set_defaults(run=score)
    p = commands.add_parser("relations")
    p.add_argument("pages")
    p.add_argument("verdicts")
    p.set_defaults(run=relations)
    p = commands.add_parser("series")
    p.add_argument("file")
    p.add_argument("--pages", type=int, default=100_000)
    p.set_defaults(run=series)
    p = commands.add_parser("largest")
    p.add_argument("verdicts")
    p.set_defaults(run=largest)
    arguments = parser.parse_args()
    arguments.run(arguments)
