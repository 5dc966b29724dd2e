#!/usr/bin/env python3
"""Collects the documents and generates the reference pages of the site. scripts/docs runs it.

usage: site.py CANOPY FOLDER     CANOPY: a built program; FOLDER: receives the pages

Commands come from `canopy --man`, keys of engine files from `canopy config describe`, components and their options from
`canopy plugins`, Python from docstrings (if `import canopy` works here), headers of C from their comments, those of C++ from Doxygen (if it is installed), pictures of graphs from Graphviz (likewise).
"""

import importlib
import inspect
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
ELSEWHERE = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}


def output_of(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(str(word) for word in command)}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout


def cell(text):
    return text.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")


# ------------------------------------------------------------------------------------------------ documents

def for_site(text, place):
    """Returns a document with links as they are in the site. Links to files that the site lacks become their paths."""
    def link(found):
        label, target = found[1], found[2]
        if re.match(r"[a-z]+:|#", target):
            return found[0]
        path, _, anchor = target.partition("#")
        file = (place.parent / path).resolve().relative_to(ROOT)
        inside = ELSEWHERE.get(str(file))
        if not inside and file.parts[0] == "docs" and file.parts[1] != "history":
            inside = str(pathlib.PurePath(*file.parts[1:]))
        if not inside:
            return label if label.strip("`") == str(file) else f"{label} (`{file}`)"
        here = place.relative_to(ROOT)
        up = "../" if here.parts[0] == "docs" and len(here.parts) == 3 else ""
        return f"[{label}]({up}{inside}{'#' + anchor if anchor else ''})"

    return re.sub(r"\[([^\]]+)\]\(([^)\s]+)\)", link, text)


def drawn(text, picture):
    """Draws the Mermaid graph of a document, if there is one, as an SVG file: Mermaid's script is not part of the site.
    Without Graphviz the graph stays text."""
    block = re.search(r"```mermaid\ngraph TD\n(.*?)```\n", text, re.S)
    if not block or not shutil.which("dot"):
        return text
    names = dict(re.findall(r"(\w+)\[([^\]]+)\]", block[1]))
    edges = re.findall(r"(\w+)(?:\[[^\]]+\])? --> (\w+)", block[1])
    lines = [f'{one} [label="{names.get(one, one)}"];' for one in sorted({end for edge in edges for end in edge})]
    lines += [f"{one} -> {other};" for one, other in edges]
    style = 'bgcolor=white; ranksep=0.35; node [shape=box, style=rounded, fontname="sans-serif", fontsize=11, height=0.3]; edge [color=gray40, arrowsize=0.6];'
    subprocess.run(["dot", "-Tsvg", "-o", picture], input=f"digraph {{ {style} {' '.join(lines)} }}", text=True, check=True)
    return text.replace(block[0], f"![Rooms, and the rooms that each includes]({picture.name})\n")


def collect(pages):
    documents = [*ROOT.glob("docs/*.md"), *ROOT.glob("docs/tutorials/*.md"), *(ROOT / name for name in ELSEWHERE)]
    for document in documents:
        name = ELSEWHERE.get(document.name) if document.parent == ROOT else document.relative_to(ROOT / "docs")
        (pages / name).parent.mkdir(parents=True, exist_ok=True)
        (pages / name).write_text(for_site(drawn(document.read_text(encoding="utf-8"), (pages / name).with_suffix(".svg")), document), encoding="utf-8")
    for picture in ROOT.glob("docs/*.png"):
        shutil.copy(picture, pages)


# ------------------------------------------------------------------------------------------------ commands

def plain(roff):
    text = re.sub(r"\\f[BIR]", "", roff).replace("\\-", "-").replace("\\&", "")
    return text.replace("\\e", "\\")


def man_page(program):
    """Returns a man page as Markdown: a section a command, a table of its options."""
    lines, rows = [], []
    pending = None

    def flush():
        if rows:
            lines.extend(["", "| option | |", "|---|---|", *rows, ""])
            rows.clear()

    name = None
    for line in output_of(program, "--man").splitlines():
        if line.startswith(".TH"):
            continue
        if line.startswith(".TP"):
            pending, name = "name", None
        elif pending == "name":
            name, pending = plain(line), "help"
        elif pending == "help" and not line.startswith("."):
            rows.append(f"| `{name}` | {cell(plain(line))} |")
            pending = "more"
        elif pending == "more" and not line.startswith("."):
            rows[-1] = f"{rows[-1][:-2]} {cell(plain(line))} |"
        else:
            flush()
            pending = None
            if line.startswith(".SS"):
                usage, words = plain(line[4:]), plain(re.split(r" \[?\\f", line[4:])[0])
                lines += ["", f"## {words}", ""] + ([f"`{usage}`", ""] if usage != words else [])
            elif line.startswith(".SH"):
                title = plain(line[4:]).strip()
                if title not in ("NAME", "SYNOPSIS", "COMMANDS"):
                    lines += ["", f"## {title.capitalize()}", ""]
            elif not line.startswith("."):
                lines.append(cell(plain(line)) if lines else f"{plain(line)}.\n")
    flush()
    return "\n".join(lines)


