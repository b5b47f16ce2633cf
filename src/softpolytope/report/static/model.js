// The model: P(y = 1) = 1 - exp(-lambda), lambda = sum_k r_k q_k, in doubles as in Python.

const SMALLEST = 2.2250738585072014e-308;

function drawsOf(item) {
  const starts = item.starts;
  return { starts, nDraws: starts.length - 1, weights: decoded(item.weights), coefficients: decoded(item.coefficients) };
}

function modelOf(data) {
  const nFeatures = data.features.names.length;
  const regressions = data.model.regressions.map((labelings) =>
    labelings.map((item) => {
      const best = drawsOf(item);
      return { best, average: data.model.estimate === "best" ? best : drawsOf(item.kept) };
    })
  );
  const { nLayers, pools, maxLogOdds } = data.model;
  return { nFeatures, nLayers, nClasses: data.classes.length, regressions, pools, maxLogOdds };
}

// q of an expert from x'beta of its layers: q' = log(1 + q e^z).
function activationOf(predictors, first, nLayers) {
  let activation = 1;
  for (let layer = 0; layer < nLayers; layer++) {
    const predictor = predictors[first + layer];
    // Within these bounds no product leaves the range of doubles, and no logarithm is needed.
    if (predictor > 300 || predictor < -300 || activation < 1e-150) return activationByLogs(predictors, first, nLayers);
    activation = Math.log1p(activation * Math.exp(predictor));
  }
  return activation;
}

// The same in logarithms, for predictors of any size.
function activationByLogs(predictors, first, nLayers) {
  let activation = 1;
  let logActivation = 0;
  for (let layer = 0; layer < nLayers; layer++) {
    const logit = predictors[first + layer] + logActivation;
    if (logit > 37) {
      activation = logit;
      logActivation = Math.log(logit);
    } else if (logit < -37) {
      activation = Math.exp(logit);
      logActivation = logit;
    } else {
      activation = Math.log1p(Math.exp(logit));
      logActivation = Math.log(activation);
    }
  }
  return activation;
}

// x'beta of every expert and layer.
function predictorsAt(draws, x) {
  const nColumns = x.length + 1;
  const predictors = new Float64Array(draws.coefficients.length / nColumns);
  for (let line = 0; line < predictors.length; line++) {
    const first = line * nColumns;
    let total = draws.coefficients[first];
    for (let k = 0; k < x.length; k++) total += draws.coefficients[first + 1 + k] * x[k];
    predictors[line] = total;
  }
  return predictors;
}

function rateOf(draws, draw, predictors, nLayers) {
  let rate = 0;
  for (let expert = draws.starts[draw]; expert < draws.starts[draw + 1]; expert++) {
    rate += draws.weights[expert] * activationOf(predictors, expert * nLayers, nLayers);
  }
  return rate;
}

// lambda by draw.
function ratesOf(draws, predictors, nLayers) {
  return Array.from({ length: draws.nDraws }, (_, draw) => rateOf(draws, draw, predictors, nLayers));
}

// log(e^lambda - 1) within the limits of the log odds of a draw.
function logOddsOfRate(rate, limit) {
  if (rate >= limit) return limit;
  const odds = Math.expm1(rate);
  return odds <= Math.exp(-limit) ? -limit : Math.log(odds);
}

// P(class) and P(not class) of regression k from lambda by labeling and draw. A linear pool is the mean of the
// probabilities of all draws, a logarithmic one has the mean of their log odds; the second labeling is about "not class".
function pooled(model, k, rates) {
  if (model.pools[k] === "logarithmic") {
    const means = rates.map((own) => meanOf(own, (rate) => logOddsOfRate(rate, model.maxLogOdds)));
    const mean = means.length === 1 ? means[0] : 0.5 * (means[0] - means[1]);
    return [1 / (1 + Math.exp(-mean)), 1 / (1 + Math.exp(mean))];
  }
  const pairs = rates.map((own) => [meanOf(own, (rate) => -Math.expm1(-rate)), meanOf(own, (rate) => Math.exp(-rate))]);
  if (pairs.length === 1) return pairs[0];
  return [0.5 * (pairs[0][0] + pairs[1][1]), 0.5 * (pairs[0][1] + pairs[1][0])];
}

function meanOf(items, value) {
  let sum = 0;
  for (const item of items) sum += value(item);
  return sum / items.length;
}

// Probabilities of the classes from the pairs of the regressions: odds that sum to one, if there are several.
function combined(pairs) {
  if (pairs.length === 1) return [pairs[0][1], pairs[0][0]];
  const logs = pairs.map(([up, down]) => Math.log(Math.max(up, SMALLEST)) - Math.log(Math.max(down, SMALLEST)));
  const most = Math.max(...logs);
  const odds = logs.map((value) => Math.exp(value - most));
  const total = odds.reduce((sum, value) => sum + value, 0);
  return odds.map((value) => value / total);
}

// Probabilities of all classes for one row, by "average" or "best".
function probabilities(model, x, view) {
  return combined(pairsAt(model, x, view));
}

// P(class) and P(not class) of every regression.
function pairsAt(model, x, view) {
  return model.regressions.map((labelings, k) => {
    const rates = labelings.map((item) => ratesOf(item[view], predictorsAt(item[view], x), model.nLayers));
    return pooled(model, k, rates);
  });
}

// Contributions r q of every expert of a draw at one row.
function contributionsAt(draws, x, nLayers) {
  const predictors = predictorsAt(draws, x);
  return draws.weights.map((weight, expert) => weight * activationOf(predictors, expert * nLayers, nLayers));
}

// x'beta on a plane: start + across * u + up * v for every expert and layer; `second` is -1 if there is one feature.
function projected(draws, origin, first, second) {
  const held = Float64Array.from(origin);
  held[first] = 0;
  if (second >= 0) held[second] = 0;
  const start = predictorsAt(draws, held);
  const nColumns = origin.length + 1;
  const across = start.map((_, line) => draws.coefficients[line * nColumns + 1 + first]);
  const up = start.map((_, line) => (second < 0 ? 0 : draws.coefficients[line * nColumns + 1 + second]));
  return { start, across, up };
}

function predictorsOnPlane(plane, u, v, out) {
  for (let line = 0; line < out.length; line++) {
    out[line] = plane.start[line] + plane.across[line] * u + plane.up[line] * v;
  }
}

// The labelings about a class; with two classes, the first labeling is about the second class.
function labelingsOf(model, code) {
  return model.nClasses === 2 ? model.regressions[0] : model.regressions[code];
}
