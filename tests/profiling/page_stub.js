// Runs the page's script on a document that remembers what is written into it, and prints its text as JSON.
"use strict";
const fs = require("fs");
const page = fs.readFileSync(process.argv[2], "utf8");
const script = page.slice(page.indexOf("<script>") + 8, page.lastIndexOf("</script>"));
const calls = { fillRect: 0 };
const pen = new Proxy({}, { get: (_, name) => () => { calls[name] = (calls[name] || 0) + 1; }, set: () => true });
class Element {
  constructor(name) {
    this.name = name; this.children = []; this.style = {}; this.attributes = {}; this.listeners = {};
    this.clientWidth = 1100;
  }
  append(...parts) { this.children.push(...parts); for (const p of parts) if (p.id) known[p.id] = p; }
  setAttribute(key, value) {
    if (String(value).includes("NaN")) throw new Error(`${this.name}.${key} is ${value}`);
    this.attributes[key] = value;
  }
  insertRow() { const row = new Element("tr"); this.append(row); return row; }
  getContext() { return pen; }
  addEventListener(name, f) { this.listeners[name] = f; }
  get text() { return [this.textContent, ...this.children.map((c) => c.text)].filter((t) => t !== undefined).join("|"); }
}
const known = {};
for (const [, id] of page.matchAll(/id="(\w+)"/g)) known[id] = new Element(id);
global.document = {
  getElementById: (id) => { if (!known[id]) throw new Error(`no ${id}`); return known[id]; },
  createElement: (name) => new Element(name),
  createElementNS: (_, name) => new Element(name),
};
global.devicePixelRatio = 1;
global.addEventListener = () => {};
const began = Date.now();
(0, eval)(script);
const spent = Date.now() - began;
const drawn = calls.fillRect;
known.timeline.listeners.wheel({ preventDefault() {}, deltaY: -1, offsetX: 10 });
known.timeline.listeners.mousemove({ offsetX: 5, offsetY: 30 });
known.search.listeners.input({ target: { value: "matmul" } });
const texts = Object.fromEntries(Object.entries(known).map(([id, e]) => [id, e.text]));
console.log(JSON.stringify({ texts, spent, drawn, zoomed: calls.fillRect - drawn, hit: known.hit.textContent }));
