import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { holdfastHere } from '../e2e/holdfast-here.ts';
import { Scene, type SceneSetup } from '../scenario/archive-on-devnode.ts';

/** An archive that runs, with a blob in each of so many blocks: all final, stored, and with their records. */
export async function archived(blocks: number, setup: SceneSetup = {}, blobs = 1): Promise<Scene> {
  const scene = await Scene.create({ ...setup, time: 'real' });
  await scene.start();
  const mined = scene.mine(blocks, blobs);
  scene.mine(8);
  await settled(scene, mined.at(-1)?.height ?? 0);
  return scene;
}

/** Everything up to this height is final, stored, and has its records. */
export async function settled(scene: Scene, height: number): Promise<void> {
  await scene.caughtUp();
  await scene.finalUpTo(height);
  const stored = () => scene.archive.status().content.stored;
  await scene.until('records are written', () => recordsIn(scene.dataDir).length >= stored());
}

export function recordsIn(dataDir: string): string[] {
  const folder = join(dataDir, 'occurrences');
  try {
    return z
      .array(z.string())
      .parse(readdirSync(folder, { recursive: true }))
      .filter((name) => name.endsWith('.json'));
  } catch {
    return [];
  }
}

const reportLine = z.looseObject({ event: z.literal('report'), exitCode: z.number() });

/** The report of a command with `--json`, on its last line; null: it came to none. */
export function reportIn(stdout: string) {
  const last = stdout.trimEnd().split('\n').at(-1) ?? '';
  return last.startsWith('{"event":"report"') ? reportLine.parse(JSON.parse(last)) : null;
}

/** A command with `--json` on a data folder. */
export async function reported(dataDir: string, ...words: string[]) {
  const ended = await holdfastHere([...words, '--json', '--data-dir', dataDir]);
  return { ...ended, report: reportIn(ended.stdout) };
}
