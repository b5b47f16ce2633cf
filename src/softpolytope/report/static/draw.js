// Draws a map on a canvas from one object, the scene.

const LIGHT = {
  paper: "#ffffff", ink: "#1b1f24", soft: "#57606a", line: "#8c959f",
  pale: ["#8fc1e6", "#f4ae83"], strong: ["#005a94", "#ad4300"], halo: "#ffffff",
};
const DARK = {
  paper: "#171b21", ink: "#eef1f4", soft: "#a9b4bf", line: "#6b7682",
  pale: ["#24567f", "#95511f"], strong: ["#8fcbf7", "#ffb98a"], halo: "#0b0e11",
};

function themeNow() {
  return matchMedia("(prefers-color-scheme: dark)").matches ? DARK : LIGHT;
}

function channels(hex) {
  return [1, 3, 5].map((start) => parseInt(hex.slice(start, start + 2), 16));
}

// Position of the plot on the canvas, and conversion between values and pixels.
function frameOf(width, height, bounds, hasUp) {
  const left = 52;
  const right = 10;
  const top = 10;
  const bottom = 42;
  const plot = { left, top, width: width - left - right, height: height - top - bottom };
  const ups = hasUp ? bounds : { bottom: -0.12, top: 1.12 };
  return {
    ...plot,
    x: (u) => plot.left + ((u - bounds.left) / (bounds.right - bounds.left)) * plot.width,
    y: (v) => plot.top + ((ups.top - v) / (ups.top - ups.bottom)) * plot.height,
    u: (x) => bounds.left + ((x - plot.left) / plot.width) * (bounds.right - bounds.left),
    v: (y) => ups.top - ((y - plot.top) / plot.height) * (ups.top - ups.bottom),
    ups,
  };
}

function drawScene(context, scene) {
  const { frame, theme, width, height } = scene;
  context.fillStyle = theme.paper;
  context.fillRect(0, 0, width, height);
  context.save();
  context.beginPath();
  context.rect(frame.left, frame.top, frame.width, frame.height);
  context.clip();
  if (scene.probabilities) {
    if (scene.hasUp) drawColors(context, scene);
    else drawCurve(context, scene);
    const labels = scene.hasLines ? drawExperts(context, scene) : [];
    if (scene.hasUp) drawBoundary(context, scene);
    drawDots(context, scene);
    for (const label of labels) drawLabel(context, scene.theme, label);
  }
  drawCross(context, scene);
  context.restore();
  drawAxes(context, scene);
}

// Colors from that of the paper, at the threshold, to that of a class, at certainty.
function colorTable(theme) {
  const paper = channels(theme.paper);
  return theme.pale.map((hex) => {
    const full = channels(hex);
    const mixed = (share) => paper.map((value, c) => value + (full[c] - value) * share);
    return Array.from({ length: 101 }, (_, k) => mixed(0.18 + 0.0082 * k));
  });
}

function drawColors(context, scene) {
  const { surface, frame, threshold } = scene;
  const { nx, ny } = surface;
  const table = colorTable(scene.theme);
  const picture = new ImageData(nx, ny);
  for (let j = 0; j < ny; j++) {
    for (let i = 0; i < nx; i++) {
      const probability = scene.probabilities[j * nx + i];
      const isYes = probability > threshold;
      const share = isYes ? (probability - threshold) / (1 - threshold) : (threshold - probability) / threshold;
      const color = table[isYes ? 1 : 0][Math.round(100 * share)];
      // The first row of a picture is its top, that of a grid its bottom.
      const at = 4 * ((ny - 1 - j) * nx + i);
      picture.data[at] = color[0];
      picture.data[at + 1] = color[1];
      picture.data[at + 2] = color[2];
      picture.data[at + 3] = 255;
    }
  }
  const small = document.createElement("canvas");
  small.width = nx;
  small.height = ny;
  small.getContext("2d").putImageData(picture, 0, 0);
  // Grid points are centers of pixels, and the outer ones lie on the frame.
  const halfX = frame.width / (nx - 1) / 2;
  const halfY = frame.height / (ny - 1) / 2;
  context.imageSmoothingEnabled = true;
  context.imageSmoothingQuality = "high";
  context.drawImage(small, frame.left - halfX, frame.top - halfY, frame.width + 2 * halfX, frame.height + 2 * halfY);
}

function strokeSegments(context, scene, segments) {
  const { frame, surface } = scene;
  const stepX = frame.width / (surface.nx - 1);
  const stepY = frame.height / (surface.ny - 1);
  context.beginPath();
  for (let k = 0; k < segments.length; k += 4) {
    context.moveTo(frame.left + segments[k] * stepX, frame.top + frame.height - segments[k + 1] * stepY);
    context.lineTo(frame.left + segments[k + 2] * stepX, frame.top + frame.height - segments[k + 3] * stepY);
  }
  context.stroke();
}

