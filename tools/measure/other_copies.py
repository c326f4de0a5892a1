#!/usr/bin/env python3
"""Makes copies of labelled texts in other ways than `quality_sets.py`, which the default was chosen with.

usage: other_copies.py DATA FOLDER [--part development|held-out] [--texts N]

Writes one file of JSON lines per set into FOLDER: pages with `cluster`, `label` and `kind`, for `quality_sets.py score`.
Each page is on one of 40 hosts, drawn at random, so one copy in 40 is on the site of its original. A copy comes at a
random place after its original, and a quarter of the originals have no copy. Texts are halved as in `quality_sets.py`.

What differs from there: a word that changes is mistyped, left out, followed by another word, or replaced by a word of the
same text. Sentences are left out, added and moved as one block. Bylines, advertisements and closing lines are other ones.

sets:
  reprints    Chinese articles: headline and byline, closing lines, advertisements, no lead, first part only, other typography
  rewritten   Chinese articles: words changed, blocks left out, added and moved
  english     English articles, changed in the same ways
  languages   texts in some forty other languages: documentation, news, descriptions of apps, laws
  short       80 to 300 letters in all of these languages; the same sentences with other numbers are no copies
"""
import argparse
import collections
import json
import pathlib
import random
import re

from quality_sets import founders, in_part, letters, lines, unlike

SEED, HOSTS = "leitong other copies 1", 40
IDEOGRAPHS = "\u3040-\u30ff\u4e00-\u9fff"
# A word, or two ideographs.
TOKEN = re.compile(rf"[{IDEOGRAPHS}]{{1,2}}|(?:(?![{IDEOGRAPHS}])[^\W\d_])+")
# To the end of a sentence or line. A point within a number, name or address ends none.
SENTENCE = re.compile(r".+?(?:[。！？؟।]+[\"'”’」』）)]*\s*|[.!?]+[\"'”’)]*(?=\s|$)\s*|\n+|$)")


def units(text):
    """Returns the sentences of a text, with the spaces and line breaks after them."""
    return [unit for unit in SENTENCE.findall(text) if unit.strip()]


