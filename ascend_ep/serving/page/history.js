// What the last two minutes were like, from the differences of counters that only grow.

const SAMPLES = 120;

// The value below which a share of what was counted in buckets lies: between two bounds, in proportion.
// bounds and the result: nanoseconds; NaN when nothing was counted.
export function percentile(buckets, bounds, share) {
  const total = buckets.reduce((a, b) => a + b, 0);
  if (!total) return NaN;
  let wanted = share * total;
  for (let i = 0; i < buckets.length; i++) {
    if (wanted <= buckets[i]) {
      const low = i ? bounds[i - 1] : 0;
      const high = i < bounds.length ? bounds[i] : 2 * low;
      return low + (high - low) * (wanted / buckets[i]);
    }
    wanted -= buckets[i];
  }
  return bounds[bounds.length - 1];
}

function sample(seconds, count, buckets, bounds) {
  return {
    rate: seconds > 0 ? count / seconds : 0,
    median: percentile(buckets, bounds, 0.5),
    high: percentile(buckets, bounds, 0.99),
  };
}

export class History {
  constructor() {
    this.before = null;
    this.series = new Map(); // "model/version", "" for all -> samples, oldest first
  }

  // Takes a state that was polled. A version that was loaded anew begins at zero again.
  add(state) {
    const before = this.before;
    this.before = state;
    if (!before || state.time < before.time) return;
    const seconds = state.time - before.time;
    const known = new Map(versionsOf(before));
    const all = { count: 0, buckets: new Array(state.bounds.length + 1).fill(0) };
    const present = new Set([""]);
    for (const [key, version] of versionsOf(state)) {
      const old = known.get(key);
      const fresh = !old || old.succeeded > version.succeeded;
      const count = version.succeeded - (fresh ? 0 : old.succeeded);
      const buckets = version.buckets.map((n, i) => n - (fresh ? 0 : old.buckets[i]));
      all.count += count;
      buckets.forEach((n, i) => { all.buckets[i] += n; });
      this.push(key, sample(seconds, count, buckets, state.bounds));
      present.add(key);
    }
    this.push("", sample(seconds, all.count, all.buckets, state.bounds));
    for (const key of this.series.keys()) if (!present.has(key)) this.series.delete(key);
  }

  push(key, made) {
    const samples = this.series.get(key) || [];
    samples.push(made);
    if (samples.length > SAMPLES) samples.shift();
    this.series.set(key, samples);
  }

  of(key) { return this.series.get(key) || []; }

  // The newest sample; a percentile is the last one that there was.
  now(key) {
    const samples = this.of(key);
    const counted = samples.filter((s) => !Number.isNaN(s.median)).pop();
    return { rate: samples.length ? samples[samples.length - 1].rate : 0,
      median: counted ? counted.median : NaN, high: counted ? counted.high : NaN };
  }
}

export function* versionsOf(state) {
  for (const model of state.models)
    for (const version of model.versions) yield [`${model.name}/${version.version}`, version];
}

export const LENGTH = SAMPLES;
