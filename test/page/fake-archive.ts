import { bundlePage } from '../../src/app/bundle-page.ts';
import type { WindowState } from '../../src/core/blob/window-state.ts';
import { SYSTEM_CLOCK } from '../../src/core/time/clock.ts';
import type { PageSource } from '../../src/http/page.ts';
import type { ArchiveStatus } from '../../src/view/archive-view.ts';
import type { WindowBlock } from '../../src/view/window-view.ts';
import { FakeArchiveView, HEALTHY } from '../http/fake-archive-view.ts';
import { FakeChainView } from '../http/fake-chain-view.ts';
import { FakeWindowView, windowBlob, windowBlock } from '../http/fake-window-view.ts';
import { running, type TestOptions } from '../http/harness.ts';

let built: ReturnType<typeof bundlePage> | undefined;

/** The page, built from source once. */
export const PAGE: PageSource = {
  files: () => {
    built ??= bundlePage();
    return built;
  },
};

/** Starts a server with the page on a fake archive that the test describes. */
export async function fakeArchive(given: Partial<TestOptions> = {}) {
  const view = new FakeArchiveView();
  const window = new FakeWindowView();
  const chain = new FakeChainView();
  const limits = { eventHeartbeatMs: 1_000 };
  const server = await running(view, limits, chain, { window, page: PAGE, clock: SYSTEM_CLOCK, ...given });
  const tell = (facts: Partial<ArchiveStatus>) => {
    view.now = () => ({ ...HEALTHY, ...facts });
  };
  return { view, window, chain, tell, ...server };
}

/** Builds a window of the main network's size: `blocks` blocks with `perBlock` blobs each. */
export function fullWindow(
  blocks = 150,
  blobs = 20,
  stateOf: (block: number, blob: number) => WindowState = () => 'stored',
) {
  return Array.from({ length: blocks }, (_, block): WindowBlock => {
    const many = Math.round(blobs * (0.65 + 0.35 * Math.sin(block / 7)));
    const all = Array.from({ length: many }, (__, blob) => windowBlob(block * 64 + blob, stateOf(block, blob)));
    return windowBlock(12_000 + block, all, block < blocks - 2);
  });
}
