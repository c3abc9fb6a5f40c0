"""A plot of lines over a logarithmic axis of sessions, as SVG."""
from harness import svg

WIDTH, HEIGHT = 760, 400
LEFT, RIGHT, TOP, BOTTOM = 70, 190, 40, 50
COLOURS = ["#1b6ca8", "#c8553d", "#588157", "#8d5a97", "#b58900", "#4c566a"]


def _step(most: float) -> float:
    """A round distance of grid lines: four to ten of them."""
    step = 1e-3
    while True:
        for factor in (1, 2, 5):
            if most / (step * factor) <= 10:
                return step * factor
        step *= 10


def lines(title: str, y_label: str, xs: list[int], series: dict[str, list[float]]) -> str:
    most = max(max(values) for values in series.values()) * 1.08
    width, height = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
    x_of = {x: LEFT + width * i / (len(xs) - 1) for i, x in enumerate(xs)}

    def y_of(value: float) -> float:
        return TOP + height * (1 - value / most)

    out = [svg.text(LEFT, 22, title, more='font-size="15"')]
    step = _step(most)
    for i in range(int(most / step) + 1):
        y = y_of(i * step)
        out += [f'<line x1="{LEFT}" x2="{LEFT + width}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>', svg.text(LEFT - 8, y + 4, f"{i * step:g}", "end")]
    out += [svg.text(x_of[x], TOP + height + 20, str(x), "middle") for x in xs]
    out += [svg.text(LEFT + width / 2, HEIGHT - 10, "sessions", "middle"), svg.text(18, TOP + height / 2, y_label, "middle", f'transform="rotate(-90 18 {TOP + height / 2})"')]
    for number, (name, values) in enumerate(series.items()):
        colour = COLOURS[number % len(COLOURS)]
        points = [(x_of[x], y_of(value)) for x, value in zip(xs, values)]
        out.append(f'<polyline fill="none" stroke="{colour}" stroke-width="2" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in points)}"/>')
        out += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}"/>' for x, y in points]
        y = TOP + 16 + 22 * number
        out += [f'<rect x="{LEFT + width + 18}" y="{y - 9}" width="14" height="4" fill="{colour}"/>', svg.text(LEFT + width + 40, y - 2, name, "start")]
    return svg.document(WIDTH, HEIGHT, 12, out)
