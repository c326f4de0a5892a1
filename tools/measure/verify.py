#!/usr/bin/env python3
"""Measures what `dedup --verify` removes: pages of templates, reprints, and the labelled sets.

usage: verify.py make DATA FOLDER A|B|C
       verify.py run LEITONG FOLDER [--plain] FILE...
       verify.py score FOLDER FILE...

`make` writes `templates-*.jsonl` and `reprints-*.jsonl`. A, B and C have other generators and other words, and A and B
other texts. Every random choice follows from the seed. `run` writes the kept and dropped documents of each file with and
without `--verify`, and `score` prints a row for each. A removal is *wrong* if no kept document of its cluster has its
label, and recall is the share of labelled duplicates that are removed.
"""
import gzip
import hashlib
import json
import pathlib
import random
import re
import resource
import subprocess
import sys

SEED = "leitong verify 1"
PAGES = 12  # of a template
TEMPLATES = 8  # of a generator
TEXTS = 70  # that are reprinted, of each language

# Sentences of a template, by language; each of them has the places that differ.
GENERATORS = {
    "A": {
        "hours": ("en", ["Our shop in the old town is closed on {day}.", "Ask for {person} at the counter."]),
        "day": ("en", ["The market by the harbour opens every {day} before sunrise."]),
        "colour": ("en", ["This chair comes in {colour} and has four legs of oak."]),
        "prices": ("en", ["The bank now sees the price of wheat at {money} a tonne, after {money} in the spring."]),
        "town": ("en", ["Visit us in {town}, where we have served our guests for years.", "Parking in {town} is free."]),
        "release": ("en", ["Version {version} of the editor is now available for download."]),
        "count": ("en", ["The reading room holds {number} volumes."]),
        "filiale": ("de", ["Unsere Filiale in {town} hat am {tag} geschlossen."]),
        "branch": ("zh", ["本店星期{zhday}营业，欢迎光临。", "联系人：{zhperson}。"]),
    },
    "B": {
        "class": ("en", ["Package org.{word}.errors", "public class {word}Exception extends {word}Error"]),
        "ferry": ("en", ["The ferry to {isle} leaves at {time} from the northern pier."]),
        "taste": ("en", ["Every guest gets a cup of our {taste} tea with the meal."]),
        "month": ("en", ["The annual meeting of the society takes place each {month} in the town hall."]),
        "stocks": ("en", ["Stocks carried over into the next season are put at {tonnes} million tonnes."]),
        "doctor": ("en", ["Your appointment is with {surname}, on the second floor.", "{surname} speaks three languages."]),
        "kurs": ("de", ["Der Kurs {kurs} beginnt im {monat} und kostet {number} Euro."]),
        "hotel": ("es", ["El hotel {isle} está abierto desde {mes} hasta el final de la temporada."]),
        "school": ("zh", ["我校将于{zhmonth}月举行{zhsubject}考试，请同学们准时参加。"]),
    },
    "C": {
        "tide": ("en", ["High water at the bridge is at {time}, with {money} centimetres above the mark."]),
        "role": ("en", ["We are looking for a {role} to join our team in {city}.", "The {role} reports to the board."]),
        "lunch": ("en", ["Today the canteen serves {dish} with bread and salad."]),
        "judge": ("en", ["The case was heard by {justice}, who gave the reasons of the court."]),
        "draw": ("en", ["The winning numbers of the draw are {number} and {time}."]),
        "season": ("en", ["The garden is most beautiful in {season}, when entrance is free."]),
        "linie": ("de", ["Die Linie {number} hält wegen Bauarbeiten nicht am {platz}."]),
        "court": ("zh", ["原告{plaintiff}，住本市。", "原告{plaintiff}请求法院判令被告赔偿。"]),
        "bus": ("zh", ["开往{zhplace}的班车每天{number}号站台发车。"]),
    },
}
WORDS = {
    "day": "monday tuesday wednesday thursday friday saturday sunday",
    "colour": "red blue green yellow black white brown grey orange pink",
    "town": "Ashford Marlow Whitby Ludlow Keswick Bakewell Hexham Alnwick Totnes Bude Ripon Selby",
    "person": "Anna Berg|Karl Voss|Ida Lund|Tom Hale|Eva Roth|Jon Sand|Mia Falk|Per Holm|Liv Strand|Max Kern",
    "tag": "Montag Dienstag Mittwoch Donnerstag Freitag Samstag Sonntag",
    "zhday": "一 二 三 四 五 六 日",
    "zhperson": "王建国 李秀英 张伟民 刘志强 陈桂兰 杨文博 赵晓燕 黄海涛 周美玲 吴国栋",
    "word": "acme commons retriable connect fetching streams storage network security metrics cluster ledger",
    "isle": "Skomer Lundy Bardsey Rathlin Islay Arran Coll Tiree Eigg Canna Barra Hoy",
    "taste": "green black white red sweet bitter cold hot strong mild",
    "month": "january february march april june july august september october november december",
    "surname": "Doctor Weller|Doctor Okafor|Doctor Lindqvist|Doctor Baines|Doctor Moreau|Doctor Castellan|Doctor Haruki",
    "kurs": "Malen Töpfern Kochen Singen Nähen Tanzen Schnitzen Weben Gärtnern Fechten",
    "monat": "Januar Februar März April Juni Juli August September Oktober November",
    "mes": "enero febrero marzo abril mayo junio julio agosto septiembre octubre",
    "role": "baker gardener teacher nurse mechanic translator accountant plumber librarian welder",
    "city": "Turin Ghent Porto Graz Basel Malmo Brno Split Oulu Nantes",
    "dish": "soup fish rice beans eggs cheese pasta chicken potatoes cabbage",
    "justice": "Abara Quist Tolland Brandauer Iwasaki Ferreira Novak Delacroix Hennessy Rautio",
    "season": "spring summer autumn winter may june september october",
    "platz": "Rathaus Bahnhof Dom Hafen Zoo Stadion Markt Theater Museum Friedhof",
    "plaintiff": "孙丽华 郑文涛 马晓东 朱国平 胡雪梅 林志远 何淑珍 高建军 罗婷婷 梁永福",
    "zhplace": "青岛 苏州 西安 长沙 昆明 大连 桂林 洛阳 绍兴 丽江",
    "zhmonth": "一 二 三 四 五 六 七 八 九 十",
    "zhsubject": "数学 语文 英语 物理 化学 生物 历史 地理 政治 音乐",
}
DIGITS = "zero one two three four five six seven eight nine ten eleven twelve".split()
# Wording that an editor changes without changing what is said.
WORDING = {
    ("A", "en"): [(r"\bwhich\b", "that"), (r"\bthat\b", "which"), (r"\bper cent\b|%", " percent"), (r"\bbut\b", "and"),
                  (r"\bhas\b", "had"), (r"(?<![-–.,:/\d])\b([2-9])\b(?![-–.,:/\d])", lambda m: DIGITS[int(m[1])])],
    ("B", "en"): [(r"\bin the\b", "in"), (r"\bwas\b", "is"), (r"\bwho\b", "that"), (r"\bfrom\b", "of"), (r"'", "’"),
                  (r"\b(one|two|three|four|five|six|seven|eight|nine|ten)\b", lambda m: str(DIGITS.index(m[1]))),
                  (r"\bas\b", "when"), (r"(\w)-(\w)", r"\1 \2")],
    ("C", "en"): [(r"\bon the\b", "upon the"), (r"\bwill\b", "would"), (r"\bit\b", "this"), (r"\bits\b", "their"),
                  (r"\bwith\b", "by"), (r"(?<![-–.,:/\d])\b([2-9])\b(?![-–.,:/\d])", lambda m: DIGITS[int(m[1])])],
    ("C", "zh"): [("也", ""), ("为", "是"), ("并", "且"), ("及", "和")],
    ("A", "zh"): [("的", ""), ("和", "与"), ("在", "于"), ("，", "、")],
    ("B", "zh"): [("了", ""), ("将", "要"), ("对", "就"), ("“|”", '"')],
}
CREDIT_LINES = {
    "en": ["Reporting by our staff.", "This story first appeared in print.", "Edited by the night desk."],
    "zh": ["（责任编辑：小编）", "本文转载自网络。", "来源：本站讯"],
}
SOURCES = {"en": ["extract_en_articles.jsonl.gz", "extract_en_cleaneval.jsonl.gz"], "zh": ["neardup_zh_fudan.jsonl.gz"],
           "de": ["real_laws_de.jsonl.gz"], "es": ["real_i18n_docs.jsonl.gz", "real_tldr_short.jsonl.gz"]}


