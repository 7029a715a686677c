"""Files of a picture and of the numbers behind it, which do not depend on the time."""

from pathlib import Path

import pandas as pd

from bench.analysis.style import Sheet, applied
from bench.analysis.tables import without_formulas
from bench.files import written_whole


def save_picture(
    figure: Sheet, table: pd.DataFrame, folder: Path, name: str, alt: str = "", *, pdf: bool = False
) -> list[Path]:
    """Save a picture as PNG and the numbers behind it as CSV; the files do not depend on the time.

    Args:
        figure: the picture.
        table: the numbers behind it.
        folder: where the files go.
        name: their name, without the ending.
        alt: a description of the picture for readers who cannot see it; it is in the metadata of the pictures, followed
            by the figure's notes.
        pdf: whether to save a PDF as well, which takes as long again. An earlier PDF of this name is removed otherwise,
            since it may show other numbers.

    Returns:
        The paths of PNG, CSV and, where it is made, PDF.
    """
    paths = [folder / f"{name}.{kind}" for kind in ("png", "csv", *(("pdf",) if pdf else ()))]
    words = _described(figure, alt)
    with applied(), written_whole(paths) as (png, csv, *printed):
        figure.savefig(
            png, bbox_inches="tight", metadata={"Software": None} | ({"Description": words} if words else {})
        )
        for path in printed:
            figure.savefig(path, bbox_inches="tight", metadata=_pdf_metadata(name, words))
        without_formulas(table).to_csv(csv, index=False, float_format="%.6g")
    if not pdf:
        (folder / f"{name}.pdf").unlink(missing_ok=True)
    return paths


def save_printed(figure: Sheet, folder: Path, name: str, alt: str) -> Path:
    """Save a picture drawn for print (`applied` with a width) as a PDF of exactly this width, and nothing else."""
    path = folder / f"{name}_{figure.get_figwidth():g}in.pdf"
    with applied(), written_whole([path]) as (pdf,):
        figure.savefig(pdf, metadata=_pdf_metadata(name, _described(figure, alt)))
    return path


def _described(figure: Sheet, alt: str) -> str:
    return " ".join(filter(None, (alt, figure.notes)))


def _pdf_metadata(name: str, alt: str) -> dict[str, str | None]:
    words = {"Title": name, "Subject": alt} if alt else {}
    return dict.fromkeys(("CreationDate", "Producer", "Creator")) | words
