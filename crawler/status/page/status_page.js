// What the page shows and does.
const token = document.querySelector('meta[name="trawl-token"]')?.content ||
              new URLSearchParams(location.search).get("token") || "";

// --- charts ----------------------------------------------------------------------------------------
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
  const t = now();
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
// By the crawler's clock, from which ours may differ.
function now() {
  const then = saved ? Date.parse(saved.saved_at) : Date.parse(status?.started_at) + status?.elapsed_ms;
  return then || Date.now();
}

const kStateTones = {running: "good", paused: "warn", draining: "warn", ended: "idle"};
function showHead() {
  setText(byId("state"), status.state || "unknown");
  setTone(byId("state"), kStateTones[status.state] || "idle");
  setText(byId("directory"), status.state_dir || "");
  byId("directory").title = status.state_dir || "";
  const since = status.started_at ? `since ${clock(status.started_at, true)}, ` : "";
  setText(byId("since"), `${since}${duration(status.elapsed_ms)}`);
  setText(byId("version"), `Trawl ${status.version || ""}${status.pid ? `, process ${status.pid}` : ""}`);
  document.title = `${status.state || "unknown"}, ${count(status.pages)} pages – Trawl`;
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
    ["Newest", last.last ? `${ago(last.last, now())}, took ${duration(last.took_ms)}` : last.count > 0 ? kNone : "none yet"],
    ["Next", last.next ? away(last.next, now()) : kNone],
    ["Memory now", bytes(memory.rss)], ["Memory, peak", bytes(memory.peak)],
    ["of the frontier", bytes(memory.frontier)], ["of bodies", bytes(memory.bodies)],
    ["Disk free", bytes(status.disk?.free)], ["State on disk", bytes(status.disk?.state)],
    ["Output", status.output?.directory || kNone],
  ]);
}
// Only of a crawl by several crawlers.
function showCluster() {
  const cluster = status.cluster;
  byId("cluster-panel").hidden = !cluster;
  if (!cluster) return;
  const whole = cluster.crawl || {};
  facts(byId("cluster"), [
    ["Crawl", cluster.name || kNone], ["Waits for", cluster.waits_for || "nothing"],
    ["Buckets of this crawler", `${count(cluster.owned)} of ${count(cluster.buckets)}`],
    ["Messages not read yet", count(cluster.inbox), "links that other crawlers found"],
    ["Oldest of them", duration(cluster.oldest_message_ms)],
    ["Links sent to others", count(cluster.forwarded)],
    ["Buckets gained, lost", `${count(cluster.gained)}, ${count(cluster.lost)}`],
    ["Written again", count(cluster.rolled_back), "batches that a failover of Redis took back"],
    ["URLs of the whole crawl", count(whole.admitted)], ["Still open", count(whole.open)],
    ...(cluster.members || []).map((member) => [member.self ? `${member.name} (this one)` : member.name,
                                                `${count(member.buckets)} buckets`]),
  ]);
}
function showStatus(value) {
  status = value;
  showHead();
  showTotals();
  showCounts();
  showFilter();
  showFacts();
  showCluster();
}

