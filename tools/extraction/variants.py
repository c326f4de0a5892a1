#!/usr/bin/env python3
"""Make variants of labelled pages to learn from: other languages, other names, other tags, less in the head.

usage: variants.py DATA OUT.jsonl.gz    from the evaluation sets in the folder DATA

The labelled sets hold two languages, and names of classes that weights may memorise. A variant keeps a page's
structure and replaces each word of text and gold by one of another script, always the same for the same word, as long
as a translation would be; words of boilerplate become the words that Chinese sites use. So a variant has the lengths,
commas and sentences of its page, but none of its words:

  zh          Chinese characters without spaces, Chinese punctuation and boilerplate
  ru, ar, ko  letters or syllables of these scripts; Arabic and Korean have no capitals

  feed        the same language: another article, often a longer one, follows the page's own under a separate heading,
              as on sites with endless scrolling, and some of the page's paragraphs are removed. Length alone then misleads.

In addition, at random: names of classes and ids become meaningless (as those of pages that a build tool makes),
<article>, <section> and <main> become <div>, headings become <div>, descriptions or linked data are removed from the head.
The same page always gives the same variants.
"""
import gzip
import hashlib
import html as H
import json
import random
import re
import sys

# Common characters, as words are made of them.
HAN = ("的一是不了在人有我他这中大来上国个到说们为子和你地出道也时年得就那要下以生会自着去之过家学对可她里后小么心多天而能好都然没日于起还发成"
       "事只作当想看文无开手十用主行方又如前所本见经头面公同三已老从动两长知民样现分将外但身些与高意进把法此实回二理美点月明其种声全工己话儿者向情")
LETTERS = {"ru": "абцдефгхийклмнопярстувшщыз", "ar": "ابجدهفغحيكلمنوپقرستثعضشصز"}

BOILERPLATE = [
    ("all rights reserved", "版权所有"), ("copyright", "版权"), ("privacy policy", "隐私政策"), ("privacy", "隐私"),
    ("terms of (?:use|service)", "服务条款"), ("cookies?", "Cookie"), ("related (?:articles|posts|stories|news)", "相关阅读"),
    ("related", "相关"), ("read more|continue reading", "阅读全文"), ("learn more|view all|see all|show more", "查看更多"),
    ("more", "更多"), ("recommended", "推荐阅读"), ("most popular|most read|popular|trending", "热门排行"),
    ("latest news|latest", "最新"), ("see also", "延伸阅读"), ("sign in|log ?in", "登录"), ("sign up|register", "注册"),
    ("subscribe|newsletter", "订阅"), ("download", "下载"), ("comments?", "评论"), ("repl(?:y|ies)", "回复"), ("share", "分享"),
    ("tweet|facebook|twitter", "微博"), ("whatsapp|linkedin|pinterest", "微信"), ("home", "首页"), ("search", "搜索"),
    ("about us", "关于我们"), ("contact us|contact", "联系我们"), ("advertisement|sponsored", "广告"), ("previous", "上一篇"),
    ("next", "下一篇"), ("published|posted on|updated", "发布时间："), ("source", "来源"), ("editor", "责任编辑"),
    ("price", "价格"), ("add to cart", "加入购物车"), ("buy now", "立即购买"), ("views", "浏览"), ("photo", "图片"),
    ("video", "视频"), ("phone|tel", "电话"), ("e-?mail", "邮箱"), ("address", "地址"), ("menu", "菜单"), ("tags?", "标签"),
    ("january|february|march|april|june|july|august|september|october|november|december", "年"),
]
BOILERPLATE_RE = re.compile("|".join(rf"(\b(?:{words})\b)" for words, _ in BOILERPLATE), re.I)
# Sets that contain only articles. Elsewhere, following text is often part of the main text.
FEEDS = ("extract_zh_articles", "pages_zh_gne", "extract_en_articles")
WORD = re.compile(r"[^\W\d_]+")
PIECE = re.compile(r"<!--.*?-->|<(script|style|textarea)\b.*?</\1\s*>|<[^>]*>", re.S | re.I)


