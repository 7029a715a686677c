# The suite in a container: `docker build -t suite .` for the CPU, `docker build --target cuda -t suite-cuda .` for CUDA 13.
#
#   docker run --rm -v "$PWD":/work suite run ppsgd_synthetic             results in the folder where it is called
#   docker run --rm --gpus all -v "$PWD":/work suite-cuda run all --scale laptop
#
# Packages are those of the lock, checked by hash; the CUDA build of jax has the version of the lock, without hashes, and
# the image of Python is named by its tag, so that it has the latest fixes: name a digest to have the same bits. Give
# `--user "$(id -u):$(id -g)"` to own what is written.
FROM python:3.12-slim AS installed
COPY requirements.lock /tmp/
RUN pip install --no-cache-dir --require-hashes -r /tmp/requirements.lock
COPY . /tmp/suite
RUN pip install --no-cache-dir --no-deps /tmp/suite && rm -rf /tmp/suite /tmp/requirements.lock
ENV BENCH_CACHE=/tmp/bench-cache
WORKDIR /work
ENTRYPOINT ["private-federated-bench"]
CMD ["--help"]

FROM installed AS cuda
RUN pip install --no-cache-dir "jax[cuda13]==$(python -c 'import jax; print(jax.__version__)')"

FROM installed AS cpu
