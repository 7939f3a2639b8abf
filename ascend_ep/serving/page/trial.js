// The form that tries a model: a request in JSON, or an image sent in binary.

import { draw, layoutOf, tensorOf } from "./image.js";

const SHOWN = 4000; // characters of an answer
const BEST = 5;
const at = (id) => document.getElementById(id);

export class Trial {
  // fetcher: fetch with the token
  constructor(fetcher) {
    this.fetcher = fetcher;
    this.models = new Map(); // "model/version" -> version
    this.file = null;
    at("trial-model").addEventListener("change", () => this.choose(at("trial-model").value));
    at("image-file").addEventListener("change", () => this.load(at("image-file").files[0]));
    at("image-input").addEventListener("change", () => this.load(this.file));
    at("trial-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.send();
    });
    at("trial-profile").addEventListener("click", () => this.send({ "Ascend-Profile": "1" }));
  }

  // profiles: whether the server takes them
  update(versions, profiles) {
    at("trial-profile").hidden = !profiles;
    const before = [...this.models.keys()].join();
    this.models = new Map(versions);
    const names = [...this.models.keys()];
    if (names.join() === before) return;
    const chosen = at("trial-model").value;
    at("trial-model").replaceChildren(...names.map((name) => new Option(name, name)));
    at("trial-send").disabled = !names.length;
    if (!names.length) return;
    if (names.includes(chosen)) at("trial-model").value = chosen;
    else this.choose(names[0]);
  }

  choose(key) {
    const version = this.models.get(key);
    if (!version) return;
    at("trial-model").value = key;
    this.file = null;
    at("image-file").value = "";
    at("image-view").hidden = true;
    const images = version.inputs.filter(layoutOf);
    at("image-part").hidden = !images.length;
    at("image-input").replaceChildren(...images.map((input) => new Option(input.name, input.name)));
    at("trial-body").value = JSON.stringify({ inputs: version.inputs.map(example) }, null, 1)
      .replace(/\[[^[\]{}]*\]/g, (list) => list.replace(/\s+/g, " "));
    this.show("", "");
  }

  get input() {
    const version = this.models.get(at("trial-model").value);
    return version && version.inputs.find((input) => input.name === at("image-input").value);
  }

  async load(file) {
    this.file = file || null;
    if (!file || !this.input) return;
    try {
      await draw(file, layoutOf(this.input), at("image-view"));
    } catch {
      this.file = null;
      this.show("the browser can't read this image", "");
      return;
    }
    const { shape } = tensorOf(at("image-view"), this.input, layoutOf(this.input), at("image-scale").value);
    this.show(`the image goes into [${this.input.name}] as ${this.input.datatype}[${shape}]`, "");
  }

  async send(more = {}) {
    const [model, version] = at("trial-model").value.split("/");
    const path = `/v2/models/${encodeURIComponent(model)}/versions/${version}/infer`;
    at("trial-send").disabled = true;
    try {
      const request = this.request();
      const began = performance.now();
      const headers = { ...request.headers, ...more };
      const answer = await this.fetcher(path, { method: "POST", ...request, headers });
      const text = await answer.text();
      const ms = (performance.now() - began).toFixed(1);
      const timing = answer.headers.get("server-timing");
      const parts = [`${answer.status}, ${ms} ms here`, timing && timingText(timing), profileText(text)];
      this.show(parts.filter(Boolean).join("; "), readable(text));
    } catch (error) {
      this.show(String(error.message || error), "");
    } finally {
      at("trial-send").disabled = false;
    }
  }

  // The body and headers: the image in the place of its input's data, when there is one.
  request() {
    const body = JSON.parse(at("trial-body").value);
    if (!this.file || !this.input) return { body: JSON.stringify(body) };
    const { data, shape } = tensorOf(at("image-view"), this.input, layoutOf(this.input), at("image-scale").value);
    const { name, datatype } = this.input;
    const tensor = { name, datatype, shape, parameters: { binary_data_size: data.byteLength } };
    body.inputs = [...body.inputs.filter((input) => input.name !== name), tensor];
    const json = new TextEncoder().encode(JSON.stringify(body));
    return {
      body: new Blob([json, data]),
      headers: { "Inference-Header-Content-Length": String(json.length) },
    };
  }

  show(status, answer) {
    at("trial-status").textContent = status;
    at("trial-answer").textContent = answer;
  }
}

// A tensor of zeros (of an image: left to the upload), a size that the request chooses being 1.
function example(input) {
  const image = layoutOf(input);
  const shape = image
    ? input.shape.slice(0, -3).map(() => 1).concat(image.first
      ? [image.channels, image.height, image.width] : [image.height, image.width, image.channels])
    : input.shape.map((size) => (size < 0 ? 1 : size));
  const tensor = { name: input.name, datatype: input.datatype, shape };
  const elements = shape.reduce((a, b) => a * b, 1);
  const zero = { BOOL: false, BYTES: "" }[input.datatype] ?? 0;
  if (elements <= 4096) tensor.data = new Array(elements).fill(zero);
  else tensor.data = [];
  return tensor;
}

// queue;dur=12e-3, compute;dur=30e-3
function timingText(timing) {
  return timing.split(", ").map((part) => {
    const [name, value] = part.split(";dur=");
    return `${name} ${+Number(value).toFixed(3)} ms`;
  }).join(", ");
}

// Where the profile of the request lies, if there is one.
function profileText(text) {
  try {
    const { ascend_profile: folder, ascend_profile_error: error } = JSON.parse(text).parameters || {};
    return [folder && `profile ${folder} in --profile-dir`, error].filter(Boolean).join("; ");
  } catch {
    return "";
  }
}

// Indented, long lists cut; above it the best classes of an output that looks like classes.
function readable(text) {
  let answer;
  try {
    answer = JSON.parse(text);
  } catch {
    return text.slice(0, SHOWN);
  }
  const best = (answer.outputs || []).filter((o) => o.shape.length === 2 && o.shape[0] === 1 && o.shape[1] > BEST
    && typeof o.data[0] === "number").map((o) => {
    const order = o.data.map((value, i) => [value, i]).sort((a, b) => b[0] - a[0]).slice(0, BEST);
    return `${o.name}, best: ${order.map(([value, i]) => `${i} (${value.toPrecision(4)})`).join(", ")}\n`;
  });
  for (const output of answer.outputs || [])
    if (output.data.length > 64) output.data = [...output.data.slice(0, 64), `… ${output.data.length} in all`];
  const indented = JSON.stringify(answer, null, 1).replace(/\[[^[\]{}]*\]/g, (list) => list.replace(/\s+/g, " "));
  return (best.join("") + indented).slice(0, SHOWN);
}
