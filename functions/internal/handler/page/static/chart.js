// Bar charts by uPlot. A chart is a picture for the eye: the same figures are in a table beside it.
import { h } from "./dom.js";

const charts = new Set();

// bars draws values over names into a new element. limit, if there is one, is a line.
export function bars({ id, names, values, limit, unit, describe, format }) {
  const element = h("div", { id, class: "chart", role: "img", "aria-label": describe });
  const chart = { element, draw: () => draw(element, names, values, limit, unit, format), plot: null };
  chart.observer = new ResizeObserver(() => {
    if (!element.isConnected) return forget(chart);
    if (!chart.plot) chart.plot = chart.draw();
    else if (element.clientWidth > 0) chart.plot.setSize(size(element));
  });
  chart.observer.observe(element);
  charts.add(chart);
  return element;
}

function forget(chart) {
  chart.observer.disconnect();
  chart.plot?.destroy();
  charts.delete(chart);
}

const size = (element) => ({ width: element.clientWidth, height: 180 });

function draw(element, names, values, limit, unit, format) {
  const colour = (name) => getComputedStyle(element).getPropertyValue(name).trim();
  const text = colour("--text-soft"), font = "12px system-ui, sans-serif";
  const axis = { stroke: text, font, grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false } };
  const most = Math.max(1, ...values, limit > 0 && limit < 3 * Math.max(...values) ? limit : 0);
  const series = [
    { label: "", value: (_, at) => (at === null ? "" : names[at]) },
    { label: unit, value: (_, value) => (value === null ? "" : format(value)), fill: colour("--accent"), stroke: colour("--accent"),
      paths: uPlot.paths.bars({ size: [0.7, 40], radius: 0.15 }), points: { show: false } },
  ];
  const data = [names.map((_, at) => at), values];
  return new uPlot({
    ...size(element), series, legend: { show: false }, cursor: { show: false }, padding: [8, 26, 0, 0],
    scales: { x: { time: false, range: [-0.6, names.length - 0.4] }, y: { range: [0, most * 1.08] } },
    axes: [
      { ...axis, size: 28, grid: { show: false }, space: 44, splits: () => spread(names.length, element.clientWidth), values: (_, at) => at.map((n) => names[n] ?? "") },
      { ...axis, size: 56, values: (_, at) => at.map((n) => (Number.isInteger(n) ? format(n) : "")) },
    ],
    hooks: {
      draw: [(plot) => {
        if (!(limit > 0) || limit > most) return;
        const { ctx } = plot, y = plot.valToPos(limit, "y", true);
        ctx.save();
        ctx.strokeStyle = colour("--bad");
        ctx.setLineDash([6, 4]);
        ctx.beginPath();
        ctx.moveTo(plot.bbox.left, y);
        ctx.lineTo(plot.bbox.left + plot.bbox.width, y);
        ctx.stroke();
        ctx.restore();
      }],
    },
  }, data, element);
}

// spread picks as many names as there is room for, the last one among them.
function spread(count, width) {
  const step = Math.max(1, Math.ceil(count / Math.max(1, Math.floor((width - 60) / 66))));
  return Array.from({ length: count }, (_, at) => at).filter((at) => (count - 1 - at) % step === 0);
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  for (const chart of charts) {
    if (!chart.element.isConnected) { forget(chart); continue; }
    chart.plot?.destroy();
    chart.plot = chart.draw();
  }
});
