// SPDX-License-Identifier: Apache-2.0
// The scripts of pages on a stub of a browser: both parse, and the explorer's controls work.
// usage: node scripts_test.js FOLDER, the one with page.js and explorer.js
"use strict";
const assert = require("assert");
const fs = require("fs");
const path = require("path");
const vm = require("vm");

class Element {
  constructor(name) {
    Object.assign(this, {name, children: [], attributes: {}, listeners: {}, style: {}, parentNode: null});
    this.hidden = false;
    this.classList = {
      add: (one) => this.setAttribute("class", [...this.classes(), one].join(" ")),
      remove: (one) => this.setAttribute("class", this.classes().filter((c) => c !== one).join(" "))};
  }
  classes() { return (this.attributes.class ?? "").split(" ").filter(Boolean); }
  get className() { return this.attributes.class ?? ""; }
  setAttribute(key, value) {
    this.attributes[key] = String(value);
    if (key === "hidden") this.hidden = true;
  }
  getAttribute(key) { return this.attributes[key] ?? null; }
  append(...all) {
    for (const one of all) {
      if (one instanceof Element) {
        one.remove();
        one.parentNode = this;
      }
      this.children.push(one instanceof Element ? one : String(one));
    }
  }
  replaceChildren(...all) {
    for (const one of this.children) if (one instanceof Element) one.parentNode = null;
    this.children = [];
    this.append(...all);
  }
  remove() {
    if (this.parentNode) this.parentNode.children = this.parentNode.children.filter((one) => one !== this);
    this.parentNode = null;
  }
  after(one) {
    const all = this.parentNode.children;
    one.parentNode = this.parentNode;
    all.splice(all.indexOf(this) + 1, 0, one);
  }
  get textContent() { return this.children.map((one) => one.textContent ?? one).join(""); }
  set textContent(text) { this.replaceChildren(text); }
  addEventListener(name, act) { (this.listeners[name] ??= []).push(act); }
  dispatch(name, event = {}) { for (const act of this.listeners[name] ?? []) act({preventDefault() {}, ...event}); }
  matches(selector) {  // of names and classes, and what contains them
    const parts = selector.split(/ (?:> )?/), own = parts.pop().split(".");
    if (own[0] && own[0] !== this.name) return false;
    if (!own.slice(1).every((one) => this.classes().includes(one))) return false;
    if (!parts.length) return true;
    for (let e = this.parentNode; e; e = e.parentNode) if (e.matches(parts.join(" "))) return true;
    return false;
  }
  all() { return this.children.flatMap((one) => (one instanceof Element ? [one, ...one.all()] : [])); }
  querySelectorAll(selector) { return this.all().filter((one) => one.matches(selector)); }
  querySelector(selector) { return this.querySelectorAll(selector)[0] ?? null; }
  getBoundingClientRect() { return {x: 0, y: 0, width: 1, height: 1, left: 0, right: 1, top: 0, bottom: 1}; }
  focus() { this.owner.activeElement = this; }
}

// A page with the explorer's data, and the scripts run in it.
function page_with(grid, folder) {
  const body = new Element("body"), explored = new Element("section"), data = new Element("script");
  const replaced = new Element("div"), document = {body, documentElement: {clientWidth: 1000}, activeElement: null};
  Element.prototype.owner = document;
  explored.setAttribute("hidden", "");
  data.textContent = JSON.stringify(grid);
  replaced.setAttribute("class", "charts replaced");
  body.append(explored, data, replaced);
  Object.assign(document, {
    createElement: (name) => new Element(name), createElementNS: (_, name) => new Element(name),
    getElementById: (id) => ({explorer: explored, grid: data})[id],
    querySelectorAll: (selector) => body.querySelectorAll(selector)});
  const context = vm.createContext({document, scrollX: 0, scrollY: 0});
  const text = ["page.js", "explorer.js"].map((one) => fs.readFileSync(path.join(folder, one), "utf8")).join("\n");
  vm.runInContext(text, context);
  const control = (name) => explored.querySelectorAll("label").find((e) => e.attributes["data-name"] === name);
  const chosen = () => JSON.parse(vm.runInContext("JSON.stringify(chosen)", context));
  return {body, explored, context, control, chosen, shown: () => explored.querySelector("h3").textContent};
}

const method = (label, group, k, acceptance = "0.7") => ({label, group, k, acceptance});
// A grid over methods, prompts and batches; every figure of the point n is 1 + n / 10.
function grid_of(methods, prompts = [512, 8192], batches = [1, 8, 64]) {
  const points = methods.length * prompts.length * batches.length;
  const values = Array.from({length: points}, (_, n) => 1 + n / 10);
  const names = ["decode speedup", "decode speedup, low", "decode speedup, high", "request speedup", "tokens per step",
    "needed to break even"];
  return {axes: [{name: "device", values: ["h100-sxm"]}, {name: "method", values: methods.map(() => 0)},
    {name: "prompt tokens", values: prompts}, {name: "batch size", values: batches}],
    methods, best: {}, lines: [], line: methods.map(() => -1), points_per_method: prompts.length * batches.length,
    figures: Object.fromEntries(names.map((name) => [name, {unit: "", whole: false, hidden: false, values}]))};
}

