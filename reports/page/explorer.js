// SPDX-License-Identifier: Apache-2.0
// The explorer of a page of `run`: controls choose a point of the grid; charts show figures along one of its axes, and
// the best draft length over batch and prompt. Every figure is the program's (reports/run_explorer.cpp): this script
// only chooses among them.
"use strict";
const explored = document.getElementById("explorer");
const grid = JSON.parse(document.getElementById("grid").textContent);
const drawn = (name, attributes = {}, ...inside) => {
  const e = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, value);
  e.append(...inside);
  return e;
};
const distinct = (values) => [...new Set(values)];
const replaced = (list, index, value) => list.map((old, i) => (i === index ? value : old));

// The chosen values: an index for each axis but the methods, and the method by its group, acceptance and draft length.
// A group has the methods that differ in nothing else; plain decoding has none.
const groups = distinct(grid.methods.filter((m) => m.group !== null).map((m) => m.group));
const chosen = {axes: grid.axes.map(() => 0), group: groups[0], acceptance: 0, k: 0, along: ""};
const in_group = (group = chosen.group) => grid.methods.filter((m) => m.group === group);
const label_of = (group) => in_group(group)[0].label;
const acceptances = () => distinct(in_group().map((m) => m.acceptance));
const of_group = () => {
  const all = acceptances(), one = all[Math.min(chosen.acceptance, all.length - 1)];
  return in_group().filter((m) => m.acceptance === one);
};
const lengths = () => of_group().map((m) => m.k);
const method = () => of_group()[Math.min(chosen.k, of_group().length - 1)];
// Groups that share a label have a number behind it.
function name_of_group(group) {
  const same = groups.filter((other) => label_of(other) === label_of(group));
  return label_of(group) + (same.length > 1 ? " (" + (same.indexOf(group) + 1) + ")" : "");
}
const methods_axis = grid.axes.findIndex((a) => a.name === "method");
const axis_named = (name) => grid.axes.findIndex((a) => a.name === name);
// The number of a point: the last axis varies fastest.
const point_at = (axes, of = method()) =>
  grid.axes.reduce((n, a, i) => n * a.values.length + (i === methods_axis ? grid.methods.indexOf(of) : axes[i]), 0);
const figure = (name, point) => grid.figures[name].values[point];
const shown = (name, point) => {
  const v = figure(name, point), f = grid.figures[name];
  if (v === null || v === undefined) return "";
  return (f.whole && v >= 10 ? String(v) : v.toPrecision(3).replace(/e\+?/, "e")) + (f.unit ? " " + f.unit : "");
};

function ticks_of(low, high) {
  const least = (high - low) / 6, power = 10 ** Math.floor(Math.log10(least));
  const step = [1, 2, 5, 10].map((d) => d * power).find((s) => s >= least * 0.999);
  const all = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high * 1.000001; ++i) all.push(i * step);
  return all;
}
const left = 60, top_ = 10, width = 402, height = 220;
function figure_of(title, values, high, inside, names = []) {
  const svg = drawn("svg", {viewBox: "0 0 480 " + high, role: "img", "aria-label": title}, ...inside);
  const keys = names.map(([style, name]) => made("li", {class: style},
    drawn("svg", {viewBox: "0 0 22 12", class: "key"}, drawn("line", {class: "key", x1: 0, y1: 6, x2: 22, y2: 6})),
    name));
  const all = made("figure", {}, made("figcaption", {}, title, made("span", {}, values)), svg,
    made("ul", {class: "names"}, ...keys));
  label(svg);
  return all;
}
const words = (x, y, anchor, text) => drawn("text", {x, y, "text-anchor": anchor}, text);
// The look of a series: that which it has in the page's other charts, if all have one.
const names = [...document.querySelectorAll("figure .names li")];
const looks = new Map(names.map((e) => [e.textContent.trim(), e.className]));
const named = (m) => name_of_group(m.group) + (m.k === null ? "" : ", k " + m.k);
const style_of = (i) => "c" + (i % 8) + " d" + (Math.floor(i / 8) % 3);
function style_of_method(m) {
  const look = (one) => looks.get(named(one)) ?? looks.get(named(one) + ", " + one.acceptance);
  return of_group().every(look) ? look(m) : style_of(of_group().indexOf(m));
}

