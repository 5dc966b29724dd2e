#!/usr/bin/env python3
"""page_test.py CANOPY SOURCE WORK: pages of `canopy compare --html`, drawn by their script and parsed as a browser would.

A page is whole, needs nothing from outside, has the figures of the JSON, and shows names from outside as text. The script
runs in node. Without node only the page's data is checked.
"""
import html.parser
import json
import os
import re
import shutil
import subprocess
import sys

VOID = {"meta", "input", "br", "img", "link", "hr"}
NODE = shutil.which("node")


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.elements, self.ids, self.texts, self.problems = [], [], [], [], []
        self.scripts = {}
        self.feed(text)
        self.close()
        if self.open:
            self.problems.append(f"not closed: {self.open}")

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.elements.append((tag, attributes))
        if "id" in attributes:
            self.ids.append(attributes["id"])
        for name, value in attributes.items():
            if name.startswith("on"):
                self.problems.append(f"<{tag}> has {name}")
            if name in ("src", "href", "srcset", "action", "data", "poster"):
                self.problems.append(f"<{tag}> asks for {value}")
        if tag not in VOID and self.get_starttag_text()[-2:] != "/>":
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.problems.append(f"</{tag}> closes nothing at {self.getpos()}")

    def handle_data(self, data):
        where = self.open[-1] if self.open else ""
        if where == "script":
            self.scripts[self.elements[-1][1].get("id", "")] = data
            if re.search(r"\b(fetch|import|XMLHttpRequest|WebSocket|EventSource|sendBeacon)\b", data) and "id" not in self.elements[-1][1]:
                self.problems.append("the script asks for something")
        elif where == "style":
            if "url(" in data or "@import" in data:
                self.problems.append("the style asks for something")
        else:
            self.texts.append((tuple(self.open), data))

    def all_text(self):
        return " ".join(text for _, text in self.texts)


def check(fact, what):
    if not fact:
        sys.exit(f"not so: {what}")


def compare(canopy, work, config, workload, *more):
    page, figures = os.path.join(work, "page.html"), os.path.join(work, "figures.json")
    for path in (page, figures):
        if os.path.exists(path):
            os.remove(path)
    subprocess.run([canopy, "compare", config, "--workload", workload, "--json", figures, "--html", page, *more],
                   check=True, capture_output=True)
    with open(page, encoding="utf-8") as file:
        text = file.read()
    with open(figures, encoding="utf-8") as file:
        return text, json.load(file)


def drawn(text):
    """The page with what its script draws into it."""
    page = Page(text)
    check(not page.problems, page.problems)
    document = "const document = {getElementById: () => ({textContent: %s})};\n" % json.dumps(page.scripts["data"])
    made = subprocess.run([NODE, "-"], input=document + page.scripts[""] + "process.stdout.write(page());\n", encoding="utf-8",
                          check=True, capture_output=True)
    return re.sub("<noscript>.*</noscript>", lambda _: made.stdout, text)


def check_whole(text):
    check(text.startswith("<!doctype html>"), "the page begins as a page")
    page = Page(drawn(text) if NODE else text)
    check(not page.problems, page.problems)
    check("\u202e" not in page.all_text(), "no character turns the writing around")
    check("http://" not in text.replace("http://www.w3.org/2000/svg", "") and "https://" not in text,
          "the page names no other place")
    if not NODE:
        return page
    check(len(page.ids) == len(set(page.ids)), "ids are there once")
    for tag, attributes in page.elements:
        if attributes.get("class") == "chart":
            check(attributes.get("aria-labelledby") in page.ids, "a chart has a title")
    buttons = [attributes["data-chart"] for tag, attributes in page.elements
               if tag == "button" and attributes.get("class") == "save"]
    check(buttons and set(buttons) <= set(page.ids), "each chart can be saved")
    return page


