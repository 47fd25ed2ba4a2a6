import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { z } from 'zod';
import { type Answer, bodyOf, IMMUTABLE } from './answer.ts';
import { isAlreadyThere } from './entity-tag.ts';
import { NOTHING } from './parameters.ts';
import { problemAnswer } from './problem.ts';
import { defineRoute, type Route, type RouteRequest } from './route.ts';

/** The files of the page by name; `index.html` names the others, and each of their names changes with its bytes. */
export type PageFiles = ReadonlyMap<string, Uint8Array>;

/** The source of the page. */
export interface PageSource {
  /** null: it could not be had, and the operator was told why. Rejects never. */
  files(): Promise<PageFiles | null>;
}

/** Nothing but its own files and answers of its own server, and no markup out of data: nothing else runs or loads. */
export const PAGE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

const PAGE_HEADERS = {
  'content-security-policy': PAGE_POLICY,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
  'x-frame-options': 'DENY',
  vary: 'accept-encoding',
} as const;

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
};
const INDEX = 'index.html';
const NOT_CHANGED = { status: 304, mediaType: null, schema: null } as const;
const FILE = z.object({ file: z.string().meta({ pattern: '^[a-z]+-[0-9A-Z]{8}\\.(js|css)$' }) });

/** The page for people, and the files that it is made of. No token is needed to load it: it asks for one. */
export function pageRoutes(source: PageSource): Route[] {
  const packed = new PackedPage(source);
  return [
    defineRoute({
      path: '/',
      access: 'public',
      says: 'The page for people: the window as a picture, look-up and verification in the browser.',
      answers: [
        { mediaType: 'text/html', schema: null },
        { status: 503, mediaType: 'text/html', schema: null },
        NOT_CHANGED,
      ],
      problems: [],
      parameters: NOTHING,
      query: NOTHING,
      answer: async (request) => (await packed.answer(INDEX, 'no-cache', request)) ?? NO_PAGE,
    }),
    defineRoute({
      path: '/page/:file',
      access: 'public',
      says: 'A file of the page; its name changes with its bytes.',
      answers: [{ mediaType: 'text/javascript', schema: null }, { mediaType: 'text/css', schema: null }, NOT_CHANGED],
      problems: ['http/no-such-route'],
      parameters: FILE,
      query: NOTHING,
      answer: async (request) =>
        (request.parameters.file === INDEX ? null : await packed.answer(request.parameters.file, IMMUTABLE, request)) ??
        problemAnswer('http/no-such-route', 'The page has no file of this name; load the page again.'),
    }),
  ];
}

interface PackedFile {
  readonly bytes: Uint8Array;
  readonly zipped: Uint8Array;
  readonly entityTag: string;
  readonly mediaType: string;
}

/** The files, packed once. */
class PackedPage {
  readonly #source: PageSource;
  readonly #packed = new Map<string, PackedFile>();

  constructor(source: PageSource) {
    this.#source = source;
  }

  /** null: there is no such file, or no page. */
  async answer(name: string, caching: string, { header }: Pick<RouteRequest, 'header'>): Promise<Answer | null> {
    const bytes = (await this.#source.files())?.get(name);
    if (bytes === undefined) return null;
    const file = this.#pack(name, bytes);
    const isZipped = /(^|,)\s*(gzip|\*)\s*(;\s*q=(?!0(\.0*)?\s*(,|$))[\d.]+\s*)?(,|$)/i.test(
      header('accept-encoding') ?? '',
    );
    // Another form of the same, and so with a tag of its own.
    const entityTag = `"${file.entityTag}${isZipped ? '-gzip' : ''}"`;
    const headers = { ...PAGE_HEADERS, etag: entityTag, 'cache-control': caching };
    if (isAlreadyThere(header('if-none-match'), entityTag)) return { status: 304, headers, body: null };
    return {
      status: 200,
      headers: { ...headers, 'content-type': file.mediaType, ...(isZipped ? { 'content-encoding': 'gzip' } : {}) },
      body: bodyOf(isZipped ? file.zipped : file.bytes),
    };
  }

  #pack(name: string, bytes: Uint8Array): PackedFile {
    const known = this.#packed.get(name);
    if (known?.bytes === bytes) return known;
    const packed = {
      bytes,
      zipped: gzipSync(bytes, { level: 9 }),
      entityTag: createHash('sha256').update(bytes).digest('hex').slice(0, 32),
      mediaType: MEDIA_TYPES[name.split('.').at(-1) ?? ''] ?? 'application/octet-stream',
    };
    this.#packed.set(name, packed);
    return packed;
  }
}

const NO_PAGE: Answer = {
  status: 503,
  headers: {
    ...PAGE_HEADERS,
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
    'retry-after': '60',
  },
  body: bodyOf(
    Buffer.from(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Holdfast</title></head><body>
<h1>Holdfast</h1>
<p>The archive runs; its page could not be built here. The log says why. From a clone, <code>npm run build</code> makes it.</p>
<p>How the archive does: <a href="/v1/status">/v1/status</a>. What it answers: <a href="/openapi.json">/openapi.json</a>.</p>
</body></html>
`),
  ),
};
