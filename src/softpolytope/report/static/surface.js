// The model on the plane of two features, or along one: the values that the map shows.

// Milliseconds of work between pauses for the page to respond.
const SLICE = 14;

// What to compute; two specs of the same key give the same surface.
function specOf(model, state, bounds, origin) {
  return { model, origin, bounds, first: state.first, second: state.second, view: state.view, code: state.code };
}

// Computes probabilities and contributions of experts at nx * ny points, a row of points at a time.
function* surfaceSteps(spec, nx, ny) {
  const { model, code, view } = spec;
  const regressions = model.nClasses === 2 ? [0] : model.regressions.map((_, k) => k);
  const own = model.nClasses === 2 ? 0 : code;
  const plans = regressions.map((k) => model.regressions[k].map((item) => planOf(item.average, spec)));
  const bestPlans = regressions.map((k) => model.regressions[k].map((item) => planOf(item.best, spec)));
  const surface = {
    nx,
    ny,
    spec,
    probabilities: new Float64Array(nx * ny),
    // By labeling of the class shown: r q of every expert at every point.
    experts: bestPlans[own].map((plan) => Array.from(plan.draws.weights, () => new Float64Array(nx * ny))),
    // With several classes, the log odds of the others by the best draw.
    others: regressions.length > 1 && view === "best" ? new Float64Array(nx * ny) : null,
  };
  for (let j = 0; j < ny; j++) {
    const v = ny === 1 ? 0 : lerp(spec.bounds.bottom, spec.bounds.top, j / (ny - 1));
    for (let i = 0; i < nx; i++) {
      const u = lerp(spec.bounds.left, spec.bounds.right, i / (nx - 1));
      fillPoint(surface, plans, bestPlans, own, j * nx + i, u, v);
    }
    yield surface;
  }
  return surface;
}

function lerp(low, high, share) {
  return low + (high - low) * share;
}

function planOf(draws, spec) {
  const plane = projected(draws, spec.origin, spec.first, spec.second);
  return { draws, plane, predictors: new Float64Array(plane.start.length), nLayers: spec.model.nLayers };
}

function fillPoint(surface, plans, bestPlans, own, at, u, v) {
  const { view, code, model } = surface.spec;
  if (view === "average") {
    const pairs = plans.map((labelings, k) => pooled(model, k, labelings.map((plan) => ratesOnPlane(plan, u, v))));
    surface.probabilities[at] = combined(pairs)[model.nClasses === 2 ? 1 : code];
  }
  bestPlans[own].forEach((plan, side) => {
    predictorsOnPlane(plan.plane, u, v, plan.predictors);
    surface.experts[side].forEach((values, expert) => {
      values[at] = plan.draws.weights[expert] * activationOf(plan.predictors, expert * plan.nLayers, plan.nLayers);
    });
  });
  if (surface.others) {
    const pairs = bestPlans.map((labelings, k) => pooled(model, k, labelings.map((plan) => ratesOnPlane(plan, u, v))));
    surface.others[at] = logOddsOfOthers(pairs, own);
  }
}

function ratesOnPlane(plan, u, v) {
  predictorsOnPlane(plan.plane, u, v, plan.predictors);
  return ratesOf(plan.draws, plan.predictors, plan.nLayers);
}

// log of the sum of the odds of all classes but one.
function logOddsOfOthers(pairs, own) {
  const logs = pairs.filter((_, k) => k !== own).map(logOdds);
  const most = Math.max(...logs);
  return most + Math.log(logs.reduce((sum, value) => sum + Math.exp(value - most), 0));
}

function logOdds([up, down]) {
  return Math.log(Math.max(up, SMALLEST)) - Math.log(Math.max(down, SMALLEST));
}

// P(class) by the best draw from the rates of its labelings and, with several classes, the odds of the others.
function probabilityFromRates(model, code, rates, logOther) {
  const pair = pooled(model, model.nClasses === 2 ? 0 : code, rates.map((rate) => [rate]));
  if (logOther === null) return pair[0];
  return 1 / (1 + Math.exp(logOther - logOdds(pair)));
}

// P(class) at every point by the experts of the best draw that are switched on.
function expertProbabilities(surface, isOn) {
  const probabilities = new Float64Array(surface.nx * surface.ny);
  for (let at = 0; at < probabilities.length; at++) {
    const rates = surface.experts.map((experts, side) =>
      experts.reduce((sum, values, expert) => (isOn(side, expert) ? sum + values[at] : sum), 0)
    );
    const logOther = surface.others ? surface.others[at] : null;
    probabilities[at] = probabilityFromRates(surface.spec.model, surface.spec.code, rates, logOther);
  }
  return probabilities;
}

// Runs the steps in time slices; returns a function that stops them.
function runInSlices(steps, onDone) {
  let isStopped = false;
  function slice() {
    if (isStopped) return;
    const end = performance.now() + SLICE;
    let step = steps.next();
    while (!step.done && performance.now() < end) step = steps.next();
    if (step.done) onDone(step.value);
    else setTimeout(slice, 0);
  }
  slice();
  return () => {
    isStopped = true;
  };
}

// The rate at which an expert reaches the threshold alone; the opposite labeling is about the class's complement.
function neededBySide(side, threshold) {
  return neededRate(side === 0 ? threshold : 1 - threshold);
}

// Lines a u + b v = c that contain the region of an expert on the plane: one for each sum of layers from a layer
// upwards, as far out as the grid points of the region; for a single layer, the edge of the region.
function facesOf(surface, side, expert, needed) {
  const { spec, nx, ny } = surface;
  const { nLayers } = spec.model;
  const draws = labelingsOf(spec.model, spec.code)[side].best;
  const plane = projected(draws, spec.origin, spec.first, spec.second);
  const values = surface.experts[side][expert];
  const found = [];
  let a = 0;
  let b = 0;
  for (let layer = nLayers - 1; layer >= 0; layer--) {
    a += plane.across[expert * nLayers + layer];
    b += plane.up[expert * nLayers + layer];
    if (nLayers === 1) {
      const c = logExpm1(needed / draws.weights[expert]) - plane.start[expert];
      if (Number.isFinite(c)) found.push({ a, b, c });
      continue;
    }
    const c = leastInside(values, needed, nx, ny, spec.bounds, a, b);
    if (Number.isFinite(c)) found.push({ a, b, c });
  }
  return found;
}

function leastInside(values, needed, nx, ny, bounds, a, b) {
  let least = Infinity;
  for (let j = 0; j < ny; j++) {
    const v = ny === 1 ? 0 : lerp(bounds.bottom, bounds.top, j / (ny - 1));
    for (let i = 0; i < nx; i++) {
      if (values[j * nx + i] <= needed) continue;
      const u = lerp(bounds.left, bounds.right, i / (nx - 1));
      least = Math.min(least, a * u + b * v);
    }
  }
  return least;
}
