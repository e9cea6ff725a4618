// measure runs in the page, where it can use nothing from outside of itself.
export function measure() {
  const root = document.documentElement;

  // A colour as its red, green, blue and alpha, as the browser paints it.
  const context = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  function rgba(colour) {
    context.clearRect(0, 0, 1, 1);
    context.fillStyle = colour;
    context.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = context.getImageData(0, 0, 1, 1).data;
    return { r, g, b, a: a / 255 };
  }

  // WCAG's relative luminance, and contrast.
  function luminance({ r, g, b }) {
    const [red, green, blue] = [r, g, b].map((c) => {
      const s = c / 255;
      return s <= 0.04045 ? s / 12.92 : ((s + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  }
  function contrast(one, other) {
    const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  }
  function paper(element) {
    for (let e = element; e; e = e.parentElement) {
      const colour = rgba(getComputedStyle(e).backgroundColor);
      if (colour.a === 1) {
        return colour;
      }
    }
    return { r: 255, g: 255, b: 255, a: 1 };
  }

  function visible(element) {
    const box = element.getBoundingClientRect();
    return box.width > 1 && box.height > 1 && element.checkVisibility({ visibilityProperty: true, opacityProperty: true });
  }

  // Texts whose contrast is below that of WCAG's level AA, those that style sheets add among them.
  const faint = [];
  function look(element, text, style) {
    const ink = rgba(element.closest("svg") ? style.fill : style.color);
    const ratio = ink.a < 1 ? 0 : contrast(ink, paper(element));
    if (ratio < 4.5) {
      faint.push(`${ratio.toFixed(2)} ${text.trim().slice(0, 40)}`);
    }
  }
  let texts = 0;
  for (const element of document.body.querySelectorAll("*")) {
    if (!visible(element) || element.matches("style, script, title, desc")) {
      continue;
    }
    const own = [...element.childNodes].filter((n) => n.nodeType === Node.TEXT_NODE).map((n) => n.data).join("");
    if (own.trim()) {
      texts++;
      look(element, own, getComputedStyle(element));
    }
    const before = getComputedStyle(element, "::before");
    if (!["none", "normal", '""'].includes(before.content)) {
      look(element, before.content, before);
    }
  }

  // Of a chart's texts: the smallest, those that are cut off, and those that stand in each other.
  let smallest = Infinity;
  const cut = [];
  const overlapping = [];
  for (const svg of document.querySelectorAll("svg.chart")) {
    const frame = svg.getBoundingClientRect();
    const scale = frame.width / svg.viewBox.baseVal.width;
    const boxes = [];
    for (const t of svg.querySelectorAll("text")) {
      smallest = Math.min(smallest, parseFloat(getComputedStyle(t).fontSize) * scale);
      const b = t.getBoundingClientRect();
      const slack = 1;
      const within = b.left >= frame.left - slack && b.right <= frame.right + slack &&
        b.top >= frame.top - slack && b.bottom <= frame.bottom + slack;
      if (!within) {
        cut.push(t.textContent);
      }
      // A line's box has room above and below its letters.
      const inset = b.height * 0.2;
      for (const o of boxes) {
        if (b.left < o.right && o.left < b.right && b.top + inset < o.bottom && o.top < b.bottom - inset) {
          overlapping.push(`${o.text} / ${t.textContent}`);
        }
      }
      boxes.push({ left: b.left, right: b.right, top: b.top + inset, bottom: b.bottom - inset, text: t.textContent });
    }
  }

  const chapters = [...document.querySelectorAll("section.chapter")].map((chapter) => ({
    name: chapter.id,
    failed: chapter.querySelector(".failed") !== null,
    charts: [...chapter.querySelectorAll("svg.chart")].filter(visible).length,
    tables: [...chapter.querySelectorAll("table")]
      .filter((t) => visible(t) && [...t.querySelectorAll("tbody tr")].some(visible)).length,
  }));

  return {
    scroll_width: root.scrollWidth,
    client_width: root.clientWidth,
    texts,
    faint,
    smallest_chart_text: Number.isFinite(smallest) ? smallest : 0,
    cut,
    overlapping,
    chapters,
  };
}
