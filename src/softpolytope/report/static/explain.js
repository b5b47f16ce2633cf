// Explanations of predictions: the same numbers as `explain` in Python.

// log(e^u - 1), the inverse of softplus.
function logExpm1(u) {
  return u > 30 ? u + Math.log1p(-Math.exp(-u)) : Math.log(Math.expm1(u));
}

function neededRate(threshold) {
  return -Math.log1p(-threshold);
}

// log q at levels 0 to T of one expert.
function logLevels(predictors, first, nLayers) {
  const levels = [0];
  for (let layer = 0; layer < nLayers; layer++) {
    const logit = predictors[first + layer] + levels[layer];
    if (logit > 37) levels.push(Math.log(logit));
    else levels.push(logit < -37 ? logit : Math.log(Math.log1p(Math.exp(logit))));
  }
  return levels;
}

// Margins of the layers: excess over the value at which the expert just reaches the threshold, other layers fixed.
function marginsOf(predictors, first, levels, weight, threshold) {
  const nLayers = levels.length - 1;
  const margins = new Array(nLayers);
  let logShare = Math.log(neededRate(threshold) / weight);
  for (let layer = nLayers - 1; layer >= 0; layer--) {
    const logit = logExpm1(Math.exp(logShare));
    margins[layer] = predictors[first + layer] - (logit - levels[layer]);
    logShare = logit - predictors[first + layer];
  }
  return margins;
}

// The layer that decides a vote, its margin in standard deviations, and the change of a feature that alters the vote.
function bindingOf(draws, expert, margins, scale) {
  const nColumns = scale.length + 1;
  let found = { criterion: 1, marginSd: Infinity, feature: 0, change: Infinity };
  margins.forEach((margin, layer) => {
    const first = (expert * margins.length + layer) * nColumns + 1;
    let square = 0;
    let lead = 0;
    for (let k = 0; k < scale.length; k++) {
      const size = Math.abs(draws.coefficients[first + k] * scale[k]);
      square += size * size;
      if (size > Math.abs(draws.coefficients[first + lead] * scale[lead])) lead = k;
    }
    const distance = margin / Math.sqrt(square);
    if (Math.abs(distance) < Math.abs(found.marginSd)) {
      found = { criterion: layer + 1, marginSd: distance, feature: lead, change: -margin / draws.coefficients[first + lead] };
    }
  });
  return found;
}

// Experts of one labeling at a row, the largest share first, with their total rate and number of yes votes.
function explained(draws, x, nLayers, scale, threshold) {
  const predictors = predictorsAt(draws, x);
  const experts = Array.from(draws.weights, (weight, expert) => {
    const levels = logLevels(predictors, expert * nLayers, nLayers);
    const logRate = Math.log(weight) + levels[nLayers];
    const margins = marginsOf(predictors, expert * nLayers, levels, weight, threshold);
    const votesYes = logRate > Math.log(neededRate(threshold));
    return { expert: expert + 1, weight, logRate, votesYes, ...bindingOf(draws, expert, margins, scale) };
  });
  const most = Math.max(...experts.map((item) => item.logRate));
  // Shares from logarithms, so that they are accurate where all rates underflow.
  const total = experts.reduce((sum, item) => sum + Math.exp(item.logRate - most), 0);
  for (const item of experts) item.share = Math.exp(item.logRate - most) / total;
  experts.sort((a, b) => b.share - a.share || a.expert - b.expert);
  const rate = experts.reduce((sum, item) => sum + Math.exp(item.logRate), 0);
  return { experts, rate, nYes: experts.filter((item) => item.votesYes).length };
}

function expertWords(item, names) {
  const start = `expert ${item.expert} contributes ${(100 * item.share).toFixed(0)}% of the rate`;
  if (!Number.isFinite(item.marginSd)) return `${start}; no single criterion decides its vote`;
  const side = item.votesYes ? "beyond" : "short of";
  return (
    `${start} and is ${shown(Math.abs(item.marginSd), 2)} SD ${side} criterion ${item.criterion}` +
    ` (${names[item.feature]} ${signed(item.change)} would reach it)`
  );
}

// One sentence about a labeling: the number of yes votes, and the criteria that decide those of the leading experts.
function explanationWords(found, target, names, mostExperts) {
  if (!found.experts.length) return `For “${target}”: no experts.`;
  // Experts that contribute next to nothing may be millions of standard deviations away, so they are left out.
  const heard = found.experts.filter((item, k) => k === 0 || item.share >= 0.01).slice(0, mostExperts);
  const told = heard.map((item) => expertWords(item, names));
  const votes = `For “${target}”: yes votes from ${found.nYes} of ${counted(found.experts.length, "expert")}`;
  return `${[votes, ...told].join("; ")}.`;
}