const tests = {
  "a slider stays the same element while it is dragged, and what it shows changes"(folder) {
    const page = page_with(grid_of([method("eagle3", 0, 1), method("eagle3", 0, 3)]), folder);
    assert(!page.explored.hidden);
    const slider = page.control("batch size"), input = slider.querySelector("input");
    const before = page.explored.querySelector("dd").textContent;
    for (const [index, text] of [[1, "8"], [2, "64"]]) {
      input.value = index;
      input.oninput();
      assert.equal(page.control("batch size"), slider);
      assert.equal(slider.querySelector("input"), input);
      assert.equal(input.attributes["aria-valuetext"], text);
      assert.equal(slider.querySelector("b").textContent, text);
    }
    assert.notEqual(page.explored.querySelector("dd").textContent, before);
    assert.equal(page.explored.querySelectorAll("h2").length, 1);
  },
  "another method or acceptance changes how many lengths the slider has"(folder) {
    const page = page_with(grid_of([method("eagle3", 0, 1), method("eagle3", 0, 3), method("eagle3", 0, 5),
      method("medusa", 3, 2), method("medusa", 3, 4), method("block", 5, null)]), folder);
    const lengths = page.control("draft length k"), menu = page.control("method").querySelector("select");
    const input = lengths.querySelector("input");
    assert.equal(input.max, 2);
    input.value = 2;
    input.oninput();
    assert.equal(page.shown(), "The chosen point: eagle3, k 5");
    menu.value = 1;
    menu.onchange();
    assert.equal(input.max, 1);
    assert.equal(page.shown(), "The chosen point: medusa, k 2");
    menu.value = 2;
    menu.onchange();
    assert(lengths.hidden);
    assert.equal(page.shown(), "The chosen point: block");
  },
  "drafters that share a name are apart"(folder) {
    const page = page_with(grid_of([method("mine", 0, 1), method("mine", 1, 1)]), folder);
    const menu = page.control("method").querySelector("select");
    assert.deepEqual(menu.children.map((e) => e.textContent), ["mine (1)", "mine (2)"]);
    menu.value = 1;
    menu.onchange();
    assert.equal(page.shown(), "The chosen point: mine (2), k 1");
    assert.equal(page.explored.querySelector("dd").textContent, "1.60");  // of the second method's first point
  },
  "Enter and a click choose the cell of the map"(folder) {
    const page = page_with(grid_of([method("eagle3", 0, 1), method("eagle3", 0, 3)]), folder);
    const cells = () => page.explored.querySelectorAll(".map rect.cell");
    assert.equal(cells().length, 6);
    const of_batch = (text) => cells().find((e) => e.tip.startsWith(text));
    of_batch("batch 64, prompt 512").dispatch("click");
    assert.deepEqual(page.chosen().axes.slice(2), [0, 2]);
    const svg = page.explored.querySelector(".map svg");
    svg.focus();
    page.context.wanted = of_batch("batch 8, prompt 8192");
    vm.runInContext("mark(wanted)", page.context);
    svg.dispatch("keydown", {key: "Enter"});
    assert.deepEqual(page.chosen().axes.slice(2), [1, 1]);
    assert.equal(page.context.document.activeElement, page.explored.querySelector(".map svg"));
    assert(page.explored.querySelector(".map .chosen").tip.startsWith("batch 8, prompt 8192"));
  },
  "the explorer folds the charts that it replaces, and stays hidden where nothing can be drawn along"(folder) {
    const page = page_with(grid_of([method("eagle3", 0, 3)]), folder);
    assert.equal(page.body.querySelectorAll("details .replaced").length, 1);
    const methods = [method("autoregressive", null, null), method("block", 1, null)];
    const nothing = page_with(grid_of(methods, [512], [1]), folder);
    assert(nothing.explored.hidden);
    assert.equal(nothing.body.querySelectorAll("details").length, 0);
    const more = [method("block", 0, null), method("eagle3", 1, 1), method("eagle3", 1, 3)];
    const later = page_with(grid_of(more, [512], [1]), folder);
    assert.equal(later.shown(), "The chosen point: eagle3, k 1");  // the first group with something to draw along
  },
  "after Escape the arrow keys begin at the first and at the last mark"(folder) {
    const page = page_with(grid_of([method("eagle3", 0, 3)]), folder);
    const svg = page.explored.querySelector("figure svg"), marks = svg.querySelectorAll("circle");
    const marked = () => svg.querySelector(".marked");
    svg.dispatch("keydown", {key: "ArrowLeft"});
    assert.equal(marked(), marks.at(-1));
    svg.dispatch("keydown", {key: "ArrowLeft"});
    assert.equal(marked(), marks.at(-2));
    svg.dispatch("keydown", {key: "Escape"});
    assert.equal(marked(), null);
    svg.dispatch("keydown", {key: "ArrowRight"});
    assert.equal(marked(), marks[0]);
  }};

let failed = 0;
for (const [name, test] of Object.entries(tests)) {
  try {
    test(process.argv[2]);
    console.log("ok    " + name);
  } catch (error) {
    failed = 1;
    console.log("FAILED " + name + "\n" + error.stack);
  }
}
process.exit(failed);
