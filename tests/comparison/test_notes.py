"""Notes beside the table of a comparison: what its reader must know, that on the requested methods first."""

from types import SimpleNamespace

from bench.comparison.result import Comparison


def test_what_several_baselines_share_is_one_note_and_each_requested_method_has_its_own():
    notes = Comparison._together(SimpleNamespace(requested=["mine"]), "more: {}", ["a by 1", "mine by 2", "b by 3"])
    assert notes == ["more: mine by 2", "more: a by 1; b by 3"]
    assert Comparison._together(SimpleNamespace(requested=["mine"]), "more: {}", []) == []


def test_notes_on_requested_methods_come_first(twin):
    requested = twin.requested
    about = [any(label in note for label in requested) for note in twin.notes]
    assert about == sorted(about, reverse=True)
    assert any(about)
