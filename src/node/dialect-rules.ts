import { invalidArgument, NodeError } from './errors.ts';
import { DIALECTS, type Dialect, type Operation, type WireMethod, wireMethod } from './method-table.ts';

/** The release and dialect of a node. */
export interface NodeRelease {
  readonly dialect: Dialect;
  /** Version from `getnetworkinfo`: 50101 is 5.1.1. null when the caller stated the dialect. */
  readonly version: number | null;
}

/** The wire method that all dialects with this operation share; null when they differ. */
export function commonSpelling(operation: Operation): WireMethod | null {
  const [first, ...others] = DIALECTS.map((dialect) => wireMethod(operation, dialect)).filter((wire) => wire !== null);
  return first !== undefined && others.every((wire) => wire === first) ? first : null;
}

/** @throws NodeError `node/unsupported-operation` */
export function spellingIn(operation: Operation, release: NodeRelease): WireMethod {
  const wire = wireMethod(operation, release.dialect);
  if (wire === null) throw unsupportedOperation(operation, release);
  return wire;
}

export function unsupportedOperation(operation: Operation, release: NodeRelease): NodeError {
  const isAsset = wireMethod(operation, 'syscoin-4.2') !== null && wireMethod(operation, 'syscoin-5') === null;
  const rule = isAsset ? 'asset operations were removed in release 4.4' : 'blob operations came with release 4.4';
  return unsupported(`${operation} is not possible: ${rule}; ${described(release)}.`, { operation }, release);
}

/**
 * Parameters by position. A missing one in the middle becomes null; at the end it is left out.
 * @throws NodeError `node/unsupported-operation` for a value that this dialect does not take
 */
export function byPosition(
  operation: Operation,
  wire: WireMethod,
  named: Readonly<Record<string, unknown>>,
  release: NodeRelease | null,
): unknown[] {
  const names = wire.params.map(({ name }) => name);
  for (const [name, value] of Object.entries(named)) {
    if (value !== undefined && !names.includes(name)) {
      throw unsupported(
        `${operation} takes no ${name} here; ${described(release)}.`,
        { operation, parameter: name },
        release,
      );
    }
  }
  const missing = wire.params.find(({ name, ...param }) => !('optional' in param) && named[name] === undefined);
  if (missing !== undefined) throw invalidArgument(`${operation} needs ${missing.name}.`, missing.name, undefined);
  const values = names.map((name) => named[name] ?? null);
  while (values.at(-1) === null) values.pop();
  return values;
}

export function unsupported(message: string, details: object, release: NodeRelease | null): NodeError {
  return new NodeError('node/unsupported-operation', message, {
    details: { ...details, dialect: release?.dialect ?? null, version: release?.version ?? null },
    retryable: false,
    hint: 'Use a node of a release that has the operation. Holdfast sent nothing.',
  });
}

function described(release: NodeRelease | null): string {
  if (release === null) return 'no release has it';
  const { dialect, version } = release;
  return version === null ? `this client speaks ${dialect}` : `this node is ${versionText(version)} (${dialect})`;
}

/** Formats a version: 50101 as 5.1.1. */
export function versionText(version: number): string {
  return `${Math.floor(version / 10_000)}.${Math.floor(version / 100) % 100}.${version % 100}`;
}
