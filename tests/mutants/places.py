"""The places of the code that a mutant changes, and which of them a seed chooses."""

import hashlib
import itertools
import json
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent

def blanked(text):
    """The text with comments, literals and preprocessor lines as blanks, so that every column stays."""
    out = list(text)

    def blank(begin, end):
        for i in range(begin, end):
            if out[i] != "\n":
                out[i] = " "

    token = re.compile(r'//[^\n]*|/\*.*?\*/|R"\((?:.*?)\)"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'|^[ \t]*#(?:\\\n|[^\n])*',
                       re.S | re.M)
    for match in token.finditer(text):
        blank(match.start(), match.end())
    return "".join(out)


def closing(text, at):
    """The place of the parenthesis that closes the one at `at`; -1 if there is none."""
    depth = 0
    for i in range(at, len(text)):
        depth += {"(": 1, ")": -1}.get(text[i], 0)
        if depth == 0:
            return i
    return -1


SWAPS = [
    ("boundary", " < ", " <= "), ("boundary", " <= ", " < "), ("boundary", " > ", " >= "), ("boundary", " >= ", " > "),
    ("condition", " == ", " != "), ("condition", " != ", " == "), ("condition", " && ", " || "),
    ("condition", " || ", " && "), ("sum", " + ", " - "), ("sum", " - ", " + "), ("sum", " += ", " -= "),
    ("sum", " -= ", " += "), ("sum", "std::min", "std::max"), ("sum", "std::max", "std::min"),
    ("answer", "return true;", "return false;"), ("answer", "return false;", "return true;"),
]
NOT_CODE = re.compile(r"static_assert|constexpr|\btemplate\b|\busing\b|\boperator|\balignas|\bassert\(|= default|= delete"
                      r"|\[\[|^\s*(class|struct|enum|public|private|protected|namespace)\b")
STATEMENT = re.compile(r"^\s*(?!return\b|break\b|continue\b|using\b|delete\b|throw\b|goto\b|case\b|default\b|else\b|co_|"
                       r"if\b|for\b|while\b|do\b|switch\b|friend\b|typedef\b|static\b|const\b|auto\b|virtual\b|explicit\b)"
                       r"(?P<body>(?:\+\+|--|\*)?[A-Za-z_][\w:]*[^;{}]*);$")
ASSIGNMENT = re.compile(r"^(?:\*)?[A-Za-z_][\w:.\->\[\]()+*, ]*? (?:[-+|&^]?=) ")
CALL = re.compile(r"^[A-Za-z_][\w:.\->\[\]()*]*\(.*\)$|^(?:\+\+|--)\S+$|^\S+(?:\+\+|--)$")


def declares(body):
    """Returns True if a statement makes a name: two words before its first sign."""
    return re.match(r"^(?:[A-Za-z_][\w:]*(?:<[^;=]*>)?[&*]* )+[&*]*[A-Za-z_]\w*(?:\s*[=({;\[]|$)", body) is not None


TEXTS = {}  # texts of files with places, as they were at the start: they may be edited meanwhile


def places_of(file):
    text = TEXTS[file] = (ROOT / file).read_text()
    code = blanked(text)
    places = []

    def add(kind, begin, end, new):
        if text[begin:end] != new:
            places.append({"file": file, "kind": kind, "at": begin, "old": text[begin:end], "new": new,
                           "line": text.count("\n", 0, begin) + 1})

    for match in re.finditer(r"\b(if|while) \(", code):
        line = code[code.rfind("\n", 0, match.start()) + 1:code.find("\n", match.start())]
        begin = match.end() - 1
        end = closing(code, begin)
        inside = text[begin + 1:end]
        if end > 0 and "constexpr" not in line and ";" not in code[begin:end] and " = " not in code[begin:end]:
            add("condition", begin + 1, end, "!(" + inside + ")")
    begin = 0
    previous = ""
    for line in code.split("\n"):
        stripped = line.strip()
        if stripped and not NOT_CODE.search(line) and line.startswith("  "):
            for kind, old, new in SWAPS:
                at = line.find(old)
                while at >= 0:
                    add(kind, begin + at, begin + at + len(old), new)
                    at = line.find(old, at + len(old))
            for match in re.finditer(r"(?<=[-+*/%=<>(,] )\d+(?=[;,) ])|(?<=\()\d+(?=[,)])", line):
                value = int(match.group())
                add("number", begin + match.start(), begin + match.end(), str(value + 1))
                if value > 0:
                    add("number", begin + match.start(), begin + match.end(), str(value - 1))
            found = STATEMENT.match(line)
            if found and re.search(r"[;{}):]$", previous) and not declares(found["body"]):
                if ASSIGNMENT.match(found["body"]):
                    add("copy left out", begin + found.start("body"), begin + found.end("body"), "")
                elif CALL.match(found["body"]):
                    add("statement left out", begin + found.start("body"), begin + found.end("body"), "")
        if stripped:
            previous = stripped
        begin += len(line) + 1
    return places


def mutants(seed, count, where):
    """`count` places: each kind of change has its share. A change of the code elsewhere does not move the choice, so
    verdicts of earlier days count on."""
    files = []
    for folder in where:
        path = ROOT / folder
        files += [path] if path.is_file() else [f for f in path.rglob("*") if f.suffix in (".h", ".cpp")]
    by_kind = {}
    for file in sorted({str(f.relative_to(ROOT)) for f in files}):
        alike = {}
        for place in places_of(file):
            diff = diff_of(place)
            alike[tuple(diff)] = alike.get(tuple(diff), 0) + 1
            place["key"] = hashlib.sha256(json.dumps([seed, file, diff, alike[tuple(diff)]]).encode()).hexdigest()[:16]
            by_kind.setdefault(place["kind"], []).append(place)
    chosen = []
    for row in itertools.zip_longest(*(sorted(by_kind[kind], key=lambda p: p["key"]) for kind in sorted(by_kind))):
        chosen += [place for place in row if place]
    for number, place in enumerate(chosen[:count], 1):
        place["number"] = number
    return chosen[:count]


def mutated(place):
    text = TEXTS[place["file"]]
    begin = place["at"]
    return text[:begin] + place["new"] + text[begin + len(place["old"]):]


def diff_of(place):
    """The lines that go and those that come."""
    text = TEXTS[place["file"]]
    begin = text.rfind("\n", 0, place["at"]) + 1
    end = text.find("\n", place["at"] + len(place["old"]))
    after = text[begin:place["at"]] + place["new"] + text[place["at"] + len(place["old"]):end]
    return ["-" + line for line in text[begin:end].splitlines()] + ["+" + line for line in after.splitlines()]
