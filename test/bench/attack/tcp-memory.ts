import { readFileSync } from 'node:fs';
import type { Figure } from '../figure.ts';

const LOOK_MS = 500;

/**
 * What all connections of this machine hold of the kernel's memory for TCP, by the number from which on it is short. Above it a
 * measurement is one of the kernel: it gives connections the least of buffers, and drops what arrives.
 */
export class TcpMemory {
  readonly #shortPages = Number(readFileSync('/proc/sys/net/ipv4/tcp_mem', 'utf8').split(/\s+/)[1]);
  readonly #timer = setInterval(() => this.#look(), LOOK_MS);
  #mostPages = 0;

  #look(): void {
    const pages = Number(/^TCP:.* mem (\d+)$/m.exec(readFileSync('/proc/net/sockstat', 'utf8'))?.[1]);
    this.#mostPages = Math.max(this.#mostPages, pages);
  }

  figure(): Figure {
    const value = this.#mostPages / this.#shortPages;
    return { name: 'attack: the kernel’s memory for TCP, by what it is short at', value, unit: '×', most: 1 };
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
