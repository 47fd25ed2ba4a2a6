/**
 * Bounds of the JavaScript heap, for the starter of the daemon. A small young generation lets the memory of network
 * chunks go soon; the old one is several times what the archiver needs. Measured in the drain: 300 to 350 MiB resident
 * without, 220 to 260 with.
 */
export const NODE_FLAGS = ['--max-semi-space-size=8', '--max-old-space-size=256'];

/**
 * Variables of the C library, for the starter of the daemon: two arenas instead of eight a core. Each arena keeps what it
 * freed, and threads take turns in all of them. Measured under attack: 319 MiB resident at most without, 278 with.
 */
export const MALLOC_ENVIRONMENT = { MALLOC_ARENA_MAX: '2' };
