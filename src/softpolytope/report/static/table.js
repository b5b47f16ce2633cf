// The table of rows: sorted, filtered and paged; explanations are computed for the rows in view.

// Rows of a printed table.
const MAX_PRINTED = 150;
// Columns of values in the table; a row's details have all of them.
const MAX_COLUMNS = 6;

function startTable(data, model, rows) {
  const columns = columnsOf(data, model, rows);
  const certainty = columns.findIndex((item) => item.id === "certainty");
  const state = { column: certainty, isDown: false, page: 0, size: 25, isWrong: false };
  const open = new Set();
  const body = document.querySelector("#rows-table tbody");
  let order = [];

  function sort() {
    const { key } = columns[state.column];
    order = [];
    for (let place = 0; place < rows.n; place++) {
      if (!state.isWrong || rows.labels[place] !== rows.decisions[place]) order.push(place);
    }
    const keys = new Array(rows.n);
    for (const place of order) keys[place] = key(place);
    const sign = state.isDown ? -1 : 1;
    order.sort((a, b) => compared(keys[a], keys[b], sign) || a - b);
    state.page = 0;
    show();
  }

  function show() {
    const nPages = Math.max(1, Math.ceil(order.length / state.size));
    state.page = Math.min(Math.max(state.page, 0), nPages - 1);
    const first = state.page * state.size;
    fill(order.slice(first, first + state.size));
    byId("rows-status").textContent = statusOf(first);
    byId("rows-page").textContent = `Page ${state.page + 1} of ${nPages.toLocaleString("en")}`;
    for (const id of ["rows-first", "rows-back"]) byId(id).disabled = state.page === 0;
    for (const id of ["rows-next", "rows-last"]) byId(id).disabled = state.page === nPages - 1;
  }

  function statusOf(first) {
    const text = (number) => number.toLocaleString("en");
    const last = Math.min(first + state.size, order.length);
    const which = order.length ? `${text(first + 1)} to ${text(last)} of ` : "";
    const part = `(the page has ${text(rows.n)} of ${text(rows.nAll)}: misclassified and least certain ones)`;
    const what = `${text(order.length)} ${state.isWrong ? "misclassified rows" : "rows"}${rows.n < rows.nAll ? ` ${part}` : ""}`;
    return `${which}${what}, sorted by ${columns[state.column].name}, ${state.isDown ? "descending" : "ascending"}.`;
  }

  function fill(places) {
    body.replaceChildren(...places.flatMap(lines));
    if (!places.length) body.append(element("tr", {}, element("td", { colspan: columns.length }, "No rows.")));
  }

  function lines(place) {
    const isWrong = rows.labels[place] !== rows.decisions[place];
    const cells = columns.map((column) => {
      const attributes = { class: column.kind, scope: column.isHead ? "row" : null };
      return element(column.isHead ? "th" : "td", attributes, ...column.cell(place));
    });
    cells[columns.findIndex((column) => column.kind === "words")].append(" ", moreButton(place));
    const line = element("tr", { class: isWrong ? "wrong" : null }, ...cells);
    return open.has(place) ? [line, detailLine(data, model, rows, place, columns.length)] : [line];
  }

  function moreButton(place) {
    const word = open.has(place) ? "Less" : "More";
    const button = element("button", {
      type: "button", class: "more", "data-place": place, "aria-expanded": String(open.has(place)),
      "aria-label": `${word} about row ${rows.numbers[place]}`,
    }, word);
    button.addEventListener("click", () => {
      if (!open.delete(place)) open.add(place);
      show();
      // The table is rebuilt, and this button with it.
      body.querySelector(`[data-place="${place}"]`).focus();
    });
    return button;
  }

  function heading(column, index) {
    const isSorted = state.column === index;
    const arrow = isSorted ? (state.isDown ? "\u00a0▼" : "\u00a0▲") : "";
    const sign = element("span", { class: "arrow", "aria-hidden": "true" }, arrow);
    const button = element("button", { type: "button", title: column.title || null }, column.name, sign);
    button.addEventListener("click", () => {
      state.isDown = isSorted ? !state.isDown : false;
      state.column = index;
      head();
      sort();
      document.querySelectorAll("#rows-table thead button")[index].focus();
    });
    const direction = isSorted ? (state.isDown ? "descending" : "ascending") : "none";
    return element("th", { scope: "col", class: column.kind, "aria-sort": direction }, button);
  }

  function head() {
    document.querySelector("#rows-table thead").replaceChildren(element("tr", {}, ...columns.map(heading)));
  }

  const turn = (id, page) => byId(id).addEventListener("click", () => {
    state.page = page();
    show();
  });
  turn("rows-first", () => 0);
  turn("rows-back", () => state.page - 1);
  turn("rows-next", () => state.page + 1);
  turn("rows-last", () => Infinity);
  byId("rows-form").addEventListener("submit", (event) => event.preventDefault());
  byId("rows-wrong").addEventListener("change", () => {
    state.isWrong = byId("rows-wrong").checked;
    sort();
  });
  byId("rows-size").addEventListener("change", () => {
    state.size = Number(byId("rows-size").value);
    state.page = 0;
    show();
  });
  head();
  sort();
  return {
    forPaper() {
      const printed = order.slice(0, MAX_PRINTED);
      fill(printed);
      byId("rows-status").textContent = `${printed.length} of ${counted(rows.nAll, "row")} are printed.`;
    },
    forScreen: show,
  };
}