function drawBoundary(context, scene) {
  const segments = segmentsAt(scene.probabilities, scene.surface.nx, scene.surface.ny, scene.threshold);
  context.lineCap = "round";
  for (const [color, width] of [[scene.theme.halo, 5], [scene.theme.ink, 2.5]]) {
    context.strokeStyle = color;
    context.lineWidth = width;
    strokeSegments(context, scene, segments);
  }
}

// For one feature: the probability as a curve, colored by the prediction.
function drawCurve(context, scene) {
  const { frame, surface, theme, threshold } = scene;
  const { left, right } = surface.spec.bounds;
  const points = Array.from(scene.probabilities, (probability, i) => [frame.x(lerp(left, right, i / (surface.nx - 1))), probability]);
  for (let i = 0; i + 1 < points.length; i++) {
    context.fillStyle = theme.pale[points[i][1] > threshold ? 1 : 0];
    // Whole pixels, because fractions leave visible seams.
    const from = Math.floor(points[i][0]);
    context.fillRect(from, frame.top, Math.ceil(points[i + 1][0]) - from, frame.height);
  }
  context.strokeStyle = theme.ink;
  context.lineWidth = 2.5;
  context.beginPath();
  points.forEach(([x, probability], i) => (i ? context.lineTo(x, frame.y(probability)) : context.moveTo(x, frame.y(probability))));
  context.stroke();
  context.lineWidth = 1;
  context.setLineDash([6, 4]);
  context.beginPath();
  context.moveTo(frame.left, frame.y(threshold));
  context.lineTo(frame.left + frame.width, frame.y(threshold));
  context.stroke();
  context.setLineDash([]);
}

// Draws outlines of the regions in which experts vote yes, and their faces; returns the positions of their numbers.
function drawExperts(context, scene) {
  const { surface, theme } = scene;
  const labels = [];
  surface.experts.forEach((experts, side) => {
    const needed = neededBySide(side, scene.threshold);
    experts.forEach((values, expert) => {
      if (!scene.isOn(side, expert)) return;
      const middle = middleOf(values, needed, surface, scene.frame, scene.hasUp);
      if (!middle) return;
      const isMarked = scene.marked && scene.marked.side === side && scene.marked.expert === expert;
      // The labeling of a class itself has the second color, like its side of the map.
      context.strokeStyle = theme.strong[1 - side];
      drawFaces(context, scene, facesOf(surface, side, expert, needed), isMarked);
      if (scene.hasUp && surface.spec.model.nLayers > 1) {
        context.lineWidth = isMarked ? 3.5 : 1.6;
        strokeSegments(context, scene, segmentsAt(values, surface.nx, surface.ny, needed));
      }
      labels.push({ ...middle, text: String(expert + 1), side });
    });
  });
  return labels;
}

function drawFaces(context, scene, faces, isMarked) {
  const { frame } = scene;
  context.lineWidth = isMarked ? 2.5 : 1.2;
  context.setLineDash([5, 4]);
  context.beginPath();
  faces.forEach((face, k) => {
    const line = lineInView(face, frame);
    // A face is the part of its line on which the others hold.
    const segment = line && faces.reduce((rest, other, m) => (m === k || !rest ? rest : clipped(rest, other)), line);
    if (!segment) return;
    context.moveTo(frame.x(segment[0]), frame.y(segment[1]));
    context.lineTo(frame.x(segment[2]), frame.y(segment[3]));
  });
  context.stroke();
  context.setLineDash([]);
}

// The line a u + b v = c across the view, [u1, v1, u2, v2], solved for the coordinate of larger slope.
function lineInView({ a, b, c }, frame) {
  const left = frame.u(frame.left);
  const right = frame.u(frame.left + frame.width);
  const { bottom, top } = frame.ups;
  const isSteep = Math.abs(a) * (right - left) > Math.abs(b) * (top - bottom);
  if (isSteep) return [(c - b * bottom) / a, bottom, (c - b * top) / a, top];
  return b === 0 ? null : [left, (c - a * left) / b, right, (c - a * right) / b];
}

// The part of a segment on which a u + b v >= c; null if there is none.
function clipped([u1, v1, u2, v2], { a, b, c }) {
  const from = a * u1 + b * v1 - c;
  const to = a * u2 + b * v2 - c;
  if (from < 0 && to < 0) return null;
  const share = from / (from - to);
  const middle = [u1 + (u2 - u1) * share, v1 + (v2 - v1) * share];
  if (from < 0) return [...middle, u2, v2];
  return to < 0 ? [u1, v1, ...middle] : [u1, v1, u2, v2];
}

