// The decision map: its state, its controls, and its description in words.

// Points of the grid along the longer side, for a first and a final picture, and along a single feature.
const COARSE = 36;
const FINE = 132;
const FINE_ALONG = 320;
const MAX_DOTS = 800;

function startMap(data, model, rows) {
  const features = data.features;
  const hasUp = features.names.length > 1;
  const isBinary = model.nClasses === 2;
  const state = {
    first: 0, second: hasUp ? 1 : -1, code: isBinary ? 1 : 0, threshold: 0.5, off: new Set(), dots: "some",
    view: data.model.estimate === "best" ? "best" : "average", hold: -1, hasLines: true, marked: null, cross: null,
  };
  const canvas = byId("map-canvas");
  const target = () => data.classes[state.code];
  const others = () => (isBinary ? data.classes[0] : `not ${target()}`);
  const isOn = (side, expert) => !state.off.has(`${side}.${expert}`);
  let surface = null;
  let visible = null; // probabilities at the points of the surface
  let dots = [];
  let stop = () => {};
  let rates = null; // of every row, by labeling and expert of the best draw
  let frameRequest = 0;
  let textTimer = 0;

  [state.first, state.second] = leadingPair(model, features);

  function bounds() {
    const across = rangeOf(state.first);
    const up = hasUp ? rangeOf(state.second) : [0, 1];
    return { left: across[0], right: across[1], bottom: up[0], top: up[1] };
  }

  function rangeOf(feature) {
    let low = features.lower[feature];
    let high = features.upper[feature];
    for (const value of rows.values[feature].numbers) {
      low = Math.min(low, value);
      high = Math.max(high, value);
    }
    const room = high > low ? 0.04 * (high - low) : 1;
    return [low - room, high + room];
  }

  function origin() {
    const row = state.hold < 0 ? null : rows.vector(state.hold);
    return row || Float64Array.from(features.medians);
  }

  // Computing.

  function recompute() {
    stop();
    const spec = specOf(model, state, bounds(), origin());
    const shape = hasUp ? [FINE, Math.round(FINE * 0.72)] : [FINE_ALONG, 1];
    const coarse = hasUp ? [COARSE, Math.round(COARSE * 0.72)] : [FINE_ALONG, 1];
    canvas.dataset.state = "busy";
    stop = runInSlices(surfaceSteps(spec, ...coarse), (found) => {
      take(found);
      stop = runInSlices(surfaceSteps(spec, ...shape), (finer) => {
        take(finer);
        canvas.dataset.state = "ready";
      });
    });
  }

  function take(found) {
    surface = found;
    refresh();
  }

  function refresh() {
    if (!surface) return;
    visible = surface.spec.view === "best" ? expertProbabilities(surface, isOn) : surface.probabilities;
    redraw();
    tell();
  }

  function redraw() {
    cancelAnimationFrame(frameRequest);
    frameRequest = requestAnimationFrame(paint);
  }

  // Drawing.

  function sceneOf(width, height, theme) {
    const view = surface.spec.bounds;
    const frame = frameOf(width, height, view, hasUp);
    const up = hasUp ? features.names[surface.spec.second] : `P(${target()})`;
    return {
      surface, probabilities: visible, frame, theme, width, height, hasUp, isOn, threshold: state.threshold, hasLines: state.hasLines,
      marked: state.marked, dots: dotsIn(frame), labels: [features.names[surface.spec.first], up],
      cross: state.cross ? { x: frame.x(state.cross.u), y: frame.y(state.cross.v) } : null,
    };
  }

  function paint() {
    if (!surface) return;
    const width = canvas.clientWidth;
    const height = canvas.clientHeight;
    const ratio = window.devicePixelRatio || 1;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    const context = canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const scene = sceneOf(width, height, themeNow());
    dots = scene.dots;
    drawScene(context, scene);
  }

  // Rows shown as dots: evenly spaced, misclassified ones last so that they are on top.
  function dotsIn(frame) {
    if (state.dots === "none") return [];
    const chosen = shownPlaces(rows, state.dots === "wrong");
    const found = chosen.map((place) => {
      const at = rows.valuePlace[place];
      const isTarget = rows.labels[place] === state.code;
      const u = rows.values[surface.spec.first].numbers[at];
      // Along one feature, rows are placed at 1 or 0 by their label, with a small spread.
      const apart = (isTarget ? 1 : 0) + 0.045 * Math.sin(place * 2.4);
      const v = hasUp ? rows.values[surface.spec.second].numbers[at] : apart;
      return { place, x: frame.x(u), y: frame.y(v), isTarget, isWrong: rows.labels[place] !== rows.decisions[place] };
    });
    return found.sort((a, b) => a.isWrong - b.isWrong);
  }

  // Words.

  function tell() {
    clearTimeout(textTimer);
    // Screen readers read every change aloud, so wait until a slider rests.
    textTimer = setTimeout(() => {
      byId("map-text").textContent = summary();
      canvas.setAttribute("aria-label", `Decision map of ${axesInWords()}`);
    }, 250);
  }

  function axesInWords() {
    const first = features.names[state.first];
    return hasUp ? `${first} and ${features.names[state.second]}` : first;
  }

  function summary() {
    const found = sidesOf();
    const yes = visible.reduce((sum, probability) => sum + (probability > state.threshold ? 1 : 0), 0) / visible.length;
    const nNo = found.n - found.nYes;
    return (
      `${viewInWords()} At threshold ${state.threshold.toFixed(2)}, ${found.nYes.toLocaleString("en")} of ` +
      `${counted(found.n, data.rows.noun)} (${percent(found.nYes / found.n)}) are predicted “${target()}” and ` +
      `${nNo.toLocaleString("en")} (${percent(nNo / found.n)}) “${others()}”. ` +
      `In total, ${percent((found.nFalse + found.nMissed) / found.n)} are misclassified: ${counted(found.nFalse, "row")} of ` +
      `“${others()}” as “${target()}”, and ${counted(found.nMissed, "row")} of “${target()}” as “${others()}”. ` +
      `The prediction is “${target()}” in ${percent(yes)} of the ${hasUp ? "area" : "range"} shown.`
    );
  }

  function viewInWords() {
    const one = data.model.drawNoun;
    if (state.view === "average") return `The map shows the average over ${counted(data.model.nKept, one)}.`;
    const nOff = state.off.size;
    return `The map shows the ${data.model.bestNoun} only${nOff ? `, with ${counted(nOff, "expert")} switched off` : ""}.`;
  }

  function sidesOf() {
    const found = { n: 0, nYes: 0, nFalse: 0, nMissed: 0 };
    for (let place = 0; place < rows.n; place++) {
      const probability = rowProbability(place);
      if (probability === null) continue;
      const isTarget = rows.labels[place] === state.code;
      const isYes = probability > state.threshold;
      found.n += 1;
      found.nYes += isYes;
      found.nFalse += isYes && !isTarget;
      found.nMissed += !isYes && isTarget;
    }
    return found;
  }

  // P(class) of a row: by the model, or by the experts of the best draw that are switched on.
  function rowProbability(place) {
    if (state.view === "average") return rows.probabilityOf(place, state.code);
    if (rows.valuePlace[place] < 0) return null;
    if (!rates || rates.code !== state.code) rates = ratesOfRows(model, rows, state.code);
    return rates.probabilityOf(place, isOn);
  }

  // Pointer and keyboard.

  function showTip(x, y) {
    const tip = byId("map-tip");
    const near = nearestDot(dots, x, y);
    tip.hidden = !near;
    if (!near) return;
    tip.replaceChildren(...tipLines(data, rows, near.place, state.code));
    const room = canvas.clientWidth - tip.offsetWidth;
    tip.style.left = `${Math.max(0, Math.min(near.x + 12, room))}px`;
    tip.style.top = `${near.y + 14}px`;
  }

  function moveCross(event) {
    const step = event.shiftKey ? 0.1 : 0.02;
    const move = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
    if (event.key === "Escape") {
      state.cross = null;
      byId("map-tip").hidden = true;
      redraw();
    }
    if (!move || !surface) return;
    event.preventDefault();
    const frame = frameOf(canvas.clientWidth, canvas.clientHeight, surface.spec.bounds, hasUp);
    const { left, right } = surface.spec.bounds;
    const { bottom, top } = frame.ups;
    const at = state.cross || { u: (left + right) / 2, v: (bottom + top) / 2 };
    at.u = Math.min(right, Math.max(left, at.u + move[0] * step * (right - left)));
    at.v = Math.min(top, Math.max(bottom, at.v + move[1] * step * (top - bottom)));
    state.cross = at;
    redraw();
    showTip(frame.x(at.u), frame.y(at.v));
    byId("map-cross").textContent = crossInWords(at);
  }

  function crossInWords(at) {
    const x = origin();
    x[state.first] = at.u;
    if (hasUp) x[state.second] = at.v;
    const near = byId("map-tip").hidden ? "" : ` Nearby: ${byId("map-tip").innerText.replace(/\n/g, ", ")}.`;
    const up = hasUp ? `, ${features.names[state.second]} ${shown(at.v)}` : "";
    const probability = probabilityAt(x);
    return `${features.names[state.first]} ${shown(at.u)}${up}: P(${target()}) = ${formatProbability(probability)}.${near}`;
  }

  function probabilityAt(x) {
    if (state.view === "average") return probabilities(model, x, "average")[state.code];
    const sides = labelingsOf(model, state.code).map((item) => contributionsAt(item.best, x, model.nLayers));
    const sums = sides.map((side, k) => side.reduce((sum, value, expert) => (isOn(k, expert) ? sum + value : sum), 0));
    return probabilityFromRates(model, state.code, sums, isBinary ? null : otherOdds(model, x, state.code));
  }

  // Controls.

  function showExperts() {
    const field = byId("map-experts");
    field.replaceChildren(field.querySelector("legend"));
    labelingsOf(model, state.code).forEach((item, side) => {
      const name = side ? others() : target();
      // In order of weight, as the experts are numbered.
      const boxes = Array.from(item.best.weights, (weight, expert) => expertBox(side, expert, weight));
      field.append(element("div", { class: `experts side${1 - side}` }, element("p", {}, `for “${name}”`), ...boxes));
    });
  }

  function expertBox(side, expert, weight) {
    const box = element("input", { type: "checkbox", checked: isOn(side, expert), "data-expert": `${side}.${expert}` });
    const note = element("span", { class: "note" }, `r = ${shown(weight, 2)}`);
    const label = element("label", { class: "check" }, box, ` ${expert + 1} `, note);
    box.addEventListener("change", () => {
      if (box.checked) state.off.delete(box.dataset.expert);
      else state.off.add(box.dataset.expert);
      setView("best");
    });
    const mark = (marked) => () => {
      state.marked = marked;
      redraw();
    };
    for (const name of ["mouseenter", "focusin"]) label.addEventListener(name, mark({ side, expert }));
    for (const name of ["mouseleave", "focusout"]) label.addEventListener(name, mark(null));
    return label;
  }

  function setView(view) {
    const isSame = state.view === view;
    state.view = view;
    for (const radio of document.querySelectorAll("#map-form input[name=view]")) radio.checked = radio.value === view;
    if (isSame) refresh();
    else recompute();
  }

  const controls = {
    canvas, state, recompute, refresh, redraw, setView, showExperts, showTip, moveCross, sceneOf,
    holdRow(place) {
      state.hold = place;
      recompute();
    },
    showLegend() {
      byId("map-legend").replaceChildren(...legendOf(target(), others(), model.nLayers > 1, rows));
    },
  };
  connectMap(controls, rows, hasUp);
  controls.showLegend();
  showExperts();
  recompute();
  return controls;
}
