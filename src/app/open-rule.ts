import { readFile } from 'node:fs/promises';
import { ConfigError, type SettingValues, sendersIn } from '../config/index.ts';
import { ArchiveRule } from '../core/blob/archive-rule.ts';
import { messageOf } from '../core/blob/errors.ts';
import type { VersionHash } from '../core/blob/ids.ts';
import { namesIn } from '../core/blob/name-list.ts';

/** The rule that the settings state. @throws ConfigError */
export async function openRule(
  settings: Pick<SettingValues, 'archiveMaxBlobBytes' | 'archiveAllowFile' | 'archiveSenders'>,
): Promise<ArchiveRule> {
  const { archiveMaxBlobBytes: maxBlobBytes, archiveAllowFile: file, archiveSenders } = settings;
  const senders = archiveSenders === null ? null : new Set(sendersIn(archiveSenders));
  const isAlone = maxBlobBytes === null && senders === null;
  return new ArchiveRule({ maxBlobBytes, allowed: file === null ? null : await allowedIn(file, isAlone), senders });
}

async function allowedIn(file: string, isAlone: boolean): Promise<ReadonlySet<VersionHash>> {
  const allowed = new Set((await namesOf(file)).map(({ versionHash }) => versionHash));
  // An empty list alone would archive nothing at all: an archive that does so is taken for a mistake.
  if (allowed.size > 0 || !isAlone) return allowed;
  throw invalid(
    `The file ${file} of HOLDFAST_ARCHIVE_ALLOW_FILE names no blob, so that nothing would be archived.`,
    null,
  );
}

async function namesOf(file: string) {
  try {
    return namesIn(await readFile(file, 'utf8'));
  } catch (cause) {
    throw invalid(`The file ${file} of HOLDFAST_ARCHIVE_ALLOW_FILE cannot be read: ${messageOf(cause)}.`, cause);
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
