// Charts in SVG, drawn anew with every sample.

import { LENGTH } from "./history.js";

const SVG = "http://www.w3.org/2000/svg";
const LEFT = 46, BOTTOM = 18, TOP = 8;

function element(name, attributes, text) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

// The smallest of 1, 2, 5 times a power of ten that isn't below.
export function roundUp(value) {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((n) => n * power).find((n) => n >= value * 0.999);
}

export function count(value) {
  if (value >= 1e6) return `${+(value / 1e6).toPrecision(3)}M`;
  if (value >= 1e4) return `${+(value / 1e3).toPrecision(3)}k`;
  return value >= 100 ? value.toFixed(0) : String(+value.toPrecision(3));
}

export function duration(ns) {
  if (Number.isNaN(ns)) return "–";
  if (ns < 1e6) return `${+(ns / 1e3).toPrecision(3)} µs`;
  return ns < 1e9 ? `${+(ns / 1e6).toPrecision(3)} ms` : `${+(ns / 1e9).toPrecision(3)} s`;
}

function path(values, x, y) {
  let drawn = "", pen = "M";
  values.forEach((value, i) => {
    if (Number.isNaN(value)) return;
    drawn += `${pen}${x(i).toFixed(1)} ${y(value).toFixed(1)}`;
    pen = "L";
  });
  return drawn;
}

// lines: [{values, name}], newest last; label: how a value is written; area: fills below the first;
// empty: the greatest value of the axis while there is none.
export function lineChart(svg, lines, label, area = false, empty = 1) {
  const { width, height } = svg.getBoundingClientRect();
  const most = Math.max(0, ...lines.flatMap((l) => l.values.filter((v) => !Number.isNaN(v))));
  const top = most > 0 ? roundUp(most) : empty;
  const x = (i, n) => LEFT + ((width - LEFT - 4) * (LENGTH - n + i)) / (LENGTH - 1);
  const y = (value) => TOP + (height - TOP - BOTTOM) * (1 - value / top);
  const parts = [];
  for (const share of [0, 0.5, 1]) {
    const at = y(share * top);
    parts.push(element("line", { class: "grid", x1: LEFT, x2: width - 4, y1: at, y2: at }));
    parts.push(element("text", { x: LEFT - 6, y: at + 4, "text-anchor": "end" }, label(share * top)));
  }
  for (const [seconds, anchor] of [[120, "start"], [60, "middle"], [0, "end"]]) {
    const at = LEFT + ((width - LEFT - 4) * (120 - seconds)) / 120;
    parts.push(element("text", { x: at, y: height - 4, "text-anchor": anchor }, seconds ? `-${seconds} s` : "now"));
  }
  for (const { values, name } of lines) {
    const drawn = path(values, (i) => x(i, values.length), y);
    if (area && drawn && values.length > 1)
      parts.push(element("path", { class: "area",
        d: `${drawn}L${x(values.length - 1, values.length)} ${y(0)}L${x(0, values.length)} ${y(0)}Z` }));
    parts.push(element("path", { class: name, d: drawn }));
  }
  svg.replaceChildren(...parts);
}

// bars: [[label, value], ...]
export function barChart(svg, bars) {
  const { width, height } = svg.getBoundingClientRect();
  const top = roundUp(Math.max(0, ...bars.map(([, value]) => value)));
  const step = (width - LEFT) / Math.max(bars.length, 4);
  const y = (value) => TOP + (height - TOP - BOTTOM) * (1 - value / top);
  const parts = [];
  for (const share of [0, 0.5, 1]) {
    const at = y(share * top);
    parts.push(element("line", { class: "grid", x1: LEFT, x2: width - 4, y1: at, y2: at }));
    parts.push(element("text", { x: LEFT - 6, y: at + 4, "text-anchor": "end" }, count(share * top)));
  }
  const every = Math.ceil(bars.length / 16);
  bars.forEach(([label, value], i) => {
    const wide = Math.min(step * 0.7, 48), at = LEFT + step * (i + 0.5);
    const bar = element("rect", { x: at - wide / 2, y: y(value), width: wide, height: y(0) - y(value), rx: 2 });
    bar.append(element("title", {}, `${label}: ${value}`));
    parts.push(bar);
    if (i % every === 0) parts.push(element("text", { x: at, y: height - 4, "text-anchor": "middle" }, label));
  });
  svg.replaceChildren(...parts);
}

export function sparkline(values) {
  const svg = element("svg", { class: "spark", viewBox: `0 0 ${LENGTH} 24`, preserveAspectRatio: "none" });
  const top = Math.max(1e-9, ...values);
  svg.append(element("path", { class: "first", "vector-effect": "non-scaling-stroke",
    d: path(values, (i) => LENGTH - values.length + i, (v) => 22 - (20 * v) / top) }));
  return svg;
}
