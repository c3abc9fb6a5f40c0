"""The few words of SVG that the plots need."""
from xml.sax.saxutils import escape


def text(x: float, y: float, words: str, anchor: str = "start", more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {more}>{escape(words)}</text>'


def document(width: float, height: float, font_size: int, parts: list[str]) -> str:
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" font-family="sans-serif" font-size="{font_size}">',
        '<rect width="100%" height="100%" fill="white"/>', *parts, "</svg>", ""])
