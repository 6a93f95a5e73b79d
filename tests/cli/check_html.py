#!/usr/bin/env python3
"""check_html.py SIMRUN PING_PONG: the page of --html is well formed, needs nothing outside it, and says what the JSON says."""
import html.parser
import json
import os
import subprocess
import sys
import tempfile

simrun, ping_pong = sys.argv[1:]
os.chdir(tempfile.mkdtemp())


class Page(html.parser.HTMLParser):
    """Tables by the title above them: lists of rows of texts, the headings first."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tables, self.title, self.cell, self.shapes = [], {}, "", None, {}
        self.feed(text)
        assert self.open == [], self.open

    def handle_starttag(self, tag, attributes):
        assert tag not in ("script", "link", "img", "iframe"), tag
        assert not any(name in ("src", "href") for name, _ in attributes), attributes
        if tag == "meta":
            return
        self.open.append(tag)
        if tag == "h2":
            self.title = ""
        if tag == "table":
            self.tables[self.title] = []
        if tag == "tr":
            self.tables[self.title].append([])
        if tag in ("td", "th"):
            self.cell = ""
        if tag in ("polyline", "rect"):
            self.shapes.setdefault(self.title, []).append(dict(attributes))

    def handle_startendtag(self, tag, attributes):
        if tag in ("polyline", "rect"):
            self.shapes.setdefault(self.title, []).append(dict(attributes))

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, (self.open, tag)
        self.open.pop()
        if tag in ("td", "th"):
            self.tables[self.title][-1].append(self.cell)
            self.cell = None

    def handle_data(self, data):
        if self.cell is not None:
            self.cell += data
        elif self.open and self.open[-1] == "h2":
            self.title = (self.title + data).strip()


def run(*words, status=0):
    done = subprocess.run([simrun, "-q", "--json", "r.json", "--html", "r.html", *words], stdout=subprocess.DEVNULL, timeout=100)
    assert done.returncode == status, (words, done)
    with open("r.json") as file, open("r.html") as page:
        text = page.read()
        return json.load(file), Page(text), text


def grouped(number):
    return f"{number:,}"


results, page, text = run("-c", "l3_4core", "--details", "--interval", "100k", "-n", "7", "--", ping_pong, "3", "20000")
assert f"<h1>{ping_pong} 3 20000</h1>" in text
heading, row = page.tables["Totals"]
assert dict(zip(heading, row))["instructions"] == grouped(results["totals"]["instructions"]) and row[2] == grouped(results["totals"]["loads"])
rows = page.tables["Caches"][1:]
assert [row[:3] for row in rows] == [[level["name"], grouped(level["accesses"]), grouped(level["misses"])] for level in results["levels"]]
assert [row[4] for row in rows] == [f"{level['mpki']:.3f}" for level in results["levels"]]
cores = [core for core in results["cores"] if core["instructions"]]
table = page.tables["Where cycles go"]
assert [row[2] for row in table[1:]] == [f"{core['cpi']:.3f}" for core in cores]
for row, core in zip(table[1:], cores):
    parts = dict(zip(table[0][3:], map(float, row[3:])))
    assert abs(sum(parts.values()) - core["cpi"]) < 1e-3, (parts, core["cpi"])
    memory = core["served_by"][-1]["stall_cycles"] / core["instructions"]
    assert abs(parts.get("memory", 0) - memory) < 1e-4
# As long as what it stands for: the longest bar of all reaches the edge.
bars = page.shapes["Where cycles go"]
ends = [float(bar["x"]) + float(bar["width"]) for bar in bars]
assert abs(max(ends) - 1000) < 0.1 and len(bars) == len(cores) * (len(table[0]) - 3), bars
lines = {(row[0], heading): value for row in page.tables["Lines that caches handed to each other"][1:]
         for heading, value in zip(page.tables["Lines that caches handed to each other"][0][1:], row[1:]) if value}
assert lines == {(f"core {t['to_core']}", f"from core {t['from_core']}"): grouped(t["lines"]) for t in results["transfers"]}
for title, key, name in (("Functions", "hot_functions", "function"), ("Objects", "hot_objects", "object"), ("Instructions", "hot_instructions", "source")):
    column = page.tables[title][0].index(" " + name)
    assert [row[column] for row in page.tables[title][1:]] == [spot[name] or "" for spot in results[key]], title
    assert [row[0] for row in page.tables[title][1:]] == [grouped(int(spot["stall_cycles"])) for spot in results[key]], title
classes = page.tables["Misses by class"]
assert [row[1:] for row in classes[1:]] == [[grouped(n) for n in level["miss_classes"].values()] for level in results["levels"]]
assert len(page.tables["Threads"]) == 1 + len(results["threads"])
curve = next(shapes for title, shapes in page.shapes.items() if title.startswith("Over time"))[0]["points"].split()
assert len(curve) == len(results["intervals"])
cpis = [interval["cpi"] for interval in results["intervals"]]
assert all(abs((110 - float(point.split(",")[1])) / 110 - cpi / max(cpis)) < 1e-3 for point, cpi in zip(curve, cpis))
picture = text[text.index("<pre>"):text.index("</pre>")]
assert all(level["name"] in picture for level in results["configuration"]["levels"]) and "memory" in picture, picture

# Words of a program are text, whatever they look like; other modes have what they know.
results, page, text = run("--mode", "count", "--", "sh", "-c", "exit 3", "<script>&\"'\xff", status=3)
assert page.tables["Totals"][1][1:4] == [grouped(results["totals"]["instructions"]), "-", "-"] and "exit status 3" in text
assert "&lt;script&gt;&amp;&quot;&#39;" in text and list(page.tables) == ["Totals"], page.tables
results, page, text = run("-c", "l3_1core", "--sweep", "L2.size=256KiB,512KiB", "--", "ls", "/usr/bin")
(title, table), = [(t, rows) for t, rows in page.tables.items() if t.startswith("Machines")]
assert [row[0] for row in table[1:]] == ["L2.size=256KiB", "L2.size=512KiB"]
assert [row[-2] for row in table[1:]] == [grouped(point["memory"]["reads"]) for point in results["sweep"]]
results, page, text = run("-c", "l3_1core", "--miss-curve", "L1D", "--", "ls", "/usr/bin")
(title, table), = [(t, rows) for t, rows in page.tables.items() if t.startswith("L1D of any size")]
assert [row[1] for row in table[1:]] == [grouped(point["misses"]) for point in results["miss_curve"]["points"]]
# Of a trace; with a region.
subprocess.run([simrun, "record", "-q", "-o", "t.trace", "--", ping_pong, "2", "1000"], check=True, stdout=subprocess.DEVNULL, timeout=100)
subprocess.run([simrun, "sim", "-q", "t.trace", "-c", "l3_4core", "--html", "t.html", "--json", "t.json"], check=True, timeout=100)
with open("t.html") as file, open("t.json") as results:
    assert Page(file.read()).tables["Totals"][1][1] == grouped(json.load(results)["totals"]["instructions"])
results, page, text = run("-c", "l3_1core", "--from", "20k", "--to", "60k", "--", "ls", "/usr")
assert "instructions 20,0" in text, text[:2000]
# Many intervals are no more than can be seen.
with open("numbers", "w") as file:
    file.writelines(f"{i * 7919 % 10007}\n" for i in range(2500))
results, page, text = run("-c", "l3_1core", "--interval", "1000", "--", "sort", "-n", "numbers")
assert len(results["intervals"]) > 4000 and len(text) < 500_000
points = next(shapes for title, shapes in page.shapes.items() if title.startswith("Over time"))[0]["points"].split()
assert min(float(point.split(",")[1]) for point in points) == 0 and len(points) == 4000   # the largest is there
# Control characters are none of the page's.
assert "a&#xFFFD;b" in run("--mode", "null", "--", "sh", "-c", "true", "a\x1bb")[2]

# A result is whole or not there.
done = subprocess.run([simrun, "-q", "-c", "l3_1core", "--html", "nowhere/x.html", "--", "touch", "ran"], capture_output=True, text=True, timeout=60)
assert done.returncode == 1 and "nowhere" in done.stderr and not os.path.exists("ran"), done
done = subprocess.run([simrun, "-q", "-c", "l3_1core", "--html", "same", "--csv", "same", "--", "true"], capture_output=True, text=True, timeout=60)
assert done.returncode == 2 and "--html" in done.stderr and "--csv" in done.stderr, done
print("ok")
