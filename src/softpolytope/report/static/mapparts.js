// Parts of the map: choice of features and rows, tooltips, legend, and event handlers.

// Features by the size of their effects, in standard deviations, over the experts of the best draws.
function leadingFeatures(model, features) {
  const sizes = new Array(model.nFeatures).fill(0);
  for (const { best } of model.regressions.flat()) {
    for (let line = 0; line < best.coefficients.length / (model.nFeatures + 1); line++) {
      const weight = best.weights[Math.floor(line / model.nLayers)];
      for (let k = 0; k < model.nFeatures; k++) {
        sizes[k] += weight * Math.abs(best.coefficients[line * (model.nFeatures + 1) + 1 + k]) * features.scale[k];
      }
    }
  }
  return sizes.map((_, k) => k).sort((a, b) => sizes[b] - sizes[a]);
}

// The features shown first; if there are only two, in the order of the user's columns.
function leadingPair(model, features) {
  if (model.nFeatures === 1) return [0, -1];
  return model.nFeatures === 2 ? [0, 1] : leadingFeatures(model, features);
}

// Rows with values, evenly spaced if there are many.
function shownPlaces(rows, isWrongOnly) {
  const all = [];
  for (let place = 0; place < rows.n; place++) {
    if (rows.valuePlace[place] < 0) continue;
    if (!isWrongOnly || rows.labels[place] !== rows.decisions[place]) all.push(place);
  }
  const n = Math.min(all.length, MAX_DOTS);
  return Array.from({ length: n }, (_, k) => all[Math.floor((k * all.length) / n)]);
}

function nearestDot(dots, x, y) {
  let best = null;
  let least = 12 * 12;
  for (const dot of dots) {
    const gap = (dot.x - x) ** 2 + (dot.y - y) ** 2;
    if (gap <= least) {
      least = gap;
      best = dot;
    }
  }
  return best;
}

function tipLines(data, rows, place, code) {
  const label = data.classes[rows.labels[place]];
  const isWrong = rows.labels[place] !== rows.decisions[place];
  const lines = [
    `Row ${rows.numbers[place]}: ${label}`,
    `P(${data.classes[code]}) = ${formatProbability(rows.probabilityOf(place, code))}`,
    `predicted ${data.classes[rows.decisions[place]]}${isWrong ? " (wrong)" : ""}`,
  ];
  for (const column of rows.columns.slice(0, 6)) lines.push(`${column.name}: ${cellText(rows.cell(column, place))}`);
  return lines.map((line, k) => element("div", k ? {} : { class: "tip-title" }, line));
}

function cellText(value) {
  if (value === null) return "…";
  if (Number.isNaN(value)) return "";
  return typeof value === "number" ? shown(value, 5) : value;
}

// Contributions of all experts of a class's labelings at all rows, so that switching experts only changes sums.
function ratesOfRows(model, rows, code) {
  const labelings = labelingsOf(model, code);
  const tables = new Array(rows.n).fill(null);
  const odds = new Array(rows.n).fill(null);
  for (let place = 0; place < rows.n; place++) {
    const x = rows.vector(place);
    if (!x) continue;
    tables[place] = labelings.map((item) => contributionsAt(item.best, x, model.nLayers));
    if (model.nClasses > 2) odds[place] = otherOdds(model, x, code);
  }
  return {
    code,
    probabilityOf(place, isOn) {
      const sums = tables[place].map((values, side) => {
        let sum = 0;
        for (let expert = 0; expert < values.length; expert++) if (isOn(side, expert)) sum += values[expert];
        return sum;
      });
      return probabilityFromRates(model, code, sums, odds[place]);
    },
  };
}

// log of the sum of the odds of all classes but one, by the best draws.
function otherOdds(model, x, code) {
  return logOddsOfOthers(pairsAt(model, x, "best"), code);
}

// Legend.