// The center of a region on the screen; null if it is not in view.
function middleOf(values, needed, surface, frame, hasUp) {
  const { nx, ny } = surface;
  let n = 0;
  let sumX = 0;
  let sumY = 0;
  for (let j = 0; j < ny; j++) {
    for (let i = 0; i < nx; i++) {
      if (values[j * nx + i] <= needed) continue;
      n += 1;
      sumX += i;
      sumY += j;
    }
  }
  if (!n) return null;
  const x = frame.left + (sumX / n / (nx - 1)) * frame.width;
  return { x, y: hasUp ? frame.top + frame.height * (1 - sumY / n / (ny - 1)) : frame.y(0.86) };
}

function drawLabel(context, theme, { x, y, text, side }) {
  context.font = "600 13px system-ui, sans-serif";
  context.textAlign = "center";
  context.textBaseline = "middle";
  const width = Math.max(context.measureText(text).width + 10, 20);
  context.fillStyle = theme.strong[1 - side];
  context.strokeStyle = theme.halo;
  context.lineWidth = 2;
  context.beginPath();
  // Experts of the class itself have square labels, those of the opposite labeling round ones.
  context.roundRect(x - width / 2, y - 10, width, 20, side ? 10 : 3);
  context.stroke();
  context.fill();
  context.fillStyle = theme.halo;
  context.fillText(text, x, y + 0.5);
}

// Rows: triangles for the class shown, circles for all others, with an outline if misclassified.
function drawDots(context, scene) {
  const { theme } = scene;
  for (const dot of scene.dots) {
    const size = dot.isWrong ? 5.5 : 3.6;
    context.beginPath();
    if (dot.isTarget) {
      context.moveTo(dot.x, dot.y - size - 0.8);
      context.lineTo(dot.x + size + 0.4, dot.y + size * 0.8);
      context.lineTo(dot.x - size - 0.4, dot.y + size * 0.8);
      context.closePath();
    } else {
      context.arc(dot.x, dot.y, size - 0.3, 0, 2 * Math.PI);
    }
    context.fillStyle = theme.strong[dot.isTarget ? 1 : 0];
    context.strokeStyle = dot.isWrong ? theme.ink : theme.halo;
    context.lineWidth = dot.isWrong ? 2 : 0.8;
    context.fill();
    context.stroke();
  }
}

function drawCross(context, { cross, frame, theme }) {
  if (!cross) return;
  for (const [color, width] of [[theme.halo, 4], [theme.ink, 1.5]]) {
    context.strokeStyle = color;
    context.lineWidth = width;
    context.beginPath();
    context.moveTo(frame.left, cross.y);
    context.lineTo(frame.left + frame.width, cross.y);
    context.moveTo(cross.x, frame.top);
    context.lineTo(cross.x, frame.top + frame.height);
    context.stroke();
  }
}

function drawAxes(context, scene) {
  const { frame, theme, surface } = scene;
  const bottom = frame.top + frame.height;
  context.strokeStyle = theme.line;
  context.lineWidth = 1;
  context.strokeRect(frame.left + 0.5, frame.top + 0.5, frame.width - 1, frame.height - 1);
  context.fillStyle = theme.soft;
  context.font = "12px system-ui, sans-serif";
  context.textAlign = "center";
  context.textBaseline = "top";
  const { left, right } = surface.spec.bounds;
  for (const u of ticksOf(left, right, Math.max(3, frame.width / 90))) {
    context.fillText(shown(u), frame.x(u), bottom + 5);
  }
  context.textAlign = "right";
  context.textBaseline = "middle";
  for (const v of ticksOf(frame.ups.bottom, frame.ups.top, Math.max(3, frame.height / 60))) {
    context.fillText(shown(v), frame.left - 5, frame.y(v));
  }
  context.fillStyle = theme.ink;
  context.textAlign = "center";
  context.textBaseline = "bottom";
  context.fillText(fitted(context, scene.labels[0], frame.width), frame.left + frame.width / 2, scene.height - 4);
  context.save();
  context.translate(13, frame.top + frame.height / 2);
  context.rotate(-Math.PI / 2);
  context.fillText(fitted(context, scene.labels[1], frame.height), 0, 4);
  context.restore();
}

// A text, cut to fit a width.
function fitted(context, text, width) {
  if (context.measureText(text).width <= width) return text;
  let cut = text;
  while (cut && context.measureText(cut + "…").width > width) cut = cut.slice(0, -1);
  return cut + "…";
}
