// SPDX-License-Identifier: Apache-2.0
// What a reader's browser adds to a page: labels of marks under the pointer or the keyboard, buttons that copy
// commands, and the order and choice of rows in long tables. Without scripts a page shows the same charts, commands and
// tables.
"use strict";
const made = (name, attributes = {}, ...inside) => {
  const e = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, value);
  e.append(...inside);
  return e;
};

// One label for all charts: of the mark that is nearest to the pointer, or to which the arrow keys have moved.
const tip = made("div", {id: "tip", role: "status", hidden: ""});
document.body.append(tip);
let marked = null;
function mark(one) {
  if (marked) marked.classList.remove("marked");
  marked = one;
  tip.hidden = !one;
  if (!one) return;
  one.classList.add("marked");
  tip.textContent = one.tip;
  const at = one.getBoundingClientRect(), wide = document.documentElement.clientWidth;
  const left = Math.min(Math.max(8, at.x + at.width / 2 - tip.offsetWidth / 2), wide - tip.offsetWidth - 8);
  const above = at.y - tip.offsetHeight - 8;
  tip.style.left = left + scrollX + "px";
  tip.style.top = (above > 0 ? above : at.bottom + 8) + scrollY + "px";
}
const distance = (box, x, y) =>
  Math.hypot(Math.max(box.left - x, 0, x - box.right), Math.max(box.top - y, 0, y - box.bottom));
function label(svg) {
  const marks = [...svg.querySelectorAll("title")].map((title) => {
    const one = title.parentNode;
    one.tip = title.textContent;
    title.remove();
    return one;
  });
  if (!marks.length) return;
  svg.setAttribute("tabindex", "0");
  svg.addEventListener("pointermove", (e) => {
    let best = null, least = 24;
    for (const one of marks) {
      const d = distance(one.getBoundingClientRect(), e.clientX, e.clientY);
      if (d < least) [best, least] = [one, d];
    }
    if (best !== marked) mark(best);
  });
  svg.addEventListener("pointerleave", () => mark(null));
  svg.addEventListener("focus", () => svg.matches(":focus-visible") && mark(marks[0]));
  svg.addEventListener("blur", () => mark(null));
  svg.addEventListener("keydown", (e) => {
    const step = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1}[e.key];
    if (e.key === "Escape") mark(null);
    if (!step) return;
    e.preventDefault();
    const from = marks.includes(marked) ? marks.indexOf(marked) : step > 0 ? -1 : 0;
    mark(marks[(from + step + marks.length) % marks.length]);
  });
}
document.querySelectorAll("figure > svg").forEach(label);

function addCopyButton(command) {
  const button = made("button", {type: "button"}, "Copy");
  button.onclick = async () => {
    const text = command.querySelector("code").textContent;
    try {
      await navigator.clipboard.writeText(text);
    } catch {  // a page from a file may not use the clipboard itself
      getSelection().selectAllChildren(command.querySelector("code"));
      document.execCommand("copy");
    }
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = "Copy"), 1500);
  };
  command.append(button);
}
document.querySelectorAll(".command").forEach(addCopyButton);

// The number of a cell in its column's base unit: "6.19 ms" is less than "1.2 s". Text that is no number is compared as
// text.
const prefixes = {n: 1e-9, u: 1e-6, "\u00b5": 1e-6, m: 1e-3, k: 1e3, K: 1e3, M: 1e6, G: 1e9, T: 1e12};
function number(text) {
  const parts = text.match(/^([-+]?[\d.]+(?:e[-+]?\d+)?)\s*(.*)$/);
  if (!parts) return NaN;
  const prefix = /^[numkKMGT\u00b5](i?B|s|$)/.test(parts[2]) ? prefixes[parts[2][0]] : 1;
  return parts[1] * (parts[2] === "min" ? 60 : parts[2] === "h" ? 3600 : prefix);
}
function compare(a, b) {
  const x = number(a), y = number(b);
  if (!isNaN(x) && !isNaN(y)) return x - y;
  return isNaN(x) - isNaN(y) || a.localeCompare(b);
}
function makeSortable(table) {
  const body = table.tBodies[0], rows = [...body.rows], least = 21;
  if (rows.length < least) return;
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const button = made("button", {type: "button"}, ...head.childNodes);
    head.append(button);
    button.onclick = () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const text = (row) => row.cells[column].textContent;
      rows.sort((a, b) => (down ? -1 : 1) * compare(text(a), text(b)));
      body.append(...rows);
    };
  });
  const count = made("span"), words = made("input", {type: "search", placeholder: "words of a row", size: "18"});
  const choose = () => {
    const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const cells = [...row.cells].map((cell) => cell.textContent.toLowerCase());
      row.hidden = !wanted.every((word) => cells.some((text) => text.includes(word)));
      shown += !row.hidden;
    }
    count.textContent = shown + " of " + rows.length + " rows";
  };
  words.oninput = choose;
  choose();
  table.parentNode.before(made("div", {class: "filter"}, made("label", {}, "Filter ", words), count));
}
document.querySelectorAll(".wide > table").forEach(makeSortable);
