"""Notes beside the table of a comparison: what its reader must know, that on the requested methods first."""


def test_notes_on_requested_methods_come_first(twin):
    requested = twin.requested
    about = [any(label in note for label in requested) for note in twin.notes]
    assert about == sorted(about, reverse=True)
    assert any(about)
