# The agent's image, as the chart runs it. `make image` builds it on a base that is made on the spot; with a registry, plain
# `docker build .` does. The last stage holds the two programs, the libraries that they load, and nothing else: no shell.
ARG BASE=docker.io/library/debian:bookworm-slim

FROM ${BASE} AS deps
WORKDIR /src
COPY scripts/deps.sh scripts/deps.sh
RUN scripts/deps.sh build

FROM deps AS build
COPY . .
# With a ccache mounted at /ccache, what was compiled before is not compiled again.
ARG JOBS=2
ENV CCACHE_DIR=/ccache CCACHE_NOHASHDIR=1 CCACHE_COMPILERCHECK=content CCACHE_BASEDIR=/src \
    CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
RUN mkdir -p /ccache && cmake --preset release --log-level=NOTICE && \
    cmake --build --preset release -j "${JOBS}" --target memqos-agent memqos-helper && \
    scripts/image-root build/release/agent/memqos-agent build/release/agent/memqos-helper /out && rm -rf build

FROM scratch
ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="memqos" \
      org.opencontainers.image.description="Gives every pod the memory service that its annotations ask for." \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
COPY --from=build /out /
ENV PATH=/usr/local/bin
USER 0:0
ENTRYPOINT ["/usr/local/bin/memqos-agent"]
CMD ["run"]