def lines(path):
    opener = gzip.open if str(path).endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8") as handle:
        yield from map(json.loads, handle)


def texts(data, language, half):
    """Returns the texts of a half that do not begin alike, the shortest ones first."""
    found = {text[:200]: text for text in all_texts(data, language, half)}
    return sorted({text[-200:]: text for text in found.values()}.values(), key=lambda text: (len(text), text))


def all_texts(data, language, half):
    for name in SOURCES[language]:
        for page in lines(pathlib.Path(data) / name):
            text = page.get("gold_text") or page.get("text") or ""
            is_first = page.get("label", "new") == "new"
            digest = hashlib.sha256(f"{page['id']}".encode()).digest()
            in_half = digest[half == "C"] % 2 == (half == "B")
            if is_first and in_half and 600 < len(text) < 20_000 and page.get("lang", language) in (language, "zh-CN"):
                yield text


def sentences(text):
    return [s for s in re.findall(r".*?(?:[。！？!?]|\.(?=\s|$)|\n|$)\s*", text, re.S) if s.strip()]


def fill(rng, sentence, taken):
    def value(match):
        kind = match[1]
        if kind not in taken:
            numbers = {
                "number": lambda: str(rng.randint(100, 9_999)), "money": lambda: f"{rng.randint(100, 999)}.{rng.randint(10, 99)}",
                "version": lambda: f"{rng.randint(1, 9)}.{rng.randint(0, 20)}.{rng.randint(0, 20)}",
                "time": lambda: f"{rng.randint(6, 20)}:{rng.randint(10, 59)}", "tonnes": lambda: f"{rng.randint(10, 40)}.00",
            }
            words = WORDS.get(kind, "")
            taken[kind] = numbers[kind]() if kind in numbers else rng.choice(words.split("|") if "|" in words else words.split())
        return taken.pop(kind) if kind == "money" else taken[kind]
    return re.sub(r"\{(\w+)\}", value, sentence)


