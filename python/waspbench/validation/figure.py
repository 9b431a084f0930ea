"""Small figures as SVG: points with their intervals about the line where measurement and expectation are equal."""

from __future__ import annotations

import math
from dataclasses import dataclass

SIZE, MARGIN = 320, 44
COLOURS = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#8c564b", "#ff7f0e")


@dataclass(frozen=True)
class Point:
    """A measurement against what was expected."""

    expected: float
    measured: float
    interval: tuple[float, float] | None = None
    series: str = ""


@dataclass(frozen=True)
class Figure:
    """Points over logarithmic axes of one scale, the line of equality, and the bar's limits."""

    points: tuple[Point, ...]
    label: str
    """What is measured, with its unit."""
    low: float
    high: float
    """Limits of measured / expected that the bar sets."""

    def svg(self) -> str:
        """The figure."""
        values = [value for point in self.points for value in (point.expected, point.measured)]
        least, most = min(values) / 1.3, max(values) * 1.3

        def at(value: float) -> float:
            return MARGIN + (SIZE - 2 * MARGIN) * math.log(min(max(value, least), most) / least) / math.log(
                most / least
            )

        def line(x1: float, y1: float, x2: float, y2: float, style: str) -> str:
            return f'<line x1="{x1:.1f}" y1="{SIZE - y1:.1f}" x2="{x2:.1f}" y2="{SIZE - y2:.1f}" {style}/>'

        lines = [
            line(at(least), at(least), at(most), at(most), 'stroke="#888"'),
            *(
                line(at(least), at(least * r), at(most), at(most * r), 'stroke="#bbb" stroke-dasharray="3"')
                for r in (self.low, self.high)
            ),
        ]
        for tick in _ticks(least, most):
            lines += [
                line(at(tick), MARGIN - 4, at(tick), MARGIN, 'stroke="#444"'),
                line(MARGIN - 4, at(tick), MARGIN, at(tick), 'stroke="#444"'),
                f'<text x="{at(tick):.1f}" y="{SIZE - MARGIN + 16}" text-anchor="middle">{tick:g}</text>',
                f'<text x="{MARGIN - 7}" y="{SIZE - at(tick) + 4:.1f}" text-anchor="end">{tick:g}</text>',
            ]
        series = sorted({point.series for point in self.points})
        for point in self.points:
            colour = COLOURS[series.index(point.series) % len(COLOURS)]
            x, y = at(point.expected), SIZE - at(point.measured)
            if point.interval is not None:
                lines.append(line(x, at(point.interval[0]), x, at(point.interval[1]), f'stroke="{colour}"'))
            lines.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>')
        for index, name in enumerate(series if len(series) > 1 else ()):
            colour = COLOURS[index % len(COLOURS)]
            lines.append(f'<text x="{MARGIN + 8}" y="{MARGIN + 6 + 13 * index}" fill="{colour}">{name}</text>')
        frame = SIZE - 2 * MARGIN
        lines += [
            f'<rect x="{MARGIN}" y="{MARGIN}" width="{frame}" height="{frame}" fill="none" stroke="#444"/>',
            f'<text x="{SIZE / 2}" y="{SIZE - 8}" text-anchor="middle">expected {self.label}</text>',
            f'<text x="12" y="{SIZE / 2}" text-anchor="middle" transform="rotate(-90 12 {SIZE / 2})">measured</text>',
        ]
        head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{SIZE}" height="{SIZE}" font-family="sans-serif"'
        return "\n".join(
            [f'{head} font-size="10">', '<rect width="100%" height="100%" fill="#fff"/>', *lines, "</svg>\n"]
        )


def _ticks(least: float, most: float) -> list[float]:
    """Powers of ten between, with twice and five times them where there are few."""
    decades = range(math.floor(math.log10(least)), math.ceil(math.log10(most)) + 1)
    few = math.log10(most / least) < 2.5
    ticks = [factor * 10.0**decade for decade in decades for factor in ((1, 2, 5) if few else (1,))]
    return [tick for tick in ticks if least <= tick <= most]
