# vramfit in a container: docker run --rm -v "$PWD:/jobs" vramfit run --gpu "GTX 1650" -- python train.py
# The wheel is built in one stage as a release is; nothing of a compiler is in the image that is kept.
FROM debian:12-slim AS wheel
WORKDIR /source
COPY tools/set_up tools/compiler tools/packages tools/
RUN tools/set_up build && rm -rf /var/lib/apt/lists/*
COPY . .
RUN packaging/build_wheel /wheels

FROM python:3.12-slim-bookworm
COPY --from=wheel /wheels /wheels
RUN pip install --no-cache-dir /wheels/*.whl && rm -r /wheels
# The environment with torch that a job without its own is given: -v vramfit:/cache keeps it.
ENV VRAMFIT_CACHE=/cache
WORKDIR /jobs
ENTRYPOINT ["vramfit"]
CMD ["--help"]
