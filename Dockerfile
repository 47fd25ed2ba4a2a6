# The one image that everything here stands on. To pin it by digest: --build-arg NODE_IMAGE=node:26.10.0-bookworm-slim@sha256:…
ARG NODE_IMAGE=node:26.10.0-bookworm-slim

# What the package ships: compiled JavaScript and migrations, exactly as `npm pack` lists them.
FROM ${NODE_IMAGE} AS package
WORKDIR /build
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts
COPY tsconfig.json LICENSE README.md ./
COPY config config
COPY migrations migrations
COPY src src
RUN npm pack --pack-destination /tmp \
  && mkdir /package \
  && tar -xzf /tmp/holdfast-*.tgz -C /package --strip-components=1 \
  && find /package/dist -name '*.d.ts' -delete \
  && chmod 0755 /package/dist/cli/main.js

# The allocator. That of glibc keeps what many answers at once have held, in pieces: after an attack 1.3 times the memory of before,
# and 1.06 with jemalloc (`npm run bench -- attack`).
FROM ${NODE_IMAGE} AS allocator
RUN apt-get update \
  && apt-get install -y --no-install-recommends libjemalloc2=5.3.0-* \
  && rm -rf /var/lib/apt/lists/* \
  && mkdir /allocator \
  && cp -p /usr/lib/*-linux-gnu/libjemalloc.so.2 /allocator/ \
  && cp -p /usr/share/doc/libjemalloc2/copyright /allocator/libjemalloc.copyright \
  && dpkg-query --show --showformat='${Package} ${Version} ${Architecture}' libjemalloc2 > /allocator.package

# What it needs to run, and the list of it (CycloneDX; `--omit=dev` there would leave out what development shares), the allocator
# included. Types, source maps and other systems' builds of SQLite are a third of it and never loaded.
FROM ${NODE_IMAGE} AS dependencies
WORKDIR /holdfast
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --ignore-scripts \
  && npm pkg delete devDependencies
COPY config/build-sbom.ts ./
COPY --from=allocator /allocator.package /allocator/libjemalloc.so.2 /tmp/
RUN npm sbom --sbom-format=cyclonedx > /tmp/sbom.made.json \
  && node build-sbom.ts /tmp/allocator.package /tmp/libjemalloc.so.2 < /tmp/sbom.made.json > sbom.cdx.json \
  && find node_modules -type f \( -name '*.map' -o -name '*.d.ts' -o -name '*.d.mts' -o -name '*.d.cts' \) -delete \
  && find node_modules/better-sqlite3/prebuilds -type f ! -name "linux-$(node -p process.arch).node" -delete \
  && rm -rf node_modules/better-sqlite3/deps node_modules/better-sqlite3/src node_modules/@types/node

FROM ${NODE_IMAGE}
# The archive is all that runs here: nothing to install with, no user but one, who can write the data folder alone.
RUN rm -rf /usr/local/lib/node_modules /usr/local/include /opt/yarn* \
    /usr/local/bin/npm /usr/local/bin/npx /usr/local/bin/corepack /usr/local/bin/yarn /usr/local/bin/yarnpkg \
  && install -d -o 10001 -g 10001 -m 0700 /data \
  && ln -s /app/dist/cli/main.js /usr/local/bin/holdfast
WORKDIR /app
COPY --from=dependencies /holdfast/node_modules node_modules
COPY --from=dependencies /holdfast/sbom.cdx.json .
COPY --from=package /package .
COPY --from=allocator /allocator /usr/local/lib/

# Bounds of the heap, as the launcher sets them, and the allocator, which gives back what was free for a second; a container is
# reached from outside; sorting spills beside the data.
ENV NODE_ENV=production \
    NODE_OPTIONS="--max-semi-space-size=8 --max-old-space-size=256" \
    LD_PRELOAD=/usr/local/lib/libjemalloc.so.2 \
    MALLOC_CONF="background_thread:true,dirty_decay_ms:1000,muzzy_decay_ms:0,narenas:4" \
    HOLDFAST_DATA_DIR=/data \
    HOLDFAST_HTTP_HOST=0.0.0.0 \
    SQLITE_TMPDIR=/data
USER 10001:10001
VOLUME ["/data"]
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=10s --start-period=60s --retries=3 CMD ["node", "/app/dist/cli/health.js"]
ENTRYPOINT ["holdfast"]
CMD ["run"]

# Nothing of the machine or the moment: give the commit and its date, and two builds of it say the same.
ARG VERSION=0.1.0
ARG REVISION=unknown
ARG CREATED=1970-01-01T00:00:00Z
LABEL org.opencontainers.image.title="holdfast" \
      org.opencontainers.image.description="Archives layer-1 data blobs before the node prunes them: verified, durable, retrievable by version hash." \
      org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.created="${CREATED}"
