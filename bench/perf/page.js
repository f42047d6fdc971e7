// SPDX-License-Identifier: Apache-2.0
// The page of --plot: curves are switched on and off, and the point that is nearest to the pointer shows its values,
// which are those of its line in the table. The arrow keys go from point to point of a chart that has the focus.
"use strict";
(() => {
  const box = document.getElementById("point");
  const checked = id => document.getElementById(id)?.checked ?? false;
  const curveBoxes = [...document.querySelectorAll("#curves input")];
  const headings = [...document.querySelectorAll("#figures th")];
  const at = dot => [dot.cx.baseVal.value, dot.cy.baseVal.value];

  function hidePoint() {
    box.hidden = true;
    for (const mark of document.querySelectorAll(".mark")) mark.remove();
  }

  function show() {
    const curves = new Set(curveBoxes.filter(each => each.checked).map(each => each.dataset.curve));
    for (const group of document.querySelectorAll("g[data-curve]")) {
      const visible = curves.has(group.dataset.curve) && checked(`form-${group.dataset.form}`);
      group.toggleAttribute("hidden", !visible);
    }
    for (const area of document.querySelectorAll(".spread")) area.toggleAttribute("hidden", !checked("spread"));
    hidePoint();
  }

  function line(dot) {
    return document.getElementById(`${dot.parentNode.dataset.form}-${dot.dataset.row}`);
  }

  function fill(dot) {
    const curve = document.querySelector(`#curves input[data-curve="${dot.parentNode.dataset.curve}"]`);
    const name = document.createElement("strong");
    name.textContent = curve.parentNode.textContent.trim();
    const list = document.createElement("dl");
    const cells = line(dot).cells;
    headings.forEach((heading, column) => {
      if (!("point" in heading.dataset) || cells[column].textContent === "") return;
      for (const [tag, text] of [["dt", heading.textContent], ["dd", cells[column].textContent]])
        list.appendChild(document.createElement(tag)).textContent = text;
    });
    box.replaceChildren(name, list);
  }

  function showPoint(chart, dot) {
    hidePoint();
    fill(dot);
    const mark = document.createElementNS("http://www.w3.org/2000/svg", "circle");
    const [x, y] = at(dot);
    for (const [key, value] of Object.entries({cx: x, cy: y, r: 6, class: "mark"})) mark.setAttribute(key, value);
    chart.append(mark);
    chart.current = dot;
    box.hidden = false;
    const place = mark.getBoundingClientRect();
    const [width, height] = [box.offsetWidth, box.offsetHeight];
    const onRight = place.right + 16 + width <= innerWidth;
    const onSide = onRight || width + 16 <= place.left;  // not on a phone
    const below = place.bottom + 16 + height <= innerHeight;
    const left = onRight ? place.right + 8 : onSide ? place.left - 8 - width : place.left - width / 2;
    const top = onSide ? place.top - height / 2 : below ? place.bottom + 8 : place.top - 8 - height;
    box.style.left = `${Math.max(8, Math.min(left, innerWidth - 8 - width))}px`;
    box.style.top = `${Math.max(8, Math.min(top, innerHeight - 8 - height))}px`;
  }

  function visibleDots(chart) {
    return [...chart.querySelectorAll("g[data-curve]:not([hidden]) .dot")];
  }

  // The nearest size first, and then the nearest curve.
  function nearest(chart, event) {
    const to = new DOMPoint(event.clientX, event.clientY).matrixTransform(chart.getScreenCTM().inverse());
    const far = dot => [Math.abs(at(dot)[0] - to.x), Math.abs(at(dot)[1] - to.y)];
    return visibleDots(chart).sort((a, b) => far(a)[0] - far(b)[0] || far(a)[1] - far(b)[1])[0];
  }

  function neighbour(chart, key) {
    const dots = visibleDots(chart);
    const now = dots.includes(chart.current) ? chart.current : undefined;
    if (!now) return dots[0];
    const along = key === "ArrowLeft" || key === "ArrowRight";
    const ahead = key === "ArrowRight" || key === "ArrowUp";
    const row = dots.filter(dot => along ? dot.parentNode === now.parentNode : at(dot)[0] === at(now)[0]);
    if (!along) row.sort((a, b) => at(b)[1] - at(a)[1]);
    return row[row.indexOf(now) + (ahead ? 1 : -1)] ?? now;
  }

  for (const chart of document.querySelectorAll("svg.chart")) {
    const follow = event => {
      const dot = nearest(chart, event);
      if (dot) showPoint(chart, dot);
    };
    chart.addEventListener("pointermove", follow);
    chart.addEventListener("pointerdown", follow);
    chart.addEventListener("pointerleave", event => event.pointerType === "mouse" && hidePoint());
    chart.addEventListener("blur", hidePoint);
    chart.addEventListener("keydown", event => {
      if (event.key === "Escape") hidePoint();
      if (!event.key.startsWith("Arrow")) return;
      event.preventDefault();
      const dot = neighbour(chart, event.key);
      if (dot) showPoint(chart, dot);
    });
  }
  for (const [id, checkedNow] of [["all", true], ["none", false]]) {
    document.getElementById(id).addEventListener("click", () => {
      for (const each of curveBoxes) each.checked = checkedNow;
      show();
    });
  }
  document.querySelector(".controls").addEventListener("change", show);
  addEventListener("scroll", hidePoint, {passive: true});
  show();
})();
