"""What is written on a picture."""

from bench.analysis.style import Sheet


def words(figure: Sheet) -> str:
    """Titles, labels, cells, legends and notes, in lines."""
    texts = [text.get_text() for ax in figure.axes for text in (ax.title, ax.xaxis.label, ax.yaxis.label, *ax.texts)]
    tables = [table for ax in figure.axes for table in ax.tables]
    cells = [cell.get_text().get_text() for table in tables for cell in table.get_celld().values()]
    legends = [text.get_text() for legend in figure.legends for text in legend.get_texts()]
    return "\n".join([*texts, *cells, *legends, *(text.get_text() for text in figure.texts), figure.notes])


def text_of(figure: Sheet) -> str:
    """The same in one line."""
    return " ".join(words(figure).split())