function legendOf(target, others, hasLayers, rows) {
  const key = (kind, text) => element("span", {}, element("span", { class: `key ${kind}`, "aria-hidden": "true" }), text);
  const nShown = Math.min(rows.nValues, MAX_DOTS);
  const part = nShown < rows.nAll ? ` (${nShown.toLocaleString("en")} of ${rows.nAll.toLocaleString("en")} rows)` : "";
  const found = [
    key("area side1", `predicted “${target}”`),
    key("area side0", `predicted “${others}”; paler where less certain`),
    key("boundary", "threshold"),
    key("triangle", `row of “${target}”${part}`),
    key("circle", `row of “${others}”`),
    key("ring", "misclassified"),
  ];
  if (hasLayers) found.push(key("outline", "where an expert alone votes yes"));
  found.push(key("face", hasLayers ? "faces that contain its region" : "where an expert alone starts to vote yes"));
  return found;
}

// Event handlers.

function connectMap(map, rows, hasUp) {
  const { canvas, state } = map;
  const onChange = (id, act) => byId(id) && byId(id).addEventListener("change", act);
  byId("map-form").addEventListener("submit", (event) => event.preventDefault());
  byId("map-first").value = state.first;
  if (hasUp) byId("map-second").value = state.second;
  onChange("map-first", () => pickFeature(map, "first", "second"));
  onChange("map-second", () => pickFeature(map, "second", "first"));
  onChange("map-class", () => {
    state.code = Number(byId("map-class").value);
    state.off.clear();
    map.showExperts();
    map.showLegend();
    map.recompute();
  });
  onChange("map-dots", () => {
    state.dots = byId("map-dots").value;
    map.redraw();
  });
  onChange("map-lines", () => {
    state.hasLines = byId("map-lines").checked;
    map.redraw();
  });
  byId("map-threshold").addEventListener("input", () => {
    state.threshold = Number(byId("map-threshold").value);
    byId("map-threshold-out").textContent = state.threshold.toFixed(2);
    map.refresh();
  });
  for (const radio of document.querySelectorAll("#map-form input[name=view]")) {
    radio.addEventListener("change", () => {
      // The average includes all experts.
      state.off.clear();
      map.showExperts();
      map.setView(radio.value);
    });
  }
  connectHold(map, rows, onChange);
  connectPointer(map, canvas);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", map.redraw);
  new ResizeObserver(map.redraw).observe(canvas);
}

// The two features are swapped if the same one is chosen twice.
function pickFeature(map, one, other) {
  const { state } = map;
  const value = Number(byId(`map-${one}`).value);
  if (value === state[other]) {
    state[other] = state[one];
    if (byId(`map-${other}`)) byId(`map-${other}`).value = state[other];
  }
  state[one] = value;
  state.cross = null;
  map.recompute();
}

function connectHold(map, rows, onChange) {
  const take = () => {
    const isRow = byId("map-hold").value === "row";
    byId("map-row-label").hidden = !isRow;
    const place = rows.placeOf(Number(byId("map-row").value));
    const isKnown = place >= 0 && place < rows.n && rows.valuePlace[place] >= 0;
    byId("map-row").setCustomValidity(isKnown ? "" : "This row is not on the page.");
    if (isRow && !isKnown) byId("map-row").reportValidity();
    else map.holdRow(isRow ? place : -1);
  };
  onChange("map-hold", take);
  onChange("map-row", take);
}

function connectPointer(map, canvas) {
  const place = (event) => {
    const box = canvas.getBoundingClientRect();
    map.showTip(event.clientX - box.left, event.clientY - box.top);
  };
  canvas.addEventListener("pointermove", place);
  canvas.addEventListener("pointerdown", place);
  canvas.addEventListener("pointerleave", () => (byId("map-tip").hidden = true));
  canvas.addEventListener("keydown", map.moveCross);
}

// A picture for printing, in light colors in either theme.
function mapPicture(map) {
  const scene = map.sceneOf(820, 600, LIGHT);
  const canvas = element("canvas", { width: 1640, height: 1200 });
  const context = canvas.getContext("2d");
  context.setTransform(2, 0, 0, 2, 0, 0);
  drawScene(context, scene);
  return canvas.toDataURL("image/png");
}
