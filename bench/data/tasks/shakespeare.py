"""The next character of a speech, by role: a user is a role of a play with 2,000 characters or more.

The speeches of a role are split anew in every trial, and examples are drawn from each part: a character, and those
before it in the same speech. A long role has thousands of characters, of which a few hundred are drawn.

Source: the task is that of LEAF (Caldas et al. 2018), on another edition of the plays.
"""

from functools import cache
from typing import Any

import numpy as np

from bench.data.dataset import LocalCopy
from bench.data.fetch import retrieval
from bench.data.files import DataFiles
from bench.data.partition import three_splits
from bench.data.read import plays
from bench.data.task import Task
from bench.data.tasks.by_network import network_task
from bench.errors import check_name
from bench.models.user_networks import CharacterLSTM, NextCharacter

ALPHABET = " \n!',-.:;?ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
BEFORE, OTHER = 0, 1  # the numbers of a place before the speech, and of a character outside the alphabet
NUM_CHARACTERS = len(ALPHABET) + 2
FEWEST, FEWEST_SPEECHES = 2000, 5  # characters and speeches of a role
ROOM = {"train": 400, "validation": 50, "test": 100}  # most examples of a role
# With the characters of context.
MODELS = {"window": (NextCharacter(NUM_CHARACTERS), 10), "lstm": (CharacterLSTM(NUM_CHARACTERS), 80)}
SEED = 0x5A  # of the network's initial parameters, the same in all trials


def shakespeare(trial: int, *, model: str = "window") -> Task:
    """Return the next character by role.

    Args:
        trial: the number of the split of the speeches, and of the draw of the examples.
        model: "window", an embedding of the last ten characters with a hidden layer; "lstm", two recurrent layers over
            the last eighty.
    """
    check_name("model", model, MODELS)
    roles, copy = _roles(DataFiles())
    origin = {"name": f"shakespeare_{model}", "source": f"Shakespeare ({copy.source})", "checksum": copy.checksum}
    return role_task(trial, roles, model=model, **origin)


@cache
def _roles(data_files: DataFiles) -> tuple[list[list[np.ndarray]], LocalCopy]:
    copy = retrieval.get("shakespeare", data_files)
    spoken = plays.speeches(copy)
    roles = [
        [numbered(speech) for speech in speeches]
        for speeches in spoken.values()
        if sum(map(len, speeches)) >= FEWEST and len(speeches) >= FEWEST_SPEECHES
    ]
    return roles, copy


def numbered(speech: str) -> np.ndarray:
    """Return the numbers of the characters, uint8 [character]."""
    number_of = {character: number for number, character in enumerate(ALPHABET, start=OTHER + 1)}
    return np.array([number_of.get(character, OTHER) for character in speech], np.uint8)


def role_task(trial: int, roles: list[list[np.ndarray]], *, model: str, **origin: Any) -> Task:
    """Return the task of roles, each a list of its speeches.

    Args:
        trial, model: as for `shakespeare`.
        roles: `numbered` speeches of each.
        origin: name, source and checksum.
    """
    module, context = MODELS[model]
    rng = np.random.default_rng([trial, 0x5A])
    examples: dict[str, list] = {split: [] for split in ROOM}
    for speeches in roles:
        for split, chosen in three_splits(np.arange(len(speeches)), rng).items():
            examples[split].append(draw_examples([speeches[number] for number in chosen], ROOM[split], context, rng))
    return network_task(examples, module=module, head=("head",), seed=SEED, room=ROOM, **origin)


def draw_examples(
    speeches: list[np.ndarray], most: int, context: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return the characters before some places, uint8 [example, context], and those at the places, [example].

    Places are drawn without replacement; a place before the speech counts as the character BEFORE.
    """
    padded = [np.concatenate([np.full(context, BEFORE, np.uint8), speech]) for speech in speeches]
    text = np.concatenate(padded)
    is_spoken = np.concatenate([np.arange(len(speech)) >= context for speech in padded])
    places = rng.permutation(np.flatnonzero(is_spoken))[:most]
    return text[places[:, None] + np.arange(-context, 0)[None]], text[places].astype(np.int32)
