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
const plain = (m) => m.label === "autoregressive";

// The chosen values: an index for each axis but the methods, and the method by its label, acceptance and draft length.
const labels = distinct(grid.methods.filter((m) => !plain(m)).map((m) => m.label));
const chosen = {axes: grid.axes.map(() => 0), label: labels[0], acceptance: 0, k: 0, along: ""};
const acceptances = () => distinct(grid.methods.filter((m) => m.label === chosen.label).map((m) => m.acceptance));
const lengths = () => distinct(of_label().map((m) => m.k));
const of_label = () => {
  const all = acceptances(), one = all[Math.min(chosen.acceptance, all.length - 1)];
  return grid.methods.filter((m) => m.label === chosen.label && m.acceptance === one);
};
const method = () => of_label()[Math.min(chosen.k, of_label().length - 1)];
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
    drawn("svg", {viewBox: "0 0 22 12", class: "key"}, drawn("line", {class: "key", x1: 0, y1: 6, x2: 22, y2: 6})), name));
  const all = made("figure", {}, made("figcaption", {}, title, made("span", {}, values)), svg,
    made("ul", {class: "names"}, ...keys));
  label(svg);
  return all;
}
const words = (x, y, anchor, text) => drawn("text", {x, y, "text-anchor": anchor}, text);
// The look of a series: that which it has in the page's other charts, if all have one.
const looks = new Map([...document.querySelectorAll("figure .names li")].map((e) => [e.textContent.trim(), e.className]));
const named = (m) => m.label + (m.k === null ? "" : ", k " + m.k);
const style_of = (i) => "c" + (i % 8) + " d" + (Math.floor(i / 8) % 3);
function style_of_method(m) {
  const look = (one) => looks.get(named(one)) ?? looks.get(named(one) + ", " + one.acceptance);
  return of_label().every(look) ? look(m) : style_of(of_label().indexOf(m));
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
        ...band.toReversed().map((p) => place(p, p.low))].join(" ")}));
    if (s.points.length > 1) group.append(drawn("polyline", {points: s.points.map((p) => place(p, p.y)).join(" ")}));
    for (const p of s.points)
      group.append(drawn("circle", {cx: px(p.x), cy: py(p.y), r: s.bold ? 5 : 3.5}, drawn("title", {}, p.tip)));
    inside.push(group);
  }
  return figure_of(title, values, top_ + height + 44, inside, series.map((s) => [s.style, s.name]));
}