// Compares numbers, ascending or descending; missing values come last either way.
function compared(a, b, sign) {
  const isMissing = (value) => value === null || Number.isNaN(value);
  if (isMissing(a) || isMissing(b)) return isMissing(a) - isMissing(b);
  return sign * (a - b);
}

// Alphabetical ranks of texts: sorting rows by ranks takes a tenth of the time of sorting by texts.
function ranksOf(texts) {
  const collator = new Intl.Collator("en", { numeric: true });
  const order = texts.map((_, k) => k).sort((a, b) => collator.compare(texts[a], texts[b]));
  const ranks = new Array(texts.length);
  order.forEach((k, rank) => (ranks[k] = rank));
  return ranks;
}

// The sort key of a column of values.
function keyOf(rows, column) {
  if (!column.list) return (place) => rows.cell(column, place);
  const ranks = ranksOf(column.list);
  return (place) => (rows.valuePlace[place] < 0 ? null : ranks[column.codes[rows.valuePlace[place]]]);
}

function columnsOf(data, model, rows) {
  const isBinary = model.nClasses === 2;
  const probability = (place) => (isBinary ? rows.probabilities[0][place] : rows.probabilities[rows.decisions[place]][place]);
  const certainty = (place) => certaintyOf(rows, place);
  const names = data.classes;
  const ranks = ranksOf(names);
  const found = [
    { name: "Row", isHead: true, kind: "number", key: (place) => rows.numbers[place] },
    { name: isBinary ? `P(${names[1]})` : "P(prediction)", kind: "number", key: probability },
    { name: "Certainty", id: "certainty", kind: "number", key: certainty },
    { name: "Label", key: (place) => ranks[rows.labels[place]], cell: (place) => [names[rows.labels[place]]] },
    { name: "Prediction", key: (place) => ranks[rows.decisions[place]], cell: (place) => decisionCell(data, rows, place) },
    explanationColumn(data, model, rows),
  ];
  found[0].cell = (place) => [String(rows.numbers[place])];
  found[1].cell = (place) => [probabilityBar(probability(place)), formatProbability(probability(place))];
  found[2].cell = (place) => [certainty(place).toFixed(3)];
  found[2].title = "Difference between the two largest probabilities";
  if (rows.low) found.splice(2, 0, intervalColumn(data, rows));
  for (const column of leadingColumns(data, model, rows)) {
    const cell = (place) => [cellText(rows.cell(column, place))];
    found.push({ name: column.name, kind: column.list ? "" : "number", key: keyOf(rows, column), cell });
  }
  return found;
}

function intervalColumn(data, rows) {
  return {
    name: `${Math.round(100 * data.level)}% interval`,
    kind: "number",
    title: "Sorted by width",
    key: (place) => rows.high[place] - rows.low[place],
    cell: (place) => [`${formatProbability(rows.low[place])} – ${formatProbability(rows.high[place])}`],
  };
}