def commands(canopy):
    programs = [canopy] + [at for at in [canopy.with_name("canopy-slots")] if at.exists()]
    return ("# Commands\n\nFrom `--man` of the programs. `canopy --completion bash|zsh|fish` prints a completion script."
            "\n\n" + "\n\n".join(man_page(program) for program in programs) + "\n")


# ------------------------------------------------------------------------------------------------ files and components

def engine_file(canopy):
    text = ["# Engine file", "", "Every key of the YAML file that describes an engine, from `canopy config describe`. A "
            "component may be `{ name: { options } }`: [components](components.md). `canopy config check FILE` says what is "
            "wrong with a file, `canopy config dump FILE` shows every key with its value.", ""]
    sections = {}
    for line in output_of(canopy, "config", "describe").splitlines():
        found = re.match(r"  (\S+)\s{2,}(.*?)\s*(?:\((.*)\))?$", line)
        if not found:
            continue
        key, about, values = found[1], found[2], found[3] or ""
        top = key.split(".")[0]
        sections.setdefault(top if top in ("groups", "model", "tiers", "feed", "events") else "The engine", []).append(
            f"| `{key}` | {cell(about)} | {cell(values)} |")
    for title, rows in sections.items():
        text += [f"## {title}", "", "| key | | values |", "|---|---|---|", *rows, ""]
    return "\n".join(text) + "\n"


def components(canopy):
    text = ["# Components", "", "Indexes, policies, allocators, stores, key codecs and storages of the shipped plugins, from "
            "`canopy plugins`. Options are keys below a component's name in the engine's file.", ""]
    kinds = {}
    for line in output_of(canopy, "plugins", "list").splitlines():
        if found := re.match(r"  ([A-Z]\w+)\s+(\S+)\s{2,}(.*)$", line):
            kinds.setdefault(found[1], []).append((found[2], found[3]))
    for kind, members in sorted(kinds.items()):
        text += ["", f"## {kind}", ""]
        for name, about in members:
            text += [f"### {name}", "", cell(re.sub(r"\s*\(\S+\.so [\d.]+\)$", "", about)) + ".", ""]
            options = []
            for line in output_of(canopy, "plugins", "describe", name).splitlines():
                if found := re.match(r"  ([a-z][\w.<>]*)\s{2,}(.*?)\s*\((.*)\)$", line):
                    options.append(f"| `{found[1]}` | {cell(found[2])} | {cell(found[3])} |")
            if options:
                text += ["| option | | values |", "|---|---|---|", *options, ""]
    return "\n".join(text) + "\n"


# ------------------------------------------------------------------------------------------------ Python and headers

def described(name, thing):
    """Returns the signatures and the docstring of a thing, as Markdown. nanobind's docstrings begin with signatures."""
    doc = inspect.getdoc(thing) or ""
    if inspect.isclass(thing):
        made, _, rest = (inspect.getdoc(thing.__init__) or "").partition("\n")
        if made.startswith("__init__(self"):  # its parameters are lines, each to be one here as well
            doc = re.sub(r"^__init__\(self(, )?", f"{name}(", made) + "\n" + doc + "\n\n" + rest.strip().replace("\n", "  \n")
    signatures = []
    last = name.rpartition(".")[2]
    for line in doc.splitlines():
        found = re.match(rf"(?:{re.escape(name)}|{last})(\(.*)", line)
        if not found:
            break
        signatures.append(name + found[1].removesuffix(" -> None"))
    text = doc.splitlines()[len(signatures):]
    if not signatures and callable(thing):
        try:
            signatures = [name + str(inspect.signature(thing))]
        except (TypeError, ValueError):
            signatures = []  # made by functions only
    # Indented lines are code for Markdown as well, and paragraphs with columns become code; others are text, whose signs
    # must not be read as marks.
    paragraphs = re.split(r"\n\n+", "\n".join(text))
    text = []
    for paragraph in paragraphs:
        if re.search(r"^\S+(?:, \S+)* {2,}\S", paragraph, re.M) and not paragraph.startswith("    "):
            paragraph = "    " + paragraph.replace("\n", "\n    ")
        text += [line if line.startswith("    ") else re.sub(r"([*_<\[])", r"\\\1", line)
                 for line in paragraph.split("\n")] + [""]
    text = [re.sub(r"^\(self\) -> (.*)", r"A property: \1", line) for line in text]
    return (["```python", *signatures, "```", ""] if signatures else []) + [*text, ""]


def python():
    text = ["# Python", ""]
    try:
        canopy = importlib.import_module("canopy")
    except ImportError as error:
        return "\n".join(text + [f"This site was built where `import canopy` does not work ({error}), so the reference is "
                                 "missing. `pip install ./python` installs the package; `help(canopy)` shows the same.", ""])
    text += [inspect.getdoc(canopy) or "", ""]
    names = getattr(canopy, "__all__", None) or [each for each in vars(canopy) if not each.startswith("_")]
    for name in sorted(names):
        thing = getattr(canopy, name)
        if inspect.ismodule(thing):
            continue
        text += [f"## {name}", "", *described(f"canopy.{name}", thing)]
        for part in sorted(vars(thing)) if inspect.isclass(thing) else []:
            member = getattr(thing, part, None)
            if part.startswith("_") or not inspect.getdoc(member):
                continue
            text += [f"**{name}.{part}**", "", *described(f"{name}.{part}", member)]
    return "\n".join(text) + "\n"


