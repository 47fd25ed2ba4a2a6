import { readFile } from 'node:fs/promises';
import { ConfigError, type SettingValues, sendersIn } from '../config/index.ts';
import { ArchiveRule } from '../core/blob/archive-rule.ts';
import { messageOf } from '../core/blob/errors.ts';
import type { VersionHash } from '../core/blob/ids.ts';
import { namesIn } from '../core/blob/name-list.ts';
import { backendSettings } from './open-backends.ts';

/** The rule that the settings state. @throws ConfigError */
export async function openRule(
  settings: Pick<SettingValues, 'archiveMaxBlobBytes' | 'archiveAllowFile' | 'archiveSenders'>,
): Promise<ArchiveRule> {
  const { archiveMaxBlobBytes: maxBlobBytes, archiveAllowFile: file, archiveSenders } = settings;
  const senders = archiveSenders === null ? null : new Set(sendersIn(archiveSenders));
  const isAlone = maxBlobBytes === null && senders === null;
  const list = { file, of: 'HOLDFAST_ARCHIVE_ALLOW_FILE', leftOut: 'nothing would be archived' };
  return new ArchiveRule({ maxBlobBytes, allowed: await allowedIn(list, isAlone), senders });
}

/** Rules of the backends that do not take every blob, by their names. @throws ConfigError */
export async function openBackendRules(settings: SettingValues): Promise<ReadonlyMap<string, ArchiveRule>> {
  const rules = new Map<string, ArchiveRule>();
  for (const { id, maxBlobBytes, allowFile: file } of backendSettings(settings)) {
    if (maxBlobBytes === null && file === null) continue;
    const list = { file, of: `allowFile of the ${id} store`, leftOut: 'nothing would be replicated there' };
    const allowed = await allowedIn(list, maxBlobBytes === null);
    rules.set(id, new ArchiveRule({ maxBlobBytes, allowed }, 'replicated there'));
  }
  return rules;
}

interface AllowList {
  readonly file: string | null;
  /** The setting that names the file. */
  readonly of: string;
  /** The consequence of an empty list. */
  readonly leftOut: string;
}

async function allowedIn({ file, of, leftOut }: AllowList, isAlone: boolean): Promise<ReadonlySet<VersionHash> | null> {
  if (file === null) return null;
  const allowed = new Set((await namesOf(file, of)).map(({ versionHash }) => versionHash));
  // An empty list alone would let nothing in at all: that is taken for a mistake.
  if (allowed.size > 0 || !isAlone) return allowed;
  throw invalid(`The file ${file} of ${of} names no blob, so that ${leftOut}.`, null);
}

async function namesOf(file: string, of: string) {
  try {
    return namesIn(await readFile(file, 'utf8'));
  } catch (cause) {
    throw invalid(`The file ${file} of ${of} cannot be read: ${messageOf(cause)}.`, cause);
  }
}

function invalid(problem: string, cause: unknown): ConfigError {
  return new ConfigError('config/invalid', problem, {
    details: { problems: [problem] },
    retryable: false,
    hint: 'Give a readable file with one version hash a line, or leave the setting out.',
    cause,
  });
}

/** Whether the node is asked for the senders of blobs. */
export function learnsSenders({ senders, archiveSenders }: Pick<SettingValues, 'senders' | 'archiveSenders'>): boolean {
  return senders === 'learn' || archiveSenders !== null;
}
