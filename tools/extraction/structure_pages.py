#!/usr/bin/env python3
"""Collect built pages whose Markdown source is known, for score_structure.py.

usage: structure_pages.py CLONES OUT.jsonl

CLONES holds clones of the repositories in structure_sites.tsv, as folders OWNER+NAME (bare or not). Each of them keeps
both its Markdown and the built site in git. A source is paired with the built page of the same name; pages of which
the text does not have nine tenths of the source's words are left out, as are sources with templates, components or raw
markup, whose text only the generator knows. Each site gives at most EACH pages, those with most kinds of structure
first. Dialects (front matter, admonitions, MyST directives) become plain Markdown. Half of the themes, by a checksum
of the name, are for the final figure only.
"""
import collections
import html as H
import json
import os
import re
import subprocess
import sys
import textwrap
import zlib

EACH = 14
SOURCE = re.compile(r"\.(md|markdown|md\.txt)$")
UNKNOWN = re.compile(r"\{\{|\{%|<(script|style|iframe|table|video|details|div|[A-Z])|^import |--8<--|^\{\w+\}"
                     r"|\{code-cell\}|^\.\. |\{(cite|numref|eq|eval-rst|include|literalinclude)", re.M)
BOXES = ("note|tip|warning|important|danger|caution|attention|hint|error|seealso|admonition|dropdown|info|proof"
         "|exercise|solution")


def git(clone, *arguments):
    return subprocess.run(["git", "-C", clone, "-c", "core.quotepath=false", *arguments], capture_output=True).stdout


def key(path, folder, ending):
    name = ending.sub("", os.path.relpath(path, folder).lower())
    name = re.sub(r"(^|/)(index|readme|_index)$", "", name)
    name = re.sub(r"(^|/)\d{4}-\d\d?-\d\d?-", r"\1", name)
    return re.sub(r"[^\w/]+", "-", name).strip("-")


def words(text):
    pairs = r"[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]{2}"
    return set(re.findall(r"[a-z0-9]{3,}|[\u0400-\u04ff]{4,}|" + pairs, text.lower()))


def text_of(page):
    page = re.sub(r"(?is)<(script|style|head)\b.*?</\1>|<!--.*?-->", " ", page)
    return H.unescape(re.sub(r"<[^>]*>", "", page))


def directive(match):
    """Rewrites a fenced directive of MyST."""
    name, argument, body = match.group(2), match.group(3).strip(), re.sub(r"^(\s*:[\w-]+:.*\n)+\n?", "", match.group(4))
    if name in ("code", "code-block", "sourcecode"):
        return f"```{argument}\n{body}```"
    if name == "math":
        return f"$$\n{body}$$"
    if name in ("image", "toctree", "contents", "tableofcontents"):
        return ""
    if name == "figure" or name.startswith("prf:") or name in BOXES.split("|"):
        return ("" if name == "figure" else argument + "\n\n") + textwrap.dedent(body)
    return "{{" + name


def outside_code(change, markdown):
    parts = re.split(r"(^[ \t]*(?:```|~~~).*?^[ \t]*(?:```|~~~)[ \t]*$|`[^`\n]+`)", markdown, flags=re.S | re.M)
    return "".join(part if at % 2 else change(part) for at, part in enumerate(parts))


def plain(markdown):
    """Returns the title in the front matter and the Markdown without dialects."""
    title = ""
    front = re.match(r"(---|\+\+\+)\r?\n(.*?)\n\1\s*\n", markdown, re.S)
    if front:
        markdown = markdown[front.end():]
        found = re.search(r"""^title\s*[:=]\s*["']?(.*?)["']?\s*$""", front.group(2), re.M)
        title = found.group(1) if found else ""
    markdown = outside_code(lambda part: re.sub(r"<!--.*?-->", "", part, flags=re.S), markdown.replace("\r\n", "\n"))
    markdown = re.sub(r"^\s*(//|#|/\*|<!--) highlight-(start|end|next-line).*\n", "", markdown, flags=re.M)
    for _ in range(3):
        fence = r"^(`{3,}|:{3,})\{([\w:-]+)\}([^\n]*)\n(.*?)^\1[ \t]*$"
        markdown = re.sub(fence, directive, markdown, flags=re.S | re.M)
    marks = r"^\([\w:.-]+\)=\s*$|^%.*$|^\[\[?toc\]?\]\s*$|^:::+.*$|^\{:.*\}$"
    markdown = re.sub(marks, "", markdown, flags=re.M | re.I)
    markdown = re.sub(r"^(#+ .*?)\s*\{[#.][^}]*\}\s*$", r"\1", markdown, flags=re.M)
    markdown = re.sub(r"\{math\}`([^`]+)`", r"$\1$", markdown)
    box = re.compile(r"^(?:!!!|\?\?\?\+?|===\+?) *[\w ]*(?:\"(.*)\")?\n((?:(?: {4}|\t).*\n|\s*\n)*)", re.M)
    inner = lambda match: (match.group(1) or "") + "\n\n" + re.sub(r"^(    |\t)", "", match.group(2), flags=re.M)
    return title, box.sub(inner, markdown)