// `series`: names, styles and points {x, y, low, high, tip}. `level`: a dashed line and its name.
function chart(title, values, x_title, series, level) {
  const points = series.flatMap((s) => s.points);
  if (!points.length) return made("p", {}, title + ": no point can run.");
  const xs = distinct(points.map((p) => p.x)).sort((a, b) => a - b);
  const logarithmic = xs[0] > 0 && xs.at(-1) >= 8 * xs[0], at = (v) => (logarithmic ? Math.log(v) : v);
  const most = Math.max(level ? level.at : 0, ...points.map((p) => p.high ?? p.y)) * 1.04;
  const wide = at(xs.at(-1)) - at(xs[0]);
  const px = (v) => left + width * (wide ? 0.04 + (0.92 * (at(v) - at(xs[0]))) / wide : 0.5);
  const py = (v) => top_ + height - (height * v) / most;
  const inside = [];
  let last = -99;
  for (const v of xs) {
    if (px(v) - last < 36) continue;
    last = px(v);
    inside.push(drawn("line", {class: "grid", x1: last, x2: last, y1: top_, y2: top_ + height}));
    inside.push(words(last, top_ + height + 18, "middle", String(v)));
  }
  for (const v of ticks_of(0, most)) {
    inside.push(drawn("line", {class: "grid", x1: left, x2: left + width, y1: py(v), y2: py(v)}));
    inside.push(words(left - 8, py(v) + 4, "end", String(+v.toPrecision(3))));
  }
  inside.push(words(left + width / 2, top_ + height + 40, "middle", x_title));
  if (level) {
    inside.push(drawn("line", {class: "level", x1: left, x2: left + width, y1: py(level.at), y2: py(level.at)}));
    inside.push(words(left + 6, py(level.at) - 5, "start", level.name));
  }
  for (const s of series) {
    const group = drawn("g", {class: s.style}), place = (p, y) => px(p.x).toFixed(1) + "," + py(y).toFixed(1);
    const band = s.points.filter((p) => p.low !== undefined);
    if (band.length > 1)
      group.append(drawn("polygon", {points: [...band.map((p) => place(p, p.high)),
        ...[...band].reverse().map((p) => place(p, p.low))].join(" ")}));
    if (s.points.length > 1) group.append(drawn("polyline", {points: s.points.map((p) => place(p, p.y)).join(" ")}));
    for (const p of s.points)
      group.append(drawn("circle", {cx: px(p.x), cy: py(p.y), r: s.bold ? 5 : 3.5}, drawn("title", {}, p.tip)));
    inside.push(group);
  }
  return figure_of(title, values, top_ + height + 44, inside, series.map((s) => [s.style, s.name]));
}