class Changes:
    """Changes of a text. `texts` are others of the same language, which whole sentences are taken from."""

    def __init__(self, texts, rng):
        self.rng, self.others = rng, [units(text) for text in texts]

    def words(self, text, share):
        r, own = self.rng, TOKEN.findall(text)

        def change(found):
            word = found[0]
            if r.random() >= share:
                return word
            way = r.randrange(5)
            if way == 0 and len(word) > 1:
                at = r.randrange(len(word) - 1)
                return word[:at] + word[at + 1] + word[at] + word[at + 2 :]
            if way == 1:
                return ""
            if way == 2:
                return f"{word}{'' if ord(word[0]) > 0x3000 else ' '}{r.choice(own)}"
            return r.choice(own)

        return TOKEN.sub(change, text)

    def left_out(self, text, share):
        """Leaves out one block of sentences, anywhere but at the very beginning."""
        found = units(text)
        todo, begin = letters(text) * share, self.rng.randrange(1, max(2, int(len(found) * (1 - share))))
        end = begin
        while end < len(found) and letters(found[end]) <= 2 * todo:
            todo -= letters(found[end])
            end += 1
            if todo <= 0:
                break
        return "".join(found[:begin] + found[end:])

    def added(self, text, share):
        """Adds one block of sentences of another text."""
        found, block, donor = units(text), "", self.rng.choice(self.others)
        for unit in donor[self.rng.randrange(max(1, len(donor) // 2)) :]:
            if letters(block + unit) > letters(text) * share:
                break
            block += unit
        at = self.rng.randrange(len(found) + 1)
        return "".join(found[:at]) + block.rstrip() + "\n" + "".join(found[at:])

    def moved(self, text):
        """Moves a block of a third of the sentences to another place."""
        found = [unit.rstrip() + (" " if unit.isascii() else "\n") for unit in units(text)]
        size = max(1, len(found) // 3)
        at = self.rng.randrange(len(found) - size + 1)
        block, rest = found[at : at + size], found[:at] + found[at + size :]
        to = self.rng.randrange(len(rest) + 1)
        return "".join(rest[:to] + block + rest[to:])

    def first_part(self, text, share):
        kept = ""
        for unit in units(text):
            kept += unit
            if letters(kept) >= letters(text) * share:
                break
        return kept

    def sentence(self, most):
        """Returns the beginning of a sentence of another text."""
        return self.rng.choice(self.rng.choice(self.others)).strip()[:most]

    # Only of Chinese articles.

    def headed(self, text):
        r = self.rng
        day = f"{r.randint(2019, 2025)}年{r.randint(1, 12)}月{r.randint(1, 28)}日 {r.randint(6, 22)}:{r.randint(10, 59)}"
        byline = r.choice(["记者 {} 通讯员 {}", "文/{} 图/{}", "作者：{}　编辑：{}", "{} 整理，{} 校对"])
        name = lambda: r.choice("王李张刘陈杨赵黄周吴") + r.choice("伟芳娜敏静磊洋艳勇军杰娟涛明超")
        return f"{self.sentence(22)}\n{day}　{byline.format(name(), name())}　浏览 {r.randint(50, 30000)} 次\n{text}"

    def closed(self, text):
        r = self.rng
        return text.rstrip() + "\n" + r.choice([
            f"声明：本文仅代表作者个人观点，与本站无关。投稿邮箱 news{r.randint(1, 99)}@example.com。",
            f"喜欢 {r.randint(1, 999)}　收藏 {r.randint(1, 99)}　评论 {r.randint(0, 99)}\n猜你喜欢：\n{self.sentence(26)}\n{self.sentence(26)}",
            f"（来源：网络综合；原题：{self.sentence(20)}）\n更多内容请下载客户端查看，长按二维码即可关注。",
            f"上一条：{self.sentence(24)}\n下一条：{self.sentence(24)}\n返回列表　打印本页　关闭窗口",
        ])

    def advertised(self, text, count):
        paragraphs = [line for line in text.split("\n") if line.strip()]
        for _ in range(count):
            r = self.rng
            line = r.choice([
                f"★ 热销课程 {self.sentence(14)} 原价{r.randint(199, 1999)}元 现仅{r.randint(9, 198)}元",
                f"延伸阅读 >> {self.sentence(24)}",
                "本站招聘编辑、前端和测试工程师，有意者请将简历发送到人事部信箱。",
                f"图{r.randint(1, 9)}：{self.sentence(18)}（资料图片）",
            ])
            paragraphs.insert(r.randint(1, len(paragraphs)), line)
        return "\n".join(paragraphs)

    def without_lead(self, text):
        paragraphs = [line for line in text.split("\n") if line.strip()]
        return "\n".join(paragraphs[1 if letters(paragraphs[0]) * 5 < letters(text) else 0 :])

    def retypeset(self, text):
        """Joins the paragraphs, and changes quotation marks, dashes and spaces between scripts."""
        text = re.sub(r"\s*\n\s*", "", text).translate(str.maketrans("“”‘’「」『』，：", "\"\"''\"\"\"\",:"))
        return re.sub(rf"(?<=[{IDEOGRAPHS}])(?=[A-Za-z0-9])|(?<=[A-Za-z0-9])(?=[{IDEOGRAPHS}])", " ", text).replace("——", "--")


REPRINTED = {
    "headline and byline": lambda c, x: c.headed(x),
    "closing lines": lambda c, x: c.closed(x),
    "advertisements": lambda c, x: c.advertised(x, 5),
    "no lead": lambda c, x: c.without_lead(x),
    "first part=0.7": lambda c, x: c.first_part(x, 0.7),
    "first part=0.6": lambda c, x: c.first_part(x, 0.6),
    "typography": lambda c, x: c.retypeset(x),
    "all but a part": lambda c, x: c.closed(c.headed(c.advertised(c.without_lead(x), 4))),
    "part, head and end": lambda c, x: c.closed(c.headed(c.first_part(x, 0.75))),
}
REWRITTEN = {
    "words=0.05": lambda c, x: c.words(x, 0.05),
    "words=0.12": lambda c, x: c.words(x, 0.12),
    "left out=0.3": lambda c, x: c.left_out(x, 0.3),
    "added=0.3": lambda c, x: c.added(x, 0.3),
    "moved": lambda c, x: c.moved(x),
    "mixed": lambda c, x: c.moved(c.words(c.left_out(c.added(x, 0.12), 0.12), 0.04)),
    "much": lambda c, x: c.moved(c.words(c.left_out(c.added(x, 0.2), 0.2), 0.06)),
}
EDITED = {
    "words=0.03": lambda c, x: c.words(x, 0.03),
    "words=0.05": lambda c, x: c.words(x, 0.05),
    "words=0.08": lambda c, x: c.words(x, 0.08),
    "left out=0.15": lambda c, x: c.left_out(x, 0.15),
    "left out=0.3": lambda c, x: c.left_out(x, 0.3),
    "added=0.2": lambda c, x: c.added(x, 0.2),
    "added=0.4": lambda c, x: c.added(x, 0.4),
    "moved": lambda c, x: c.moved(x),
    "first part=0.8": lambda c, x: c.first_part(x, 0.8),
    "first part=0.7": lambda c, x: c.first_part(x, 0.7),
    "mixed": lambda c, x: c.words(c.left_out(c.added(x, 0.1), 0.1), 0.03),
}
SHORT = {
    "words=0.03": lambda c, x: c.words(x, 0.03),
    "words=0.06": lambda c, x: c.words(x, 0.06),
    "cut=0.85": lambda c, x: x[: int(len(x) * 0.85)],
    "sentence less": lambda c, x: c.left_out(x, 0.15),
    "moved": lambda c, x: c.moved(x),
    "commas": lambda c, x: re.sub(r"[,，、;；:：]", " ", x),
    "upper case": lambda c, x: x.upper(),
}


def other_numbers(text, rng):
    """Replaces each number by another one with as many digits."""
    return re.sub(r"\d+", lambda n: str((int(n[0]) + rng.randrange(1, 10 ** len(n[0]))) % 10 ** len(n[0])).zfill(len(n[0])), text)


def short_of(text, rng):
    """Returns consecutive sentences of 80 to 300 letters, or None."""
    found = units(text)
    out, wanted = "", rng.randint(80, 240)
    for unit in found[rng.randrange(max(1, len(found) - 2)) :]:
        out += unit
        if letters(out) >= wanted:
            break
    return out.strip() if 80 <= letters(out) <= 300 and len(units(out)) > 1 else None


def copied(texts, kinds, rng, count):
    """Returns pages of these (language, id, text) in their order: originals, and a copy of each of the first `count`."""
    by_language = collections.defaultdict(list)
    for language, _, text in texts:
        by_language[language].append(text)
    # Sentences are taken from texts that are not in the set, where there are enough of them.
    changes, kept = {}, []
    donors = {language: set(rng.sample(found, max(1, len(found) // 5))) for language, found in sorted(by_language.items())}
    for language, found in donors.items():
        changes[language] = Changes(sorted(found), rng)
    drawn = [row for row in texts if row[2] not in donors[row[0]]]
    rng.shuffle(drawn)
    placed, names = [], list(kinds)

    def add(at, page_id, text, cluster, label, kind):
        url = f"https://h{rng.randrange(HOSTS)}.example/{rng.randrange(10**9)}.html"
        placed.append((at, dict(id=page_id, url=url, text=text, cluster=cluster, label=label, kind=kind, length="")))

    for number, (language, page_id, text) in enumerate(drawn[: count + count // 3]):
        at = rng.random()
        add(at, page_id, text, page_id, "new", "original")
        if number < count:
            kind = names[number % len(names)]
            add(rng.uniform(at, 1), f"{page_id}~{kind}", kinds[kind](changes[language], text), page_id, "dup", kind)
        elif kinds is SHORT and len(re.findall(r"\d+", text)) >= 3:
            other = f"{page_id}~numbers"
            add(rng.uniform(at, 1), other, other_numbers(text, rng), other, "new", "other numbers")
    placed.sort(key=lambda pair: (pair[0], pair[1]["label"] == "dup"))
    return [page for _, page in placed]


def of_languages(data, part):
    """Returns (language, id, text) of the first versions of texts that are neither Chinese nor English."""
    found, seen = [], set()
    for name in ("real_i18n_docs", "real3_rubynews", "real3_appstore", "real_laws_de"):
        for page in lines(data / f"{name}.jsonl.gz"):
            language = page.get("lang") or "de"
            if page["cluster"] in seen or not in_part(page["cluster"], part) or re.match("en|zh", language):
                continue
            seen.add(page["cluster"])
            if 400 <= letters(page["text"]) <= 20_000:
                found.append((language, page["id"], page["text"]))
    texts = {page_id: language for language, page_id, _ in found}
    return [(texts[page_id], page_id, text) for page_id, text in unlike([row[1:] for row in found])]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--part", choices=["development", "held-out"], default="held-out")
    parser.add_argument("--texts", type=int, default=700)
    arguments = parser.parse_args()
    data, part, count = arguments.data, arguments.part, arguments.texts
    rng = lambda name: random.Random(f"{SEED} {part} {name}")
    r = rng("texts")

    def of(language, *names):
        texts = [row for name in names for row in founders(data, name, part, 300)]
        return [(language, *row) for row in unlike(r.sample(texts, min(len(texts), 3 * count)))]

    chinese = of("zh", "neardup_zh_lctt", "neardup_zh_xitu", "neardup_zh_fudan")
    english = of("en", "extract_en_wcxb", "extract_en_articles", "real3_crossposts")
    others = of_languages(data, part)
    r = rng("pieces")
    pieces, seen = [], set()
    for language, page_id, text in r.sample(chinese, min(900, len(chinese))) + english + others:
        short = short_of(text, r)
        if short and short[:40] not in seen:
            seen.add(short[:40])
            pieces.append((language, page_id, short))
    sets = {
        "reprints": (chinese, REPRINTED),
        "rewritten": (chinese, REWRITTEN),
        "english": (english, EDITED),
        "languages": (others, EDITED),
        "short": (pieces, SHORT),
    }
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for name, (texts, kinds) in sets.items():
        r = rng(name)
        texts = r.sample(texts, min(len(texts), 2 * count))
        pages = copied(texts, kinds, r, min(count, len(texts) * 3 // 5))
        with open(arguments.folder / f"other_{name}.jsonl", "w", encoding="utf-8") as out:
            out.writelines(json.dumps(page, ensure_ascii=False) + "\n" for page in pages)


if __name__ == "__main__":
    main()