def check_figures(page, figures):
    own = json.loads(page.scripts["data"])
    by_row = {(row["policy"], row["capacity_tokens"]): row for row in figures["rows"]}
    check(len(own["rows"]) == len(by_row), "all rows are in the page")
    for row in own["rows"]:
        theirs = by_row[row["policy"], row["capacity_tokens"]]
        for name in ("hit_tokens", "hit_rate", "digest"):
            check(row[name] == theirs[name], f"{name} of {row['policy']} is that of the JSON")
    for row in figures["rows"]:
        check(bool(row["waiting"]["rule"]) == (row["policy"] not in ("optimum", "infinite", "lru_trimmed")), "a policy says its rule")
    if not NODE:
        return
    text = page.all_text()
    cells = [data for where, data in page.texts if "td" in where]
    for row in figures["rows"]:
        check(f"{row['hit_rate'] * 100:.2f} %" in cells, f"the hit rate of {row['policy']} is in a table")
        check(f"{row['hit_tokens']:,}" in cells, f"the hit tokens of {row['policy']} are in a table")
        if row["index_seconds"] is not None:
            check(row["digest"] in text, f"the digest of {row['policy']} is in the page")
        if row["regret"] and row["regret"]["tokens"] and row["policy"] not in ("optimum", "infinite"):
            check(f"{row['regret']['tokens']:,}" in cells, f"what {row['policy']} regretted is in a table")
        for kind in row["waiting"]["kinds"]:
            check(kind["first"] in cells and f"{kind['tokens']:,}" in cells, f"what waits under {row['policy']}")
        rule = row["waiting"]["rule"]
        check(rule[1:] in text, f"the rule of {row['policy']} is in the page")
    check(figures["command"] in text, "the command is in the page")
    check(figures["trace_hash"] in text and figures["canopy"]["version"] in text, "the page says what made it, and of what")
    # A mark in the chart for each row, and a name at the end of each line.
    tips = [data for where, data in page.texts if where[-1:] == ("title",)]
    for row in figures["rows"]:
        check(any(tip.startswith(row["policy"] + " at ") and f"{row['hit_tokens']:,} tokens" in tip for tip in tips),
              f"{row['policy']} has a mark")


def check_reading(page, figures):
    """Checks that the sentences agree with the rows."""
    if not NODE:
        return
    sentences = [data for where, data in page.texts if where[-1:] == ("li",)]
    tokens = {capacity["name"]: capacity["tokens"] for capacity in figures["capacities"]}
    count = 0
    for sentence in sentences:
        found = re.match(r"At (\S+) tokens, (\S+) reuses most: .*? tokens?, (\S+)\u00a0% of the prompts", sentence)
        if not found:
            continue
        count += 1
        rows = [row for row in figures["rows"] if row["capacity_tokens"] == tokens[found[1]]
                and row["policy"] not in ("optimum", "infinite")]
        best = max(rows, key=lambda row: row["hit_tokens"])
        check(best["policy"] == found[2], f"{found[2]} is the best at {found[1]}")
        check(f"{best['hit_rate'] * 100:.2f}" == found[3], f"its hit rate is {found[3]} %")
    check(count == min(len(tokens), 4), "each of a few capacities has its sentence")
    seen = figures["infinite_tokens"] / figures["prompt_tokens"] * 100
    check(any(f"would reuse {seen:.1f}\u00a0% of them" in sentence for sentence in sentences), "the ceiling has a sentence")


def check_advice(page, figures):
    """The headline names the policy with most hits at its capacity, and how many more they are."""
    if not NODE:
        return
    count = [data for where, data in page.texts if where[-1:] == ("p",)]
    for capacity in figures["capacities"]:
        rows = {row["policy"]: row for row in figures["rows"] if row["capacity_tokens"] == capacity["tokens"]
                and row["policy"] not in ("optimum", "infinite")}
        best = max(rows.values(), key=lambda row: row["hit_tokens"])
        base = rows["lru"]
        name = f"at {capacity['name']} tokens"
        if best["hit_tokens"] == base["hit_tokens"]:
            check(any(text.startswith(f"Stay with lru {name}") for text in count), f"stay with lru {name}")
            continue
        more = f"{100 * (best['hit_tokens'] / base['hit_tokens'] - 1):.1f}\u00a0% more than lru"
        start = f"No clear winner {name}: {best['policy']}" if best["gain"]["low"] <= 0 else f"Use {best['policy']} {name}"
        check(any(text.startswith(start) and more in text for text in count), f"{start}, {more}")


