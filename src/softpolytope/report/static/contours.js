// Level lines of a grid, by marching squares.

// Segments [x1, y1, x2, y2, ...] in units of cells along which the values, row after row, equal the level.
function segmentsAt(values, nx, ny, level) {
  const found = [];
  for (let j = 0; j + 1 < ny; j++) {
    for (let i = 0; i + 1 < nx; i++) {
      const at = j * nx + i;
      const a = values[at] - level;
      const b = values[at + 1] - level;
      const c = values[at + nx + 1] - level;
      const d = values[at + nx] - level;
      // Most cells lie on one side.
      if (a > 0 !== b > 0 || b > 0 !== c > 0 || c > 0 !== d > 0) cellSegments(found, i, j, a, b, c, d);
    }
  }
  return found;
}

// The segments of one cell with corners a (left, first row), b (right), c (right, next row), d (left).
function cellSegments(found, i, j, a, b, c, d) {
  const ends = [];
  if (a > 0 !== b > 0) ends.push(i + part(a, b), j);
  if (b > 0 !== c > 0) ends.push(i + 1, j + part(b, c));
  if (c > 0 !== d > 0) ends.push(i + 1 - part(c, d), j + 1);
  if (d > 0 !== a > 0) ends.push(i, j + 1 - part(d, a));
  if (ends.length === 4) found.push(ends[0], ends[1], ends[2], ends[3]);
  if (ends.length === 8) {
    // A saddle: the value at the center decides which corners are connected.
    const joinsFirst = a + b + c + d > 0 === a > 0;
    const order = joinsFirst ? [0, 1, 2, 3] : [0, 3, 1, 2];
    for (const k of order) found.push(ends[2 * k], ends[2 * k + 1]);
  }
}

function part(from, to) {
  // Between infinite values, use the middle.
  const share = from / (from - to);
  return Number.isFinite(share) ? share : 0.5;
}

// Round numbers within bounds for an axis.
function ticksOf(low, high, most) {
  const raw = (high - low) / most;
  const power = Math.pow(10, Math.floor(Math.log10(raw)));
  const step = power * [1, 2, 5, 10].find((factor) => raw <= power * factor * 1.0000001);
  const found = [];
  for (let k = Math.ceil(low / step); k * step <= high; k++) found.push(k * step);
  return found;
}