def number(text):
    return int.from_bytes(hashlib.md5(text.encode()).digest()[:8], "big")


def word_of(word, lang):
    seed = number(word.lower())
    if lang in LETTERS:
        letters = "".join(LETTERS[lang][(ord(c) - 97 + seed) % len(LETTERS[lang])] for c in word.lower() if "a" <= c <= "z") or LETTERS[lang][seed % len(LETTERS[lang])]
        return letters.capitalize() if word[0].isupper() else letters
    size = max(1, round(len(word) / (2.8 if lang == "zh" else 2.4)))
    if lang == "ko":
        return "".join(chr(0xAC00 + (seed >> (9 * i)) % 2350 * 4) for i in range(size))
    return "".join(HAN[(seed >> (7 * i)) % len(HAN)] for i in range(size))


def translate(text, lang):
    """Translates `text` without markup, word by word."""
    if lang == "zh":
        text = BOILERPLATE_RE.sub(lambda match: BOILERPLATE[match.lastindex - 1][1], text)
        text = WORD.sub(lambda match: word_of(match.group(), lang) if match.group().isascii() else match.group(), text)
        text = re.sub(r"(?<=[\u4e00-\u9fff，。]) +(?=[\u4e00-\u9fff])", "", text)
        for ascii_mark, mark in ((",", "，"), (".", "。"), ("!", "！"), ("?", "？"), (";", "；"), (":", "：")):
            text = re.sub(rf"(?<=[\u4e00-\u9fff]){re.escape(ascii_mark)} ?(?!\w)", mark, text)
            text = re.sub(rf"(?<=[\u4e00-\u9fff]){re.escape(ascii_mark)} ?(?=[\u4e00-\u9fff])", mark, text)
        return text
    return WORD.sub(lambda match: word_of(match.group(), lang) if match.group().isascii() else match.group(), text)


def translate_source(text, lang):
    """Translates text between tags, and keeps references."""
    return re.sub(r"&#?\w+;|[^&]+|&", lambda m: m.group() if m.group().startswith("&") else translate(m.group(), lang), text)


def vary_tag(tag, lang, names, plain, headings, chance_head):
    name = re.match(r"</?\s*([\w-]+)", tag)
    low = name.group(1).lower() if name else ""
    if low == "meta" and re.search(r"(name|property)\s*=\s*[\"']?(og:|twitter:)?(description|title)\b", tag, re.I):
        if chance_head and "description" in tag.lower():
            return ""
        return re.sub(r"(content\s*=\s*)([\"'])(.*?)\2", lambda m: m.group(1) + m.group(2) + translate_source(m.group(3), lang) + m.group(2), tag, flags=re.S | re.I)
    if plain and low in ("article", "section", "main") or headings and re.fullmatch("h[1-6]", low):
        tag = tag.replace(name.group(1), "div", 1)
    if names is not None:
        def rename(match):
            return match.group(1) + re.sub(r"[A-Za-z][\w-]*", lambda m: names.setdefault(m.group(), "c" + hashlib.md5((names[""] + m.group()).encode()).hexdigest()[:6]), match.group(2))
        tag = re.sub(r"(\s(?:class|id)\s*=\s*)(\"[^\"]*\"|'[^']*'|[^\s>\"']+)", rename, tag, flags=re.I)
    return tag


def vary(page, lang, chance):
    names = {"": page["id"]} if chance.random() < 0.35 else None
    plain, headings = chance.random() < 0.3, chance.random() < 0.15
    no_description, no_data = chance.random() < 0.3, chance.random() < 0.6
    out, at, source = [], 0, page["html"]
    change = (lambda text: translate_source(text, lang)) if lang else (lambda text: text)
    for piece in PIECE.finditer(source):
        out.append(change(source[at:piece.start()]))
        at, text = piece.end(), piece.group()
        if piece.group(1):
            if not (no_data and "ld+json" in text[:200]):
                # Linked data in the original words does not match the text; without it, it would reveal the text.
                out.append(re.sub(r'"articleBody"\s*:\s*"((?:[^"\\]|\\.)*)"', lambda m: '"articleBody":"' + change(m.group(1)) + '"', text) if lang and "articleBody" in text else text)
        elif text.startswith("<!--"):
            out.append(text)
        else:
            out.append(vary_tag(text, lang or "", names, plain, headings, no_description) if lang else
                       vary_tag_names(text, names, plain, headings, no_description))
    out.append(change(source[at:]))
    gold = translate(H.unescape(page["gold_text"]), lang) if lang else page["gold_text"]
    return dict(id=f"{page['id']}~{lang or 'names'}", url=page.get("url"), lang=lang or page["lang"], kind=page.get("kind"), gold_text=gold, html="".join(out))


