#!/usr/bin/env python3
"""Score the structure of Markdown output against the sources of pages (structure_pages.py).

usage: score_structure.py LEITONG PAGES.jsonl development|final [TOOL,…] [--worst MEASURE]

TOOL: leitong, trafilatura, magic-html (its HTML through markdownify); all by default. Sources and outputs are read by
one Markdown parser. Each measure is a normalised edit distance, as in WebMainBench: of the text, of lines of headings
with their levels, of lines of list items with depth and kind, of table cells in their places (rows, then cells, are
aligned, as in TEDS), of code (a tenth of it: the share of right languages), of formulas, and of the order of blocks. A
page counts for a measure if source or output has such a part. The last column is the mean of the measures.

requires (Python 3.12): trafilatura==2.3.1 magic-html==0.1.8 markdownify==1.2.3 rapidfuzz==3.14.6 markdown-it-py==4.3.0
mdit-py-plugins==0.7.0
"""
import json
import re
import subprocess
import sys
import tempfile
from collections import defaultdict

from markdown_it import MarkdownIt
from mdit_py_plugins.deflist import deflist_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.footnote import footnote_plugin
from mdit_py_plugins.tasklists import tasklists_plugin
from rapidfuzz.distance import Levenshtein

MEASURES = ["text", "headings", "lists", "tables", "code", "formulas", "order"]
SAME = {"js": "javascript", "ts": "typescript", "py": "python", "sh": "bash", "shell": "bash", "console": "bash",
        "zsh": "bash", "yml": "yaml", "c++": "cpp", "c#": "csharp", "cs": "csharp", "rb": "ruby", "rs": "rust",
        "md": "markdown", "text": "", "txt": "", "plaintext": "", "plain": "", "none": "", "default": "", "htm": "html",
        "py3": "python", "ipython3": "python", "golang": "go", "docker": "dockerfile", "objc": "objective-c"}
PLAIN = str.maketrans({"‘": "'", "’": "'", "“": '"', "”": '"', "…": "...", "–": "--", "—": "---"})
READER = (MarkdownIt("commonmark").enable(["table", "strikethrough"])
          .use(dollarmath_plugin, allow_digits=False, double_inline=True)
          .use(deflist_plugin).use(footnote_plugin, inline=False).use(tasklists_plugin))


def similarity(a, b):
    return 1 - Levenshtein.distance(a, b) / max(len(a), len(b), 1)


def with_dollars(markdown):
    """Returns Markdown with formulas between dollars instead of brackets, outside of code."""
    parts = re.split(r"(^[ \t>]*(?:```|~~~).*?^[ \t>]*(?:```|~~~)[ \t]*$|`[^`\n]+`)", markdown, flags=re.S | re.M)
    for at in range(0, len(parts), 2):
        part = re.sub(r"\\\\?\((.+?)\\\\?\)", r"$\1$", parts[at], flags=re.S)
        part = re.sub(r"\\\\?\[(.+?)\\\\?\]", lambda m: f"$${m.group(1)}$$", part, flags=re.S)
        parts[at] = re.sub(r"^(\s*)(\\begin\{(\w+\*?)\}.*?\\end\{\3\})", r"\1$$\2$$", part, flags=re.S | re.M)
    return "".join(parts)


class Parts:
    """The parts of one Markdown text."""

    def __init__(self, markdown):
        self.text, self.headings, self.lists = [], [], []
        self.tables, self.code, self.formulas, self.blocks = [], [], [], []
        lists, heading, item = [], 0, False
        for token in READER.parse(with_dollars(markdown)):
            match token.type:
                case "bullet_list_open" | "ordered_list_open":
                    lists.append("1." if token.tag == "ol" else "-")
                case "bullet_list_close" | "ordered_list_close":
                    lists.pop()
                case "list_item_open":
                    item = True
                case "heading_open":
                    heading = int(token.tag[1])
                case "heading_close":
                    heading = 0
                case "table_open":
                    self.tables.append([])
                case "tr_open":
                    self.tables[-1].append([])
                case "fence" | "code_block":
                    name = re.split(r"[\s{,:=]+", token.info.strip().lower())[0] if token.info else ""
                    self.code.append((SAME.get(name, name), token.content.rstrip("\n")))
                    self.blocks.append(token.content)
                case "math_block" | "math_block_label" | "amsmath":
                    self.formula(token.content)
                case "inline":
                    text = self.inline(token.children).translate(PLAIN)
                    if token.level >= 1 and self.tables and self.tables[-1] and self.in_cell:
                        self.tables[-1][-1].append(text)
                    elif text:
                        self.text.append(text)
                        self.blocks.append(text)
                        if heading:
                            # Numbers of sections come from the generator.
                            text = re.sub(r"^\d+(\.\d+)*\.? ", "", text)
                            self.headings.append("#" * heading + " " + text)
                        elif lists and item:
                            self.lists.append("  " * (len(lists) - 1) + lists[-1] + " " + text)
                            item = False
            self.in_cell = token.type in ("th_open", "td_open")

    def inline(self, children):
        out = ""
        for child in children or []:
            if child.type in ("text", "code_inline"):
                out += child.content
            elif child.type.startswith("math"):
                self.formula(child.content)
            elif child.type in ("softbreak", "hardbreak") or child.content.startswith("<br"):
                out += " "
        return re.sub(r"\s+", " ", out).strip()

    def formula(self, tex):
        tex = re.sub(r"\s+|\{\}|\\(displaystyle|textstyle|label\{[^}]*\}|notag|nonumber|(begin|end)\{split\})", "", tex)
        self.formulas.append(tex.replace("\\lt", "<").replace("\\gt", ">"))


