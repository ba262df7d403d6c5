"""Draws the flow of a build as SVG: bars as wide as their rows, ribbons between them, and links from words to rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from benchbuilder.core import PageTexts
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


STAGES = ("read", "prepare", "state", "falsify", "ask", "assemble", "people")
JOINED = ""
"""The lane of steps that descend from several kinds of sources."""
BAR, THIN_BAR = 12.0, 4.0
_ROW, _THIN_ROW, _GAP, _HEAD, _COLUMN_GAP = 36.0, 24.0, 14.0, 26.0, 6.0
_MOST_BARS = 240.0
"""The width that the bars of a lane take at most."""
_NARROWEST_LANE = 270.0
_STAGE_OF_ROW = {"question": 4, "candidate": 5, "evidence": 6, "item": 6}


@dataclass
class FlowBar:
    """A step in its place: the bar begins at `x` and `y`, its words at `words`, with `span` of room.

    `lines` are the steps above that it is joined to, `earlier` counts further ones, `tags` are steps that it reads from
    the side. `roots` are the kinds of rows of the sources that it descends from. A step that changes nothing is `thin`.
    The rows of one `aside` are of another unit, and have no bar. `stub` is the width of its losses.
    """

    step: FlowStep
    lane: str
    stage: int
    roots: frozenset[str]
    lines: tuple[str, ...]
    tags: tuple[str, ...]
    earlier: int
    aside: bool
    thin: bool
    x: float = 0.0
    y: float = 0.0
    width: float = 0.0
    stub: float = 0.0
    words: float = 0.0
    span: float = 0.0

    @property
    def size(self) -> int:
        """How many rows its bar and its stub stand for."""
        return 0 if self.aside else self.step.rows + self.step.lost


@dataclass(frozen=True)
class FlowFrame:
    """The title of a lane, or the band of a stage (then `lane` is ``None``)."""

    lane: str | None
    stage: int
    x: float
    y: float
    height: float = 0.0


class FlowLayout:
    """The places of all steps in a picture of `width`; `wide` puts lanes beside each other, else one follows another.

    Lanes too narrow for words are not put beside each other.
    """

    def __init__(self, flow: Sequence[FlowStep], width: float, *, wide: bool) -> None:
        self.bars = _bars(flow)
        own = dict.fromkeys(bar.lane for bar in self.bars.values() if bar.lane != JOINED)
        self.lanes = sorted(own, key=lambda lane: lane == "passage")
        self.width, self.frames = width, list[FlowFrame]()
        left = 84.0
        self.wide = wide and (width - left) / max(1, len(self.lanes)) >= _NARROWEST_LANE
        self._left, self._pad = (left, 10.0) if self.wide else (0.0, 24.0)
        self._lane_width = (width - self._left) / (len(self.lanes) or 1) if self.wide else width
        self._columns = {lane: _columns(self._members(lane)) for lane in (*self.lanes, JOINED)}
        self._widest = {lane: self._column_sizes(lane) for lane in self._columns}
        room = min(self._lane_width * 0.3, _MOST_BARS)
        self._scale = room / max(1, *(sum(sizes) for sizes in self._widest.values()))
        self.height = self._place()

    def _members(self, lane: str) -> dict[str, FlowBar]:
        return {name: bar for name, bar in self.bars.items() if bar.lane == lane}

    def _column_sizes(self, lane: str) -> list[int]:
        """The most rows in each column of a lane."""
        members, columns = self._members(lane), self._columns[lane]
        return [max(members[n].size for n in columns if columns[n] == k) for k in sorted(set(columns.values()))]

    def _place(self) -> float:
        """Set all places; the height of the picture."""
        y = 0.0
        groups = [self.lanes] if self.wide else [[lane] for lane in self.lanes]
        for group in [*groups, *([[JOINED]] if self._columns[JOINED] else [])]:
            lefts = [self._left + at * self._lane_width for at in range(len(group))]
            self.frames += [FlowFrame(lane, 0, x, y) for lane, x in zip(group, lefts, strict=True)]
            y += _HEAD
            for stage in range(len(STAGES)):
                top = y + self._pad
                end = max((self._stack(lane, stage, x, top) for lane, x in zip(group, lefts, strict=True)), default=top)
                if end > top:
                    self.frames.append(FlowFrame(None, stage, 0.0, y, end - y))
                    y = end
            y += _GAP
        return y

    def _stack(self, lane: str, stage: int, left: float, top: float) -> float:
        """Place the steps of a lane and stage below each other, sources side by side too; where they end."""
        columns, sizes = self._columns[lane], self._widest[lane]
        offset = dict.fromkeys(columns.values(), 0.0)
        words = left + sum(sizes) * self._scale + _COLUMN_GAP * len(sizes) + 8
        right = self.width if lane == JOINED else left + self._lane_width
        for name, bar in sorted(self._members(lane).items(), key=lambda pair: columns[pair[0]] if stage == 4 else 0):
            if bar.stage == stage:
                column = columns[name]
                bar.x = left + sum(sizes[:column]) * self._scale + _COLUMN_GAP * column
                bar.x += 0.0 if bar.lines else offset[column]
                bar.width = 0.0 if bar.aside else bar.step.rows * self._scale
                bar.y, bar.stub, bar.words, bar.span = top, bar.step.lost * self._scale, words, right - words
                offset[column] += bar.width
                top += _THIN_ROW if bar.thin else _ROW
        return top


def _bars(flow: Sequence[FlowStep]) -> dict[str, FlowBar]:
    """Every step with its lane, stage, lines and tags; nothing here knows a kind of step."""
    bars: dict[str, FlowBar] = {}
    above: dict[str, set[str]] = {}
    for step in flow:
        each = step.ports.get("each") or next(iter(step.ports.values()), ())
        parents = [bars[up] for up in each]
        above[step.name] = set(each).union(*(above[up] for up in each))
        lines = tuple(up for up in each if not any(up in above[other] for other in each))
        row = step.row.partition("[")[0]
        is_later = any(up.step.row.startswith("statement") for up in parents)
        stage = (3 if is_later else 2) if row == "statement" else _STAGE_OF_ROW.get(row, 1 if each else 0)
        roots = frozenset[str]().union(*(up.roots for up in parents)) or frozenset({step.row})
        aside = row == "evidence"
        same = len(each) == 1 and not step.lost and step.rows in (0, parents[0].step.rows)
        bars[step.name] = FlowBar(
            step, next(iter(roots)) if len(roots) == 1 else JOINED, max([stage, *(up.stage for up in parents)]), roots,
            lines, tuple(sorted(set(step.inputs) - above[step.name])), len(each) - len(lines), aside, aside or same,
        )  # fmt: skip
    return bars


def _columns(lane: dict[str, FlowBar]) -> dict[str, int]:
    """The column of each step of a lane.

    Sources with one reader share its column. The child with most rows stands below its parent, and any other child gets
    a column to the right.
    """
    column: dict[str, int] = {}
    taken = 0

    def reach(name: str) -> int:
        return 1 + max((reach(child) for child in lane if name in lane[child].lines), default=0)

    for name, bar in lane.items():
        parent = min((up for up in bar.lines if up in column), key=column.__getitem__, default=None)
        if parent is None:
            mate = next((m for m in column if any({m, name} <= set(b.lines) for b in lane.values())), None)
            taken += mate is None and bool(column)
            column[name] = taken if mate is None else column[mate]
            continue
        kids = [child for child in lane if parent in lane[child].lines]
        if name == max(kids, key=lambda child: (not lane[child].aside, lane[child].step.rows, reach(child))):
            column[name] = column[parent]
        else:
            taken += not bar.aside
            column[name] = taken
    return column
