"use strict";
// Everything that comes from a crawl is hostile text: it is only ever set as textContent.
(() => {
const byId = (id) => document.getElementById(id);
const saved = byId("report") ? JSON.parse(byId("report").textContent) : null;
const token = document.querySelector('meta[name="trawl-token"]')?.content ||
              new URLSearchParams(location.search).get("token") || "";

// --- texts ---------------------------------------------------------------------------------------
const kNone = "–";
const whole = new Intl.NumberFormat("en-US", {maximumFractionDigits: 0});
const isNumber = (n) => typeof n === "number" && Number.isFinite(n);
const count = (n) => isNumber(n) ? whole.format(n) : kNone;
function rate(n) {
  if (!isNumber(n)) return kNone;
  return n >= 100 || n === 0 ? whole.format(n) : n >= 10 ? n.toFixed(1) : n.toFixed(2);
}
function short(n) {
  for (const [unit, size] of [["G", 1e9], ["M", 1e6], ["k", 1e3]])
    if (n >= size) return `${+(n / size).toFixed(n >= 100 * size ? 0 : 1)}${unit}`;
  return n >= 10 || Number.isInteger(n) ? String(Math.round(n)) : String(+n.toPrecision(2));
}
function bytes(n) {
  if (!isNumber(n)) return kNone;
  let unit = 0;
  while (n >= 999.5 && unit < 5) { n /= 1000; ++unit; }
  const digits = unit === 0 || n >= 100 ? 0 : n >= 10 ? 1 : 2;
  return `${n.toFixed(digits)} ${["B", "kB", "MB", "GB", "TB", "PB"][unit]}`;
}
function duration(ms) {
  if (!isNumber(ms)) return kNone;
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const s = ms / 1000;
  if (s < 60) return `${s < 10 ? +s.toFixed(1) : Math.round(s)} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min ${Math.floor(s % 60)} s`;
  if (s < 86400) return `${Math.floor(s / 3600)} h ${Math.floor(s % 3600 / 60)} min`;
  return `${Math.floor(s / 86400)} d ${Math.floor(s % 86400 / 3600)} h`;
}
function chance(x) {
  if (!isNumber(x)) return kNone;
  if (x === 0) return "0";
  if (x >= 0.001) return `${+(x * 100).toPrecision(3)} %`;
  const power = Math.floor(Math.log10(x));
  const digits = [...String(-power)].map((d) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[d]).join("");
  return `${(x / 10 ** power).toFixed(1)} × 10⁻${digits}`;
}
const expectedUrls = (n) => !isNumber(n) ? kNone : n === 0 ? "0" : n < 0.001 ? "fewer than 0.001"
    : n < 100 ? String(+n.toPrecision(2)) : count(n);
function clock(time, withDate) {
  const t = new Date(time);
  if (!time || Number.isNaN(t.getTime())) return kNone;
  const hours = t.toLocaleTimeString("en-GB");
  return withDate || t.toDateString() !== new Date().toDateString()
      ? `${t.toLocaleDateString("en-CA")} ${hours}` : hours;
}
// A time to come or gone by the crawler's clock, which may differ from ours.
function away(time, now) {
  const ms = Date.parse(time) - now;
  if (Number.isNaN(ms)) return kNone;
  if (saved) return clock(time);
  return ms <= 0 ? "now" : `in ${duration(Math.max(1000, Math.round(ms / 1000) * 1000))}`;
}
const ago = (time, now) => saved ? clock(time)
    : `${duration(Math.max(0, Math.round((now - Date.parse(time)) / 1000) * 1000))} ago`;

// --- elements --------------------------------------------------------------------------------------
function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}
function setText(element, text) {
  text = String(text);
  if (element.textContent !== text) element.textContent = text;
}
function setTone(element, tone) {
  if (element.dataset.tone !== tone) element.dataset.tone = tone;
}
// Keeps the children of `parent` the same elements while their keys stay: nothing jumps or loses focus.
function keyed(parent, rows, key, create, update, keepOrder) {
  const old = new Map([...parent.children].map((child) => [child.trawlKey, child]));
  let place = parent.firstElementChild;
  for (const row of rows) {
    const id = key(row);
    let element = old.get(id);
    old.delete(id);
    if (!element) {
      element = create(row);
      element.trawlKey = id;
      parent.insertBefore(element, keepOrder ? null : place);
    } else if (element === place) {
      place = place.nextElementSibling;
    } else if (!keepOrder) {
      parent.insertBefore(element, place);
    }
    update(element, row);
  }
  if (!keepOrder) for (const element of old.values()) element.remove();
}
function facts(list, rows) {
  keyed(list, rows.flatMap(([name, value, title]) => [{name, dt: true}, {name, value, title}]),
        (row) => (row.dt ? "t " : "d ") + row.name, (row) => make(row.dt ? "dt" : "dd"),
        (element, row) => {
          setText(element, row.dt ? row.name : row.value);
          if (row.title) element.title = row.title;
        });
}
// rows: {name, count, tone, example, title}; the longest bar is the greatest count.
function bars(box, rows, nothing) {
  if (rows.length === 0) {
    box.replaceChildren(make("p", {class: "empty"}, nothing));
    return;
  }
  if (!box.firstElementChild?.classList.contains("bars")) box.replaceChildren(make("div", {class: "bars"}));
  const most = Math.max(...rows.map((row) => row.count), 1);
  keyed(box.firstElementChild, rows, (row) => row.name,
        () => make("div", {class: "bar"}, make("span", {class: "clip"}), make("span", {class: "n"}),
                   make("div", {class: "track"}, make("div")), make("span", {class: "example clip"})),
        (element, row) => {
          const [name, number, track, example] = element.children;
          setText(name, row.name);
          name.title = row.title || row.name;
          setText(number, count(row.count));
          track.firstElementChild.style.width = `${100 * row.count / most}%`;
          setTone(element, row.tone || "");
          setText(example, row.example || "");
          example.hidden = !row.example;
          example.title = row.example || "";
        });
}

// --- charts ----------------------------------------------------------------------------------------
const kSvg = "http://www.w3.org/2000/svg";
function svg(name, attributes, text) {
  const element = document.createElementNS(kSvg, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  return element;
}
function ceiling(most) {
  if (!(most > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(most));
  return [1, 2, 2.5, 4, 5, 8, 10].map((step) => step * power).find((top) => top >= most * 0.999);
}
class Chart {
  constructor({title, of, perSecond, format, tick, least}) {
    Object.assign(this, {title, of, perSecond, format, tick, least, points: [], samples: []});
    this.output = make("output");
    this.drawing = svg("svg", {role: "img", tabindex: 0});
    this.element = make("figure", {class: "chart"}, make("div", {class: "chart-head"},
        make("h3", {}, title), this.output), this.drawing);
    this.element.style.margin = 0;
    this.at = null;
    this.drawing.addEventListener("pointermove", (event) => {
      const box = this.drawing.getBoundingClientRect();
      this.point(this.nearest(event.clientX - box.left));
    });
    this.drawing.addEventListener("pointerleave", () => this.point(null));
    this.drawing.addEventListener("blur", () => this.point(null));
    this.drawing.addEventListener("keydown", (event) => {
      const step = {ArrowLeft: -1, ArrowRight: 1}[event.key];
      if (!step || this.points.length === 0) return;
      event.preventDefault();
      const last = this.points.length - 1;
      this.point(Math.min(last, Math.max(0, (this.at ?? (step > 0 ? -1 : last + 1)) + step)));
    });
    new ResizeObserver(() => this.draw()).observe(this.drawing);
  }
  // What the chart shows of the samples: one point for each few pixels; null where there is a gap.
  pointsOf(samples, most) {
    const points = [];
    const group = Math.max(1, Math.ceil(samples.length / most));
    const usual = samples.length > 1 ? (samples.at(-1).t - samples[0].t) / (samples.length - 1) : 1000;
    for (let i = this.perSecond ? group : 0; i < samples.length; i += group) {
      const sample = samples[i], before = samples[Math.max(0, i - group)];
      let value = sample[this.of];
      if (this.perSecond) {
        const seconds = (sample.t - before.t) / 1000;
        value = seconds > 0 ? (value - before[this.of]) / seconds : NaN;
        if (value < 0 || seconds * 1000 > 8 * group * usual) value = NaN;
      }
      points.push({t: sample.t, value: isNumber(value) ? value : null});
    }
    return points;
  }
  show(samples) {
    this.samples = samples;
    this.draw();
  }
  draw() {
    const width = this.drawing.clientWidth, height = this.drawing.clientHeight;
    if (width === 0) return;
    const left = 38, right = 4, top = 10, bottom = 18;
    this.drawing.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.points = this.pointsOf(this.samples, Math.max(40, Math.floor(width / 4)));
    const known = this.points.filter((point) => point.value !== null);
    const newest = known.at(-1);
    const highest = ceiling(Math.max(this.least || 0, ...known.map((point) => point.value)));
    const from = this.points[0]?.t ?? 0, to = this.points.at(-1)?.t ?? 1;
    this.x = (t) => left + (width - left - right) * (to > from ? (t - from) / (to - from) : 1);
    this.y = (value) => top + (height - top - bottom) * (1 - value / highest);
    const parts = [];
    for (const share of [0, 0.5, 1]) {
      const y = Math.round(this.y(highest * share)) + 0.5;
      parts.push(svg("line", {class: share ? "grid" : "axis", x1: left, x2: width - right, y1: y, y2: y}));
      if (known.length > 0)
        parts.push(svg("text", {x: left - 6, y: y + 3.5, "text-anchor": "end"}, this.tick(highest * share)));
    }
    if (known.length < 2) {
      parts.push(svg("text", {class: "nothing", x: (left + width) / 2, y: height / 2}, "no samples yet"));
    } else {
      this.curves(parts, highest);
      const dated = new Date(from).toDateString() !== new Date(to).toDateString();
      const name = (t) => dated ? new Date(t).toLocaleString("en-GB",
          {day: "numeric", month: "short", hour: "2-digit", minute: "2-digit"}) : new Date(t).toLocaleTimeString("en-GB");
      parts.push(svg("text", {x: left, y: height - 4}, name(from)),
                 svg("text", {x: width - right, y: height - 4, "text-anchor": "end"}, name(to)));
    }
    this.pointer = svg("g", {class: "pointer"});
    this.drawing.replaceChildren(...parts, this.pointer);
    this.drawing.setAttribute("aria-label", newest ? `${this.title}: now ${this.format(newest.value)}, highest ${
        this.format(Math.max(...known.map((point) => point.value)))}` : `${this.title}: no samples yet`);
    this.newest = newest;
    this.point(this.at === null ? null : Math.min(this.at, this.points.length - 1));
  }
  curves(parts, highest) {
    let run = [];
    const end = () => {
      if (run.length > 1) {
        const line = run.map((p) => `${this.x(p.t).toFixed(1)},${this.y(p.value).toFixed(1)}`).join("L");
        const floor = this.y(0).toFixed(1);
        parts.push(svg("path", {class: "area", d: `M${line}L${this.x(run.at(-1).t).toFixed(1)},${floor}L${
                       this.x(run[0].t).toFixed(1)},${floor}Z`}),
                   svg("path", {class: "curve", d: `M${line}`}));
      }
      run = [];
    };
    for (const point of this.points)
      if (point.value === null) end(); else run.push(point);
    end();
  }
  nearest(x) {
    if (this.points.length === 0) return null;
    let best = 0;
    this.points.forEach((point, i) => {
      if (Math.abs(this.x(point.t) - x) < Math.abs(this.x(this.points[best].t) - x)) best = i;
    });
    return best;
  }
  point(index) {
    this.at = index;
    const point = index === null ? null : this.points[index];
    if (!point || point.value === null) {
      this.pointer?.replaceChildren();
      setText(this.output, this.newest ? this.format(this.newest.value) : kNone);
      return;
    }
    const x = this.x(point.t);
    this.pointer.replaceChildren(svg("line", {x1: x, x2: x, y1: this.y(0), y2: 8}),
                                 svg("circle", {cx: x, cy: this.y(point.value), r: 4}));
    setText(this.output, `${this.format(point.value)} at ${clock(point.t)}`);
  }
}
const kCharts = [
  {title: "Pages a second", of: "pages", perSecond: true, format: (n) => `${rate(n)}/s`, tick: short, least: 1},
  {title: "Bytes a second", of: "bytes", perSecond: true, format: (n) => `${bytes(n)}/s`, tick: short, least: 1000},
  {title: "Failures a second", of: "failed", perSecond: true, format: (n) => `${rate(n)}/s`, tick: short, least: 1},
  {title: "URLs queued", of: "queued", format: count, tick: short, least: 4},
  {title: "Requests in flight", of: "in_flight", format: rate, tick: short, least: 4},
  {title: "Memory", of: "memory", format: bytes, tick: short, least: 1e6},
];
const charts = kCharts.map((chart) => new Chart(chart));
byId("charts").append(...charts.map((chart) => chart.element));

const kMostSamples = 1200;
let samples = [];
function setHistory(history) {
  samples = (history?.samples || []).map((sample) => ({...sample, t: Date.parse(sample.t)}))
                                    .filter((sample) => isNumber(sample.t));
  drawCharts();
}
function addSample(status) {
  const t = status.time ? Date.parse(status.time) : Date.now();
  if (samples.length > 0 && t <= samples.at(-1).t) return;
  samples.push({t, pages: status.pages, bytes: status.bytes, queued: status.queued, failed: status.failed,
                in_flight: status.in_flight, memory: status.memory?.rss});
  if (samples.length > kMostSamples) samples = samples.filter((_, i) => i % 2 === 1);
  drawCharts();
}
let drawing = false;
function drawCharts() {
  if (drawing) return;
  drawing = true;
  requestAnimationFrame(() => {
    drawing = false;
    for (const chart of charts) chart.show(samples);
  });
}

// --- the numbers -----------------------------------------------------------------------------------
let status = null;
let lost = !saved;
const now = () => saved ? Date.parse(saved.saved_at) || Date.now() : Date.now();

const kStateTones = {running: "good", paused: "warn", draining: "warn", ended: "idle"};
function showHead() {
  setText(byId("state"), status.state);
  setTone(byId("state"), kStateTones[status.state] || "idle");
  setText(byId("directory"), status.state_dir || "");
  byId("directory").title = status.state_dir || "";
  const since = status.started_at ? `since ${clock(status.started_at, true)}, ` : "";
  setText(byId("since"), `${since}${duration(status.elapsed_ms)}`);
  setText(byId("version"), `Trawl ${status.version || ""}${status.pid ? `, process ${status.pid}` : ""}`);
  document.title = `${status.state}, ${count(status.pages)} pages – Trawl`;
  setText(byId("pause"), status.state === "paused" ? "Go on" : "Pause");
  enableButtons();
}
function tiles() {
  const classes = status.by_class || {}, hosts = status.hosts || {}, limits = status.limits || {};
  const limit = isNumber(limits.max_pages) ? `of ${count(limits.max_pages)}` : "";
  const errors = (classes["4xx"] || 0) + (classes["5xx"] || 0);
  return [
    {name: "Pages", value: count(status.pages), more: [limit, `${rate(status.pages_per_second)}/s`].filter(Boolean).join(", ")},
    {name: "Bytes", value: bytes(status.bytes), more: `${bytes(status.bytes_per_second)}/s`},
    {name: "Queued", value: count(status.queued), more: `${count(status.deferred)} deferred, ${count(status.held)} held`},
    {name: "In flight", value: count(status.in_flight), more: `${count(status.leased)} leased`},
    {name: "Failed", value: count(status.failed), more: `${count(errors)} of status 4xx, 5xx`, tone: status.failed > 0 ? "bad" : ""},
    {name: "Hosts active", value: count(hosts.active), more: hostsMore(hosts)},
    {name: "Time left", value: isNumber(status.eta_ms) ? duration(status.eta_ms) : kNone, more: timeMore(limits)},
  ];
}
function hostsMore(hosts) {
  const parts = ["waiting", "blocked", "parked"].filter((word) => hosts[word] > 0)
                                                .map((word) => `${count(hosts[word])} ${word}`);
  return parts.join(", ") || `of ${count(hosts.known)} known`;
}
function timeMore(limits) {
  if (isNumber(limits.max_time_ms)) return `ends after ${duration(limits.max_time_ms)}`;
  if (isNumber(limits.max_bytes)) return `ends after ${bytes(limits.max_bytes)}`;
  if (isNumber(limits.max_pages)) return `ends after ${count(limits.max_pages)} pages`;
  return status.next_start ? `next start ${away(status.next_start, now())}` : "no limit is set";
}
function showTotals() {
  keyed(byId("totals"), tiles(), (tile) => tile.name,
        () => make("div", {}, make("dt"), make("dd"), make("dd")),
        (element, tile) => {
          const [name, value, more] = element.children;
          setText(name, tile.name);
          setText(value, tile.value);
          setText(more, tile.more);
          more.title = tile.more;
          setTone(element, tile.tone || "");
        });
}
function toneOfStatus(code) {
  return code >= 500 ? "bad" : code >= 400 || code < 100 ? "warn" : code >= 200 && code < 300 ? "good" : "";
}
function showCounts() {
  const codes = Object.entries(status.by_status || {}).map(([code, n]) => ({name: code, count: n, tone: toneOfStatus(+code)}));
  if (status.by_class?.none > 0 && !("0" in (status.by_status || {})))
    codes.push({name: "no response", count: status.by_class.none, tone: "bad"});
  for (const row of codes) if (row.name === "0") row.name = "no response";
  const most = (rows) => rows.filter((row) => row.count > 0).sort((a, b) => b.count - a.count).slice(0, 12);
  bars(byId("statuses"), most(codes), "No response yet.");
  bars(byId("skipped"), most(Object.entries(status.skipped || {}).map(([name, n]) => ({name, count: n}))),
       "No link skipped so far.");
  bars(byId("failures"), most((status.failures || []).map((row) => ({name: row.reason, count: row.count, tone: "bad",
       title: row.error, example: row.url}))), "No failure so far.");
}
function showFilter() {
  const filter = status.filter || {};
  const share = isNumber(filter.fill) ? Math.min(1, Math.max(0, filter.fill)) : 0;
  const meter = byId("fill");
  meter.firstElementChild.style.width = `${share * 100}%`;
  meter.setAttribute("aria-label", `filled to ${Math.round(share * 100)} %`);
  setTone(meter, isNumber(filter.rate) && isNumber(filter.target_rate) && filter.rate > filter.target_rate ? "warn" : "");
  facts(byId("filter"), [
    ["Items", isNumber(filter.capacity) && filter.capacity > 0
        ? `${count(filter.items)} of ${count(filter.capacity)}` : count(filter.items)],
    ["Layers", count(filter.layers)],
    ["Fill", isNumber(filter.fill) ? `${(filter.fill * 100).toFixed(1)} %` : kNone],
    ["False positives now", chance(filter.rate), "the chance that a new URL is taken for one seen"],
    ["Target", chance(filter.target_rate)],
    ["URLs lost, expected", expectedUrls(filter.expected_lost), "new URLs that were not queued since the filter took them for seen ones"],
    ["Rate measured", isNumber(filter.measured_rate) ? chance(filter.measured_rate) : "not measured"],
    ["URLs lost, measured", isNumber(filter.measured_rate) ? expectedUrls(filter.measured_lost ??
        filter.measured_rate * (filter.items || 0)) : "not measured"],
    ["Links seen before", count(filter.seen)],
    ["Memory", bytes(filter.memory)],
  ]);
  byId("filter-warning").hidden = !filter.warning;
  setText(byId("filter-warning"), filter.warning || "");
}
function showFacts() {
  const hosts = status.hosts || {}, last = status.checkpoint || {}, memory = status.memory || {};
  facts(byId("queue"), [
    ["Queued", count(status.queued)], ["Leased", count(status.leased)], ["Deferred", count(status.deferred)],
    ["Held", count(status.held)], ["Failed, set aside", count(status.set_aside_failed)],
    ["Redirects", count(status.redirects)], ["Duplicates", count(status.duplicates)],
    ["Truncated", count(status.truncated)], ["Hosts known", count(hosts.known)],
    ["Next start", status.next_start ? away(status.next_start, now()) : kNone],
  ]);
  facts(byId("machine"), [
    ["Checkpoints", count(last.count)],
    ["Newest", last.last ? `${ago(last.last, now())}, took ${duration(last.took_ms)}` : "none yet"],
    ["Next", last.next ? away(last.next, now()) : kNone],
    ["Memory now", bytes(memory.rss)], ["Memory, peak", bytes(memory.peak)],
    ["of the frontier", bytes(memory.frontier)], ["of bodies", bytes(memory.bodies)],
    ["Disk free", bytes(status.disk?.free)], ["State on disk", bytes(status.disk?.state)],
    ["Output", status.output?.directory || kNone],
  ]);
}
function showStatus(value) {
  status = value;
  showHead();
  showTotals();
  showCounts();
  showFilter();
  showFacts();
}

// --- hosts -----------------------------------------------------------------------------------------
const kHostTones = {active: "good", waiting: "idle", blocked: "bad", parked: "warn", "at limit": "idle"};
const kNumbers = ["Queued", "Fetched", "Failed", "Bytes", "Mean time", "Delay", "Next start"];
let hostRows = new Map();
function makeHost(row) {
  const line = make("tr", {}, make("th", {scope: "row", class: "clip mono"}),
      make("td", {}, make("span", {class: "badge"}), make("span", {class: "more clip"})),
      ...kNumbers.map((name) => make("td", {class: "n", "data-name": name})), make("td", {class: "act"}));
  const button = (action, text, style) => {
    const element = make("button", {type: "button", "data-action": action, class: style || ""}, text);
    element.setAttribute("aria-label", `${text.replace("…", "")}: ${row.host}`);
    element.addEventListener("click", () => hostAction(row.host, element.dataset.action));
    return element;
  };
  if (!saved) {
    line.lastElementChild.append(button("revive", "Revive"), button("block", "Block"),
        button("delay", "Delay…"), button("drop", "Drop…", "danger"));
  }
  return line;
}
function updateHost(line, row) {
  const [host, state] = line.children;
  setText(host, row.host);
  host.title = row.host;
  setText(state.children[0], row.state);
  setTone(state.children[0], kHostTones[row.state] || "idle");
  const until = row.blocked_until ? `until ${clock(row.blocked_until)}` : "";
  const why = [until, row.reason || row.last_error].filter(Boolean).join(": ");
  setText(state.children[1], why);
  state.children[1].title = why;
  const gap = isNumber(row.smallest_gap_ms) ? `smallest gap seen: ${duration(row.smallest_gap_ms)}` : "";
  const cells = [...line.children].slice(2, 9);
  [count(row.queued), count(row.fetched), count(row.failed ?? row.failures), bytes(row.bytes),
   duration(row.mean_ms), duration(row.delay_ms),
   row.next_start ? away(row.next_start, now()) : kNone].forEach((text, i) => setText(cells[i], text));
  cells[5].title = gap;
  if (saved) return;
  const [revive, block] = line.lastElementChild.children;
  revive.hidden = row.state !== "parked";
  const blocked = row.state === "blocked";
  block.dataset.action = blocked ? "unblock" : "block";
  setText(block, blocked ? "Unblock" : "Block");
  block.setAttribute("aria-label", `${block.textContent}: ${row.host}`);
}
function showHosts(answer) {
  const rows = answer?.hosts || [];
  const table = byId("hosts"), body = table.tBodies[0];
  // While somebody points at a row, it stays where it is.
  const held = !saved && rows.length > 0 && (body.matches(":hover") || body.contains(document.activeElement));
  hostRows = new Map(rows.map((row) => [row.host, row]));
  keyed(body, rows, (row) => row.host, makeHost, updateHost, held);
  byId("no-hosts").hidden = rows.length > 0;
  table.hidden = rows.length === 0;
  const known = status?.hosts?.known;
  setText(byId("hosts-count"), rows.length === 0 ? "" : isNumber(known) && known > rows.length
      ? `${count(rows.length)} of ${count(known)}` : count(rows.length));
  enableButtons();
}

// --- errors ----------------------------------------------------------------------------------------
const kMostErrors = 100;
let errors = [];
let errorId = 0;
function showErrors(list) {
  errors = list.slice(0, kMostErrors);
  for (const error of errors) error.id ??= ++errorId;
  keyed(byId("errors"), errors, (error) => error.id, () => make("li", {}, make("time"),
      make("span", {class: "reason"}), make("span", {class: "url mono clip"}), make("span", {class: "text"})),
      (line, error) => {
        const [time, reason, url, text] = line.children;
        setText(time, clock(error.time));
        setText(reason, [error.status > 0 ? error.status : "", error.reason].filter(Boolean).join(" "));
        setText(url, error.url);
        url.title = error.url;
        setText(text, error.error || "");
      });
  byId("no-errors").hidden = errors.length > 0;
}
const newestFirst = (list) => [...list].sort((a, b) => Date.parse(b.time) - Date.parse(a.time));

// --- calls -----------------------------------------------------------------------------------------
async function call(path, body) {
  const headers = token ? {Authorization: `Bearer ${token}`} : {};
  const options = {headers, cache: "no-store"};
  if (body !== undefined) {
    options.method = "POST";
    options.body = JSON.stringify(body);
    headers["Content-Type"] = "application/json";
  }
  const response = await fetch(path, options);
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) throw new Error(answer.error || `the crawl answered with ${response.status}`);
  return answer;
}
let messageTimer = 0;
function say(text, tone) {
  const box = byId("message");
  setText(box, text);
  setTone(box, tone || "");
  box.hidden = false;
  clearTimeout(messageTimer);
  messageTimer = setTimeout(() => { box.hidden = true; }, tone === "bad" ? 9000 : 4000);
}
// Asks before something that cannot be undone, or for a value; answers null if it is cancelled.
function ask({title, text, yes, danger, label, value}) {
  const dialog = byId("ask"), input = byId("ask-input");
  setText(byId("ask-title"), title);
  setText(byId("ask-text"), text);
  byId("ask-field").hidden = !label;
  input.required = Boolean(label);
  setText(byId("ask-label"), label || "");
  input.value = value || "";
  setText(byId("ask-yes"), yes);
  byId("ask-yes").className = danger ? "main danger" : "main";
  dialog.returnValue = "no";
  dialog.showModal();
  (label ? input : byId("ask-no")).focus();
  return new Promise((resolve) => dialog.addEventListener("close",
      () => resolve(dialog.returnValue === "yes" ? input.value.trim() : null), {once: true}));
}
byId("ask-input").addEventListener("keydown", (event) => {
  if (event.key !== "Enter") return;  // the first button would be Cancel
  event.preventDefault();
  byId("ask-yes").click();
});
async function steer(path, done) {
  try {
    const answer = await call(path, {});
    if (answer.state && status) showStatus({...status, state: answer.state});
    say(done);
  } catch (error) {
    say(error.message, "bad");
  }
}
async function hostAction(host, action) {
  const body = {host, action};
  if (action === "drop") {
    const row = hostRows.get(host);
    const answer = await ask({title: `Drop ${host}?`, yes: "Drop", danger: true,
        text: `Its ${count(row?.queued)} queued URLs are removed from the queue and will not be fetched. This cannot be undone.`});
    if (answer === null) return;
  } else if (action === "delay") {
    const row = hostRows.get(host);
    body.delay = await ask({title: "Delay between requests", text: host, yes: "Set", label: "Delay, such as 500ms or 2s",
                            value: isNumber(row?.delay_ms) ? `${row.delay_ms}ms` : ""});
    if (body.delay === null) return;
  }
  try {
    const answer = await call("api/v1/host", body);
    const done = {block: "blocked", unblock: "unblocked", revive: "revived", delay: `delay is ${body.delay}`,
                  drop: `dropped${isNumber(answer.dropped) ? `, ${count(answer.dropped)} URLs` : ""}`}[action];
    say(`${host}: ${done}`);
    await loadHosts();
  } catch (error) {
    say(`${host}: ${error.message}`, "bad");
  }
}
function enableButtons() {
  const off = lost || !status || status.state === "ended" || status.state === "draining";
  for (const button of document.querySelectorAll("#controls button, .hosts button")) button.disabled = off;
}
byId("pause").addEventListener("click", () => status.state === "paused"
    ? steer("api/v1/unpause", "The crawl goes on.") : steer("api/v1/pause", "Paused: requests in flight finish, no new ones start."));
byId("checkpoint").addEventListener("click", () => steer("api/v1/checkpoint", "A checkpoint is being written."));
byId("stop").addEventListener("click", async () => {
  const answer = await ask({title: "Stop the crawl?", yes: "Stop", danger: true,
      text: "Requests in flight finish, then the crawler ends and this page with it. The crawl can be resumed later."});
  if (answer !== null) steer("api/v1/stop", "Stopping: requests in flight finish.");
});

// --- live ------------------------------------------------------------------------------------------
function connected(text, tone) {
  setText(byId("connection"), text);
  setTone(byId("connection"), tone);
  lost = tone !== "good";
  document.querySelector(".top").toggleAttribute("data-lost", tone === "bad");
  enableButtons();
}
function received(name, data) {
  const value = JSON.parse(data);
  if (name === "status") {
    connected("live", "good");
    showStatus(value);
    addSample(value);
  } else if (name === "log") {
    showErrors([...(Array.isArray(value) ? value : value.errors || [value]), ...errors]);
  }
}
// Reads the stream with fetch() and not with an EventSource, which cannot send the token.
const kSilence = 10_000;
async function readEvents() {
  const stop = new AbortController();
  let timer = setTimeout(() => stop.abort(), kSilence);
  try {
    const response = await fetch("api/v1/events", {cache: "no-store", signal: stop.signal,
        headers: {Accept: "text/event-stream", ...(token ? {Authorization: `Bearer ${token}`} : {})}});
    if (!response.ok) throw new Error(`the crawl answered with ${response.status}`);
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let text = "", name = "message", data = [];
    for (;;) {
      const {value, done} = await reader.read();
      if (done) return;
      clearTimeout(timer);
      timer = setTimeout(() => stop.abort(), kSilence);
      text += value;
      const lines = text.split(/\r?\n/);
      text = lines.pop();
      for (const line of lines) {
        if (line === "") {
          if (data.length > 0) received(name, data.join("\n"));
          name = "message";
          data = [];
        } else if (line.startsWith("event:")) {
          name = line.slice(6).trim();
        } else if (line.startsWith("data:")) {
          data.push(line.slice(5).trimStart());
        }
      }
    }
  } finally {
    clearTimeout(timer);
    stop.abort();
  }
}
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
async function loadHosts() {
  showHosts(await call(`api/v1/hosts?order=${byId("order").value}&limit=50`));
}
async function loadAll() {
  const [history, first, log] = await Promise.all([call("api/v1/history"), call("api/v1/status"),
                                                   call("api/v1/errors?limit=100")]);
  showStatus(first);
  setHistory(history);
  showErrors(newestFirst(log.errors || []));
  await loadHosts();
}
async function live() {
  for (let tries = 0;; ++tries) {
    try {
      await loadAll();
      tries = 0;
      await readEvents();
    } catch (error) {
      // said below, whatever it was
    }
    const wait = Math.min(10, 1 + tries);
    for (let left = wait; left > 0; --left) {
      const over = status && (status.state === "ended" || status.state === "draining");
      connected(over ? "the crawl has ended" : `connection lost, next try in ${left} s`, "bad");
      await sleep(1000);
    }
  }
}
async function followHosts() {
  for (;;) {
    await sleep(2000);
    if (document.hidden || lost) continue;
    try {
      await loadHosts();
    } catch (error) {
      // the next time, or the stream reports it
    }
  }
}
if (saved) {
  document.body.classList.add("saved");
  byId("controls").hidden = true;
  document.querySelector(".order").hidden = true;
  showStatus(saved.status || {});
  setHistory(saved.history);
  showHosts(saved.hosts);
  showErrors(newestFirst(saved.errors?.errors || []));
  setText(byId("connection"), saved.saved_at ? `saved ${clock(saved.saved_at, true)}` : "a saved report");
} else {
  byId("order").addEventListener("change", () => loadHosts().catch((error) => say(error.message, "bad")));
  live();
  followHosts();
}
})();
