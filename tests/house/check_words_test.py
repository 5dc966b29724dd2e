#!/usr/bin/env python3
"""Runs check_words.py over small texts: clean ones pass, and each planted breach is found."""

import sys

from check_words import breaches


def expect(suffix, text, *found):
    """Expects exactly these breaches of a text, as (line, why)."""
    seen = [(breach.line, breach.why) for breach in breaches(text, suffix)]
    if seen != list(found):
        sys.exit(f"expected {list(found)}, found {seen} in:\n{text}")


CLEAN = '''#pragma once
/// Returns the pages of a node; no more than `most`. The key
/// of which is not known.
int pages();  ///< Pages of the pool
              ///< of which some are free
int pages_per_node[4];  // 1'000 "quoted
const char* kWord = "told", *kUrl = "http://who.example";
auto kRaw = R"(a "quoted" //
what)";
void visit(Options& o) {
  o.number("least", least, 0, 5, "tokens of a fetch");  // "of it"
  o.variant("feed", kind, names, true, "destination of events", [&](Options& part) { visit(part, what); });
  command->add_option("--by", by, "the axis, "
                      "of five");
}
'''
expect(".h", CLEAN)
expect(".cpp", CLEAN)

BREACHES = '''/// What it returns.
int a();
int b;  ///< of the pool
/// Returns the pages.
///
/// Whether they are free is not known.
/// The engine is told of them.
int c();  // no
          // more of them
int d;  /**< whose number it is */
/** The engine. It
 * hears a call. */
'''
FOUND = [(1, "a comment begins with 'What'"), (3, "a comment begins with 'of'"), (6, "a comment begins with 'Whether'"),
         (7, "a comment has 'told'"), (8, "a comment has 'no\nmore'"), (10, "a comment begins with 'whose'"),
         (12, "a comment has 'hears'")]
expect(".h", BREACHES, *FOUND)
expect(".cpp", BREACHES, *FOUND)

expect(".cpp", '''void visit(Options& o) {
  o.number("latency", latency, 0, 5, "of each "
           "copy", Unit::us);
  component<Policy>(o, "eviction", config, "chooses what is evicted");
  command->add_flag("--tokens", tokens, "Whether tokens are sent");
}
''', (2, "a help text begins with 'of'"), (4, "a help text begins with 'chooses'"), (5, "a help text begins with 'Whether'"))

NAMES = '''void hear(NodeTeller& it, int said_trouble_) { throw Error("the engine was told of it"); }
TEST_CASE("a page that nobody needs") {}
'''
expect(".cu", NAMES, (1, "a name has 'hear'"), (1, "a name has 'Teller'"), (1, "a name has 'said'"), (1, "a text has 'told'"),
       (2, "a text has 'nobody'"))

expect(".py", '''"""What it is."""
# Returns the pages.
def told(pages):
    """Where they are.

    Returns "who" has them.
    """
    return f"{pages} are at hand"  # of the pool
''', (1, "a comment begins with 'What'"), (4, "a comment begins with 'Where'"), (6, "a comment has 'who'"),
       (8, "a comment begins with 'of'"), (3, "a name has 'told'"), (8, "a text has 'at hand'"))
expect(".py", '''#!/usr/bin/env python3
"""Returns the pages."""
pages = 'told'  # Pages of the pool
text = "nobody here, but a person who"
data = """what a
who"""
''', (4, "a text has 'nobody'"))
