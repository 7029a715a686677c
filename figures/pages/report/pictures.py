"""Checks pictures, measures them, and makes them small enough to be embedded in a page."""

import io
from pathlib import Path

from PIL import Image

COLORS = 128  # more than a figure has, apart from the shades at the edges of letters


def is_whole(path: Path) -> bool:
    """Return whether a file is a picture that can be read to its end."""
    try:
        with Image.open(path) as picture:
            picture.load()
    except Exception:  # damaged files raise exceptions of several types
        return False
    return True


def size(png: bytes) -> tuple[int, int]:
    """Width and height of a picture in pixels."""
    with Image.open(io.BytesIO(png)) as picture:
        return picture.size


def small(png: bytes) -> tuple[bytes, int, int]:
    """Return the same picture as a PNG file with a palette, or as it was where that is smaller; width and height in
    pixels."""
    with Image.open(io.BytesIO(png)) as picture:
        plain = Image.new("RGB", picture.size, "white")
        plain.paste(picture, mask=picture.getchannel("A") if picture.mode == "RGBA" else None)
    out = io.BytesIO()
    plain.quantize(COLORS, dither=Image.Dither.NONE).save(out, "PNG", optimize=True)
    return min(out.getvalue(), png, key=len), *plain.size
