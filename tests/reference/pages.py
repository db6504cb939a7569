"""The tables of the pages in docs/, which say what is right: the types of fields, the clocks of events, the queries.

A page that cannot be read is an error that names the line. Nothing is passed over: a field that the reference does
not see would be one that it does not check.
"""
import re
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"
TYPES = ("text", "integer", "number", "flag", "object", "object of integers", "list", "part", "entries")
CLOCKS = ("monotonic", "wall")


class Unreadable(Exception):
    """A table that is not as it must be, with its page and line."""


class Page:
    def __init__(self, name, text=None):
        self.name = name
        self.lines = ((DOCS / name).read_text("utf-8") if text is None else text).splitlines()

    def fail(self, number, why):
        raise Unreadable(f"docs/{self.name}, line {number}: {why}")

    def table(self, heading, *columns):
        """The one table below a heading: (number of the line, its cells) of each row."""
        if self.lines.count(heading) != 1:
            self.fail(len(self.lines), f"not one heading `{heading}`")
        start = self.lines.index(heading) + 1
        end = next((n for n in range(start, len(self.lines)) if self.lines[n].startswith("#")), len(self.lines))
        # A line that belongs to a table but does not look so is not to be lost: those with "|" stand together, up
        # to an empty line.
        of_table = [n for n in range(start, end) if self.lines[n].startswith("|")]
        if len(of_table) < 3:
            self.fail(start, f"no table below `{heading}`")
        first, last = of_table[0], of_table[-1]
        if last - first != len(of_table) - 1 or last + 1 < len(self.lines) and self.lines[last + 1].strip():
            self.fail(first + 1, "not one table that ends with an empty line")
        rows = [(n + 1, self.cells(n)) for n in of_table]
        if rows[0][1] != list(columns) or set("".join(rows[1][1])) != {"-"}:
            self.fail(rows[0][0], f"not a table of {', '.join(columns)}")
        for number, cells in rows:
            if len(cells) != len(columns):
                self.fail(number, f"{len(cells)} cells, not {len(columns)}")
        return rows[2:]

    def cells(self, n):
        return [cell.strip() for cell in self.lines[n].strip().removeprefix("|").removesuffix("|").split("|")]

    def names(self, number, cell):
        """Names in backticks, and perhaps the release that first wrote them."""
        if not re.fullmatch(r"`[\w.-]+`(, `[\w.-]+`)*( \(\d+\.\d+\+\))?", cell):
            self.fail(number, f"not names: {cell}")
        return re.findall("`(.*?)`", cell)

    def types(self, heading):
        """The type of each field of a table, in its order."""
        types, parts = {}, {}
        for number, (names, type_, _) in self.table(heading, "field", "type", "notes"):
            said = re.fullmatch(r"([a-z ]+?)(, [a-z]+)?( or null)?", type_)
            if not said or said[1] not in TYPES:
                self.fail(number, f"not a type: {type_}")
            for name in self.names(number, names):
                part, dot, _ = name.rpartition(".")
                if dot and types.get(part) != "part":
                    self.fail(number, f"`{part}` is no part above `{name}`")
                if name in types:
                    self.fail(number, f"`{name}` a second time")
                types[name] = said[1]
                if said[1] == "part":
                    parts[name] = number
        for part, number in parts.items():
            if not any(name.startswith(f"{part}.") for name in types):
                self.fail(number, f"`{part}` has no fields")
        return types

    def clocks(self, heading):
        """The clock of each event kind."""
        clocks = {}
        for number, (names, clock, _) in self.table(heading, "event", "clock", "fields"):
            if clock not in CLOCKS:
                self.fail(number, f"not a clock: {clock}")
            for name in self.names(number, names):
                if name in clocks:
                    self.fail(number, f"`{name}` a second time")
                clocks[name] = clock
        return clocks

    def columns(self, heading):
        """The columns of each query, without what stands in parentheses beside them."""
        columns = {}
        for number, (names, _, said) in self.table(heading, "name", "rows", "columns, in this order"):
            for name in self.names(number, names):
                if name in columns:
                    self.fail(number, f"`{name}` a second time")
                columns[name] = [column.strip() for column in re.sub(r"\(.*?\)", "", said).split(",")]
                if not all(re.fullmatch(r"\w+", column) for column in columns[name]):
                    self.fail(number, f"not columns: {said}")
        return columns
