"use strict";
// Draws the pictures of the page with plotly.js when they come into sight; zooms the plots of one link together.
const Plots = (() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const drawn = new Map(); // figure -> what it shows
  const ranges = new Map(); // link -> [from, to], or nothing for everything
  let library = null;

  function numbers(text) {
    const raw = atob(text), bytes = new Uint8Array(raw.length);
    for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
    return new Float32Array(bytes.buffer);
  }

  // plotly.js lies in the page compressed, and is unpacked when the first plot is drawn
  function load() {
    library ??= (async () => {
      const raw = atob(document.getElementById("plotly").textContent.trim());
      const bytes = Uint8Array.from(raw, (letter) => letter.charCodeAt(0));
      const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
      const script = document.createElement("script");
      script.textContent = await new Response(stream).text();
      document.head.append(script);
      return window.Plotly;
    })();
    return library;
  }

  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
  const plain = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;");
  const ROLES = { measured: "measured", raw: "raw", predicted: "predicted", residual: "residual" };
  const DASHES = ["solid", "dash", "dot", "dashdot", "longdash", "longdashdot"];
  const SYMBOLS = ["circle", "square-open", "diamond-open", "cross-thin-open", "triangle-up-open", "x-thin-open"];

  function curveOf(raw) {
    const y = numbers(raw.y), x = raw.x === null ? null : numbers(raw.x);
    return { ...raw, y, x, error: raw.error === null ? null : numbers(raw.error) };
  }

  function extent(curves) {
    let low = Infinity, high = -Infinity;
    for (const c of curves) {
      if (!c.y.length) continue;
      const [a, b] = c.x ? [c.x[0], c.x[c.x.length - 1]] : [c.start, c.start + c.step * (c.y.length - 1)];
      low = Math.min(low, a);
      high = Math.max(high, b);
    }
    return [low, high];
  }

  // The part of a curve that is seen; of many samples the least and the largest of every pixel or so.
  function seen(c, range, width) {
    if (c.x) return { x: Array.from(c.x), y: Array.from(c.y) };
    const from = Math.max(0, Math.floor((range[0] - c.start) / c.step) - 1);
    const to = Math.min(c.y.length, Math.ceil((range[1] - c.start) / c.step) + 2);
    const x = [], y = [], stretch = Math.max(1, Math.floor((to - from) / (2 * width)));
    for (let i = from; i < to; i += stretch) {
      const end = Math.min(i + stretch, to);
      let low = i, high = i;
      for (let k = i + 1; k < end; k++) {
        if (!(c.y[k] >= c.y[low])) low = k;
        if (!(c.y[k] <= c.y[high])) high = k;
      }
      for (const k of low === high ? [low] : low < high ? [low, high] : [high, low]) {
        x.push(c.start + c.step * k);
        y.push(c.y[k]);
      }
    }
    return { x, y };
  }

  function trace(c, view) {
    const line = ROLES[c.role] === undefined, number = line ? Number(c.role) - 1 : 0;
    const ink = colour(line ? "c" + c.role : c.role), axis = c.row ? "y" + (c.row + 1) : "y";
    const out = { type: "scatter", name: plain(c.label), x: view.x, y: view.y, yaxis: axis };
    if (c.points) {
      out.mode = "markers";
      out.marker = { color: ink, size: 7, symbol: SYMBOLS[number % 6], line: { width: 1.5, color: ink } };
    } else {
      out.mode = "lines";
      const width = { raw: 0.6, measured: 1.6, predicted: 1.1, residual: 0.9 }[c.role] ?? 1.3;
      out.line = { color: ink, width, dash: line ? DASHES[number % 6] : "solid" };
      if (c.role === "raw") out.hoverinfo = "skip";
    }
    if (c.error) out.error_x = { type: "data", array: Array.from(c.error), color: ink, thickness: 1.2, width: 2 };
    return out;
  }

  function axis(title, more) {
    return {
      title: { text: plain(title), font: { size: 11 }, standoff: 6 }, gridcolor: colour("line"), zerolinecolor: colour("line"),
      linecolor: colour("line"), automargin: true, tickfont: { size: 10.5 }, ...more,
    };
  }

  function frame(spec) {
    return {
      height: spec.height, margin: { l: 52, r: 8, t: 8, b: 34 }, paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)", font: { color: colour("ink"), family: "system-ui, sans-serif", size: 11 },
      hoverlabel: { bgcolor: colour("raised"), font: { color: colour("ink") } }, hovermode: "x",
      modebar: { bgcolor: "rgba(0,0,0,0)", color: colour("faint"), activecolor: colour("accent") },
    };
  }

  const coarse = matchMedia("(pointer: coarse)").matches; // a finger scrolls the page; buttons zoom

  const decades = { type: "log", exponentformat: "power", dtick: 1 };

  function curvesLayout(spec, range, count) {
    const layout = frame(spec), two = spec.y.length > 1;
    layout.dragmode = coarse ? false : "zoom";
    layout.xaxis = axis(spec.x, { type: spec.logX ? "log" : "linear", anchor: two ? "y2" : "y", fixedrange: !spec.link });
    if (spec.link && range) layout.xaxis.range = spec.logX ? range.map(Math.log10) : [...range];
    const scale = spec.logY ? decades : { type: "linear", exponentformat: "power" };
    layout.yaxis = axis(spec.y[0], { ...scale, domain: two ? [0.4, 1] : [0, 1], fixedrange: true });
    if (two) layout.yaxis2 = axis(spec.y[1], { ...scale, domain: [0, 0.3], fixedrange: true });
    if (spec.logX) Object.assign(layout.xaxis, decades);
    if (spec.ticks.length) {
      Object.assign(layout.yaxis, {
        tickvals: spec.ticks.map((_, k) => k), ticktext: spec.ticks.map(plain), range: [spec.ticks.length - 0.5, -0.5], tickfont: { size: 10 },
      });
      Object.assign(layout.xaxis, { zerolinecolor: colour("faint"), zerolinewidth: 1.5 });
      layout.hovermode = "closest";
    }
    layout.shapes = spec.limits.map((y) => ({
      type: "line", xref: "paper", x0: 0, x1: 1, y0: y, y1: y, line: { color: colour("poor"), width: 1, dash: "dot" },
    }));
    for (const [x, text] of spec.marks) {
      const line = { color: colour("faint"), width: 1, dash: "dot" };
      layout.shapes.push({ type: "line", yref: "paper", x0: x, x1: x, y0: 0, y1: 1, line });
      const at = { x: spec.logX ? Math.log10(x) : x, yref: "paper", y: 1, xanchor: "left", yanchor: "top", showarrow: false };
      (layout.annotations ??= []).push({ ...at, text: plain(text), textangle: -90, font: { size: 10, color: colour("faint") } });
    }
    layout.showlegend = count > 1;
    layout.legend = { orientation: "h", x: 0, y: 1.01, yanchor: "bottom", font: { size: 10.5 }, bgcolor: "rgba(0,0,0,0)" };
    layout.margin.t = count > 1 ? 26 : 8;
    return layout;
  }

  function heat(spec, figure) {
    const k = spec.names.length, flat = numbers(spec.z), names = spec.names.map(plain);
    const rows = Array.from({ length: k }, (_, i) => Array.from(flat.slice(i * k, (i + 1) * k)));
    const width = Math.min(figure.clientWidth, 800), cell = (width - 150) / k, layout = frame(spec);
    const ticks = cell >= 8 ? { tickvals: names, tickfont: { size: Math.min(10.5, cell) } } : { showticklabels: false };
    layout.width = width;
    layout.height = width - (cell >= 8 ? 20 : 60);
    layout.hovermode = "closest";
    layout.xaxis = axis("", { ...ticks, tickangle: -90, showgrid: false, fixedrange: coarse, constrain: "domain" });
    layout.yaxis = axis("", { ...ticks, autorange: "reversed", showgrid: false, fixedrange: coarse, scaleanchor: "x", constrain: "domain" });
    const scale = [[0, colour("c1")], [0.5, colour("paper")], [1, colour("c2")]];
    const bar = { thickness: 12, outlinewidth: 0, len: 0.6, tickfont: { size: 10.5 } };
    const body = { type: "heatmap", x: names, y: names, z: rows, zmin: -1, zmax: 1, colorscale: scale, colorbar: bar };
    return { traces: [{ ...body, hovertemplate: "%{y}<br>%{x}<br>%{z:.2f}<extra></extra>" }], layout };
  }

  function content(figure, item) {
    const { spec, curves } = item;
    if (spec.kind === "heat") return heat(spec, figure);
    const range = ranges.get(spec.link) ?? item.extent, width = Math.max(200, figure.clientWidth);
    const traces = curves.map((c) => trace(c, seen(c, range, width)));
    return { traces, layout: curvesLayout(spec, range, curves.length) };
  }

  const config = {
    displaylogo: false, displayModeBar: "hover", responsive: true, doubleClick: false,
    modeBarButtonsToRemove: ["zoom2d", "pan2d", "select2d", "lasso2d", "zoomIn2d", "zoomOut2d", "autoScale2d", "resetScale2d"],
  };

  async function draw(figure) {
    if (drawn.has(figure)) return;
    const spec = data.pictures[figure.dataset.picture];
    const curves = spec.kind === "heat" ? [] : spec.curves.map(curveOf);
    const caption = document.createElement("figcaption"), place = document.createElement("div");
    caption.textContent = spec.title;
    place.setAttribute("role", "img");
    place.setAttribute("aria-label", spec.title + (spec.x ? ", over " + spec.x : ""));
    figure.replaceChildren(caption, place);
    const item = { spec, curves, place, extent: extent(curves) };
    drawn.set(figure, item);
    const Plotly = await load();
    const { traces, layout } = content(figure, item);
    await Plotly.newPlot(place, traces, layout, config);
    if (spec.link) {
      place.on("plotly_relayout", (change) => followed(spec, change));
      place.on("plotly_doubleclick", () => show(spec.link, null));
    }
    figure.dataset.drawn = "yes";
  }

  function followed(spec, change) {
    let from = change["xaxis.range[0]"], to = change["xaxis.range[1]"];
    if (Array.isArray(change["xaxis.range"])) [from, to] = change["xaxis.range"];
    if (from === undefined || to === undefined) return;
    show(spec.link, spec.logX ? [10 ** from, 10 ** to] : [from, to]);
  }

  // Show the same part of every plot of a link; null for everything.
  function show(link, range) {
    if (range === null) ranges.delete(link);
    else ranges.set(link, range);
    return Promise.all([...drawn].filter(([, item]) => item.spec.link === link).map(([figure]) => again(figure)));
  }

  function again(figure) {
    const item = drawn.get(figure);
    if (figure.dataset.drawn !== "yes" || !figure.clientWidth) return null;
    const { traces, layout } = content(figure, item);
    return window.Plotly.react(item.place, traces, layout, config);
  }

  function step(link, how) {
    const any = [...drawn.values()].find((item) => item.spec.link === link);
    if (!any) return;
    const [low, high] = any.extent, [a, b] = ranges.get(link) ?? any.extent, size = b - a;
    const middle = (a + b) / 2, by = { in: 0.5, out: 2, back: 1, on: 1 }[how];
    if (how === "all" || (how === "out" && 2 * size >= high - low)) return void show(link, null);
    let from = middle - (size * by) / 2 + { back: -size / 2, on: size / 2 }[how] || middle - (size * by) / 2;
    from = Math.max(low, Math.min(from, high - size * by));
    show(link, [from, from + size * by]);
  }

  const waiting = [];
  let busy = false;
  async function work() {
    if (busy) return;
    busy = true;
    while (waiting.length) {
      await draw(waiting.shift());
      await new Promise(requestAnimationFrame);
    }
    busy = false;
  }

  const inSight = new IntersectionObserver(
    (entries) => {
      for (const entry of entries.filter((e) => e.isIntersecting)) {
        inSight.unobserve(entry.target);
        waiting.push(entry.target);
      }
      work();
    },
    { rootMargin: "500px" },
  );

  // the library is unpacked, then every plot drawn, when there is nothing else to do: scrolling and printing find them
  const idle = window.requestIdleCallback ?? ((what) => setTimeout(what, 200));
  let ahead = false;
  function drawAhead() {
    const figure = [...document.querySelectorAll(".plot")].find((f) => f.clientWidth && !drawn.has(f));
    ahead = figure !== undefined;
    if (ahead) draw(figure).then(() => idle(drawAhead));
  }

  // what is shown has changed: draw it again, and what has not been drawn yet when there is time
  function redraw() {
    if (!ahead) idle(drawAhead);
    ahead = true;
    return Promise.all([...drawn.keys()].map(again));
  }

  return {
    data, numbers, colour, load, show, step, ranges,
    start() {
      for (const figure of document.querySelectorAll(".plot")) inSight.observe(figure);
      redraw();
    },
    redraw,
    all: () => Promise.all([...document.querySelectorAll(".plot")].filter((f) => f.clientWidth).map(draw)),
    // before printing: widths of a sheet of paper, which a plot does not follow by itself
    toPaper() {
      for (const [figure, item] of drawn) {
        if (figure.dataset.drawn !== "yes" || !figure.clientWidth) continue;
        const width = figure.parentElement.classList.contains("grid") ? 335 : 690;
        window.Plotly.relayout(item.place, { width, height: item.spec.kind === "heat" ? width - 20 : item.spec.height, autosize: false });
      }
    },
  };
})();