// Where each value of the axis lies, with the point there of a method.
function along(of) {
  if (chosen.along === "draft length k") return of_group().map((m) => [m.k, point_at(chosen.axes, m)]);
  const a = axis_named(chosen.along);
  return grid.axes[a].values.map((v, i) => [v, point_at(replaced(chosen.axes, a, i), of)]);
}
function curves(name, low, high) {
  const over_k = chosen.along === "draft length k", all = over_k ? [method()] : of_group();
  return all.map((m) => {
    const mine = m === method(), name_of = over_k ? name_of_group(chosen.group) : named(m);
    const points = along(m).filter(([, n]) => figure(name, n) !== null).map(([x, n]) => {
      const has_band = mine && low && figure(low, n) !== null;
      return {x, y: figure(name, n), ...(has_band ? {low: figure(low, n), high: figure(high, n)} : {}),
        tip: name_of + "\n" + chosen.along + ": " + x + "\n" + name + ": " + shown(name, n) +
          (has_band ? " (" + shown(low, n) + " to " + shown(high, n) + ")" : "")};
    });
    return {name: name_of, style: style_of_method(m), bold: mine, points};
  });
}
function break_even() {
  return ["tokens per step", "needed to break even"].map((name, i) => ({name, style: style_of(i),
    points: along(method()).filter(([, n]) => figure(name, n) !== null).map(([x, n]) => ({x, y: figure(name, n),
      tip: name + ": " + shown(name, n) + "\n" + chosen.along + ": " + x}))}));
}
// The methods of a cell with their points, and the best of them.
function cell_at(axes) {
  const all = of_group().map((m) => [m, point_at(axes, m)]);
  const runs = all.some(([, n]) => figure("request speedup", n) !== null);
  return {axes, runs, best: all.find(([, n]) => grid.best[n])};
}
function choose_cell({axes, best}) {
  chosen.axes = axes;
  if (best) chosen.k = of_group().indexOf(best[0]);
  const had_focus = explored.querySelector(".map svg") === document.activeElement;
  show();
  if (!had_focus) return;
  explored.querySelector(".map svg").focus();
  mark(explored.querySelector(".map .chosen"));
}
function cell_tip(batch, prompt, best) {
  const what = best ? (best[0].k === null ? "on" : "best k: " + best[0].k) + "\nrequest speedup: " +
    shown("request speedup", best[1]) : "speculation is off: no length gains";
  return "batch " + batch + ", prompt " + prompt + "\n" + what;
}
function best_lengths() {
  const b = axis_named("batch size"), p = axis_named("prompt tokens");
  const batches = grid.axes[b].values, prompts = grid.axes[p].values, high = 30, from = 66, above = 22;
  const wide = (480 - from) / batches.length, bottom = above + high * prompts.length;
  const inside = [words(0, 14, "start", "prompt tokens")], outlined = [];
  const ks = lengths().filter((k) => k !== null), least = Math.min(...ks), most = Math.max(...ks);
  prompts.forEach((prompt, row) => {
    const y = bottom - high * (row + 1);
    inside.push(words(from - 6, y + 19, "end", String(prompt)));
    batches.forEach((batch, column) => {
      const one = cell_at(replaced(replaced(chosen.axes, b, column), p, row)), x = from + wide * column;
      if (!one.runs) return;
      const is_chosen = column === chosen.axes[b] && row === chosen.axes[p], best = one.best;
      const shade = best && most > least ? 0.25 + (0.55 * (best[0].k - least)) / (most - least) : 0.5;
      const look = "cell" + (best ? "" : " off") + (is_chosen ? " chosen" : "");
      const dark = best ? {"fill-opacity": shade} : {};
      const cell = drawn("rect", {class: look, x, y, width: wide, height: high, ...dark},
        drawn("title", {}, cell_tip(batch, prompt, best)));
      cell.choose = () => choose_cell(one);
      cell.addEventListener("click", cell.choose);
      (is_chosen ? outlined : inside).push(cell,
        words(x + wide / 2, y + 19, "middle", best ? String(best[0].k ?? "on") : "off"));
    });
  });
  batches.forEach((v, i) => inside.push(words(from + wide * (i + 0.5), bottom + 17, "middle", String(v))));
  inside.push(words(from + (480 - from) / 2, bottom + 36, "middle", "batch size"), ...outlined);
  const map = figure_of("Best k of " + name_of_group(chosen.group), "by request speedup; off: no length gains",
    bottom + 40, inside);
  map.classList.add("map");
  map.querySelector("svg").addEventListener("keydown", (e) => {
    if (e.key === "Enter" && marked?.choose) marked.choose();
  });
  return map;
}