// Where each value of the axis lies, with the point there of a method.
function along(of) {
  if (chosen.along === "draft length k") return of_label().map((m) => [m.k, point_at(chosen.axes, m)]);
  const a = axis_named(chosen.along);
  return grid.axes[a].values.map((v, i) => [v, point_at(chosen.axes.with(a, i), of)]);
}
function curves(name, low, high) {
  const over_k = chosen.along === "draft length k", all = over_k ? [method()] : of_label();
  return all.map((m) => {
    const mine = m === method(), name_of = over_k ? chosen.label : named(m);
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
function best_lengths() {
  const b = axis_named("batch size"), p = axis_named("prompt tokens");
  const batches = grid.axes[b].values, prompts = grid.axes[p].values, high = 30, from = 66;
  const wide = (480 - from) / batches.length, bottom = high * prompts.length, inside = [];
  const ks = lengths().filter((k) => k !== null), least = Math.min(...ks), most = Math.max(...ks);
  prompts.forEach((prompt, row) => {
    const y = bottom - high * (row + 1);
    inside.push(words(from - 6, y + 19, "end", String(prompt)));
    batches.forEach((batch, column) => {
      const axes = chosen.axes.with(b, column).with(p, row), at = of_label().map((m) => [m, point_at(axes, m)]);
      if (at.every(([, n]) => figure("request speedup", n) === null)) return;
      const best = at.find(([, n]) => grid.best[n]), x = from + wide * column;
      const tip = "batch " + batch + ", prompt " + prompt + "\n" + (best
        ? (best[0].k === null ? "on" : "best k: " + best[0].k) + "\nrequest speedup: " + shown("request speedup", best[1])
        : "speculation is off: no length gains");
      const cell = drawn("rect", {class: best ? "cell" : "cell off", x, y, width: wide, height: high,
        ...(best ? {"fill-opacity": most > least ? 0.25 + (0.55 * (best[0].k - least)) / (most - least) : 0.5} : {})},
        drawn("title", {}, tip));
      if (column === chosen.axes[b] && row === chosen.axes[p]) cell.setAttribute("stroke-dasharray", "4 3");
      cell.addEventListener("click", () => {
        chosen.axes = axes;
        if (best) chosen.k = of_label().indexOf(best[0]);
        show();
      });
      inside.push(cell, words(x + wide / 2, y + 19, "middle", best ? String(best[0].k ?? "on") : "off"));
    });
  });
  batches.forEach((v, i) => inside.push(words(from + wide * (i + 0.5), bottom + 17, "middle", String(v))));
  inside.push(words(from + (480 - from) / 2, bottom + 36, "middle", "batch size"));
  return figure_of("Best k of " + chosen.label, "prompt tokens over batch size, by request speedup; off: no length gains",
    bottom + 40, inside);
}

function slider(name, values, index, choose) {
  const text = (i) => String(values[i]).replace(/[{}"]/g, "");
  const input = made("input", {type: "range", min: 0, max: values.length - 1, value: index, "aria-label": name}),
    value = made("b", {}, text(index));
  input.setAttribute("aria-valuetext", text(index));
  input.oninput = () => {
    choose(+input.value);
    show(name);
  };
  return made("label", {"data-name": name}, made("span", {}, name + ": ", value), input);
}
function menu(name, values, value, choose) {
  const input = made("select", {"aria-label": name}, ...values.map((v) => made("option", {}, v)));
  input.value = value;
  input.onchange = () => {
    choose(input.value);
    show(name);
  };
  return made("label", {"data-name": name}, made("span", {}, name), input);
}
function controls(places) {
  const all = [menu("charts along", places, chosen.along, (v) => (chosen.along = v))];
  if (labels.length > 1)
    all.push(menu("method", labels, chosen.label, (v) => Object.assign(chosen, {label: v, acceptance: 0, k: 0})));
  if (acceptances().length > 1)
    all.push(slider("acceptance", acceptances(), chosen.acceptance, (i) => (chosen.acceptance = i)));
  if (of_label().length > 1)
    all.push(slider("draft length k", lengths(), Math.min(chosen.k, lengths().length - 1), (i) => (chosen.k = i)));
  grid.axes.forEach((a, i) => {
    if (i === methods_axis || a.values.length < 2) return;
    const choose = (n) => (chosen.axes = chosen.axes.with(i, n));
    all.push(typeof a.values[0] === "number" ? slider(a.name, a.values, chosen.axes[i], choose)
      : menu(a.name, a.values, a.values[chosen.axes[i]], (v) => choose(a.values.indexOf(v))));
  });
  return made("div", {class: "axes"}, ...all);
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
function show(focus) {
  const places = grid.axes.filter((a) => typeof a.values[0] === "number" && a.values.length > 1 && a.name !== "method")
    .map((a) => a.name);
  if (lengths().filter((k) => k !== null).length > 1) places.push("draft length k");
  if (!places.includes(chosen.along)) chosen.along = places.includes("batch size") ? "batch size" : places[0];
  if (!places.length) return;
  mark(null);
  const x = chosen.along, one = {at: 1, name: "plain decoding"};
  explored.replaceChildren(made("h2", {}, "Explorer"), controls(places),
    made("div", {class: "charts"},
      chart("Decode speedup", "over plain decoding; the 90 % interval is that of the chosen point's curve", x,
        curves("decode speedup", "decode speedup, low", "decode speedup, high"), one),
      chart("Request speedup", "over plain decoding, prompts included", x, curves("request speedup"), one),
      best_lengths(),
      chart("Break-even acceptance", "tokens per sequence and step at which decoding is as fast as plain", x, break_even())),
    made("h3", {}, "The chosen point: " + named(method())), ...the_point());
  explored.querySelector(`[data-name="${focus}"] :is(input, select)`)?.focus();
}
if (labels.length) {
  chosen.k = Math.max(0, of_label().findIndex((m) => grid.best[point_at(chosen.axes, m)]));
  explored.hidden = false;
  show();
}
