"""
Parsing a corpus on a cluster
=============================

This script parses text files with one sentence per line into CoNLL-U files, on the workers of dask,
Ray or Spark. A worker loads the model once, and holds a thousand sentences at a time.

``python corpus.py MODEL FOLDER OUTPUT`` runs it with dask, in two processes on this machine. All
machines must have the package installed, and be able to read the model and both folders.
"""

import argparse
from pathlib import Path

from sklearn_shag import load_model
from sklearn_shag.treebank import iter_horizontal, write_conllu


class FileParser:
    """Parses files, in one thread; the engine shares out the cores."""

    def __init__(self, model, folder):
        self.parser = load_model(model).set_params(n_jobs=1)
        self.folder = Path(folder)

    def parse(self, source):
        """Parse a file, and give the name of the parse, which is there once it is complete."""
        target = self.folder / f"{Path(source).stem}.conllu"
        write_conllu(self.parser.iter_parse(iter_horizontal(source)), target)
        return str(target)


# %%
# Dask


def with_dask(model, sources, folder):
    """Parse files on the workers of the dask client that is open."""
    import dask.bag

    def parse_partition(sources):
        parser = FileParser(model, folder)
        return [parser.parse(source) for source in sources]

    bag = dask.bag.from_sequence(sources, partition_size=1)
    return bag.map_partitions(parse_partition).compute()


# %%
# Ray


class BatchParser(FileParser):
    """A class of which each worker of Ray makes one."""

    def __call__(self, batch):
        """Parse the files of a batch."""
        return {"target": [self.parse(source) for source in batch["source"]]}


def with_ray(model, sources, folder, n_workers=2):
    """Parse files on the workers of Ray, which starts on this machine if it does not run."""
    import ray.data

    dataset = ray.data.from_items([{"source": source} for source in sources])
    options = {"fn_constructor_args": (model, folder), "batch_size": 1, "concurrency": n_workers}
    return [row["target"] for row in dataset.map_batches(BatchParser, **options).take_all()]


# %%
# Spark


def with_spark(model, sources, folder, spark):
    """Parse files on the workers of a Spark session."""
    import pandas as pd

    def parse_partition(frames):
        parser = FileParser(model, folder)
        for frame in frames:
            yield pd.DataFrame({"target": [parser.parse(source) for source in frame["source"]]})

    frame = spark.createDataFrame([(source,) for source in sources], "source string")
    parsed = frame.repartition(len(sources)).mapInPandas(parse_partition, "target string")
    return [row.target for row in parsed.collect()]


# %%


def main():
    """Parse the files of a folder with dask."""
    from distributed import Client

    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("model", "folder", "output"):
        parser.add_argument(name, type=Path)
    arguments = parser.parse_args()
    sources = sorted(map(str, arguments.folder.glob("*.txt*")))
    with Client(n_workers=2, threads_per_worker=1):
        for target in with_dask(str(arguments.model), sources, str(arguments.output)):
            print(target)


if __name__ == "__main__":
    main()

# sphinx_gallery_thumbnail_path = "../examples/at_scale/cluster.svg"
