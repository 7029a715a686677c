"""A page as its elements, for tests of what is on it."""

from html.parser import HTMLParser

VOID = {"meta", "img", "link", "br", "input", "hr"}


class Page(HTMLParser):
    """Elements in order, each with its attributes and the text directly within; complains of what is not balanced."""

    def __init__(self, text):
        super().__init__()
        self.elements, self._open = [], []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag, attrs):
        assert len({name for name, _ in attrs}) == len(attrs), (tag, attrs)
        self.elements.append((tag, dict(attrs), []))
        if tag not in VOID:
            self._open.append((tag, self.elements[-1]))

    def handle_endtag(self, tag):
        assert self._open.pop()[0] == tag

    def handle_data(self, data):
        if self._open:
            self._open[-1][1][2].append(data)

    def all(self, tag):
        return [(attributes, "".join(text)) for name, attributes, text in self.elements if name == tag]
