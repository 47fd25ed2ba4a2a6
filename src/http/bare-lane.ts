import { randomUUID } from 'node:crypto';
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { VerifiedBlob } from '../verify/verified-blob.ts';
import type { AnswerBudget } from './answer-budget.ts';
import { bareHead, bareRequestIn } from './bare-head.ts';
import type { ClientLimits } from './client-limits.ts';
import type { HttpLimits } from './config.ts';
import { BYTES_ROUTE } from './fast-lane.ts';
import type { HttpMetrics } from './metrics.ts';
import type { OpenConnections } from './open-connections.ts';
import { refuseConnection } from './refused-connection.ts';
import type { BlobBytes } from './served-bytes.ts';

export interface BareLaneModules {
  readonly bytes: BlobBytes;
  readonly clients: ClientLimits;
  readonly budget: AnswerBudget;
  readonly metrics: HttpMetrics | null;
  /** Asked for when there are some. */
  readonly connections: () => Pick<OpenConnections, 'sending'>;
  readonly limits: HttpLimits;
}

/** Larger ones have better ways. */
const MOST_BYTES = 65_536;
/** What node adds to the time that it promises for idle connections. */
const KEEP_ALIVE_GRACE_MS = 1_000;

/**
 * Small blobs on connections on which nothing but them is asked for, without node's HTTP: that is a third to a half of what
 * they cost (measured: test/bench/http). The first chunk that is anything but one plain request for a blob that is given
 * at once goes, with its connection and for good, to node: nothing is parsed here of which a byte is not understood.
 */
export function openBareLane(server: Server, modules: BareLaneModules): void {
  const common = server.listeners('connection');
  server.removeAllListeners('connection');
  const answers = new AnswersOfTurn();
  server.on('connection', (socket: Socket) => {
    new BareConnection(socket, modules, answers, () => {
      for (const listener of common) listener.call(server, socket);
    });
  });
}

/**
 * Answers are written when all requests of a turn of the event loop are read: one right behind the other they find a reader
 * awake, and waking it is a good part of what an answer costs.
 */
class AnswersOfTurn {
  #connections: BareConnection[] = [];
  /** In which an answer is put together; mostly the system has taken it when the next one is. */
  #room: Buffer | null = null;

  takeRoom(sizeBytes: number): Buffer {
    const room = this.#room !== null && this.#room.length >= sizeBytes ? this.#room : Buffer.allocUnsafeSlow(sizeBytes);
    this.#room = null;
    return room;
  }

  giveRoomBack(room: Buffer): void {
    this.#room = room;
  }

  add(connection: BareConnection): void {
    if (this.#connections.length === 0) setImmediate(() => this.#write());
    this.#connections.push(connection);
  }

  #write(): void {
    const connections = this.#connections;
    this.#connections = [];
    for (const connection of connections) connection.write();
  }
}

interface Answer {
  readonly head: string;
  readonly bytes: Uint8Array;
}

class BareConnection {
  readonly #socket: Socket;
  readonly #modules: BareLaneModules;
  readonly #answers: AnswersOfTurn;
  readonly #handOver: () => void;
  readonly #address: string;
  readonly #keepAliveSeconds: number;
  #knownRest: string | null = null;
  #isHandedOver = false;
  /** Not written yet. */
  #answer: Answer | null = null;
  /** Ends the answer that is under way; null: none is. */
  #end: (() => void) | null = null;

