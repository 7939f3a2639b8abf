// Polls the state once a second while the page is seen, and shows it.

import { barChart, count, duration, lineChart, sparkline } from "./charts.js";
import { History, versionsOf } from "./history.js";
import { Trial } from "./trial.js";

const PERIOD = 1000;
const at = (id) => document.getElementById(id);
const history = new History();
let token = sessionStorage.getItem("token") || "";
let chosen = ""; // "model/version"; "" for all

function fetchWithToken(path, options = {}) {
  const headers = { ...options.headers };
  if (token) headers.Authorization = `Bearer ${token}`;
  return fetch(path, { ...options, headers });
}

const trial = new Trial(fetchWithToken);

function cell(row, text, name = "") {
  const made = row.insertCell();
  made.className = name;
  if (text instanceof Node) made.append(text);
  else made.textContent = text;
  return made;
}

function badge(text, kind) {
  const made = document.createElement("span");
  made.className = `badge ${kind}`;
  made.textContent = text;
  return made;
}

/** The name of a version, by which it is chosen: a click anywhere in its row does the same. */
function picker(name, key) {
  const made = document.createElement("button");
  made.type = "button";
  made.className = "pick";
  made.dataset.key = key;
  made.textContent = name;
  made.setAttribute("aria-pressed", String(key === chosen));
  return made;
}

function showModels(state) {
  const held = at("models").contains(document.activeElement) ? document.activeElement.dataset.key : undefined;
  const rows = document.createElement("tbody");
  const states = state.models.flatMap((model) => (model.states.length ? model.states : [{}])
    .map((entry) => [model, entry]));
  for (const [model, entry] of states) {
    const row = rows.insertRow();
    const key = `${model.name}/${entry.version}`;
    const version = model.versions.find((v) => v.version === entry.version);
    cell(row, version ? picker(model.name, key) : model.name);
    cell(row, entry.version || "");
    cell(row, badge((entry.state || "unknown").toLowerCase(), entry.state === "READY" ? "good" : "bad"));
    if (version) {
      const now = history.now(key);
      for (const text of [count(now.rate), duration(now.median), duration(now.high), String(version.pending),
        count(version.succeeded), count(version.failed)]) cell(row, text, "number");
      cell(row, sparkline(history.of(key).map((s) => s.rate)));
      row.className = key === chosen ? "chosen" : "";
      row.addEventListener("click", () => choose(key === chosen ? "" : key, state));
    } else {
      cell(row, entry.reason || "", "reason").colSpan = 7;
    }
  }
  rows.id = "models";
  at("models").replaceWith(rows);
  if (held !== undefined)
    [...rows.querySelectorAll(".pick")].find((b) => b.dataset.key === held)?.focus({ preventScroll: true });
  at("none").hidden = states.length > 0;
}

function showCharts(state) {
  const samples = history.of(chosen), now = history.now(chosen), name = chosen || "all models";
  lineChart(at("throughput"), [{ values: samples.map((s) => s.rate), name: "first" }], count, true);
  lineChart(at("latency"), [
    { values: samples.map((s) => s.median), name: "first" },
    { values: samples.map((s) => s.high), name: "second" },
  ], duration, false, 1e6);
  at("throughput-now").textContent = `${name}: ${count(now.rate)} requests/s`;
  at("latency-now").textContent = `${name}: ${duration(now.median)}, 99 %: ${duration(now.high)}`;
  const shown = [...versionsOf(state)].filter(([key]) => !chosen || key === chosen);
  const batches = new Map();
  for (const [, version] of shown)
    for (const [rows, runs] of Object.entries(version.batches))
      batches.set(+rows, (batches.get(+rows) || 0) + runs);
  barChart(at("batches"), [...batches].sort((a, b) => a[0] - b[0]).map(([rows, runs]) => [String(rows), runs]));
  at("batches-of").textContent = `${name}: runs by rows`;
  showExecution(shown);
}

function showExecution(shown) {
  const [key, version] = shown[0] || ["", null];
  at("execution-card").hidden = !version;
  if (!version) return;
  at("execution-of").textContent = key;
  const tensors = (list) => list.map((t) => `${t.name} ${t.datatype}[${t.shape.map((n) => (n < 0 ? "?" : n))}]`).join(", ");
  const facts = { takes: tensors(version.inputs), gives: tensors(version.outputs), ...version.execution };
  at("execution").replaceChildren(...Object.entries(facts).flatMap(([name, text]) => {
    const term = document.createElement("dt"), meaning = document.createElement("dd");
    term.textContent = name.replaceAll("_", " ");
    meaning.textContent = text;
    return [term, meaning];
  }));
}

function showErrors(state) {
  at("no-errors").hidden = state.errors.length > 0;
  at("errors").replaceChildren(...state.errors.map((error) => {
    const item = document.createElement("li");
    for (const [text, name] of [[new Date(error.time * 1000).toLocaleTimeString(), "quiet"],
      [error.where || "–", "quiet"], [error.text, "text"]]) {
      const part = document.createElement("span");
      part.className = name;
      part.textContent = text;
      item.append(part);
    }
    return item;
  }));
}

function show(state) {
  at("release").textContent = state.version;
  at("ready").textContent = state.ready ? "ready" : "not ready";
  at("ready").className = `badge ${state.ready ? "good" : "bad"}`;
  if (chosen && ![...versionsOf(state)].some(([key]) => key === chosen)) chosen = "";
  showModels(state);
  showCharts(state);
  showErrors(state);
  trial.update([...versionsOf(state)], state.profiles);
}

function choose(key, state) {
  chosen = key;
  if (key) trial.choose(key);
  show(state);
}

function fail(text) {
  at("ready").textContent = text;
  at("ready").className = "badge bad";
}

async function poll() {
  try {
    const answer = await fetchWithToken("/v2/page/state");
    at("token-form").hidden = answer.status !== 401;
    if (!answer.ok) return fail(answer.status === 401 ? "needs a token" : `error ${answer.status}`);
    const state = await answer.json();
    history.add(state);
    show(state);
  } catch {
    fail("no connection");
  }
}

at("token-form").addEventListener("submit", (event) => {
  event.preventDefault();
  token = at("token").value;
  sessionStorage.setItem("token", token);
  poll();
});

async function run() {
  for (;;) {
    if (!document.hidden) await poll();
    await new Promise((done) => setTimeout(done, PERIOD));
  }
}

run();
