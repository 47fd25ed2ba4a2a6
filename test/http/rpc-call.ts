import type { injectable } from './harness.ts';

type Inject = ReturnType<typeof injectable>['inject'];

export interface RpcReply {
  readonly status: number;
  readonly result: unknown;
  readonly error: { readonly code: number; readonly message: string } | null;
  readonly id: unknown;
}

/** One call to the façade. */
export async function rpc(inject: Inject, method: string, ...params: unknown[]): Promise<RpcReply> {
  const payload = JSON.stringify({ jsonrpc: '1.0', id: 't', method, params });
  const answer = await inject({ method: 'POST', url: '/', payload, headers: { 'content-type': 'text/plain' } });
  return { status: answer.statusCode, ...answer.json() };
}
