#!/usr/bin/env python3
"""font.py FONT.ttf THEME.cpp OUT.ttf: writes the font with only the letters that the page draws.

They are kRanges of shell/theme.cpp. Outlines, metrics, names and the licence stay; hints of simple outlines, kerning and all
other letters go, which is 19 of 20 bytes.
"""

import re
import struct
import sys

KEPT = (b"OS/2", b"head", b"hhea", b"name", b"post")  # as they are; the others are made again


def tables_of(font):
    count = struct.unpack_from(">H", font, 4)[0]
    records = (struct.unpack_from(">4sIII", font, 12 + 16 * i) for i in range(count))
    return {tag: font[at:at + size] for tag, _, at, size in records}


def glyphs_by_letter(cmap):
    """Reads a table of format 4, for Unicode."""
    for i in range(struct.unpack_from(">H", cmap, 2)[0]):
        platform, encoding, at = struct.unpack_from(">HHI", cmap, 4 + 8 * i)
        if (platform, encoding) == (3, 1) and struct.unpack_from(">H", cmap, at)[0] == 4:
            break
    else:
        raise SystemExit("font.py: the font has no table of Unicode letters in format 4")
    segments = struct.unpack_from(">H", cmap, at + 6)[0] // 2
    def column(number):
        return struct.unpack_from(f">{segments}H", cmap, at + 14 + 2 * segments * number + (2 if number else 0))
    found = {}
    for i, (last, first, delta, offset) in enumerate(zip(*map(column, range(4)))):
        for letter in range(first, last + 1):
            if offset == 0:
                found[letter] = (letter + delta) & 0xFFFF
            else:
                place = at + 16 + 6 * segments + 2 * i + offset + 2 * (letter - first)
                if glyph := struct.unpack_from(">H", cmap, place)[0]:
                    found[letter] = (glyph + delta) & 0xFFFF
    return found


def parts_of(outline):
    """Yields the place of the number of each glyph of which an outline is made."""
    if len(outline) < 10 or struct.unpack_from(">h", outline)[0] >= 0:
        return
    at, more = 10, 0x20
    while more & 0x20:
        more = struct.unpack_from(">H", outline, at)[0]
        yield at + 2
        at += 4 + (4 if more & 1 else 2) + (2 if more & 8 else 4 if more & 0x40 else 8 if more & 0x80 else 0)


def without_hints(outline):
    """Drops the instructions of a simple outline."""
    if len(outline) < 10 or (contours := struct.unpack_from(">h", outline)[0]) < 0:
        return outline
    at = 10 + 2 * contours
    size = struct.unpack_from(">H", outline, at)[0]
    return outline[:at] + b"\0\0" + outline[at + 2 + size:]


def letters_of(theme):
    """Returns the letters of the window's ranges: pairs of the first and the last one, then 0."""
    found = re.search(r"kRanges\[\] = \{([^}]*)\}", theme)
    if not found:
        raise SystemExit("font.py: the theme has no kRanges")
    ends = [int(end, 16) for end in found[1].split(",")][:-1]
    return {letter for first, last in zip(ends[::2], ends[1::2]) for letter in range(first, last + 1)}


def subset(font, drawn):
    tables = tables_of(font)
    long = struct.unpack_from(">h", tables[b"head"], 50)[0] == 1
    glyphs = struct.unpack_from(">H", tables[b"maxp"], 4)[0]
    places = struct.unpack_from(f">{glyphs + 1}{'I' if long else 'H'}", tables[b"loca"])
    scale = 1 if long else 2
    outline = lambda glyph: bytearray(tables[b"glyf"][places[glyph] * scale:places[glyph + 1] * scale])
    letters = {letter: glyph for letter, glyph in glyphs_by_letter(tables[b"cmap"]).items() if letter in drawn}
    order = [0, *dict.fromkeys(letters[letter] for letter in sorted(letters))]
    for glyph in order:  # grows while it is walked: parts of parts
        made = outline(glyph)
        parts = [struct.unpack_from(">H", made, at)[0] for at in parts_of(made)]
        order += [part for part in dict.fromkeys(parts) if part not in order]
    number = {glyph: i for i, glyph in enumerate(order)}

    outlines, at = [], [0]
    for glyph in order:
        made = without_hints(outline(glyph))
        for place in parts_of(made):
            struct.pack_into(">H", made, place, number[struct.unpack_from(">H", made, place)[0]])
        outlines.append(bytes(made) + bytes(-len(made) % 4))
        at.append(at[-1] + len(outlines[-1]))
    full = struct.unpack_from(">H", tables[b"hhea"], 34)[0]  # the last of these widths is that of all that follow
    widths = b""
    for glyph in order:
        width = struct.unpack_from(">H", tables[b"hmtx"], 4 * min(glyph, full - 1))[0]
        bearing = struct.unpack_from(">h", tables[b"hmtx"], 4 * glyph + 2 if glyph < full else 2 * full + 2 * glyph)[0]
        widths += struct.pack(">Hh", width, bearing)
    made = {tag: bytearray(tables[tag]) for tag in KEPT}
    struct.pack_into(">h", made[b"head"], 50, 1)
    struct.pack_into(">I", made[b"head"], 8, 0)
    struct.pack_into(">H", made[b"hhea"], 34, len(order))
    made[b"post"] = struct.pack(">I", 0x30000) + tables[b"post"][4:32]
    made[b"maxp"] = bytearray(tables[b"maxp"])
    struct.pack_into(">H", made[b"maxp"], 4, len(order))
    made[b"hmtx"], made[b"glyf"] = widths, b"".join(outlines)
    made[b"loca"] = struct.pack(f">{len(at)}I", *at)
    groups = b"".join(struct.pack(">III", letter, letter, number[letters[letter]]) for letter in sorted(letters))
    made[b"cmap"] = struct.pack(">HHHHIHHIII", 0, 1, 3, 10, 12, 12, 0, 16 + len(groups), 0, len(letters)) + groups
    return written(made)


def written(tables):
    def total(data):
        data = bytes(data) + bytes(-len(data) % 4)
        return sum(struct.unpack(f">{len(data) // 4}I", data)) & 0xFFFFFFFF
    count = len(tables)
    power = 1 << count.bit_length() - 1
    head = struct.pack(">IHHHH", 0x10000, count, 16 * power, power.bit_length() - 1, 16 * (count - power))
    at = len(head) + 16 * count
    body = b""
    for tag, data in sorted(tables.items()):
        head += struct.pack(">4sIII", tag, total(data), at + len(body), len(data))
        body += bytes(data) + bytes(-len(data) % 4)
    font = bytearray(head + body)
    place = struct.unpack_from(">I", head, 12 + 16 * sorted(tables).index(b"head") + 8)[0]
    struct.pack_into(">I", font, place + 8, (0xB1B0AFBA - total(font)) & 0xFFFFFFFF)
    return bytes(font)


if __name__ == "__main__":
    with open(sys.argv[2]) as theme:
        drawn = letters_of(theme.read())
    with open(sys.argv[1], "rb") as source:
        made = subset(source.read(), drawn)
    with open(sys.argv[3], "wb") as out:
        out.write(made)
