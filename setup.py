"""What the wheel has beside the packages: the rows of the board, which are kept in results/board and nowhere else."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.errors import SetupError

BOARD = Path("results/board")
INSTALLED = Path("bench/comparison/rows_of_board")  # that of bench/comparison/board.py
NEEDED = (  # by `compare --against board`; MANIFEST.in has the same
    "*/protocol.json",
    "*/test/part-*.parquet",
    "*/tuning*/part-*.parquet",
    "*/entries/*/protocol.json",
    "*/entries/*/*/part-*.parquet",
)


class WithBoard(build_py):
    """Copies the rows of the board into the package; an editable install reads those of its checkout."""

    def run(self):
        super().run()
        if self.editable_mode:
            return
        rows = [path for pattern in NEEDED for path in sorted(BOARD.glob(pattern))]
        if not rows:
            raise SetupError(f"{BOARD} has no rows of the board: build the wheel in a whole checkout")
        shutil.rmtree(Path(self.build_lib, INSTALLED), ignore_errors=True)  # those of an earlier build
        for path in rows:
            target = Path(self.build_lib, INSTALLED, path.relative_to(BOARD))
            self.mkpath(str(target.parent))
            self.copy_file(str(path), str(target))


setup(cmdclass={"build_py": WithBoard})
