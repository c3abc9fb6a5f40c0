"""Bars as SVG: a group for each case with a scale of its own, a bar for each contender, a line from the worst to the best sample."""
from . import svg
from .figures import Figures, Spread

BAR, GAP, LEFT, WIDTH, RIGHT = 13, 26, 130, 420, 70
BOLD = 'font-weight="bold"'
COLOURS = {"ping-pong": "#b8b8b8", "model": "#7f9db9", "iser-verbs": "#5e3c99", "iser": "#1b7837", "iscsi": "#d98b19", "tgtd": "#b2182b"}


def _colour(contender: str) -> str:
    return next((c for start, c in COLOURS.items() if contender.startswith(start)), "#555555")


def _number(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def _bar(y: float, name: str, value: Spread, unit: float, scale: float) -> list[str]:
    end, low, high = (LEFT + v * scale for v in value)
    middle = y + BAR / 2
    return [
        svg.text(LEFT - 6, y + BAR - 3, name, "end"),
        f'<rect x="{LEFT}" y="{y:.1f}" width="{end - LEFT:.1f}" height="{BAR - 2}" fill="{_colour(name)}"/>',
        f'<line x1="{low:.1f}" x2="{high:.1f}" y1="{middle:.1f}" y2="{middle:.1f}" stroke="black"/>',
        svg.text(max(end, high) + 4, y + BAR - 3, _number(value.median / unit)),
    ]


def bars(title: str, figures: Figures, cases: list[str], metric: str, unit: float) -> str:
    parts, y = [svg.text(10, 20, title, more=BOLD)], 34.0
    for case in cases:
        values = {c: figures.of(case, c, metric) for c in figures.contenders([case])}
        scale = WIDTH / max(v.high for v in values.values())
        parts.append(svg.text(LEFT, y + 10, case, more=BOLD))
        y += 16
        for name, value in values.items():
            parts += _bar(y, name, value, unit, scale)
            y += BAR
        y += GAP - 16
    return svg.document(LEFT + WIDTH + RIGHT, y, 11, parts)
