import { readFileSync } from 'node:fs';
import type { Figure } from '../figure.ts';

const LOOK_MS = 500;

/**
 * The share of the kernel's memory for TCP that all connections of this machine hold, by the number from which on it is short. Above it a
 * measurement is one of the kernel: it gives connections the least of buffers, and drops what arrives.
 */
export class TcpMemory {
  readonly #shortPages = Number(readFileSync('/proc/sys/net/ipv4/tcp_mem', 'utf8').split(/\s+/)[1]);
  readonly #timer = setInterval(() => this.#look(), LOOK_MS);
  #maxPages = 0;

  #look(): void {
    const pages = Number(/^TCP:.* mem (\d+)$/m.exec(readFileSync('/proc/net/sockstat', 'utf8'))?.[1]);
    this.#maxPages = Math.max(this.#maxPages, pages);
  }

  figure(): Figure {
    const value = this.#maxPages / this.#shortPages;
    return { name: 'attack: the kernel’s memory for TCP, by what it is short at', value, unit: '×', most: 1 };
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
