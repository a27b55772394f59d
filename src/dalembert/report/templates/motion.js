"use strict";
// The robot as a stick figure along the log: drag to turn, play, slide.
const Motion = (() => {
  const canvas = document.getElementById("figure"), data = Plots.data.motion;
  if (!canvas || !data) return null;
  const slider = document.getElementById("time"), now = document.getElementById("now");
  const play = document.getElementById("play"), speed = document.getElementById("speed");
  const brush = canvas.getContext("2d");
  let log = null, frame = 0, playing = false, before = 0, clock = 0, scale = 1, zoom = 1;
  let turn = (-55 * Math.PI) / 180, tilt = (22 * Math.PI) / 180;

  function choose(number) {
    const raw = data.logs[number];
    log = { ...raw, t: Plots.numbers(raw.t), points: Plots.numbers(raw.points), path: Plots.numbers(raw.path) };
    log.count = log.points.length / log.frames / 3;
    const size = log.high.map((high, k) => high - log.low[k]), longest = Math.max(...size);
    log.centre = log.high.map((high, k) => (high + log.low[k]) / 2);
    log.length = longest;
    log.flat = size[2] < 0.05 * longest;
    if (log.flat) [turn, tilt] = [-Math.PI / 2, Math.PI / 2];
    slider.max = String(log.frames - 1);
    clock = log.t[0];
    fit();
    to(0);
  }

  function axes() {
    const [s, c, u, v] = [Math.sin(turn), Math.cos(turn), Math.sin(tilt), Math.cos(tilt)];
    return { right: [-s, c, 0], up: [-c * u, -s * u, v] };
  }

  function seen(p) {
    const { right, up } = axes(), d = p.map((x, k) => x - log.centre[k]);
    const along = (a) => a[0] * d[0] + a[1] * d[1] + a[2] * d[2];
    return [canvas.clientWidth / 2 + scale * zoom * along(right), canvas.clientHeight / 2 - scale * zoom * along(up)];
  }

  // The scale at which all of the log fits into the canvas from where it is looked at
  function fit() {
    const ratio = window.devicePixelRatio || 1;
    canvas.width = Math.round(canvas.clientWidth * ratio);
    canvas.height = Math.round(canvas.clientHeight * ratio);
    brush.setTransform(ratio, 0, 0, ratio, 0, 0);
    scale = 1;
    const kept = zoom;
    zoom = 1;
    let [wide, high] = [1e-9, 1e-9];
    for (let k = 0; k < log.points.length; k += 3) {
      const [x, y] = seen([log.points[k], log.points[k + 1], log.points[k + 2]]);
      wide = Math.max(wide, Math.abs(x - canvas.clientWidth / 2));
      high = Math.max(high, Math.abs(y - canvas.clientHeight / 2));
    }
    zoom = kept;
    scale = 0.46 * Math.min(canvas.clientWidth / wide, canvas.clientHeight / high);
  }

  const point = (k) => [0, 1, 2].map((i) => log.points[3 * (frame * log.count + k) + i]);

  function line(points, ink, width) {
    brush.strokeStyle = ink;
    brush.lineWidth = width;
    brush.beginPath();
    points.forEach((p, k) => (k ? brush.lineTo(...seen(p)) : brush.moveTo(...seen(p))));
    brush.stroke();
  }

  function dot(p, ink, radius) {
    brush.fillStyle = ink;
    brush.beginPath();
    brush.arc(...seen(p), radius, 0, 2 * Math.PI);
    brush.fill();
  }

  // A grid below the robot, of squares as wide as 1, 2 or 5 times a power of ten
  function floor() {
    const raw = log.length / 6, ten = 10 ** Math.floor(Math.log10(raw));
    const step = ten * [1, 2, 5, 10].find((k) => k * ten >= raw), ink = Plots.colour("line"), z = Math.min(log.low[2], 0);
    const [x, y] = [0, 1].map((k) => [step * Math.floor(Math.min(log.low[k], 0) / step), step * Math.ceil(Math.max(log.high[k], 0) / step)]);
    for (let at = x[0]; at < x[1] + step / 2; at += step) line([[at, y[0], z], [at, y[1], z]], ink, 0.7);
    for (let at = y[0]; at < y[1] + step / 2; at += step) line([[x[0], at, z], [x[1], at, z]], ink, 0.7);
  }

  function paint() {
    brush.clearRect(0, 0, canvas.clientWidth, canvas.clientHeight);
    brush.lineCap = brush.lineJoin = "round";
    brush.font = "12px system-ui, sans-serif";
    if (!log.flat) floor();
    ["x", "y", "z"].forEach((name, k) => {
      const tip = [0, 0, 0];
      tip[k] = 0.12 * log.length;
      line([[0, 0, 0], tip], Plots.colour("faint"), 1);
      const [x, y] = seen(tip);
      brush.fillStyle = Plots.colour("faint");
      if (Math.hypot(x - seen([0, 0, 0])[0], y - seen([0, 0, 0])[1]) > 8) brush.fillText(name, x + 3, y - 3);
    });
    const path = [];
    for (let k = 0; k < log.path.length; k += 3) path.push([log.path[k], log.path[k + 1], log.path[k + 2]]);
    line(path, Plots.colour("raw"), 1);
    for (const link of data.links)
      line(link.through.map(point), Plots.colour(link.name === data.platform ? "platform" : "link"), 5);
    for (const joint of data.joints) dot(point(joint.at), Plots.colour(joint.driven ? "driven" : "joint"), joint.driven ? 5 : 3.5);
    brush.strokeStyle = Plots.colour("loop");
    brush.lineWidth = 2;
    for (const loop of data.loops) {
      const [x, y] = seen(point(loop.at));
      brush.strokeRect(x - 5, y - 5, 10, 10);
    }
  }

  function to(number) {
    frame = Math.max(0, Math.min(log.frames - 1, number));
    slider.value = String(frame);
    now.textContent = log.t[frame].toFixed(2) + " s";
    paint();
  }

  function tick(time) {
    if (!playing) return;
    clock += Math.min(0.1, (time - before) / 1000) * Number(speed.value);
    before = time;
    if (clock > log.t[log.frames - 1]) clock = log.t[0];
    let k = frame < log.frames - 1 && log.t[frame] <= clock ? frame : 0;
    while (k < log.frames - 1 && log.t[k + 1] <= clock) k++;
    if (k !== frame) to(k);
    requestAnimationFrame(tick);
  }

  function run(on) {
    playing = on;
    play.textContent = on ? "Pause" : "Play";
    play.setAttribute("aria-pressed", String(on));
    before = performance.now();
    if (on) requestAnimationFrame(tick);
  }

  play.addEventListener("click", () => run(!playing));
  slider.addEventListener("input", () => {
    run(false);
    clock = log.t[Number(slider.value)];
    to(Number(slider.value));
  });
  const fingers = new Map();
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    fingers.set(event.pointerId, [event.clientX, event.clientY]);
  });
  const lift = (event) => fingers.delete(event.pointerId);
  canvas.addEventListener("pointerup", lift);
  canvas.addEventListener("pointercancel", lift);
  canvas.addEventListener("pointermove", (event) => {
    const last = fingers.get(event.pointerId);
    if (!last) return;
    const here = [event.clientX, event.clientY];
    if (fingers.size === 1) {
      turn -= (here[0] - last[0]) / 120;
      tilt = Math.max(-Math.PI / 2, Math.min(Math.PI / 2, tilt + (here[1] - last[1]) / 120));
    } else {
      const other = [...fingers].find(([id]) => id !== event.pointerId)[1];
      const apart = (p) => Math.hypot(p[0] - other[0], p[1] - other[1]);
      zoom = Math.max(0.2, Math.min(20, (zoom * apart(here)) / Math.max(1, apart(last))));
    }
    fingers.set(event.pointerId, here);
    paint();
  });
  canvas.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      zoom = Math.max(0.2, Math.min(20, zoom * Math.exp(-event.deltaY / 600)));
      paint();
    },
    { passive: false },
  );
  new ResizeObserver(() => {
    fit();
    paint();
  }).observe(canvas);
  choose(0);
  return { paint, choose, to, frame: () => frame };
})();
