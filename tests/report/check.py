"""A trace of a 12-layer transformer becomes one page; in Chromium, where it is there, the page opens and answers clicks.

usage: check.py TRACED LAZULI [--keep FOLDER]   (TRACED: the program to trace; --keep leaves trace, page and pictures there)
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

MOST_BYTES = 5_000_000
MOST_MS = 1000

# Clicks through the page as a person would, and says how long each answer took.
CLICKS = """<script>addEventListener('load', () => { const said = [], time = (name, f) => { const t = performance.now(); f(); document.body.offsetHeight;
said.push([name, performance.now() - t, document.getElementById('plan').textContent.length]); };
const rows = document.querySelectorAll('#plans tr.row'); let most = 0; data.plans.forEach((p, i) => { if (p.operations > data.plans[most].operations) most = i; });
time('plan', () => rows[most].click());
for (const name of ['Kernels', 'Memory', 'Passes', 'Views', 'Program', 'Graph']) time(name, () => [...document.querySelectorAll('.tabs button')].find(b => b.textContent === name).click());
time('sort', () => document.querySelectorAll('#plans th')[3].click());
said.push(['clusters', document.querySelectorAll('#graph .cluster').length, data.plans[most].kernels.length]);
const pre = document.createElement('pre'); pre.id = 'said'; pre.textContent = JSON.stringify(said); document.body.append(pre); });</script>"""


def fail(message):
    print(f"report: {message}")
    sys.exit(1)


def chromium(browser, *arguments):
    done = subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--virtual-time-budget=5000", *arguments],
                          capture_output=True, text=True, timeout=240)
    return done.stdout


def main(traced, lazuli, keep=None):
    folder = keep or tempfile.mkdtemp(prefix="lazuli-report-")
    try:
        trace = os.path.join(folder, "trace")
        subprocess.run([traced], check=True, env={**os.environ, "LAZULI_TRACE": trace})
        subprocess.run([lazuli, "report", trace], check=True)
        path = os.path.join(trace, "report.html")
        page = open(path, encoding="utf-8").read()
        if len(page) > MOST_BYTES:
            fail(f"the page has {len(page)} bytes, more than {MOST_BYTES}")
        if re.search(r"(?:src|href)\s*=\s*[\"']?(?:https?:)?//", page):
            fail("the page asks for something from elsewhere")
        data = json.loads(re.search(r'<script id="data" type="application/json">(.*?)</script>', page, re.S).group(1))
        largest = max(data["plans"], key=lambda p: p["operations"])
        if largest["runs"] != 2 or len(largest["kernels"]) < 72 or not largest["values"]:
            fail(f"the transformer's plan is not as it ran: {largest['runs']} runs, {len(largest['kernels'])} kernels")
        if not any(v["rows"] for p in data["plans"] for v in p["views"]):
            fail("no view was drawn")
        if not any("mul_one" in rule for p in data["plans"] for q in p["passes"] for rule in q["rules"]):
            fail("no pass says which rule fired")
        print(f"report: {len(data['plans'])} plans, {len(data['spans'])} spans, {len(page) / 1e6:.2f} MB")
        if shutil.which("dot") is None:
            print("report: Graphviz is not there, graphs were not laid out")
        elif "<svg" not in largest["graph"]:
            fail("the graph was not laid out")
        browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
        if browser is None:
            print("report: no Chromium is there, the page was not opened")
            return
        clicked = os.path.join(folder, "clicked.html")
        with open(clicked, "w", encoding="utf-8") as file:
            file.write(page.replace("</body>", CLICKS + "</body>"))
        said = re.search(r'<pre id="said">(.*?)</pre>', chromium(browser, "--dump-dom", "file://" + clicked), re.S)
        if said is None:
            fail("the page did not open, or a click failed")
        for name, ms, characters in json.loads(said.group(1)):
            if name == "clusters":
                if shutil.which("dot") and ms != characters:
                    fail(f"{ms} kernels are drawn, of {characters}")
                continue
            print(f"report: {name}: {ms:.0f} ms")
            if ms > MOST_MS or characters < 50:
                fail(f"a click on {name} took {ms:.0f} ms and shows {characters} characters")
        for scheme, setting in (("light", 1), ("dark", 0)):
            picture = os.path.join(folder, scheme + ".png")
            chromium(browser, f"--blink-settings=preferredColorScheme={setting}", "--window-size=1280,1500", f"--screenshot={picture}", "file://" + path)
            if not os.path.exists(picture) or os.path.getsize(picture) < 20_000:
                fail(f"there is no picture of the page in {scheme} colours")
    finally:
        if keep is None:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    arguments = sys.argv[1:]
    folder = None
    if "--keep" in arguments:
        at = arguments.index("--keep")
        folder = arguments[at + 1]
        del arguments[at:at + 2]
    main(*arguments, keep=folder)
