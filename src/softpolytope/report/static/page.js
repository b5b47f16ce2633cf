// Starts the page.

function preparePaper(map, table) {
  const opened = [];
  addEventListener("beforeprint", () => {
    for (const item of document.querySelectorAll("details:not([open])")) {
      item.open = true;
      opened.push(item);
    }
    const picture = byId("map-print");
    picture.src = mapPicture(map);
    picture.alt = byId("map-text").textContent;
    picture.hidden = false;
    table.forPaper();
  });
  addEventListener("afterprint", () => {
    for (const item of opened.splice(0)) item.open = false;
    byId("map-print").hidden = true;
    table.forScreen();
  });
}

const data = JSON.parse(byId("data").textContent);
const model = modelOf(data);
const rows = rowsOf(data);
document.documentElement.classList.add("has-script");
const map = startMap(data, model, rows);
const table = startTable(data, model, rows);
preparePaper(map, table);
// For debugging and tests.
window.softpolytope = {
  probabilities: (x, view = "average") => probabilities(model, x, view),
  explain: (x, code, side, threshold = 0.5) =>
    explained(labelingsOf(model, code)[side].best, x, model.nLayers, data.features.scale, threshold),
};
