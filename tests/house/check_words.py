#!/usr/bin/env python3
"""Checks that comments, help texts, messages and names keep the rules of words in CONTRIBUTING.md, as far as patterns can
see it. usage: check_words.py ROOT"""

import pathlib
import re
import sys
from typing import Iterator, NamedTuple

# The folders that are read, but for this check and its test.
READ = ("apps", "c", "core", "inspector", "plugins", "python", "scripts", "tests")
SUFFIXES = {".h", ".c", ".cpp", ".cu", ".py"}
NOT_READ = ("tests/house/",)

# At the beginning of a comment. The capital distinguishes it from a line of code that is quoted.
RELATIVE = re.compile(r"(?:What|Whether|Of|Which|How|Where|Why)\b(?!')")
# At the beginning of a comment behind code, as of a field, or of a help text.
RELATIVE_FRAGMENT = re.compile(r"(?:what|whether|of|which|how|where|why|whose)\b(?!')", re.IGNORECASE)
# The help text of a component is a noun, "eviction policy", not what it does.
HELP_VERB = re.compile(r"(?:chooses|decides|does|finds|gives|hands|holds|keeps|makes|says|sets|takes|writes)\b")
REFUSED = re.compile(r"\b(?:told|tells?|telling|heard|hears?|believes?|believed|anew|by lot|of no use|so manieth|at hand|"
                     r"be had|no more(?! than)|nobody|somebody)\b".replace(" ", r"\s+"), re.IGNORECASE)
# In a text for users, people are "who"; in a comment it is a component.
REFUSED_IN_COMMENT = re.compile(REFUSED.pattern + r"|\b(?:whoever|whom?)\b", re.IGNORECASE)
REFUSED_PARTS = {"told", "tell", "tells", "teller", "telling", "said", "unsaid", "hear", "hears", "heard", "unheard",
                 "believe", "believes", "believed", "asked", "unasked"}

TOKEN = re.compile(r"""(?P<comment>//[^\n]*|/\*.*?\*/)|(?P<text>R"(?P<mark>\w*)\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*")|"""
                   r"""'(?:\\.|[^'\\\n])+'|(?P<name>[A-Za-z_]\w*)|\d[\w'.]*""", re.DOTALL)
PYTHON_TOKEN = re.compile(r'''(?P<comment>\#[^\n]*|(?<![^\n])[ ]*r?""".*?""")|'''
                          r'''(?P<text>""".*?"""|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')|(?P<name>[A-Za-z_]\w*)''', re.DOTALL)
# What is around the words of a line of a comment.
MARKS = re.compile(r'^\s*(?://[/!]?<?|/\*+<?|\*(?!/)|#+!?|r?""")|\s*(?:\*/|""")\s*$')
# Calls with help texts behind their first argument.
HELP_CALL = re.compile(r"(?:\b(?:o|options|part)\.(?:number|number_or_word|optional|real|flag|choice|variant|entries|section|"
                       r"text|component)|\bcomponent<\w+>|(?:->|\.)\s*add_(?:option|flag))\(")


class Breach(NamedTuple):
    line: int
    why: str
    text: str


class Paragraph(NamedTuple):
    line: int
    is_behind_code: bool
    text: str


def paragraphs(text: str, tokens: list[re.Match]) -> Iterator[Paragraph]:
    """Yields the paragraphs of all comments. Line comments below each other are one comment."""
    lines: list[str] = []
    begin, is_behind_code, last, last_column = 0, False, -1, 0
    for token in tokens:
        if not token["comment"]:
            continue
        line_begin = text.rfind("\n", 0, token.start()) + 1
        column = token.start() - line_begin
        line = text.count("\n", 0, token.start()) + 1
        is_alone = not text[line_begin:token.start()].strip()
        goes_on = line == last + 1 and column == last_column and is_alone and token["comment"].startswith(("//", "#"))
        for number, raw in enumerate(token["comment"].split("\n"), line):
            words = MARKS.sub("", raw).strip()
            if lines and not (words and (goes_on or number > line)):
                yield Paragraph(begin, is_behind_code, "\n".join(lines))
                lines = []
            if words:
                if not lines:
                    begin, is_behind_code = number, not is_alone and number == line
                lines.append(words)
            last = number
        last_column = column
    if lines:
        yield Paragraph(begin, is_behind_code, "\n".join(lines))


