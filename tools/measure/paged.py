#!/usr/bin/env python3
"""Makes articles in several pages from the labelled texts, and scores the verdicts on them.

usage: paged.py make DATA FILE [--part development|held-out] [--articles N]
       paged.py score PAGES VERDICTS

`make` writes JSON lines of pages: articles split into two to four pages, with urls, titles and pagers as sites write them, half of them
in the real pages of other sites; and pages that are numbered and linked in the same ways but do not belong to one article: lists of
articles, chapters, posts of one name, the days of a calendar, articles that link to their neighbours. Seeds and halves are those of
quality_sets.py.

`score` prints a line of a table for each kind: the number of pages after another page of their article, how many of these are called
`PART` of one of its pages, how many pages are called `PART` of anything else, and how many are called duplicates.
"""
import argparse
import html
import json
import pathlib
import random
import re

from quality_sets import PARTS, SEED, founders, is_chinese, letters, lines, shell, unlike

# Forms of a page's path with the query, from the article's name and the page's number.
URLS = {
    "name_2.html": lambda name, n: f"/news/{name}.html" if n == 1 else f"/news/{name}_{n}.html",
    "name_1.shtml for page 2": lambda name, n: f"/2026/11/{name}.shtml" if n == 1 else f"/2026/11/{name}_{n - 1}.shtml",
    "name-2.html": lambda name, n: f"/a/{name}.html" if n == 1 else f"/a/{name}-{n}.html",
    "name/2/": lambda name, n: f"/blog/{name}/" if n == 1 else f"/blog/{name}/{n}/",
    "name/page/2": lambda name, n: f"/story/{name}" if n == 1 else f"/story/{name}/page/{n}",
    "?page=2": lambda name, n: f"/article/{name}" if n == 1 else f"/article/{name}?page={n}",
    "?id=x&page=2": lambda name, n: f"/show.php?id={name}&page={n}",
}
TITLES = {
    "zh": [lambda t, n, of: t, lambda t, n, of: t if n == 1 else f"{t}({n})", lambda t, n, of: f"{t} 第{n}页", lambda t, n, of: t if n == 1 else f"{t}_{n}"],
    "en": [lambda t, n, of: t, lambda t, n, of: t if n == 1 else f"{t} - Page {n}", lambda t, n, of: f"{t} ({n}/{of})", lambda t, n, of: t if n == 1 else f"{t} | Page {n} of {of}"],
}
SITES = {"zh": ["_山野网", " - 江边日报", "｜茶讯", ""], "en": [" - The Harbour Post", " | Millbeck News", " – Fieldnotes", ""]}


def link(href, text, extra=""):
    return f'<a href="{html.escape(href)}"{extra}>{text}</a>'


def pager(language, rng, hrefs, at):
    """Returns the pager under page `at` (from 0) of the pages at `hrefs`."""
    if language == "zh":
        before, after = rng.choice([("上一页", "下一页"), ("&lt;上页", "下页&gt;")])
    else:
        before, after = rng.choice([("Previous", "Next"), ("&laquo; Previous page", "Next page &raquo;")])
    numbers = [f"<span>{n + 1}</span>" if n == at else link(href, n + 1) for n, href in enumerate(hrefs)]
    shown = [link(hrefs[at - 1], before, rng.choice(["", ' rel="prev"']))] if at else []
    shown += numbers if rng.random() < 0.8 else []
    shown += [link(hrefs[at + 1], after, rng.choice(["", ' rel="next"']))] if at + 1 < len(hrefs) else []
    return f'<div class="{rng.choice(["pages", "pagination", "nav-links", "showpage"])}">{" ".join(shown)}</div>'


def paragraphs(text):
    return [p for p in text.split("\n") if p.strip()]


def markup(text):
    return "".join(f"<p>{html.escape(p)}</p>\n" for p in paragraphs(text))


def plain_page(title, headline, body, rng, boilerplate=""):
    menu = "".join(f"<li>{link('/' + word, word)}</li>" for word in rng.sample(["news", "tea", "sport", "culture", "about", "contact", "archive"], 5))
    date = f'<div class="date">2026-{rng.randint(10, 11)}-{rng.randint(10, 28)} {rng.randint(10, 19)}:{rng.randint(10, 59)}</div>' if rng.random() < 0.6 else ""
    return (
        f"<!doctype html><html><head><title>{html.escape(title)}</title></head><body><ul>{menu}</ul>"
        f"<article><h1>{html.escape(headline)}</h1>{date}{body}</article>{boilerplate}<footer>© 2026</footer></body></html>"
    )


