"""A user's own tables of clients: CSV and Parquet, files and folders, and every way in which they do not fit."""

from collections import namedtuple

import jax.numpy as jnp
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bench.comparison.problems import own_clients, problem
from bench.data.tasks.by_user import BY_USER
from bench.data.tasks.clients_file import clients_file, read_clients
from bench.errors import InputError
from bench.models.additive import Additive

RNG = np.random.default_rng(0)
TABLE = pd.DataFrame(
    {
        "x": np.arange(45.0),
        "client": np.repeat(["NA", "007", "b"], [5, 10, 30]),
        "y": RNG.integers(0, 9, 45),
        "label": np.arange(45) % 3,
    }
)
NUMBERS = TABLE.assign(label=0.5 * TABLE["x"] - 1.25)


def same(one, other):
    for mine, yours in ((one.train, other.train), *((one.evaluation[p], other.evaluation[p]) for p in one.evaluation)):
        for a, b in zip(mine, yours, strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.fixture
def csv(tmp_path):
    TABLE.to_csv(tmp_path / "mine.csv", index=False)
    return tmp_path / "mine.csv"


def test_a_csv_a_parquet_file_and_a_folder_of_both_are_the_same_as_an_npz(csv, tmp_path):
    TABLE.to_parquet(tmp_path / "mine.parquet", index=False)
    folder = tmp_path / "several"
    folder.mkdir()
    TABLE[:20].to_csv(folder / "1.csv", index=False)
    TABLE[20:][["label", "client", "y", "x"]].to_parquet(folder / "2.parquet", index=False)
    (folder / "_notes.csv").write_text("not a table")
    arrays = {"inputs": TABLE[["x", "y"]].to_numpy(), "targets": TABLE["label"].to_numpy()}
    np.savez(tmp_path / "mine.npz", **arrays, clients=TABLE["client"].to_numpy(str))
    task = clients_file(0, path=csv)
    for path in (tmp_path / "mine.parquet", folder):
        other = clients_file(0, path=path)
        same(task, other)
        assert other.checksum == task.checksum
    same(task, clients_file(0, path=tmp_path / "mine.npz"))
    assert task.num_clients == 3
    assert task.init_params.shape == (3, 2)


def test_columns_may_have_other_names_and_classes_be_words(csv, tmp_path):
    words = TABLE.assign(label=np.array(["cat", "dog", "emu"])[TABLE["label"]])
    words.rename(columns={"client": "who", "label": "what"}).to_csv(tmp_path / "words.csv", index=False)
    same(clients_file(0, path=csv), clients_file(0, path=tmp_path / "words.csv", client="who", label="what"))
    moved = TABLE.assign(label=10 - 5.0 * TABLE["label"])
    moved.to_csv(tmp_path / "moved.csv", index=False)  # 10.0, 5.0, 0.0 are classes, too
    np.testing.assert_array_equal(read_clients(tmp_path / "moved.csv").targets, 2 - read_clients(csv).targets)


def test_regression_measures_squared_errors_of_all_and_by_user(tmp_path):
    NUMBERS.to_csv(tmp_path / "numbers.csv", index=False)
    task = clients_file(0, path=tmp_path / "numbers.csv", regression=True)
    w, theta = jnp.array([[0.4, 0.1]]), 0.01 * jnp.arange(6.0).reshape(3, 1, 2)
    measured = task.metrics(Additive(w, theta), task)
    for part in ("test", "validation"):
        inputs, labels, sizes = (np.asarray(leaf) for leaf in task.evaluation[part])
        errors = [(inputs[i, : sizes[i]] @ np.asarray(w + theta[i])[0] - labels[i, : sizes[i]]) ** 2 for i in range(3)]
        assert measured[f"{part}_squared_error"] == pytest.approx(np.mean(np.concatenate(errors)), rel=1e-5)
        if part == "test":
            own = [np.mean(of_user) for of_user in errors]
            assert measured["test_squared_error_per_user"] == pytest.approx(np.mean(own), rel=1e-5)
            assert measured["test_squared_error_worst_tenth"] == pytest.approx(max(own), rel=1e-5)
    exact = np.asarray(task.train[0]) @ [0.5, 0.0] - 1.25
    real = np.arange(exact.shape[1]) < np.asarray(task.num_examples)[:, None]
    np.testing.assert_allclose(np.where(real, task.train[1][..., 0], 0), np.where(real, exact, 0), rtol=1e-6)


WRONG = [  # the table, options, what is said
    (TABLE.drop(columns="client"), {}, "has no column 'client': it has x, y, label"),
    (TABLE, {"client": "label"}, "'label' is given as both client and label"),
    (TABLE[:0], {}, "has no rows"),
    (TABLE.assign(y=["3", *["four"] * 44]), {}, "'y' has 'four' in row 2: give numbers"),
    (TABLE.assign(client=TABLE["client"].where(TABLE.index != 8)), {}, "'client' is empty in row 9"),
    (TABLE.assign(y=np.where(TABLE.index == 1, np.inf, 1.0)), {}, "'y' is infinite in row 2"),
    (TABLE.assign(client="me"), {}, "all examples are of client 'me': give at least two clients"),
    (TABLE[1:], {}, "client 'NA' has 4 examples: five at least; FILE:drop_small=True leaves out"),
    (TABLE.rename(columns={"y": ""}), {}, "a column without a name, as pandas writes the numbers of rows"),
    (TABLE.assign(y="1,500"), {}, "'y' has '1,500' in row 1: write decimal points and no commas"),
    (NUMBERS, {}, "'label' has numbers that are not whole: give classes, or choose regression"),
]


def test_what_spreadsheets_and_databases_write_is_read(csv, tmp_path):
    """Semicolons, spaces in the header, decimals, and numbers as text."""
    task = clients_file(0, path=csv)
    text = csv.read_text()
    (tmp_path / "semicolons.csv").write_text(text.replace(",", ";"))
    (tmp_path / "spaces.csv").write_text(text.replace(",", ", ", 3))
    exact = pa.Table.from_pandas(TABLE, preserve_index=False)
    exact = exact.set_column(2, "y", exact["y"].cast(pa.decimal128(30, 3)))
    pq.write_table(exact, tmp_path / "decimals.parquet")
    TABLE.astype({"y": str}).to_parquet(tmp_path / "text.parquet", index=False)
    for name in ("semicolons.csv", "spaces.csv", "decimals.parquet", "text.parquet"):
        same(task, clients_file(0, path=tmp_path / name))
    (tmp_path / "long.csv").write_text(text.replace(".0,", "0" * 25 + ","))
    inputs = read_clients(tmp_path / "long.csv").inputs
    np.testing.assert_array_equal(inputs[:, 0], (1e25 * np.arange(45)).astype(np.float32))


def test_a_name_of_two_columns_of_a_parquet_file_is_refused(tmp_path):
    table = pa.Table.from_pandas(TABLE, preserve_index=False)
    pq.write_table(table.append_column("client", table["client"]), tmp_path / "a.parquet")
    with pytest.raises(InputError, match="has several columns 'client': give each a name of its own"):
        clients_file(0, path=tmp_path / "a.parquet")


def test_a_class_called_na_is_not_taken_for_a_missing_one(tmp_path):
    TABLE.assign(label=np.where(TABLE["label"] == 1, "NA", "b")).to_csv(tmp_path / "a.csv", index=False)
    with pytest.raises(InputError, match="'label' is 'NA' in row 2, as some programs write what is missing"):
        clients_file(0, path=tmp_path / "a.csv")


def test_small_clients_are_left_out_where_that_is_asked_for(tmp_path, caplog):
    TABLE[1:].to_csv(tmp_path / "a.csv", index=False)
    TABLE[5:].to_csv(tmp_path / "b.csv", index=False)
    on = own_clients(tmp_path / "a.csv", drop_small=True)
    same(on.test(0), clients_file(0, path=tmp_path / "b.csv"))
    assert "a.csv: features x, y; 2 clients with 10 to 30 examples each" in caplog.text
    assert on.defaults == {"batch_size": 7, "num_sampled": 2}  # 2 of 10 for the test, and 1 of 8 for tuning
    assert min(on.test(0).num_examples) == 7


def test_repeated_examples_are_counted(tmp_path, caplog):
    pd.concat([TABLE, TABLE[:3].assign(client="b")]).to_csv(tmp_path / "a.csv", index=False)
    own_clients(tmp_path / "a.csv")
    assert "3 examples are repetitions of others" in caplog.text


def test_one_large_client_costs_no_memory_that_its_examples_do_not_need(tmp_path, monkeypatch):
    """Inner products of 20,000 examples of three features would take 1.6 GB for every client."""
    large = pd.DataFrame({"client": ["a"] * 20_000 + ["b"] * 5, "x": 1.0, "y": 2.0, "label": np.arange(20_005) % 2})
    large.to_csv(tmp_path / "a.csv", index=False)
    assert clients_file(0, path=tmp_path / "a.csv").gram is None
    assert clients_file(0, path=tmp_path / "a.csv").train[0].nbytes < 1e6
    memory = namedtuple("memory", "total")(1e6)
    monkeypatch.setattr("psutil.virtual_memory", lambda: memory)
    with pytest.raises(InputError, match=r"client 'a' has 20,000 of 20,005 examples, and .* 0\.00064 GB of 0\.001 GB"):
        clients_file(0, path=tmp_path / "a.csv")


@pytest.mark.parametrize(("table", "options", "words"), WRONG)
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_table_that_does_not_fit_is_refused_in_one_line(tmp_path, table, options, words, ending):
    path = tmp_path / f"wrong.{ending}"
    table.to_csv(path, index=False) if ending == "csv" else table.to_parquet(path, index=False)
    with pytest.raises(InputError, match=words) as error:
        clients_file(0, path=path, **options)
    assert "\n" not in str(error.value)
    assert "wrong" in str(error.value) or "both" in words


def test_files_of_a_folder_have_the_same_columns(tmp_path):
    TABLE.to_csv(tmp_path / "1.csv", index=False)
    TABLE.assign(z=1).to_csv(tmp_path / "2.csv", index=False)
    with pytest.raises(InputError, match=r"2.csv has other columns than .*1.csv"):
        clients_file(0, path=tmp_path)


def test_a_table_is_a_problem_of_users(csv, tmp_path):
    on = problem(str(csv))
    assert (on.name, on.metric, on.privacy_unit, on.also) == ("mine.csv", "test_accuracy", "user", BY_USER)
    assert on.test_tasks()(0).num_clients == 3
    assert problem(str(tmp_path)).test(0).checksum == on.test(0).checksum
    NUMBERS.to_csv(tmp_path / "numbers.csv", index=False)
    numbers = own_clients(tmp_path / "numbers.csv", regression=True)
    assert (numbers.metric, numbers.tuned_by, numbers.best) == ("test_squared_error", "validation_squared_error", "min")
    with pytest.raises(InputError, match=r"mine.npz has no columns"):
        own_clients(tmp_path / "mine.npz", client="who")
    with pytest.raises(InputError, match=r"nosuch"):
        problem("nosuch")