def help_texts(text: str, tokens: list[re.Match]) -> Iterator[tuple[int, str]]:
    """Yields the arguments of calls in HELP_CALL that are texts and nothing else, but for the first."""
    code = list(text)
    for token in tokens:
        if token["comment"] or token["text"]:
            code[token.start():token.end()] = ("\0" if token["text"] else " ") * (token.end() - token.start())
    code = "".join(code)
    for call in HELP_CALL.finditer(code):
        depth, begin, arguments = 0, call.end(), []
        for at in range(call.end(), len(code)):
            depth += (code[at] in "([{") - (code[at] in ")]}")
            if depth < 0 or (depth == 0 and code[at] == ","):
                arguments.append((begin, at))
                begin = at + 1
            if depth < 0:
                break
        for begin, end in arguments[1:]:
            if code[begin:end].strip() and not code[begin:end].strip(" \n\0"):
                texts = [token for token in tokens if token["text"] and begin <= token.start() < end]
                yield texts[0].start(), "".join(token["text"][1:-1] for token in texts)


def breaches(text: str, suffix: str) -> Iterator[Breach]:
    """Yields the breaches of a file with this text, kind by kind."""
    tokens = list((PYTHON_TOKEN if suffix == ".py" else TOKEN).finditer(text))

    def line_of(at: int) -> int:
        return text.count("\n", 0, at) + 1

    def refused(pattern: re.Pattern, words: str, line: int, kind: str) -> Iterator[Breach]:
        for word in pattern.finditer(words):
            yield Breach(line + words.count("\n", 0, word.start()), f"{kind} has '{word[0]}'", words.replace("\n", " "))

    for paragraph in paragraphs(text, tokens):
        begin = (RELATIVE_FRAGMENT if paragraph.is_behind_code else RELATIVE).match(paragraph.text)
        if begin:
            yield Breach(paragraph.line, f"a comment begins with '{begin[0]}'", paragraph.text.replace("\n", " "))
        yield from refused(REFUSED_IN_COMMENT, paragraph.text, paragraph.line, "a comment")
    for at, words in help_texts(text, tokens):
        begin = RELATIVE_FRAGMENT.match(words) or HELP_VERB.match(words)
        if begin:
            yield Breach(line_of(at), f"a help text begins with '{begin[0]}'", words)
    for token in tokens:
        if token["text"] and " " in token["text"] and "\n" not in token["text"]:  # others are words or data
            yield from refused(REFUSED, token["text"], line_of(token.start()), "a text")
        for part in re.findall(r"[A-Z]?[a-z]+", token["name"] or ""):
            if part.lower() in REFUSED_PARTS:
                yield Breach(line_of(token.start()), f"a name has '{part}'", token["name"])


def main() -> None:
    root = pathlib.Path(sys.argv[1])
    found = files = 0
    for file in sorted(file for folder in READ for file in (root / folder).rglob("*") if file.suffix in SUFFIXES):
        name = file.relative_to(root).as_posix()
        if name.startswith(NOT_READ):
            continue
        files += 1
        for breach in breaches(file.read_text(encoding="utf-8"), file.suffix):
            print(f"{name}:{breach.line}: {breach.why}: {breach.text}")
            found += 1
    if found or not files:
        sys.exit(f"{found} breaches of the rules of words in CONTRIBUTING.md, in {files} files")
    print(f"{files} files keep the rules of words")


if __name__ == "__main__":
    main()