def address(rng, mode, number):
    """Returns an address of a page: on one site, on a site of its own, or none."""
    return {"one": {"url": f"https://www.{mode}.example/pages/{number}"}, "many": {"url": f"https://h{number}.example/a"},
            "none": {}}[mode]


def templates(data, half):
    for at, (name, (language, slots)) in enumerate(GENERATORS[half].items()):
        rng = random.Random(f"{SEED} {half} {name}")
        bodies = list(texts(data, language, half))[at :: len(GENERATORS[half])]
        bodies = rng.sample(bodies, min(TEMPLATES, len(bodies)))
        for number, body in enumerate(bodies):
            mode = ("one", "many", "none")[number % 3]
            body = sentences(body)[: rng.choice((6, 12, 24, 60))]
            places = sorted((rng.randrange(1, len(body)) if len(body) > 1 else 1 for _ in slots), reverse=True)
            for serial in range(PAGES):
                taken, parts = {}, list(body)
                filled = [fill(rng, sentence, taken) for sentence in slots]
                for place, sentence in zip(places, reversed(filled)):
                    parts.insert(place, sentence + ("" if language == "zh" else " "))
                facts = f"{name}-{number}-{'|'.join(filled)}"
                page = lambda text, where: {"id": f"{name}-{number}-{serial}{where}", "text": text, "cluster": facts,
                                            "kind": f"{name} {mode}", **address(rng, mode, f"{name}-{number}-{serial}{where}")}
                yield page("".join(parts), "")
                if serial % 3 == 0:
                    copy = "".join(parts) + " " + rng.choice(CREDIT_LINES["zh" if language == "zh" else "en"])
                    yield page(copy, "c")