// A control is made once: `refresh` shows what other controls have changed, so that a slider can be dragged. `values`
// and `index` are functions.
function slider(name, values, index, choose) {
  const value = made("b"), input = made("input", {type: "range", min: 0, "aria-label": name});
  const whole = made("label", {"data-name": name}, made("span", {}, name + ": ", value), input);
  input.oninput = () => {
    choose(+input.value);
    show();
  };
  const refresh = () => {
    const all = values(), text = String(all[index()]).replace(/[{}"]/g, "");
    whole.hidden = all.length < 2;
    input.max = all.length - 1;
    input.value = index();
    input.setAttribute("aria-valuetext", text);
    value.textContent = text;
  };
  return {whole, refresh};
}
function menu(name, values, index, choose) {
  const input = made("select", {"aria-label": name});
  const whole = made("label", {"data-name": name}, made("span", {}, name), input);
  input.onchange = () => {
    choose(+input.value);
    show();
  };
  let offered = "";
  const refresh = () => {
    const all = values();
    whole.hidden = all.length < 2;
    if (offered !== all.join("\n")) input.replaceChildren(...all.map((text, i) => made("option", {value: i}, text)));
    offered = all.join("\n");
    input.value = index();
  };
  return {whole, refresh};
}
function places() {
  const all = grid.axes.filter((a) => typeof a.values[0] === "number" && a.values.length > 1 && a.name !== "method")
    .map((a) => a.name);
  if (distinct(lengths().filter((k) => k !== null)).length > 1) all.push("draft length k");
  return all;
}
const choose_group = (i) => Object.assign(chosen, {group: groups[i], acceptance: 0, k: 0});
function all_controls() {
  const last = (all, i) => Math.min(i, all.length - 1);
  const all = [
    menu("charts along", places, () => places().indexOf(chosen.along), (i) => (chosen.along = places()[i])),
    menu("method", () => groups.map(name_of_group), () => groups.indexOf(chosen.group), choose_group),
    slider("acceptance", acceptances, () => last(acceptances(), chosen.acceptance), (i) => (chosen.acceptance = i)),
    slider("draft length k", lengths, () => last(lengths(), chosen.k), (i) => (chosen.k = i))];
  grid.axes.forEach((a, i) => {
    if (i === methods_axis) return;
    const control = typeof a.values[0] === "number" ? slider : menu;
    all.push(control(a.name, () => a.values, () => chosen.axes[i], (n) => (chosen.axes = replaced(chosen.axes, i, n))));
  });
  return all;
}
function the_point() {
  const n = point_at(chosen.axes), list = made("dl");
  if (figure("decode speedup", n) === null) return [made("p", {class: "warning"}, "This point can't run.")];
  for (const [name, f] of Object.entries(grid.figures))
    if (!f.hidden) list.append(made("div", {}, made("dt", {}, name), made("dd", {}, shown(name, n))));
  const line = grid.lines[grid.line[Math.floor(n / grid.points_per_method)]];
  if (!line) return [list];
  const command = made("div", {class: "command"}, made("code", {}, line));
  addCopyButton(command);
  return [list, command];
}
const controls = all_controls(), charts = made("div", {class: "charts"}), point = made("div");
function all_charts() {
  const x = chosen.along, one = {at: 1, name: "plain decoding"};
  if (!places().length) return [made("p", {}, "With this method nothing varies along which charts could be drawn.")];
  return [
    chart("Decode speedup", "over plain decoding; the 90 % interval is that of the chosen point's curve", x,
      curves("decode speedup", "decode speedup, low", "decode speedup, high"), one),
    chart("Request speedup", "over plain decoding, prompts included", x, curves("request speedup"), one),
    best_lengths(),
    chart("Break-even acceptance", "tokens per sequence and step at which decoding is as fast as plain", x,
      break_even())];
}
function show() {
  if (!places().includes(chosen.along)) chosen.along = places().includes("batch size") ? "batch size" : places()[0];
  mark(null);
  for (const control of controls) control.refresh();
  charts.replaceChildren(...all_charts());
  point.replaceChildren(made("h3", {}, "The chosen point: " + named(method())), ...the_point());
}
// The page's own charts that the explorer replaces, behind a line that opens them.
function fold_replaced() {
  const all = [...document.querySelectorAll(".charts.replaced")];
  if (all.length) explored.after(made("details", {}, made("summary", {}, "The same charts without controls"), ...all));
}
function begin() {
  const usable = groups.find((group) => {
    chosen.group = group;
    return places().length > 0;
  });
  if (usable === undefined) return;
  chosen.k = Math.max(0, of_group().findIndex((m) => grid.best[point_at(chosen.axes, m)]));
  const axes = made("div", {class: "axes"}, ...controls.map((c) => c.whole));
  explored.append(made("h2", {}, "Explorer"), axes, charts, point);
  explored.hidden = false;
  show();
  fold_replaced();
}
begin();
