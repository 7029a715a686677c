"""Where the work of a sweep runs: in this process, in several of this machine, on a Ray cluster, or in Slurm jobs.

`unit` trains one chunk and makes its rows, `queue` says which chunk is next, an executor takes chunks and gives back
their outcomes. The driver (`bench.sweeps.run`) alone holds the folder of results and writes it.
"""
