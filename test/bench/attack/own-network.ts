import { spawnSync } from 'node:child_process';

/**
 * Loopback has packets of 64 KiB, and Linux makes the send buffer of a connection as large as ten of them and more: four MiB at
 * once, where a connection over Ethernet begins with some ten KiB. Seven hundred connections that read nothing then hold all the
 * memory that the kernel has for TCP. Its sockets drop what arrives, and every server on the machine stands still: nginx, which
 * gives out the same answers, is left with less than a twentieth of its rate.
 */
const ETHERNET = 'ip link set lo mtu 1500 up';

/** The same words in a network namespace whose loopback has the packets of a network. null: this user can have none. */
export function withinOwnNetwork(words: readonly string[]): string[] | null {
  const unshare = ['unshare', '--net', 'sh', '-c'];
  const [program = '', ...tried] = [...unshare, ETHERNET];
  if (spawnSync(program, tried, { stdio: 'ignore' }).status !== 0) return null;
  return [...unshare, `${ETHERNET} && exec "$@"`, 'sh', ...words];
}
