"use strict";
(function () {
  const dark = JSON.parse(document.getElementById("dark").textContent);
  const isDark = window.matchMedia("(prefers-color-scheme: dark)");
  const byTouch = window.matchMedia("(pointer: coarse)");
  let printing = false;

  function onDark() { return isDark.matches && !printing; }

  function swapped(colour) {
    if (Array.isArray(colour)) { return colour.map(swapped); }
    return Object.prototype.hasOwnProperty.call(dark, colour) ? dark[colour] : colour;
  }

  function read(text) {
    if (!onDark()) { return JSON.parse(text); }
    return JSON.parse(text, function (key, value) { return /color$/.test(key) ? swapped(value) : value; });
  }

  function config(figure) {
    return {
      responsive: !printing,
      displaylogo: false,
      doubleClick: "reset",
      modeBarButtons: [["zoom2d", "pan2d", "resetScale2d", "toImage"]],
      toImageButtonOptions: { format: "svg", filename: figure.element.dataset.name },
    };
  }

  function draw(figure) {
    read(figure.text).forEach(function (panel, index) {
      const place = figure.plots[index];
      panel.data.forEach(function (trace) { trace.visible = !figure.hidden.has(trace.legendgroup); });
      panel.layout.dragmode = byTouch.matches ? false : "zoom";
      if (printing) { panel.layout.width = place.clientWidth; }
      const part = partOf(place);
      // A copy, as plotly writes the part that is shown into what it was given.
      place.whole = JSON.parse(JSON.stringify({ xaxis: panel.layout.xaxis, yaxis: panel.layout.yaxis }));
      window.Plotly.react(place, panel.data, panel.layout, config(figure));
      if (Object.keys(part).length) { window.Plotly.relayout(place, part); }
      chooseTicks(place);
    });
    figure.element.querySelectorAll(".legend svg").forEach(function (swatch) {
      swatch.style.color = onDark() ? swapped(swatch.dataset.color) : swatch.dataset.color;
    });
    letFramesScroll(figure);
  }

  // The part of each axis that is shown, where that is not all of it.
  function partOf(place) {
    const part = {};
    Object.entries(place.whole || {}).forEach(function ([name, axis]) {
      const shown = place._fullLayout[name].range;
      if (!same(shown, axis.range)) { part[name + ".range"] = shown.slice(); }
    });
    return part;
  }

  // What can be scrolled must be reached by the keyboard, and nothing else should.
  function letFramesScroll(figure) {
    figure.element.querySelectorAll(".drawing").forEach(function (frame) {
      if (frame.scrollWidth > frame.clientWidth) { frame.tabIndex = 0; } else { frame.removeAttribute("tabindex"); }
    });
  }

  // Round values beside an axis are few: of a part of it plotly chooses its own.
  function chooseTicks(place) {
    const change = {};
    Object.entries(place.whole).forEach(function ([name, axis]) {
      if (!axis.tickvals || !axis.type) { return; }
      const shown = place._fullLayout[name];
      const mode = same(shown.range, axis.range) ? "array" : "auto";
      if (shown.tickmode !== mode) { change[name + ".tickmode"] = mode; }
    });
    if (Object.keys(change).length) { window.Plotly.relayout(place, change); }
  }

  function same(one, other) {
    return one.every(function (end, index) { return Math.abs(end - other[index]) < 1e-9 * (1 + Math.abs(end)); });
  }

  // Panels below each other show the same seconds.
  function follow(figure, place) {
    const range = place._fullLayout.xaxis.range;
    figure.plots.forEach(function (other) {
      if (other !== place && !same(other._fullLayout.xaxis.range, range)) {
        window.Plotly.relayout(other, { "xaxis.range": range.slice() });
      }
    });
  }

  function listen(figure) {
    figure.plots.forEach(function (place) {
      place.on("plotly_relayout", function () {
        chooseTicks(place);
        if ("sharesX" in figure.element.dataset) { follow(figure, place); }
      });
    });
    figure.element.querySelectorAll(".legend button").forEach(function (button) {
      button.addEventListener("click", function () { toggle(figure, button); });
    });
  }

  function toggle(figure, button) {
    const group = button.dataset.group;
    const shown = figure.hidden.delete(group);
    if (!shown) { figure.hidden.add(group); }
    button.setAttribute("aria-pressed", String(shown));
    figure.plots.forEach(function (place) {
      const traces = [];
      place.data.forEach(function (trace, index) { if (trace.legendgroup === group) { traces.push(index); } });
      if (traces.length) { window.Plotly.restyle(place, { visible: shown }, traces); }
    });
  }

  // One figure that cannot be drawn takes no other with it.
  function attempt(figure, action) {
    if (figure.failed) { return; }
    try { action(figure); } catch (error) {
      figure.failed = true;
      const said = document.createElement("p");
      said.className = "box doubt";
      said.textContent = "This figure cannot be drawn here: " + error.message;
      figure.element.append(said);
    }
  }

  const figures = Array.from(document.querySelectorAll("figure"), function (element) {
    return {
      element: element,
      text: element.querySelector("script").textContent,
      plots: Array.from(element.querySelectorAll(".plot")),
      hidden: new Set(),
      failed: false,
    };
  });

  function drawAll() { figures.forEach(function (figure) { attempt(figure, draw); }); }

  let folded = [];
  window.addEventListener("beforeprint", function () {
    printing = true;
    folded = Array.from(document.querySelectorAll("details:not([open])"));
    folded.forEach(function (part) { part.open = true; });
    document.documentElement.classList.add("printing");
    drawAll();
  });
  window.addEventListener("afterprint", function () {
    printing = false;
    folded.forEach(function (part) { part.open = false; });
    document.documentElement.classList.remove("printing");
    drawAll();
  });
  window.addEventListener("resize", function () {
    figures.forEach(function (figure) { attempt(figure, letFramesScroll); });
  });
  isDark.addEventListener("change", drawAll);

  drawAll();
  figures.forEach(function (figure) { attempt(figure, listen); });
})();