def check_lines(page, figures):
    """No line is hidden: where lines coincide, each has its own dashes."""
    if not NODE:
        return
    places, shared = set(), 0
    for tag, attributes in page.elements:
        if attributes.get("class") == "chart":
            places = set()
        if tag == "path" and attributes.get("class") == "line shared":
            place = attributes["d"], attributes["style"]
            check(place not in places, f"two lines have the same dashes: {place}")
            places.add(place)
            shared += 1
    check(shared > 0, "at 100k all policies reuse the same, so their lines end together")
    check(any(attributes.get("class") == "exact" for tag, attributes in page.elements if tag == "g"), "the exact curve is drawn")


def check_trace(canopy, work, workload):
    """The page of a trace: whole, with the figures of its JSON."""
    hostile = "</script><script>alert(1)</script><img src=x onerror=alert(2)>&\"'.jsonl".replace("/", "\u2215")
    trace, page, figures = (os.path.join(work, name) for name in (hostile, "trace.html", "facts.json"))
    with open(trace, "w", encoding="utf-8") as file:
        for i in range(400):
            chat, turn = i % 23, i // 23
            ids = [0, *range(100 * chat + 1, 100 * chat + turn + 2)]
            print(json.dumps({"timestamp": 3000 * i, "input_length": 512 * len(ids), "output_length": 9, "hash_ids": ids}), file=file)
    subprocess.run([canopy, "trace", "stat", trace, "--json", figures, "--report", page], check=True, capture_output=True)
    with open(page, encoding="utf-8") as file:
        text = check_whole(file.read())
    with open(figures, encoding="utf-8") as file:
        facts = json.load(file)
    check(sum(tag == "script" for tag, _ in text.elements) == 2, "the scripts are the page's own two")
    if NODE:
        shown = text.all_text()
        check(hostile in shown, "the name is shown")
        check(f"{facts['reused_share'] * 100:.2f} %" in shown, "the reusable share is in the page")
        charts = {attributes["id"] for tag, attributes in text.elements if attributes.get("class") == "chart"}
        check(charts >= {"working", "rate", "gaps-time", "gaps-tokens", "depths", "uses", "popular", "lifetimes"}, charts)


