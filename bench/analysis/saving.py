"""Files of a picture and of the numbers behind it, which do not depend on the time."""

from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from bench.analysis.style import applied
from bench.analysis.tables import without_formulas
from bench.files import written_whole


def save_picture(figure: Figure, table: pd.DataFrame, folder: Path, name: str, alt: str = "") -> list[Path]:
    """Save PNG, PDF and the numbers behind them as CSV; the files do not depend on the time.

    alt: a description of the picture for readers who cannot see it; it is in the metadata of both pictures.
    """
    paths = [folder / f"{name}.{kind}" for kind in ("png", "pdf", "csv")]
    with applied(), written_whole(paths) as (png, pdf, csv):
        figure.savefig(png, bbox_inches="tight", metadata={"Software": None} | ({"Description": alt} if alt else {}))
        figure.savefig(pdf, bbox_inches="tight", metadata=_pdf_metadata(name, alt))
        without_formulas(table).to_csv(csv, index=False, float_format="%.6g")
    return paths


def save_printed(figure: Figure, folder: Path, name: str, alt: str) -> Path:
    """Save a picture drawn for print (`applied` with a width) as a PDF of exactly this width, and nothing else."""
    path = folder / f"{name}_{figure.get_figwidth():g}in.pdf"
    with applied(), written_whole([path]) as (pdf,):
        figure.savefig(pdf, metadata=_pdf_metadata(name, alt))
    return path


def _pdf_metadata(name: str, alt: str) -> dict[str, str | None]:
    words = {"Title": name, "Subject": alt} if alt else {}
    return dict.fromkeys(("CreationDate", "Producer", "Creator")) | words
