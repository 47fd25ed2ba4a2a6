import { readFile } from 'node:fs/promises';
import { ConfigError, type SettingValues } from '../config/index.ts';
import { ArchiveRule } from '../core/blob/archive-rule.ts';
import { messageOf } from '../core/blob/errors.ts';
import type { VersionHash } from '../core/blob/ids.ts';
import { namesIn } from '../core/blob/name-list.ts';

/** The rule that the settings state. @throws ConfigError */
export async function openRule(
  settings: Pick<SettingValues, 'archiveMaxBlobBytes' | 'archiveAllowFile'>,
): Promise<ArchiveRule> {
  const { archiveMaxBlobBytes: maxBlobBytes, archiveAllowFile: file } = settings;
  return new ArchiveRule({ maxBlobBytes, allowed: file === null ? null : await allowedIn(file, maxBlobBytes) });
}

async function allowedIn(file: string, maxBlobBytes: number | null): Promise<ReadonlySet<VersionHash>> {
  const allowed = new Set((await namesOf(file)).map(({ versionHash }) => versionHash));
  // An empty list beside no limit would archive nothing at all: an archive that does so is taken for a mistake.
  if (allowed.size > 0 || maxBlobBytes !== null) return allowed;
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
export function learnsSenders({ senders }: Pick<SettingValues, 'senders'>): boolean {
  return senders === 'learn';
}
