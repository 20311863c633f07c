// Charts over time, drawn as SVG.
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