def reworded(rng, text, pairs, count):
    for _ in range(count * 4):
        pattern, instead = rng.choice(pairs)
        found = list(re.finditer(pattern, text))
        if found and count:
            match = rng.choice(found)
            text = text[: match.start()] + (instead(match) if callable(instead) else match.expand(instead)) + text[match.end():]
            count -= 1
    return text


def reprints(data, half):
    for language in ("en", "zh"):
        rng = random.Random(f"{SEED} {half} reprints {language}")
        found = list(texts(data, language, half))
        pairs = WORDING[half, language]
        for number, text in enumerate(rng.sample(found, min(TEXTS, len(found)))):
            mode = ("none", "many")[number % 2]
            if number % 3 == 0:
                text = "".join(sentences(text)[:6])
            parts = sentences(text)
            copies = {
                "wording 1": reworded(rng, text, pairs, 1), "wording 3": reworded(rng, text, pairs, 3),
                "credit": "".join(parts) + " " + rng.choice(CREDIT_LINES[language]), "lead": rng.choice(CREDIT_LINES[language]) + " " + text,
                "cut": "".join(parts[: max(1, len(parts) * 9 // 10)]),
            }
            for kind, copy in {"first": text, **copies}.items():
                page_id = f"{language}-{number}-{kind}".replace(" ", "")
                yield {"id": page_id, "text": copy, "cluster": f"{language}-{number}", "kind": f"{language} {kind}",
                       **address(rng, mode, page_id)}


def make(data, folder, half):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name, pages in (("templates", templates(data, half)), ("reprints", reprints(data, half))):
        seen, rows = set(), list(pages)
        for row in rows:
            row["label"] = "dup" if row["cluster"] in seen else "new"
            seen.add(row["cluster"])
        rows = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        (folder / f"{name}-{half}.jsonl").write_text(rows, encoding="utf-8")


def cpu():
    return sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])


def run(leitong, folder, files, options=((), ("--verify",))):
    for file in map(pathlib.Path, files):
        for option in options:
            outputs = [pathlib.Path(folder) / f"{file.name.split('.')[0]}{''.join(option)}.{kind}" for kind in ("kept", "dropped")]
            outputs = [output.with_name(output.name + ".jsonl") for output in outputs]
            [output.unlink(missing_ok=True) for output in outputs]
            before = cpu()
            command = [leitong, "dedup", *option, "--annotate", "--keep", outputs[0], "--drop", outputs[1], file]
            subprocess.run(command, check=True, capture_output=True)
            outputs[0].with_suffix(".cpu").write_text(f"{cpu() - before:.2f}")


def score_of(kept, dropped):
    """Returns the number of removals, the ids of wrong ones, recall, and the number of duplicates."""
    has = {(page["leitong_cluster"], page["cluster"]) for page in lines(kept)}
    removed = list(lines(dropped))
    wrong = [page for page in removed if (page["leitong_cluster"], page["cluster"]) not in has and page["label"] != "ambiguous"]
    found = sum(page["label"] == "dup" for page in removed)
    all_of_them = found + sum(page["label"] == "dup" for page in lines(kept))
    return len(removed), wrong, found / max(all_of_them, 1), all_of_them


def score(folder, files):
    print("| set | removed | wrong | recall | CPU |\n|---|---|---|---|---|")
    for file in map(pathlib.Path, files):
        cells = []
        for option in ("", "--verify"):
            stem = f"{file.name.split('.')[0]}{option}"
            kept, dropped = (pathlib.Path(folder) / f"{stem}.{kind}.jsonl" for kind in ("kept", "dropped"))
            removed, wrong, recall, _ = score_of(kept, dropped)
            cells.append((removed, len(wrong), f"{recall:.3f}", kept.with_suffix(".cpu").read_text()))
        print(f"| {file.name.split('.')[0]} | " + " | ".join(f"{a} → {b}" for a, b in zip(*cells)) + " |")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["make", data, folder, ("A" | "B" | "C") as half]:
            make(data, folder, half)
        case ["run", leitong, folder, *files]:
            run(leitong, folder, files)
        case ["score", folder, *files]:
            score(folder, files)
        case _:
            sys.exit(__doc__)