def kinds(markdown):
    marks = [r"^\s*\|?[ :]*-{2,}[-| :]*\|", r"^\s*```\w", r"\$[^$\n]+\$|\\\\?\(", r"^\s*([-*+]|\d+\.) ", r"^#+ "]
    return sum(re.search(mark, markdown, re.M) is not None for mark in marks[:3]) * 2 + sum(
        re.search(mark, markdown, re.M) is not None for mark in marks[3:])


def site(clone, commit, source, built):
    files = git(clone, "ls-tree", "-r", "--name-only", commit).decode(errors="replace").split("\n")
    inside = lambda path, folder: folder == "." or path.startswith(folder + "/")
    pages, last = {}, collections.defaultdict(list)
    for path in files:
        if path.endswith(".html") and inside(path, built):
            name = key(path, built, re.compile(r"\.html$"))
            pages[name] = path
            last[name.split("/")[-1]].append(path)
    found = []
    for path in files:
        is_built = source == "." and inside(path, built)
        if not SOURCE.search(path) or path.endswith("_index.md") or not inside(path, source) or is_built:
            continue
        name = key(path, source, SOURCE)
        same = last[name.split("/")[-1]]
        page = pages.get(name) or (same[0] if len(same) == 1 else None)
        markdown = page and git(clone, "show", f"{commit}:{path}").decode(errors="replace")
        if not markdown or not 400 < len(markdown.encode()) < 60_000:
            continue
        title, markdown = plain(markdown)
        code = re.sub(r"^\s*(```|~~~).*?^\s*\1|`[^`\n]*`|\$[^$]*\$", "", markdown, flags=re.S | re.M)
        if UNKNOWN.search(code) or re.search(r"^\s*(```|:::)+\{\w", markdown, re.M):
            continue
        page_html = git(clone, "show", f"{commit}:{page}").decode(errors="replace")
        own, seen = words(re.sub(r"\]\([^)]*\)|https?:\S+", " ", code)), words(text_of(page_html))
        if len(own) < 30 or len(own & seen) < 0.9 * len(own) or len(page_html) > 1_000_000:
            continue
        # Not every generator takes the same lines for a table or for code: it must have built what the source has.
        tables = len(re.findall(r"^[ |]*:?-{2,}:?[ ]*\|[-:| ]*$", code, re.M))
        fences = len(re.findall(r"^ {0,3}```\w", markdown, re.M))
        if tables > page_html.count("<th>") + page_html.count("<th ") or fences > page_html.count("<pre"):
            continue
        if title and not re.search(r"^# ", code, re.M) and re.search(r"(?is)<h1\b", page_html):
            markdown = f"# {title}\n\n{markdown}"
        found.append((-kinds(markdown), zlib.crc32(path.encode()), page, page_html, markdown))
    return [entry[2:] for entry in sorted(found)[:EACH]]


def main(clones, out):
    table = open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "structure_sites.tsv")).read().split("\n")
    counts = collections.Counter()
    with open(out, "w") as lines:
        for row in filter(None, table[1:]):
            repository, commit, source, built, theme, language = row.split("\t")
            clone = os.path.join(clones, repository.replace("/", "+"))
            half = "final" if zlib.crc32(theme.encode()) % 2 else "development"
            pages = site(clone, commit, source, built)
            counts[half, theme] += len(pages)
            for page, page_html, markdown in pages:
                lines.write(json.dumps({
                    "id": f"{repository}/{page}", "url": f"https://{counts.total()}.example/{page}", "html": page_html,
                    "markdown": markdown, "theme": theme, "language": language, "half": half}) + "\n")
    for (half, theme), pages in sorted(counts.items()):
        print(f"{half}\t{theme}\t{pages}")


if __name__ == "__main__":
    main(*sys.argv[1:])