def real_page(around, title, headline, body, boilerplate):
    """Returns the article in a real page, whose own titles are replaced."""
    before, after = around
    before = re.sub(r"(?is)<meta[^>]*(og|twitter):title[^>]*>", "", before)
    before = re.sub(r"(?is)(<title[^>]*>).*?(</title>)", lambda m: m[1] + html.escape(title) + m[2], before)
    before = re.sub(r"(?is)(<h1[^>]*>).*?(</h1>)", lambda m: m[1] + html.escape(headline) + m[2], before)
    return before + body + boilerplate + after


def cut(text, pages):
    """Splits the text into this many pages of whole paragraphs; None if one would be short."""
    out, size = [[]], 0
    for p in paragraphs(text):
        if len(out) < pages and size >= letters(text) * len(out) / pages:
            out.append([])
        out[-1].append(p)
        size += letters(p)
    pieces = ["\n".join(p) for p in out]
    return pieces if len(pieces) == pages and min(map(letters, pieces)) >= 250 else None


def headline_of(text):
    first = paragraphs(text)[0].strip()
    return first[:18].rstrip("，。：") if is_chinese(first) else " ".join(first.split()[:8])


def record(url, page_html, article, number, kind):
    return dict(id=url, url=url, html=page_html, article=article, number=number, kind=kind)


def articles(texts, shells, rng, count):
    """Returns lists of pages, each of one article."""
    out = []
    for page_id, text in texts:
        if len(out) == count:
            break
        pieces = cut(text, rng.randint(2, 4))
        if pieces is None:
            continue
        language = "zh" if is_chinese(text) else "en"
        style, url = rng.choice(list(URLS.items()))
        name = re.sub(r"\W+", "-", page_id)[-24:].strip("-") + rng.choice("abc")
        host = f"https://h{rng.randrange(60)}.example"
        paths = [url(name, n + 1) for n in range(len(pieces))]
        headline, site, title = headline_of(text), rng.choice(SITES[language]), rng.choice(TITLES[language])
        around = rng.choice(shells) if rng.random() < 0.5 else None
        pages = []
        for n, piece in enumerate(pieces):
            shown = title(headline, n + 1, len(pieces))
            boilerplate = pager(language, rng, paths, n)
            if around:
                made = real_page(around, shown + site, headline, markup(piece), boilerplate)
            else:
                made = plain_page(shown + site, rng.choice([headline, shown]), markup(piece), rng, boilerplate)
            pages.append(record(host + paths[n], made, page_id, n + 1, f"{'real' if around else 'made'} page, {style}"))
        out.append(pages)
    return out


def others(texts, rng, count):
    """Returns pages that are numbered and linked like the pages of an article, but are not."""
    texts, out = iter(texts), []
    take = lambda: next(texts)[1]
    for k in range(count):
        host = f"https://o{rng.randrange(60)}.example"
        # Lists: beginnings of several articles, in one title.
        name, pages = f"/world/tea{k}", []
        for n in range(3):
            teasers = []
            for _ in range(5):
                text = take()
                teaser = "".join(paragraphs(text)[:3])[: rng.randint(60, 160)]
                teasers.append(f"<h2>{link(f'/a/{rng.randrange(10**6)}.html', html.escape(headline_of(text)))}</h2><p>{html.escape(teaser)}… {link('/a/1.html', 'more')}</p>")
            paths = [name if n == 0 else f"{name}?page={n + 1}" for n in range(3)]
            pages.append(record(host + paths[n], plain_page("Tea - Millbeck News", "Tea", "".join(teasers), rng, pager("en", rng, paths, n)), f"list{k}.{n}", 1, "list of articles"))
        # Chapters of a book, with a pager.
        paths = [f"/book{k}/chapter-{n + 1}.html" for n in range(3)]
        for n, path in enumerate(paths):
            headline = headline_of(take())
            pages.append(record(host + path, plain_page(f"{headline} - A book of tea", headline, markup(take()), rng, pager("en", rng, paths, n)), f"book{k}.{n}", 1, "chapters"))
        # Posts of one name, each announced by the next one.
        paths = [f"/weekly-links-{k}" if n == 0 else f"/weekly-links-{k}-{n + 1}" for n in range(3)]
        for n, path in enumerate(paths):
            near = "".join(link(paths[m], "Weekly links" if rng.random() < 0.5 else word, f' rel="{rel}"') for m, word, rel in [(n - 1, "Previous post", "prev"), (n + 1, "Next post", "next")] if 0 <= m < 3)
            pages.append(record(host + path, plain_page("Weekly links", "Weekly links", markup(take()), rng, near), f"post{k}.{n}", 1, "posts of one name"))
        # Days.
        paths = [f"/daily{k}/2026-11-{n + 11}.html" for n in range(3)]
        for n, path in enumerate(paths):
            near = "".join(link(paths[m], word) for m, word in [(n - 1, "上一页"), (n + 1, "下一页")] if 0 <= m < 3)
            pages.append(record(host + path, plain_page("每日要闻_江边日报", "每日要闻", markup(take()), rng, near), f"day{k}.{n}", 1, "days"))
        # Articles by number, with their neighbours.
        paths = [f"/news/show-{k % 90 + n + 1}.html" for n in range(3)]
        for n, path in enumerate(paths):
            text = take()
            near = "".join(f"<p>{word}：{link(paths[m], '头采茶')}</p>" for m, word in [(n - 1, "上一篇"), (n + 1, "下一篇")] if 0 <= m < 3)
            pages.append(record(host + path, plain_page(headline_of(text) + "_山野网", headline_of(text), markup(text), rng, near), f"news{k}.{n}", 1, "neighbours"))
        out.append(pages)
    return out