  constructor(socket: Socket, modules: BareLaneModules, answers: AnswersOfTurn, handOver: () => void) {
    this.#socket = socket;
    this.#modules = modules;
    this.#answers = answers;
    this.#handOver = handOver;
    this.#address = socket.remoteAddress ?? '';
    this.#keepAliveSeconds = Math.floor(modules.limits.keepAliveTimeoutMs / 1_000);
    socket.on('data', this.#onData).on('end', this.#onEnd).on('error', this.#onError);
    socket.on('timeout', this.#onTimeout).on('close', this.#onClose);
    socket.setTimeout(modules.limits.headersTimeoutMs);
  }

  readonly #onData = (chunk: Buffer): void => {
    // Somebody asks again without waiting: answers keep their order.
    this.write();
    if (this.#takes(chunk)) return;
    const socket = this.#socket;
    this.#isHandedOver = true;
    socket.off('data', this.#onData).off('end', this.#onEnd).off('error', this.#onError);
    socket.off('timeout', this.#onTimeout);
    socket.setTimeout(0);
    socket.unshift(chunk);
    this.#handOver();
  };

  /** false: nothing has been done yet. */
  #takes(chunk: Buffer): boolean {
    // One at a time.
    const request = this.#end === null ? bareRequestIn(chunk, this.#knownRest) : null;
    if (request === null) return false;
    const name = { versionHash: request.versionHash, hashType: null };
    const { bytes, budget, clients } = this.#modules;
    const blob = (bytes.held(name) ?? bytes.glanced(name))?.blob ?? null;
    if (blob === null || blob.bytes.length > MOST_BYTES) return false;
    const share = budget.takeSpare(blob.bytes.length);
    if (share === null) return false;
    const admission = clients.admit(this.#address);
    if (admission.kind === 'refused') {
      share.giveBack();
      return false;
    }
    if (this.#knownRest === null) this.#socket.setTimeout(this.#idleMs);
    this.#knownRest = request.rest;
    this.#begin(blob, () => {
      admission.done();
      share.giveBack();
    });
    return true;
  }

  #begin({ hashType, versionHash, bytes }: VerifiedBlob, leave: () => void): void {
    const begunMs = performance.now();
    const { connections, metrics } = this.#modules;
    const noted = connections().sending(this.#socket);
    const keepAliveSeconds = this.#keepAliveSeconds;
    const head = bareHead({
      hashType,
      versionHash,
      sizeBytes: bytes.length,
      requestId: randomUUID(),
      keepAliveSeconds,
    });
    this.#answer = { head, bytes };
    this.#end = () => {
      leave();
      noted();
      metrics?.answered(BYTES_ROUTE, 'GET', 200, (performance.now() - begunMs) / 1_000);
    };
    this.#answers.add(this);
  }

  write(): void {
    if (this.#answer === null) return;
    const { head, bytes } = this.#answer;
    this.#answer = null;
    const socket = this.#socket;
    const sizeBytes = head.length + bytes.length;
    const room = this.#answers.takeRoom(sizeBytes);
    room.write(head, 'latin1');
    room.set(bytes, head.length);
    socket.write(room.subarray(0, sizeBytes), this.#onWritten);
    if (socket.writableLength === 0) {
      this.#answers.giveRoomBack(room);
      this.#ended();
      return;
    }
    // Who takes no answers gets to ask for no more.
    socket.pause();
    socket.setTimeout(this.#modules.limits.stalledTimeoutMs);
  }

  /** Called for each answer; mostly there was nothing to wait for. */
  readonly #onWritten = (): void => {
    if (this.#end === null || this.#answer !== null) return;
    this.#ended();
    this.#socket.resume();
    if (!this.#isHandedOver) this.#socket.setTimeout(this.#idleMs);
  };

  readonly #onClose = (): void => {
    this.#answer = null;
    this.#ended();
  };

  #ended(): void {
    const end = this.#end;
    this.#end = null;
    end?.();
  }

  get #idleMs(): number {
    return this.#modules.limits.keepAliveTimeoutMs + KEEP_ALIVE_GRACE_MS;
  }

  readonly #onTimeout = (): void => {
    // As node does: who never said a word is told why it ends.
    if (this.#knownRest === null) refuseConnection({ code: 'ERR_HTTP_REQUEST_TIMEOUT' }, this.#socket, false);
    else this.#socket.destroy();
  };

  readonly #onEnd = (): void => {
    this.write();
    this.#socket.end();
  };

  readonly #onError = (): void => {
    // It closes by itself, and nobody else is there to be told.
  };
}
