"use strict";
(() => {
  const panels = JSON.parse(document.getElementById("panels").textContent);
  const root = document.documentElement;
  const narrow = 460;

  const inks = () => {
    const style = getComputedStyle(root);
    return (name) => style.getPropertyValue("--" + name).trim();
  };

  // Colours are names of the style sheet, so that one description serves light and dark.
  const inked = (value, ink) => {
    if (typeof value === "string") return /^@\w+$/.test(value) ? ink(value.slice(1)) : value;
    if (Array.isArray(value)) return value.map((each) => inked(each, ink));
    if (value === null || typeof value !== "object") return value;
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, inked(each, ink)]));
  };

  // Every so many ticks, so that their texts have room beside each other; the last is always one of them.
  const thinned = (axis, room, upright) => {
    if (!axis.tickvals || !axis.tickvals.length) return;
    const apart = upright ? 17 : Math.max(...axis.ticktext.map((text) => text.length)) * 7 + 12;
    const places = axis.tickvals.map((value) => (axis.type === "log" ? Math.log10(value) : value));
    const span = Math.max(...places) - Math.min(...places) || 1;
    const kept = [];
    let last = Infinity;
    for (let at = places.length - 1; at >= 0; at--) {
      if (((last - places[at]) / span) * room >= apart) {
        kept.unshift(at);
        last = places[at];
      }
    }
    axis.tickvals = kept.map((at) => axis.tickvals[at]);
    axis.ticktext = kept.map((at) => axis.ticktext[at]);
  };

  const laidOut = (panel, div, ink) => {
    const small = div.clientWidth < narrow;
    const layout = inked(panel.layout, ink);
    const axis = {
      gridcolor: ink("grid"), linecolor: ink("line"), zerolinecolor: ink("line"), tickcolor: ink("line"),
      automargin: true, ticks: "outside", ticklen: 4, showline: true, zeroline: false, tickangle: 0, fixedrange: small,
    };
    layout.xaxis = { ...axis, showgrid: false, nticks: small ? 5 : 9, ...layout.xaxis };
    layout.yaxis = { ...axis, showline: false, ticks: "", nticks: small ? 6 : 8, ...layout.yaxis };
    thinned(layout.xaxis, div.clientWidth - 90, false);
    thinned(layout.yaxis, div.clientHeight - 60, true);
    return {
      ...layout,
      // Without these Plotly.react keeps the size of the first drawing, and a phone that is turned cuts it off.
      width: div.clientWidth, height: div.clientHeight,
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", showlegend: false, dragmode: small ? false : "zoom",
      margin: { l: 44, r: 28, t: layout.annotations.length ? 22 : 8, b: 30, pad: 2 }, bargap: 0.25,
      font: { family: getComputedStyle(document.body).fontFamily, size: small ? 11 : 12, color: ink("soft") },
      hoverlabel: { bgcolor: ink("hover"), bordercolor: ink("line"), font: { color: ink("ink"), size: 12 }, align: "left" },
    };
  };

  const config = { displayModeBar: false, displaylogo: false, responsive: false, doubleClick: "reset", showTips: false };

  const widths = new Map();
  const draw = (id) => {
    const div = document.getElementById(id);
    const ink = inks();
    const hidden = new Set(
      [...document.querySelectorAll(`button[data-panel="${id}"][aria-pressed="false"]`)].map((each) => +each.dataset.at)
    );
    const data = inked(panels[id].data, ink).map((trace, at) => ({ ...trace, visible: hidden.has(at) ? "legendonly" : true }));
    div.querySelector(".waiting")?.remove();
    widths.set(id, div.clientWidth);
    return Plotly.react(div, data, laidOut(panels[id], div, ink), config);
  };

  const ids = Object.keys(panels);
  const drawAll = async () => {
    for (const id of ids) {
      await draw(id);
      await new Promise((next) => setTimeout(next));
    }
    root.dataset.drawn = String(ids.length);
  };

  document.addEventListener("click", (event) => {
    const button = event.target.closest("button[data-panel]");
    if (!button) return;
    button.setAttribute("aria-pressed", String(button.getAttribute("aria-pressed") !== "true"));
    draw(button.dataset.panel);
  });

  const seen = new ResizeObserver((entries) => {
    for (const { target } of entries) if (widths.get(target.id) !== target.clientWidth) draw(target.id);
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);

  // The contents fold on a small screen, and show where the reader is.
  const contents = document.querySelector(".toc");
  if (matchMedia("(max-width: 68rem)").matches) contents.open = false;
  const links = new Map([...contents.querySelectorAll("a")].map((link) => [link.hash.slice(1), link]));
  const read = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      for (const link of links.values()) link.removeAttribute("aria-current");
      links.get(entry.target.id)?.setAttribute("aria-current", "true");
    }
  }, { rootMargin: "-15% 0px -70% 0px" });
  for (const figure of document.querySelectorAll("main .figure")) read.observe(figure);

  drawAll().then(() => ids.forEach((id) => seen.observe(document.getElementById(id))));
})();