def main():
    canopy, source, work = sys.argv[1:]
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(work)
    config = os.path.join(source, "configs/engines/lru.yaml")
    workload = os.path.join(work, "chat.yaml")
    with open(workload, "w", encoding="utf-8") as file:
        file.write("requests: 300\nmix:\n  - chat: { tenants: 3, turns: 5 }\n")
    text, figures = compare(canopy, work, config, workload, "--policy", "lru,fifo,slru,optimum,infinite", "--capacity",
                            "20k,50k,100k")
    page = check_whole(text)
    check_figures(page, figures)
    check_reading(page, figures)

    check_advice(page, figures)
    check(not NODE or "Mean of all tenants" in page.all_text(), "the page has the mean of the tenants")
    check_lines(page, figures)

    # Several seeds: intervals in tables and charts, digests of each seed.
    text, figures = compare(canopy, work, config, workload, "--policy", "lru,slru,optimum", "--capacity", "20k,50k", "--seeds",
                            "1..3")
    page = check_whole(text)
    if NODE:
        shown = page.all_text()
        for row in figures["rows"]:
            for run in row["by_seed"]:
                check(row["policy"] == "optimum" or run["digest"] in shown, f"the digest of seed {run['seed']} is in the page")
            check(f"[{row['spread']['low'] * 100:.2f}, {row['spread']['high'] * 100:.2f}]" in shown, "an interval is in a table")
        check(figures["intervals"] in shown, "the origin of the intervals is in the page")
        check(sum(attributes.get("class") == "error" for _, attributes in page.elements) == len(figures["rows"]),
              "each mark has its interval")

    # Time: what the engine's file says that computing takes, and a simulated server.
    text, figures = compare(canopy, work, config, workload, "--policy", "lru,slru", "--capacity", "50k", "--mode", "timed", "--set",
                            "tiers.recompute={per_token: 50us, per_token_depth: 600ps}")
    page = check_whole(text)
    check(NODE is None or "What it costs in time" in page.all_text(), "the page has times")
    check(NODE is None or "had evicted were requested again" not in page.all_text(), "where requests overlap, regret is not known")
    check(all(row["p95_ttft_ms"] >= row["p50_ttft_ms"] > 0 and row["prefill_seconds"] > 0 for row in figures["rows"]), "times")

    # One capacity, one policy: nothing to compare with.
    text, figures = compare(canopy, work, config, workload, "--policy", "fifo", "--capacity", "50k")
    check_figures(check_whole(text), figures)

    # A policy that has kinds of nodes: what waits is of kinds, and in the pool.
    text, figures = compare(canopy, work, config, workload, "--policy", "lru,hazard", "--capacity", "20k")
    check_figures(check_whole(text), figures)
    plain, kinds = (row["waiting"]["kinds"] for row in figures["rows"])
    check([kind["name"] for kind in plain] == [""], "lru has one kind of node")
    check(len(kinds) > 1 and all(kind["name"].startswith(("used ", "never ")) for kind in kinds), kinds)
    check(all(" hits expected per token and turnover" in kind["first"] for kind in kinds), kinds)
    for waiting in (plain, kinds):
        check(0 < sum(kind["tokens"] for kind in waiting) <= 20_000, "what waits is in the pool")

    # More policies than colours.
    text, figures = compare(canopy, work, config, workload, "--policy", "lru,fifo,slru,lfu,mru,filo,tlru,lru_trimmed",
                            "--capacity", "50k,100k")
    page = check_whole(text)
    check_figures(page, figures)
    check(any(row["policy"] == "lru_trimmed" and row["hit_tokens"] == max(other["hit_tokens"] for other in figures["rows"])
              for row in figures["rows"]), "a computed row is the best")
    check(NODE is None or not re.search("Use lru_trimmed|lru_trimmed reuses most", page.all_text()), "no engine has lru_trimmed")

    # After a warm-up, what the counted requests took.
    text, figures = compare(canopy, work, config, workload, "--policy", "lru", "--capacity", "50k", "--warm-up", "100")
    check(0 < figures["counted_seconds"] < figures["trace_seconds"], "the counted time is a part")
    check_figures(check_whole(text), figures)

    # Names from outside are text, also in titles, tables and the script's data.
    hostile = "</script><script>alert(1)</script><img src=x onerror=alert(2)>&\"'\u202e.yaml"
    evil = os.path.join(work, hostile.replace("/", "\u2215"))
    shutil.copy(workload, evil)
    text, figures = compare(canopy, work, config, evil, "--policy",
                            "lru,{slru: {protect_after: 3}}", "--capacity", "50k,100k")
    page = check_whole(text)
    check_figures_but_command(page, figures)
    check(not [tag for tag, _ in page.elements if tag == "img"], "no element comes from a name")
    check(sum(tag == "script" for tag, _ in page.elements) == 2, "the scripts are the page's own two")
    check("\u202e" not in text, "no character turns the writing around")
    check(not NODE or "<img src=x onerror=alert(2)>" in page.all_text(), "the name is shown")
    check_trace(canopy, work, workload)
    print("the pages are whole, and their figures are those of the JSON" + ("" if NODE else "; no node here: they were not drawn"))


def check_figures_but_command(page, figures):
    check_figures(page, dict(figures, command=""))


main()
