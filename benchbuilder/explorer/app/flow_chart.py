"""Draws the flow of a build as SVG: bars as wide as their rows, ribbons between them, and links from words to rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from markupsafe import Markup

from benchbuilder.core import PageTexts
from benchbuilder.explorer.app.flow_layout import BAR, JOINED, STAGES, THIN_BAR, FlowBar, FlowFrame, FlowLayout
from benchbuilder.explorer.reading.step_flow import LOST, FlowStep
from benchbuilder.exporters import svg_element, width_of

_WIDE, _NARROW = 1140.0, 336.0
_DROP = 22.0
"""The height in which a ribbon turns aside."""


def flow_charts(flow: Sequence[FlowStep], rows: Callable[[str, str], str], t: PageTexts) -> dict[str, Markup]:
    """The picture for wide and for narrow pages; the page has the same as tables.

    `rows` is the address of the rows of a step with one outcome.
    """
    sizes = {"wide": _WIDE, "narrow": _NARROW}
    return {
        name: _FlowChart(FlowLayout(flow, width, wide=name == "wide"), rows, t).draw() for name, width in sizes.items()
    }


class _FlowChart:
    def __init__(self, layout: FlowLayout, rows: Callable[[str, str], str], t: PageTexts) -> None:
        self._layout, self._rows, self._t = layout, rows, t
        self._hue = {lane: f"c{number % 4}" for number, lane in enumerate(layout.lanes)} | {JOINED: "joined"}

    def draw(self) -> Markup:
        layout, title = self._layout, self._t("view.flow.chart")
        bars = layout.bars.values()
        return svg_element(
            "svg", svg_element("title", title), *map(self._frame, layout.frames),
            *(ribbon for bar in bars for ribbon in self._ribbons(bar)), *map(self._step, bars),
            class_="flow", role="group", aria_label=title, viewBox=f"0 0 {layout.width:.0f} {layout.height:.0f}",
        )  # fmt: skip

    def _frame(self, frame: FlowFrame) -> Markup:
        t = self._t
        if frame.lane is None:
            css = f"band b{frame.stage % 2}"
            words = t(f"view.flow.stage.{STAGES[frame.stage]}")
            return svg_element(
                "g",
                svg_element("rect", y=frame.y, width=self._layout.width, height=frame.height, class_=css),
                svg_element("text", words, x=4, y=frame.y + (21 if self._layout.wide else 15), class_="t stage"),
            )
        steps = [bar.step for bar in self._layout.bars.values() if bar.lane == frame.lane and bar.step.is_source]
        kind = (frame.lane.partition("[")[2] or frame.lane).rstrip("]")
        name = t.get(f"view.flow.lane.{kind}", kind) if kind else t("view.flow.joined")
        first = sum(step.rows for step in steps)
        text = f"{name} · {t.number(first)}" if first else name
        mark = svg_element("rect", x=frame.x, y=frame.y + 9, width=10, height=10, class_=self._hue[frame.lane])
        return svg_element("g", mark, svg_element("text", text, x=frame.x + 16, y=frame.y + 18, class_="t lane"))

    def _ribbons(self, bar: FlowBar) -> list[Markup]:
        """The ribbons that lead to a step; on a narrow page, those from another lane are left out."""
        drawn: list[Markup] = []
        if bar.aside or not bar.width + bar.stub:
            return drawn
        at, end = bar.x, bar.y + (3 if bar.thin else 0)
        for up in sorted((self._layout.bars[name] for name in bar.lines), key=lambda up: up.x):
            if up.width and (self._layout.wide or up.lane == bar.lane):
                width = min(up.width, bar.width + bar.stub)
                begin = up.y + (3 + THIN_BAR if up.thin else BAR)
                early = up.lane == bar.lane and at > up.x  # a branch turns aside at once, and then runs down
                turn, low = (begin, begin + _DROP) if early else (max(begin, end - _DROP), end)
                mid, right, to = (turn + low) / 2, up.x + up.width, at + width
                path = (
                    f"M{up.x:.1f} {begin:.1f}V{turn:.1f}C{up.x:.1f} {mid:.1f} {at:.1f} {mid:.1f} {at:.1f} {low:.1f}"
                    f"V{end:.1f}H{to:.1f}V{low:.1f}C{to:.1f} {mid:.1f} {right:.1f} {mid:.1f} {right:.1f} {turn:.1f}"
                    f"V{begin:.1f}Z"
                )
                drawn.append(svg_element("path", d=path, class_=f"ribbon {self._hue[up.lane]}"))
                at += width
        return drawn

    def _step(self, bar: FlowBar) -> Markup:
        """The bar with its stub, and the words beside it: name, rows, tags; below them what it lost."""
        step, t = bar.step, self._t
        parts = [svg_element("title", f"{step.name} ({step.kind})"), *self._bar(bar)]
        tags = [f"← {name}" for name in bar.tags]
        tags += [t("view.flow.earlier", n=bar.earlier)] if bar.earlier else []
        number = t.number(step.rows)
        shown = [number, *_that_fit(tags, bar.span - width_of(step.name + number) - 6, least=0)]
        css = ["n", *["tag"] * (len(shown) - 1)]
        spans = [svg_element("tspan", f" {text}", class_=one) for text, one in zip(shown, css, strict=True)]
        y = bar.y + 10
        words = svg_element("text", step.name, *spans, x=bar.words, y=y, class_=f"t {'thin' if bar.thin else 'v'}")
        parts.append(svg_element("a", words, href=self._rows(step.name, "kept")))
        if step.lost:
            lost = [loss for loss in step.losses if loss.outcome in LOST and loss.reason]
            reasons = (
                [f"{loss.reason} {t.number(loss.count)}" for loss in lost]
                if len(lost) > 1
                else [loss.reason for loss in lost]
            )
            why = svg_element("tspan", " " + " · ".join(_that_fit(reasons, bar.span - 40, least=1)), class_="why")
            text = svg_element("text", f"\u2212{t.number(step.lost)}", why, x=bar.words, y=y + 14, class_="t lost")
            label = f"{step.name}: {t('view.flow.lost', n=step.lost)}"
            parts.append(svg_element("a", text, href=self._rows(step.name, "lost"), aria_label=label))
        return svg_element("g", *parts)

    def _bar(self, bar: FlowBar) -> list[Markup]:
        """A piece for each lane that its rows come from, and the stub of those that it lost."""
        share: dict[str, int] = {}
        for source, kept in bar.step.kept_by_source.items():
            lane = self._layout.bars[source].lane if source in self._layout.bars else bar.lane
            share[lane] = share.get(lane, 0) + kept
        pieces: list[Markup] = []
        x, y, height = bar.x, bar.y + (3 if bar.thin else 0), THIN_BAR if bar.thin else BAR
        for lane in sorted(share if bar.width else (), key=list(self._hue).index):
            width = bar.width * share[lane] / max(1, sum(share.values()))
            pieces.append(svg_element("rect", x=x, y=y, width=max(width, 1.5), height=height, class_=self._hue[lane]))
            x += width
        if bar.step.lost:
            pieces.append(svg_element("rect", x=x + 1, y=y, width=max(bar.stub, 2.0), height=height, class_="loss"))
        return pieces


def _that_fit(texts: Sequence[str], room: float, *, least: int) -> list[str]:
    """The first of `texts`, at least so many, that have room beside each other."""
    fit: list[str] = []
    for text in texts:
        room -= width_of(text) + 8
        if len(fit) >= least and room < 0:
            break
        fit.append(text)
    return fit
