"""The execution of a sweep: in this process, in several processes of this machine, or on a Ray cluster.

`unit` trains one chunk and makes its rows, `queue` determines the next chunk, and an executor takes chunks and returns
their outcomes. Only the driver (`bench.execution.run`) holds the folder of results and writes to it.
"""
