"""What is written on a picture."""

from matplotlib.figure import Figure


def words(figure: Figure) -> str:
    """Titles, labels, cells, legends and notes, in lines."""
    texts = [text.get_text() for ax in figure.axes for text in (ax.title, ax.xaxis.label, ax.yaxis.label, *ax.texts)]
    tables = [table for ax in figure.axes for table in ax.tables]
    cells = [cell.get_text().get_text() for table in tables for cell in table.get_celld().values()]
    legends = [text.get_text() for legend in figure.legends for text in legend.get_texts()]
    return "\n".join([*texts, *cells, *legends, *(text.get_text() for text in figure.texts)])


def text_of(figure: Figure) -> str:
    """The same in one line."""
    return " ".join(words(figure).split())
