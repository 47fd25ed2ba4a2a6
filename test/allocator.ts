import { existsSync, readFileSync } from 'node:fs';
import { MALLOC_ENVIRONMENT } from '../src/node-flags.mjs';

const DOCKERFILE = new URL('../Dockerfile', import.meta.url);
/** Debian's package libjemalloc2 puts the allocator of the image there. */
const LIBRARIES = ['x86_64', 'aarch64'].map((machine) => `/usr/lib/${machine}-linux-gnu/libjemalloc.so.2`);

/** Variables of the allocator as the image sets them, where the library is on this machine; else those of the launcher. */
export function allocatorEnvironment(): Readonly<Record<string, string>> {
  const library = LIBRARIES.find((path) => existsSync(path));
  if (library === undefined) {
    process.stderr.write(
      'no libjemalloc2 on this machine: memory is measured with the allocator of the C library, not with that of the image\n',
    );
    return MALLOC_ENVIRONMENT;
  }
  const [, configuration = ''] = /MALLOC_CONF="([^"]+)"/.exec(readFileSync(DOCKERFILE, 'utf8')) ?? [];
  return { LD_PRELOAD: library, MALLOC_CONF: configuration };
}
