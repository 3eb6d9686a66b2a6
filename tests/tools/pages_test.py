# SPDX-License-Identifier: Apache-2.0
"""Pages in a browser: nothing is wider than the window at three widths, the console is silent, and the marks of charts
have the figures of JSON. Needs Chromium; without it the test is skipped.

usage: pages_test.py DRAFTLINE SCENARIOS"""
import html
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

WIDTHS = (400, 800, 1400)
SKIPPED = 4
# Measures a page from inside, and reports to the page around it.
MEASURE = """<script>
addEventListener("load", () => setTimeout(() => {
  const root = document.documentElement;
  const wide = [...document.querySelectorAll("body *")].filter((e) => !e.closest(".wide, svg, #tip") &&
    e.getBoundingClientRect().right > root.clientWidth + 1).map((e) => e.tagName + "." + e.className);
  const svg = document.querySelector("figure > svg");
  const shown = [];
  svg.dispatchEvent(new PointerEvent("pointermove", {clientX: 0, clientY: 0}));
  for (const key of ["ArrowRight", "ArrowRight"]) {
    svg.dispatchEvent(new KeyboardEvent("keydown", {key}));
    shown.push(document.getElementById("tip").textContent);
  }
  const tips = [...document.querySelectorAll("#explorer circle")].map((e) => e.tip);
  parent.postMessage({width: innerWidth, scroll: root.scrollWidth, wide, shown, tips,
    copies: document.querySelectorAll(".command button").length,
    filters: document.querySelectorAll(".filter").length}, "*");
}, 50));
</script>"""
AROUND = """<!DOCTYPE html><body>%s<pre id="found"></pre><script>
const found = [];
addEventListener("message", (e) => {
  found.push(e.data);
  if (found.length === %d) document.getElementById("found").textContent = JSON.stringify(found);
});
</script>"""


def draftline(program, *arguments):
    return subprocess.run([program, *map(str, arguments)], check=True, capture_output=True, text=True).stdout


def measured(chromium, page, folder):
    """What MEASURE found at each width, and the lines of the console."""
    inside = folder / "inside.html"
    inside.write_text(page.replace("</body>", MEASURE + "</body>"))
    frames = "".join(f'<iframe src="inside.html" width="{w}" height="900"></iframe>' for w in WIDTHS)
    (folder / "around.html").write_text(AROUND % (frames, len(WIDTHS)))
    ran = subprocess.run(
        [chromium, "--headless=new", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--dump-dom",
         "--virtual-time-budget=8000", f"--user-data-dir={folder}/profile", (folder / "around.html").as_uri()],
        capture_output=True, text=True, timeout=120)
    console = [line for line in ran.stderr.splitlines() if ":CONSOLE" in line]
    text = re.search(r'<pre id="found">(.*?)</pre>', ran.stdout, re.S).group(1)
    assert text, "the browser did not measure the page: " + ran.stderr[-2000:]
    return json.loads(html.unescape(text)), console


def check(what, holds, failures):
    print(("ok    " if holds else "FAILED ") + what)
    if not holds:
        failures.append(what)


def page_of_check(program, scenario, folder):
    """The page of `check` on answers whose speedups differ by a tenth."""
    was = json.loads(draftline(program, "run", scenario, "--json"))
    old, new, page = (folder / name for name in ("old.json", "new.json", "check.html"))
    old.write_text(json.dumps(was))
    for result in was["results"]:
        result["speedup"]["value"] *= 1.1
    new.write_text(json.dumps(was))
    moved = subprocess.run([program, "check", "--against", old, new, "--html", page], capture_output=True, text=True)
    assert moved.returncode == 1, moved.stderr
    return page.read_text()


def main():
    program, scenarios = sys.argv[1], pathlib.Path(sys.argv[2])
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        print("skipped: Chromium is not installed")
        return SKIPPED
    failures = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        grid = folder / "grid.json"
        scenario = json.loads((scenarios / "when_to_switch_off.json").read_text())
        grid.write_text(json.dumps({**scenario, "prompt_tokens": [512, 8192]}))
        pages = {"run": ["run", grid], "explain": ["run", scenarios / "best_tree.json", "--explain"],
                 "advise": ["advise", scenarios / "when_to_switch_off.json", "--no-load"],
                 "simulate": ["simulate", scenarios / "serving_load.json"],
                 "plan": ["plan", scenarios / "cheapest_fleet.json"], "papers": ["papers"]}
        made = {name: draftline(program, *arguments, "--html") for name, arguments in pages.items()}
        made["check"] = page_of_check(program, scenarios / "when_to_switch_off.json", folder)
        for name, page in made.items():
            found, console = measured(chromium, page, folder)
            check(f"{name}: the console is silent {console}", not console, failures)
            for one in found:
                check(f"{name} at {one['width']} pixels: scrollWidth {one['scroll']}, beyond the edge {one['wide'][:5]}",
                      one["scroll"] <= one["width"] and not one["wide"], failures)
                check(f"{name} at {one['width']} pixels: the arrow keys move over marks", one["shown"][0] != "" and
                      one["shown"][0] != one["shown"][1], failures)
            if name == "advise":
                check("advise: a command can be copied", found[0]["copies"] > 0, failures)
            if name == "run":
                check("run: the long table has a filter", found[0]["filters"] == 1, failures)
                speedups = {(r["inputs"]["draft_length"], r["inputs"]["batch_size"]): r["speedup"]["value"]
                            for r in json.loads(draftline(program, "run", grid, "--json"))["results"]
                            if r["inputs"]["prompt_tokens"] == 512 and r["inputs"]["draft_length"]}
                marks = {}
                for tip in found[0]["tips"]:
                    place = re.match(r"eagle3, k (\d+)\nbatch size: (\d+)\ndecode speedup: ([\d.]+)", tip)
                    if place:
                        marks[int(place[1]), int(place[2])] = float(place[3])
                check(f"run: {len(marks)} marks of the explorer equal the figures", len(marks) == len(speedups) and
                      all(abs(v - speedups[at]) <= 0.0051 * speedups[at] for at, v in marks.items()), failures)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