def squeezed(text):
    return re.sub(r"\W+", "", H.unescape(re.sub(r"<[^>]+>", "", text))).lower()


def paragraphs(page):
    """Returns start, end and letters of the <p> that are gold."""
    gold = squeezed(page["gold_text"])
    found = [(m.start(), m.end(), squeezed(m.group(1))) for m in re.finditer(r"<p\b[^>]*>(.*?)</p>", page["html"], re.S | re.I)]
    return [p for p in found if len(p[2]) >= 12 and p[2] in gold]


def feed(page, other, chance):
    own, others = paragraphs(page), paragraphs(other)
    if len(own) < 2 or len(others) < 2:
        return None
    source, kept = page["html"], max(1, round(len(own) * chance.choice([0.3, 0.5, 1, 1])))
    ends = [m.end() for m in re.finditer(r"</div>", source[own[-1][1]:], re.I)]
    place = own[-1][1] + (ends[min(chance.randint(0, 4), len(ends) - 1)] if ends else 0)
    dropped, parts, at = own[kept:], [], 0
    for start, end, _ in dropped:
        if start >= at:
            parts.append(source[at:start])
            at = end
    gone = lambda line: len(line) >= 4 and any(line in p[2] or p[2] in line for p in dropped)
    gold = "\n".join(line for line in page["gold_text"].split("\n") if not gone(squeezed(line)))
    title = re.search(r"<title[^>]*>(.*?)</title>", other["html"], re.S | re.I)
    text = "".join(other["html"][start:end] for start, end, _ in others)
    more = f'<div class="{chance.choice(["item", "article", "feed-item", "box"])}"><h2>{title.group(1) if title else ""}</h2><div>{text}</div></div>'
    html = "".join(parts) + source[at:place] + more + source[place:]
    return dict(id=page["id"] + "~feed", url=page.get("url"), lang=page["lang"], kind=page.get("kind"), gold_text=gold, html=html)


def vary_tag_names(tag, names, plain, headings, no_description):
    if no_description and re.match(r"<meta\b", tag, re.I) and "description" in tag.lower():
        return ""
    if re.match(r"<meta\b", tag, re.I):
        return tag
    return vary_tag(tag, "", names, plain, headings, False)


def lines(path):
    with gzip.open(path, "rt", encoding="utf-8") as handle:
        yield from (json.loads(line) for line in handle)


def main(data, out):
    with gzip.open(out, "wt", encoding="utf-8") as handle:
        for name in ("extract_zh_articles", "pages_zh_gne", "extract_en_articles", "extract_en_cleaneval", "extract_en_mixed"):
            pages = [page for page in lines(f"{data}/{name}.jsonl.gz") if page.get("gold_text") and page.get("html")]
            for at, page in enumerate(pages):
                chance = random.Random(number(page["id"] + "feed"))
                fed = feed(page, pages[at - 1], chance) if name in FEEDS and chance.random() < 0.5 else None
                if fed:
                    handle.write(json.dumps(fed, ensure_ascii=False) + "\n")
                chance = random.Random(number(page["id"]))
                langs = [None] if page["lang"].startswith("zh") else ["zh"] + chance.sample(["ru", "ar", "ko", None, None, None], 1)
                for lang in langs:
                    made = vary(page, lang, chance)
                    # English that is not in ASCII, or gold that markup cuts, may not be found again.
                    handle.write(json.dumps(made, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    main(*sys.argv[1:])
