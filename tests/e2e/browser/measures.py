"""What can be measured of a page: its width, the size of what is hit, the contrast of what is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Page

FINGER_PX = 44

_TOO_WIDE = """width => {
  const page = document.scrollingElement;
  if (page.scrollWidth <= width && innerWidth === width) return [];
  const out = [...document.body.querySelectorAll('*')].filter(e => e.getBoundingClientRect().right > width + 1);
  return [`${page.scrollWidth} of ${width}`, ...out.slice(0, 5).map(e => e.outerHTML.slice(0, 120))];
}"""

_TOO_SMALL = """least => {
  const found = [];
  for (const e of document.querySelectorAll('a, button, select, summary, textarea, input, label.choice')) {
    if (e.matches('[type=hidden], .choice input, .skip-link, .prose a') || !e.checkVisibility()) continue;
    const { width, height } = e.getBoundingClientRect();
    const narrow = e.matches('a:not(.button)') ? 24 : least; // a short word is a short link
    if (height < least - 0.5 || width < narrow)
      found.push(`${Math.round(width)}x${Math.round(height)} ${e.outerHTML.slice(0, 160)}`);
  }
  return found;
}"""

_COLOURS = """
  const pixel = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const rgba = colour => {
    pixel.clearRect(0, 0, 1, 1);
    pixel.fillStyle = colour;
    pixel.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = pixel.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = ([r, g, b, a], [R, G, B]) => [r * a + R * (1 - a), g * a + G * (1 - a), b * a + B * (1 - a), 1];
  const canvas = matchMedia('(prefers-color-scheme: dark)').matches ? [18, 18, 18, 1] : [255, 255, 255, 1];
  const behind = element => {
    const layers = [];
    for (let e = element; e; e = e.parentElement) {
      layers.unshift(rgba(getComputedStyle(e).backgroundColor));
      if (e.tagName === 'DIALOG') break;
    }
    return layers.reduce((below, layer) => over(layer, below), canvas);
  };
  const light = ([r, g, b]) => {
    const linear = v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
    return 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  };
"""

_SHADE = f"() => {{ {_COLOURS} return light(behind(document.body)); }}"

_TOO_FAINT = (
    """() => {
"""
    + _COLOURS
    + """
  const found = [];
  const check = (element, style, text) => {
    const back = behind(element);
    const [r, g, b, a] = rgba(style.color);
    let seen = a;
    for (let e = element; e; e = e.parentElement) seen *= +getComputedStyle(e).opacity;
    const [one, other] = [light(over([r, g, b, seen], back)), light(back)];
    const ratio = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && +style.fontWeight >= 700);
    if (ratio < (large ? 3 : 4.5)) found.push(`${ratio.toFixed(2)} ${text.trim().slice(0, 60)} <${element.className}>`);
  };
  const all = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node; (node = all.nextNode()); ) {
    const element = node.parentElement;
    if (!node.data.trim() || element.closest('.hidden-text, [disabled], script, style, option')) continue;
    if (!element.checkVisibility({ visibilityProperty: true })) continue;
    check(element, getComputedStyle(element), node.data);
  }
  for (const field of document.querySelectorAll('input[type=text], textarea')) {
    if (!field.checkVisibility()) continue;
    if (field.placeholder) check(field, getComputedStyle(field, '::placeholder'), field.placeholder);
    check(field, getComputedStyle(field), field.value || 'typed text');
  }
  return found;
}"""
)


def too_wide(page: Page) -> list[str]:
    """What stands out of a page that scrolls to the side; nothing if it does not."""
    assert page.viewport_size is not None
    return page.evaluate(_TOO_WIDE, page.viewport_size["width"])


def too_small(page: Page) -> list[str]:
    """What is there to be hit and is smaller than a finger. Links within a guideline do not count."""
    return page.evaluate(_TOO_SMALL, FINGER_PX)


def too_faint(page: Page) -> list[str]:
    """Text with less contrast than 4.5 to what is behind it (3 if it is large), by the rules of WCAG 2."""
    return page.evaluate(_TOO_FAINT)


def is_dark(page: Page) -> bool:
    """Whether the page itself is dark."""
    return page.evaluate(_SHADE) < 0.2
