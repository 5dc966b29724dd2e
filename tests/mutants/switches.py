"""Many mutants in one program: `a < b` becomes `(canopy_mutant(17) ? (a <= b) : (a < b))`, and the environment says which
of them is awake. Where the compiler refuses that (a constant expression, a template's argument), a mutant is built alone.
Lines keep their numbers, so that an error of the compiler names its mutant."""

import re

from places import blanked, closing

# In front of every source file. No constexpr: where a constant is needed, the compiler refuses. The numbers of places that are
# reached go to a file, each once, if the environment names one. It is opened each time, since tests count descriptors.
HEADER = """#pragma once
#include <cstdio>
#include <cstdlib>
inline bool canopy_mutant(int number) {
  static const int awake = [] {
    const char* const text = std::getenv("CANOPY_MUTANT");
    return text ? std::atoi(text) : 0;
  }();
  static const char* const reached = std::getenv("CANOPY_MUTANTS_REACHED");
  static bool seen[1 << 16];
  if (reached && !seen[number & 0xffff]) {
    seen[number & 0xffff] = true;
    if (std::FILE* const file = std::fopen(reached, "a")) {
      std::fprintf(file, "%d\\n", number);
      std::fclose(file);
    }
  }
  return number == awake;
}
"""

PAIRS = {")": "(", "]": "[", "}": "{"}
# An expression ends at one of these outside of brackets. None of them is a comparison, a sum or a logical operator.
BEFORE = re.compile(r"[;,({\[]|(?<![-+*/%|&^<>=!]) =\s|\? | : |\b(?:return|else|do|throw|case|co_return)\s")
AFTER = re.compile(r"[;,)}\]]| \? | : ")


def begin_of(code, at):
    """Returns the begin of the expression that `at` is in."""
    i = at
    while i > 0:
        c = code[i - 1]
        if c in PAIRS:
            if c == "}" and "\n" in code[i:at] and code[i:at].lstrip(" ").startswith("\n"):
                return i  # the end of a block
            depth, i = 1, i - 1
            while i > 0 and depth:
                depth += {c: 1, PAIRS[c]: -1}.get(code[i - 1], 0)
                i -= 1
            continue
        for match in BEFORE.finditer(code, max(0, i - 12), i):
            if match.end() == i:
                return i
        i -= 1
    return 0


def end_of(code, at, assigns):
    """Returns the end of the expression. An assigned value may be a choice (`a -= b ? c : d`), and ends with its parts."""
    i, choices = at, 0
    while i < len(code):
        c = code[i]
        if c in "([{":
            closes = {"(": ")", "[": "]", "{": "}"}[c]
            depth, i = 1, i + 1
            while i < len(code) and depth:
                depth += {c: 1, closes: -1}.get(code[i], 0)
                i += 1
            continue
        if after := AFTER.match(code, i):
            choices += {" ? ": assigns, " : ": -1}.get(after.group(), -len(code))
            if not assigns or choices < 0:
                return i
        i += 1
    return len(code)


def choice(text, place, begin, end):
    """The expression from begin to end, in two forms."""
    at, old = place["at"], place["old"]
    one = text[begin:at] + place["new"] + text[at + len(old):end]
    two = text[begin:end]
    if "//" in two or "#" in two or not two.strip():
        return None
    lines = two.count("\n")
    one, two = (" ".join(part.split("\n")) for part in (one, two))
    return begin, end, f"(canopy_mutant({place['number']}) ? ({one.strip()}) : ({two.strip()}))" + "\n" * lines


def edit_of(text, code, place):
    """Returns the edit (begin, end, text), or None: this mutant cannot be switched."""
    at, old, new, number = place["at"], place["old"], place["new"], place["number"]
    end = at + len(old)
    if place["kind"] in ("statement left out", "copy left out"):
        return (at, end + 1, f"{{ if (!canopy_mutant({number})) {old}; }}") if code[end] == ";" else None
    if place["kind"] == "number":
        return at, end, f"(canopy_mutant({number}) ? {new} : {old})"
    if place["kind"] == "answer":
        return at, end, f"return canopy_mutant({number}) ? {new[7:-1]} : {old[7:-1]};"
    if place["kind"] == "condition" and new == f"!({old})":
        return (at, end, f"canopy_mutant({number}) != static_cast<bool>({old})") if "//" not in old else None
    if old.startswith("std::m"):
        opens = code.find("(", end)
        return choice(text, place, at, closing(code, opens) + 1) if opens >= 0 else None
    begin = begin_of(code, at)
    while True:
        while begin < at and text[begin].isspace():
            begin += 1
        guard = re.compile(r"(?:if|for|while) \(").match(code, begin, at)  # in front of a statement without braces
        if not guard:
            break
        begin = closing(code, guard.end() - 1) + 1
    return choice(text, place, begin, end_of(code, end, place["old"] in (" += ", " -= ")))


def switched(text, places):
    """The text with as many of the places as it can have at once, with their lines, and the places that are left."""
    code = blanked(text)
    edits, left = [], []
    for place in places:
        edit = edit_of(text, code, place)
        if edit and all(edit[1] <= begin or end <= edit[0] for begin, end, _, _ in edits):
            edits.append((*edit, place))
        else:
            left.append(place)
    for begin, end, new, _ in sorted(edits, key=lambda e: -e[0]):
        text = text[:begin] + new + text[end:]
    lines = [(place, text_line(code, begin), text_line(code, end)) for begin, end, _, place in edits]
    return text, lines, left


def text_line(code, at):
    return code.count("\n", 0, at) + 1
