// Decodes the page's data, formats numbers, and creates elements.

const KINDS = { f8: Float64Array, f4: Float32Array, u4: Uint32Array, u2: Uint16Array, u1: Uint8Array };

function decoded(item) {
  const text = atob(item.data);
  const bytes = new Uint8Array(text.length);
  for (let place = 0; place < text.length; place++) bytes[place] = text.charCodeAt(place);
  return new KINDS[item.type](bytes.buffer);
}

// A column of numbers as doubles, NaN where one is missing, or of texts as a list and indices into it.
function columnOf(item) {
  const codes = decoded(item);
  if (!item.list) return { numbers: Float64Array.from(codes, (value) => item.start + value) };
  if (item.list.every((value) => value === null || typeof value === "number")) {
    return { numbers: Float64Array.from(codes, (code) => item.list[code] ?? NaN) };
  }
  return { list: item.list, codes };
}

// The rows on the page; `place` is an index of these, and `numbers` has the user's row numbers.
function rowsOf(data) {
  const rows = data.rows;
  const values = rows.values.map(columnOf);
  const places = rows.places ? decoded(rows.places) : null;
  const valuePlace = new Int32Array(rows.n).fill(-1);
  for (let k = 0; k < rows.nValues; k++) valuePlace[places ? places[k] : k] = k;
  const raw = rows.raw.map((item) => ({ name: item.name, ...columnOf(item) }));
  const columns = raw.length ? raw : values.map((column, k) => ({ name: data.features.names[k], ...column }));
  const scale = data.classes.length === 2 ? 1 : 1 / 65535;
  return {
    n: rows.n,
    nAll: rows.nAll,
    nValues: rows.nValues,
    numbers: rows.numbers ? decoded(rows.numbers) : Uint32Array.from({ length: rows.n }, (_, k) => k),
    labels: decoded(rows.labels),
    decisions: decoded(rows.decisions),
    low: rows.low ? decoded(rows.low) : null,
    high: rows.high ? decoded(rows.high) : null,
    // Of the second of two classes, or of every class.
    probabilities: rows.probabilities.map((item) => Float64Array.from(decoded(item), (value) => value * scale)),
    valuePlace,
    values,
    columns,
    probabilityOf(place, code) {
      if (this.probabilities.length > 1) return this.probabilities[code][place];
      return code === 1 ? this.probabilities[0][place] : 1 - this.probabilities[0][place];
    },
    // The features of a row; null if they were left out.
    vector(place) {
      const at = valuePlace[place];
      return at < 0 ? null : Float64Array.from(values, (column) => column.numbers[at]);
    },
    cell(column, place) {
      const at = valuePlace[place];
      if (at < 0) return null;
      return column.list ? column.list[column.codes[at]] : column.numbers[at];
    },
    // The place of a row by its number; -1 if it is not on the page.
    placeOf(number) {
      return this.n === this.nAll ? number : this.numbers.indexOf(number);
    },
  };
}

// Texts.

function shown(value, digits = 4) {
  if (!Number.isFinite(value)) return String(value);
  if (Number.isInteger(value) && Math.abs(value) < 1e9) return String(value).replace("-", "−");
  return String(Number(value.toPrecision(digits))).replace("-", "−");
}

function signed(value) {
  return value < 0 ? shown(value, 3) : "+" + shown(value, 3);
}

function formatProbability(value) {
  if (value < 0.0005) return "< 0.001";
  return value > 0.9995 ? "> 0.999" : value.toFixed(3);
}

function percent(share) {
  return (100 * share).toFixed(1) + "%";
}

function counted(number, noun) {
  return number.toLocaleString("en") + " " + noun + (number === 1 ? "" : "s");
}

// Elements.

function element(name, attributes = {}, ...children) {
  const found = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === true) found.setAttribute(key, "");
    else if (value !== false && value !== null) found.setAttribute(key, value);
  }
  // Strings become text nodes, so no text is ever parsed as HTML.
  found.append(...children);
  return found;
}

function byId(name) {
  return document.getElementById(name);
}