def make(arguments):
    data, part = arguments.data, arguments.part
    rng = random.Random(f"{SEED} {part} paged")
    chinese = founders(data, "neardup_zh_lctt", part, 700) + founders(data, "neardup_zh_xitu", part, 1200)
    english = founders(data, "extract_en_wcxb", part, 1500) + founders(data, "extract_en_articles", part, 1500)
    texts = unlike(rng.sample(chinese, min(len(chinese), 3 * arguments.articles)) + english)
    rng.shuffle(texts)
    shells = [s for name in ("extract_zh_articles", "pages_zh_gne") for p in lines(data / f"{name}.jsonl.gz") if (s := shell(p["html"], p.get("gold_text", "")))]
    half = len(texts) // 2
    groups = articles(texts[:half], shells, rng, arguments.articles) + others(texts[half:], rng, min(arguments.articles // 12, (len(texts) - half) // 34))
    keyed = []
    for pages in groups:
        places = sorted(rng.random() for _ in pages)
        if rng.random() < 0.25:
            rng.shuffle(places)
        keyed += zip(places, pages)
    keyed.sort(key=lambda pair: (pair[0], pair[1]["id"]))
    with open(arguments.file, "w", encoding="utf-8") as out:
        for _, p in keyed:
            out.write(json.dumps(p, ensure_ascii=False) + "\n")


def score(arguments):
    verdicts = {v["page_id"]: v for v in lines(arguments.verdicts)}
    article, rows, seen = {}, {}, set()
    for p in lines(arguments.pages):
        article[p["id"]] = p["article"]
        row = rows.setdefault(p["kind"], [0, 0, 0, 0])
        v = verdicts[p["id"]]
        row[0] += p["article"] in seen
        seen.add(p["article"])
        if v["relation"] == "PART":
            right = article.get(v["related_page_id"]) == p["article"] and v["related_page_id"] != p["id"]
            row[1] += right
            row[2] += not right
        row[3] += v["kind"] in ("EXACT_DUPLICATE", "NEAR_DUPLICATE")
    total = [sum(row[at] for row in rows.values()) for at in range(4)]
    for kind, row in [*sorted(rows.items()), ("all", total)]:
        print(f"| {kind} | " + " | ".join(map(str, row)) + " |")
    if arguments.verbose:
        for p in lines(arguments.pages):
            v = verdicts[p["id"]]
            print(p["kind"], p["id"], v["kind"], v["reason"], v["relation"], v["related_url"])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    p = commands.add_parser("make")
    p.add_argument("data", type=pathlib.Path)
    p.add_argument("file", type=pathlib.Path)
    p.add_argument("--part", choices=PARTS, default="held-out")
    p.add_argument("--articles", type=int, default=400)
    p.set_defaults(run=make)
    p = commands.add_parser("score")
    p.add_argument("pages")
    p.add_argument("verdicts")
    p.add_argument("--verbose", action="store_true")
    p.set_defaults(run=score)
    arguments = parser.parse_args()
    arguments.run(arguments)