// --- hosts -----------------------------------------------------------------------------------------
const kHostTones = {active: "good", waiting: "idle", blocked: "bad", parked: "warn", "at limit": "idle"};
const kNumbers = ["Queued", "Fetched", "Failed", "Bytes", "Mean time", "Delay", "Next start"];
let hostRows = new Map();
function makeHost(row) {
  const line = make("tr", {}, make("th", {scope: "row", class: "clip mono"}),
      make("td", {}, make("span", {class: "badge"}), make("span", {class: "more clip"})),
      ...kNumbers.map((name) => make("td", {class: "n", "data-name": name}, make("span"))), make("td", {class: "act"}));
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
  if (!saved) updateButtons(line, row);
  const cells = [...line.children].slice(2, 9);
  [count(row.queued), count(row.fetched), count(row.failed ?? row.failures), bytes(row.bytes),
   duration(row.mean_ms), duration(row.delay_ms),
   row.next_start ? away(row.next_start, now()) : kNone].forEach((text, i) => setText(cells[i].firstChild, text));
  if (!isNumber(row.smallest_gap_ms)) return;
  if (cells[5].children.length === 1) cells[5].append(make("span", {class: "more"}));
  setText(cells[5].lastChild, `least ${duration(row.smallest_gap_ms)}`);
  cells[5].title = "below: the smallest gap between two requests so far";
}
function updateButtons(line, row) {
  const [revive, block] = line.lastElementChild.children;
  revive.hidden = row.state !== "parked";
  const blocked = row.state === "blocked" || row.state === "parked";
  block.dataset.action = blocked ? "unblock" : "block";
  setText(block, blocked ? "Unblock" : "Block");
  block.setAttribute("aria-label", `${block.textContent}: ${row.host}`);
}
function showHosts(answer, reorder) {
  const rows = answer?.hosts || [];
  const table = byId("hosts"), body = table.tBodies[0];
  // While somebody points at a row, it stays where it is, until a button was pressed.
  const held = !saved && !reorder && rows.length > 0 && (body.matches(":hover") || body.contains(document.activeElement));
  hostRows = new Map(rows.map((row) => [row.host, row]));
  keyed(body, rows, (row) => row.host, makeHost, updateHost, held);
  for (const line of body.rows) line.classList.toggle("gone", !hostRows.has(line.trawlKey));
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
        setText(reason, error.status > 0 && !error.reason?.includes(error.status)
            ? `${error.status} ${error.reason || ""}` : error.reason || kNone);
        setText(url, error.url);
        url.title = error.url;
        setText(text, error.error || "");
      });
  byId("no-errors").hidden = errors.length > 0;
}
// Many may come at once. One that the page read before it followed the stream comes twice.
let arrived = [];
function addError(error) {
  const same = (other) => other.time === error.time && other.url === error.url;
  if (errors.some(same) || arrived.some(same)) return;
  if (arrived.unshift(error) > 1) return;
  requestAnimationFrame(() => {
    showErrors([...arrived, ...errors]);
    arrived = [];
  });
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
    const done = {block: "blocked", unblock: "unblocked", revive: "revived", delay: answer.note ?? `delay is ${body.delay}`,
                  drop: `dropped${isNumber(answer.dropped) ? `, ${count(answer.dropped)} URLs` : ""}`}[action];
    say(`${host}: ${done}`);
    await loadHosts(true);
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
    addError(value);
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
async function loadHosts(reorder) {
  showHosts(await call(`api/v1/hosts?order=${byId("order").value}&limit=50`), reorder);
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
      if (over) setText(byId("state"), "ended");
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
// The lists of hosts in a saved report, by order.
const kSavedLists = {queued: "waiting_hosts", fetched: "hosts", failed: "failing_hosts",
                     bytes: "largest_hosts", slowest: "slowest_hosts"};
function showSaved() {
  const order = byId("order");
  document.body.classList.add("saved");
  byId("controls").hidden = true;
  for (const option of [...order.options]) if (!saved[kSavedLists[option.value]]) option.remove();
  document.querySelector(".order").hidden = order.options.length < 2;
  order.value = "fetched";
  order.addEventListener("change", () => showHosts(saved[kSavedLists[order.value]]));
  showStatus(saved.status || {});
  setHistory(saved.history);
  showHosts(saved.hosts);
  showErrors(newestFirst(saved.errors?.errors || []));
  setText(byId("connection"), saved.saved_at ? `saved ${clock(saved.saved_at, true)}` : "a saved report");
}
if (saved) {
  showSaved();
} else {
  byId("order").addEventListener("change", () => loadHosts(true).catch((error) => say(error.message, "bad")));
  live();
  followHosts();
}