def headers(pages):
    text = ["# C++ headers", "", "The headers are the manual. All that is installed lies below `include/canopy`; a plugin includes "
            "`<canopy/plugin.h>`, an engine `<canopy/engine/engine.h>`.", ""]
    include = ROOT / "core/include"
    if shutil.which("doxygen"):
        folder = pages / "reference/cpp"
        settings = (f"PROJECT_NAME=Canopy\nINPUT={include}\nRECURSIVE=YES\nFILE_PATTERNS=*.h\nOUTPUT_DIRECTORY={folder}\n"
                    f"STRIP_FROM_PATH={include}\nHTML_OUTPUT=.\nGENERATE_LATEX=NO\nQUIET=YES\nWARNINGS=NO\nHAVE_DOT=NO\n"
                    "WARN_IF_DOC_ERROR=NO\nEXTRACT_ALL=YES\nJAVADOC_AUTOBRIEF=YES\nGENERATE_TREEVIEW=YES\n")
        folder.mkdir(parents=True)
        done = subprocess.run(["doxygen", "-"], input=settings, text=True, capture_output=True)
        if done.returncode != 0:
            sys.exit(f"doxygen: exit code {done.returncode}\n{done.stderr}")
        text += ["[All classes and functions](cpp/index.html), by Doxygen.", ""]
    else:
        text += ["Doxygen was not installed where this site was built (`scripts/install docs`), so there is no page for each "
                 "class. The headers say the same.", ""]
    text += ["The C interface has [its own page](c_headers.md).", ""]
    for folder in sorted({header.parent for header in include.rglob("*.h")} - {include / "canopy/c"}):
        text += [f"## {folder.relative_to(include)}", "", "| header | |", "|---|---|"]
        for header in sorted(folder.glob("*.h")):
            code = header.read_text(encoding="utf-8")
            name = "".join(word.capitalize() for word in header.stem.split("_"))
            comment = r"^((?:/// ?.*\n)+)"
            found = re.search(comment + rf"(?:template.*\n)?(?:class|struct|enum class|using) (?:\w+ )?{name}\b", code,
                              re.M | re.I) or re.search(comment, code, re.M)
            about = " ".join(line[3:].strip() for line in found[1].splitlines()) if found else ""
            sentence = re.match(r".*?\.(?=\s|$)", about)
            text.append(f"| `<{header.relative_to(include)}>` | {cell(sentence[0] if sentence else about)} |")
        text.append("")
    return "\n".join(text) + "\n"


def c_headers():
    """Returns the headers of the C interface: what each says at its top, then each declaration with its comment."""
    text = ["# C headers", "", "The C interface, from its headers: `#include <canopy/c/canopy.h>` has all of them, `-lcanopy` "
            "(`pkg-config canopy-c`) the library. [How to use it](../tutorials/engine.md#from-c-rust-and-go).", ""]

    def words(comment):
        return "\n".join(line.strip().lstrip("*") for line in comment.strip().splitlines())

    for name in ("status", "engine", "figures", "policy", "index", "feed"):
        code = (ROOT / f"core/include/canopy/c/{name}.h").read_text(encoding="utf-8")
        about = re.search(r"/\*(?!\*)(.*?)\*/", code, re.S)[1]
        lines = [line.strip().removeprefix("*") for line in about.strip().splitlines()]
        text += [f"## canopy/c/{name}.h", ""]
        # Indented lines are a table; others are sentences, or items that go on.
        text += [line if line.startswith("   ") else line.strip() for line in lines] + [""]
        inside = code[code.index('extern "C" {'):code.rindex("#ifdef __cplusplus")].split("#endif", 1)[1]
        for block in re.split(r"\n\n+|\n(?=/\*\* )", inside):
            found = re.match(r"\s*/\*\*(.*?)\*/\n(.*)", block, re.S)
            comment, declaration = (found[1], found[2]) if found else ("", block)
            if comment:
                text += [*(line if line.startswith("   ") else re.sub(r"([*_<\[])", r"\\\1", line.strip())
                           for line in words(comment).splitlines()), ""]
            if declaration.strip():
                text += ["```c", declaration.strip().replace("CANOPY_API ", ""), "```", ""]
    return "\n".join(text) + "\n"


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    canopy, pages = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    shutil.rmtree(pages, ignore_errors=True)
    (pages / "reference").mkdir(parents=True)
    collect(pages)
    for name, text in (("commands", commands(canopy)), ("engine_file", engine_file(canopy)),
                       ("components", components(canopy)), ("python", python()), ("headers", headers(pages)),
                       ("c_headers", c_headers())):
        (pages / "reference" / f"{name}.md").write_text(text, encoding="utf-8")


main()
