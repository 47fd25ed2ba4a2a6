export { type AccessSettings, readAccess, rereadTokens } from './access.ts';
export { DEFAULT_HTTP_LIMITS, type HttpLimits, type HttpOptions } from './config.ts';
export { HttpError, type HttpErrorCode } from './errors.ts';
export { createLocalServer, type LocalServer } from './local-server.ts';
export { declareHttpMetrics, type HttpMetrics } from './metrics.ts';
export type { PageFiles, PageSource } from './page.ts';
export { PROBLEMS, type ProblemCode } from './problem-table.ts';
export type { ReaderView } from './reader-routes.ts';
export { type CloseOutcome, createHttpServer, createReaderServer, type HttpServer, type Listening } from './server.ts';