function explanationColumn(data, model, rows) {
  const leads = new Map();
  return {
    name: "Explanation",
    kind: "words",
    title: "Sorted by the distance of the leading expert from changing its vote",
    key(place) {
      // Cached, because sorting needs the keys of all rows.
      if (!leads.has(place)) leads.set(place, leadOf(data, model, rows, place));
      return leads.get(place);
    },
    cell: (place) => explanationCell(data, model, rows, place),
  };
}

// The user's first columns, or the features with the largest effects.
function leadingColumns(data, model, rows) {
  const isOfFeatures = data.rows.raw.length === 0;
  if (!isOfFeatures || rows.columns.length <= MAX_COLUMNS) return rows.columns.slice(0, MAX_COLUMNS);
  return leadingFeatures(model, data.features).slice(0, MAX_COLUMNS).map((k) => rows.columns[k]);
}

function certaintyOf(rows, place) {
  if (rows.probabilities.length === 1) return Math.abs(2 * rows.probabilities[0][place] - 1);
  let best = 0;
  let next = 0;
  for (const column of rows.probabilities) {
    const probability = column[place];
    if (probability > best) [best, next] = [probability, best];
    else if (probability > next) next = probability;
  }
  return best - next;
}

function probabilityBar(probability) {
  const bar = element("span", { class: "probability", "aria-hidden": "true" }, element("span"));
  bar.firstChild.style.width = `${(100 * probability).toFixed(0)}%`;
  return bar;
}

function decisionCell(data, rows, place) {
  const name = data.classes[rows.decisions[place]];
  if (rows.labels[place] === rows.decisions[place]) return [name];
  return [name, " ", element("strong", { class: "badge" }, "wrong")];
}

// The labelings about the predicted class, the one in favor first, with the class that each votes for.
function speakers(data, model, rows, place) {
  const code = rows.decisions[place];
  const labelings = labelingsOf(model, code);
  const name = data.classes[code];
  const names = model.nClasses === 2 ? [data.classes[1], data.classes[0]] : [name, `not ${name}`];
  const found = labelings.map((item, side) => ({ best: item.best, target: names[side] }));
  return model.nClasses === 2 && code === 0 ? found.reverse() : found;
}

function explanations(data, model, rows, place) {
  const x = rows.vector(place);
  if (!x) return null;
  const { scale } = data.features;
  return speakers(data, model, rows, place).map(({ best, target }) => {
    return { target, ...explained(best, x, model.nLayers, scale, 0.5) };
  });
}

// Distance of the expert with the largest share from changing its vote.
function leadOf(data, model, rows, place) {
  const found = explanations(data, model, rows, place);
  const experts = found ? found.flatMap((item) => item.experts.slice(0, 1)) : [];
  return experts.length ? Math.min(...experts.map((item) => Math.abs(item.marginSd))) : null;
}

function explanationCell(data, model, rows, place) {
  const found = explanations(data, model, rows, place);
  if (!found) return ["Values of this row were left out to keep the page small."];
  // The labeling in favor with its leading expert, and the votes of the other; the details have everything.
  const told = found.map((item, k) => explanationWords(item, item.target, data.features.names, k ? 0 : 1));
  return [element("span", { class: "told" }, told.join(" "))];
}

function detailLine(data, model, rows, place, nColumns) {
  const found = explanations(data, model, rows, place) || [];
  const told = found.map((item) => element("p", {}, explanationWords(item, item.target, data.features.names, 4)));
  const probabilities = data.classes.slice(0, 20).map((name, code) => `${name} ${formatProbability(rows.probabilityOf(place, code))}`);
  const values = rows.columns.map((column) => `${column.name} = ${cellText(rows.cell(column, place))}`);
  told.push(element("p", {}, `Probabilities: ${probabilities.join(", ")}.`));
  told.push(element("p", {}, `Values: ${values.join("; ")}.`));
  return element("tr", { class: "detail" }, element("td", { colspan: nColumns }, ...told));
}
