// Numbers, times and elements as the page shows them.
const byId = (id) => document.getElementById(id);
// The numbers of a saved report; null: the page is live.
const saved = byId("report") ? JSON.parse(byId("report").textContent) : null;

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
