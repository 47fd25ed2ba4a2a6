import type { HttpOptions } from './config.ts';
import { TokenList } from './token-list.ts';

/** The operator's settings about clients, as the configuration spells it. */
export interface AccessSettings {
  /** A number of hops, or addresses and networks in a list. */
  readonly httpTrustProxy: string | null;
  readonly httpReadTokensFile: string | null;
  readonly httpAdminTokensFile: string | null;
  readonly httpRatePerSecond: number;
  readonly httpConcurrentPerClient: number;
}

/**
 * Reads the files of tokens again; what is returned lets in whom they name now, and gives the settings whose file changed.
 * @throws HttpError `http/bad-tokens-file`, and then everything stays as it was.
 */
export async function rereadTokens(access: Pick<HttpOptions, 'readTokens' | 'adminTokens'>): Promise<() => string[]> {
  const lists = [
    ['http.readTokensFile', access.readTokens ?? null],
    ['http.adminTokensFile', access.adminTokens ?? null],
  ] as const;
  const read = await Promise.all(
    lists.map(async ([name, list]) => [name, list === null ? null : await list.prepare()] as const),
  );
  return () => read.flatMap(([name, replace]) => (replace?.() === true ? [name] : []));
}

/** @throws HttpError `http/bad-tokens-file` */
export async function readAccess(
  settings: AccessSettings,
): Promise<Pick<HttpOptions, 'trustProxy' | 'readTokens' | 'adminTokens' | 'limits'>> {
  const { httpTrustProxy: proxies, httpReadTokensFile: read, httpAdminTokensFile: admin } = settings;
  return {
    trustProxy: proxies === null ? null : /^\d+$/.test(proxies) ? Number(proxies) : proxies.split(/[\s,]+/),
    readTokens: read === null ? null : await TokenList.read(read),
    adminTokens: admin === null ? null : await TokenList.read(admin),
    limits: { ratePerSecond: settings.httpRatePerSecond, concurrentPerClient: settings.httpConcurrentPerClient },
  };
}
