import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { ProvenBytes } from '../archive/archive-view.ts';
import { partBegun, partBytes, partEnded } from './part-size.ts';
import type { WarmFiles } from './warm-files.ts';

/** Where the next part is read to: as long as readers keep up, all answers need only this. */
let spare: Buffer | null = null;

function partOf(sizeBytes: number): Buffer {
  const part = spare?.length === sizeBytes ? spare : Buffer.allocUnsafeSlow(sizeBytes);
  spare = null;
  return part;
}

/**
 * Sends a file that the system has in memory. A part is read and handed to the system, which mostly takes it at once for
 * the reader, and the next one goes into the same memory: a reader that keeps up holds none of ours, and one that does not
 * holds one part. A file that changes meanwhile ends the answer short, before any of what changed is sent.
 */
export class FileSender {
  readonly #file: ProvenBytes;
  readonly #warm: WarmFiles;
  #part = partOf(partBytes());
  #filledBytes = 0;
  #at = 0;
  #isWarm = true;
  #isHeldUp = false;

  private constructor(file: ProvenBytes, warm: WarmFiles) {
    this.#file = file;
    this.#warm = warm;
  }

  /** With its first part read: nothing is promised to the reader before. Throws what keeps it from being read. */
  static begin(file: ProvenBytes, warm: WarmFiles): FileSender {
    const sender = new FileSender(file, warm);
    sender.#fill();
    return sender;
  }

  /** The head of the response is written, and its connection is its own. `report`: why it ends short. */
  sendTo(response: ServerResponse, socket: Socket, report: (error: unknown) => void): void {
    const fail = (error: unknown) => {
      if (!response.closed) report(error);
      response.destroy();
    };
    const goOn = (): void => {
      try {
        while (!response.closed && !socket.destroyed) {
          if (!this.#send(response, socket, afterwards)) return;
          if (!this.#isWarm) {
            this.#fillLater().then(goOn, fail);
            return;
          }
          this.#fill();
        }
      } catch (error) {
        fail(error);
      }
    };
    // Told of every part; only behind one that held it up is there something to do.
    const afterwards = (error?: Error | null) => {
      if (!this.#isHeldUp || (error ?? null) !== null || socket.writableLength > 0) return;
      this.#holdUp(false);
      if (this.#part.length !== partBytes()) this.#part = partOf(partBytes());
      this.#fillLater().then(goOn, fail);
    };
    response.once('close', () => {
      this.#holdUp(false);
      this.#file.close();
    });
    goOn();
  }

  /** false: it was the last part, or the reader has to take it first. */
  #send(response: ServerResponse, socket: Socket, afterwards: (error?: Error | null) => void): boolean {
    const bytes = this.#part.subarray(0, this.#filledBytes);
    const isLast = this.#at === this.#file.sizeBytes;
    if (isLast) response.end(bytes);
    else response.write(bytes, afterwards);
    // Now, and not with what else is written in this turn: it has to be seen whether it was taken.
    socket.uncork();
    if (socket.writableLength > 0) {
      this.#holdUp(true);
      return false;
    }
    if (isLast) spare = this.#part;
    return !isLast;
  }

  #holdUp(isHeldUp: boolean): void {
    if (this.#isHeldUp === isHeldUp) return;
    this.#isHeldUp = isHeldUp;
    if (isHeldUp) partBegun();
    else partEnded();
  }

  #fill(): void {
    const begunMs = performance.now();
    this.#file.readAtOnce(this.#next(), this.#at);
    this.#isWarm = this.#warm.noteTaken(this.#file.versionHash, performance.now() - begunMs);
    this.#at += this.#filledBytes;
  }

  /** For a slow reader it may be in memory no more. */
  async #fillLater(): Promise<void> {
    await this.#file.read(this.#next(), this.#at);
    this.#at += this.#filledBytes;
  }

  #next(): Buffer {
    this.#filledBytes = Math.min(this.#part.length, this.#file.sizeBytes - this.#at);
    return this.#part.subarray(0, this.#filledBytes);
  }
}
