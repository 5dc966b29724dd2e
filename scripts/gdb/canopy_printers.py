"""Prints Canopy's types in gdb as people read them: Result, NodeId, Column, CounterValues.

    (gdb) source scripts/gdb/canopy_printers.py
"""

import gdb
import gdb.printing


def node_text(bits):
    return f"slot {bits & 0xFFFFFFFF}, life {bits >> 32}" if bits else "none"


class ResultPrinter:
    """canopy::Result: its value, or its error."""

    def __init__(self, value):
        self.value = value

    def to_string(self):
        # std::variant has no public layout, so its alternative is read through libstdc++'s own printer.
        state = self.value["state_"]
        printed = gdb.default_visualizer(state)
        if printed is None or not hasattr(printed, "children"):
            return f"Result {state}"
        found = [child for _, child in printed.children()]
        if not found:
            return "Result without a value"
        if str(found[0].type.unqualified().strip_typedefs()) == "canopy::Error":
            return f"Error {found[0]['text']}"
        return f"Result {found[0]}"


class NodeIdPrinter:
    """canopy::NodeId: the slot and its life."""

    def __init__(self, value):
        self.value = value

    def to_string(self):
        return node_text(int(self.value.cast(gdb.lookup_type("unsigned long"))))


class ColumnPrinter:
    """canopy::radix::Column: its elements."""

    def __init__(self, value):
        self.size = int(value["size_"])
        self.first = value["memory_"]["base_"].cast(value.type.strip_typedefs().template_argument(0).pointer())

    def to_string(self):
        return f"Column of {self.size}"

    def display_hint(self):
        return "array"

    def children(self):
        for i in range(self.size):
            yield f"[{i}]", (self.first + i).dereference()


class CounterValuesPrinter:
    """canopy::CounterValues: the values that are not 0, by the names of their counters."""

    def __init__(self, value):
        self.value = value

    def to_string(self):
        return "CounterValues"

    def display_hint(self):
        return "map"

    def children(self):
        values = self.value["values_"]["_M_elems"]
        first = self.value["kFirst"]["_M_elems"]
        number = 0
        for counter, field in enumerate(gdb.lookup_type("canopy::Counter").fields()):
            for place in range(int(first[counter]), int(first[counter + 1])):
                if int(values[place]) != 0:
                    at = place - int(first[counter])
                    yield str(number), field.name.rpartition("::")[2] + (f"[{at}]" if at else "")
                    yield str(number + 1), values[place]
                    number += 2


def printers():
    found = gdb.printing.RegexpCollectionPrettyPrinter("canopy")
    found.add_printer("Result", r"^canopy::Result<.*>$", ResultPrinter)
    found.add_printer("NodeId", r"^canopy::NodeId$", NodeIdPrinter)
    found.add_printer("Column", r"^canopy::radix::Column<.*>$", ColumnPrinter)
    found.add_printer("CounterValues", r"^canopy::CounterValues$", CounterValuesPrinter)
    return found


gdb.printing.register_pretty_printer(None, printers(), replace=True)