def row_distance(a, b):
    """Returns the edit distance of two rows, in cells."""
    if a == b:
        return 0
    last = list(range(len(b) + 1))
    for i, x in enumerate(a):
        row = [i + 1]
        for j, y in enumerate(b):
            row.append(min(last[j] + 1 - similarity(x, y), last[j + 1] + 1, row[j] + 1))
        last = row
    return last[-1]


def table_distance(a, b):
    last = [0]
    for row in b:
        last.append(last[-1] + len(row))
    for i, x in enumerate(a):
        row = [last[0] + len(x)]
        for j, y in enumerate(b):
            change = row_distance(x, y) if abs(i - j) < 20 or len(a) < 60 else len(x) + len(y)
            row.append(min(last[j] + change, last[j + 1] + len(x), row[j] + len(y)))
        last = row
    return last[-1]


def code_score(gold, got):
    score = similarity("\n".join(text for _, text in gold), "\n".join(text for _, text in got))
    named = [(language, text) for language, text in gold if language]
    if not named:
        return score
    languages = {re.sub(r"\s", "", text)[:200]: language for language, text in got}
    right = sum(languages.get(re.sub(r"\s", "", text)[:200]) == language for language, text in named)
    return 0.9 * score + 0.1 * right / len(named)


def order_score(gold, got):
    keys = lambda blocks: [re.sub(r"\W", "", text.lower())[:30] for text in blocks]
    gold, got = keys(gold), keys(got)
    once = [key for key in gold if len(key) >= 4 and gold.count(key) == 1]
    if len(once) < 2:
        return None
    places = [got.index(key) for key in once if got.count(key) == 1]
    return similarity(places, sorted(places)) if len(places) >= 2 else 0


def scores(gold, got):
    found = {"order": order_score(gold.blocks, got.blocks)}
    for name, between in [("text", "\n"), ("headings", "\n"), ("lists", "\n"), ("formulas", "\n")]:
        a, b = getattr(gold, name), getattr(got, name)
        found[name] = similarity(between.join(a), between.join(b)) if a or b else None
    cells = lambda tables: sum(len(row) for table in tables for row in table)
    if gold.tables or got.tables:
        flat = [[row for table in tables for row in table] for tables in (gold.tables, got.tables)]
        found["tables"] = max(0, 1 - table_distance(*flat) / max(cells(gold.tables), cells(got.tables), 1))
    found["code"] = code_score(gold.code, got.code) if gold.code or got.code else None
    return found


def run_leitong(program, pages):
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
        for page in pages:
            file.write(json.dumps({"id": page["id"], "url": page["url"], "html": page["html"]}) + "\n")
        file.flush()
        command = [program, "extract", "--format", "markdown", "--jsonl", file.name]
        lines = subprocess.run(command, capture_output=True, check=True).stdout.splitlines()
    texts = {line["id"]: line.get("text") or "" for line in map(json.loads, lines)}
    return [texts[page["id"]] for page in pages]


def run_trafilatura(_, pages):
    import trafilatura
    options = {"output_format": "markdown", "include_tables": True, "include_links": True, "include_formatting": True}
    return [trafilatura.extract(page["html"], url=page["url"], **options) or "" for page in pages]


def run_magic_html(_, pages):
    from magic_html import GeneralExtractor
    from markdownify import markdownify
    extractor, texts = GeneralExtractor(), []
    language = lambda pre: next(iter(re.findall(r"lang(?:uage)?-([\w+#-]+)", str(pre)[:300])), "")
    for page in pages:
        try:
            html = extractor.extract(page["html"], base_url=page["url"]).get("html") or ""
        except Exception:  # It fails on a few pages, which then have no text.
            html = ""
        texts.append(markdownify(html, heading_style="ATX", code_language_callback=language))
    return texts


def main(program, path, half, *options):
    tools = {"leitong": run_leitong, "trafilatura": run_trafilatura, "magic-html": run_magic_html}
    worst = options[options.index("--worst") + 1] if "--worst" in options else None
    chosen = options[0].split(",") if options and options[0] != "--worst" else tools
    pages = [page for page in map(json.loads, open(path)) if page["half"] == half]
    themes, languages = ({page[name] for page in pages} for name in ("theme", "language"))
    print(f"{len(pages)} pages, {len(themes)} themes, {len(languages)} languages")
    golds = [Parts(page["markdown"]) for page in pages]
    print(f"{'':12}" + "".join(f"{name:>10}" for name in MEASURES + ["mean"]))
    for tool in chosen:
        all_scores, kept = defaultdict(list), []
        for page, gold, text in zip(pages, golds, tools[tool](program, pages)):
            found = scores(gold, Parts(text))
            for name in MEASURES:
                if found.get(name) is not None:
                    all_scores[name].append(found[name])
            kept.append((found.get(worst), page["theme"], page["id"]))
        means = [sum(all_scores[name]) / max(len(all_scores[name]), 1) for name in MEASURES]
        print(f"{tool:12}" + "".join(f"{mean:10.3f}" for mean in means + [sum(means) / len(means)]))
        print(f"{'  pages':12}" + "".join(f"{len(all_scores[name]):10}" for name in MEASURES))
        for score, theme, name in sorted(entry for entry in kept if entry[0] is not None and worst)[:60]:
            print(f"  {score:.3f} {theme} {name}")


if __name__ == "__main__":
    main(*sys.argv[1:])
