import type { Dialect } from '../../node/method-table.ts';
import type { Handler } from './node-context.ts';
import { amount, type Reply } from './reply.ts';

interface Release {
  readonly version: number;
  readonly protocol: number;
}

/** Release that each dialect reports. The specification names none; 4.4 is the first release that fits it. */
const RELEASES: Readonly<Record<Dialect, Release>> = {
  svc: { version: 40400, protocol: 70017 },
  'syscoin-4.2': { version: 40202, protocol: 70016 },
  'syscoin-4.4': { version: 40401, protocol: 70017 },
  'syscoin-5': { version: 50101, protocol: 70017 },
};

export const getNetworkInfo: Handler = (_, { dialect }) => {
  const { version, protocol } = RELEASES[dialect];
  const dotted = [Math.floor(version / 10_000), Math.floor(version / 100) % 100, version % 100].join('.');
  return {
    version,
    subversion: `/Satoshi:${dotted}/`,
    protocolversion: protocol,
    localservices: '0000000000000409',
    localservicesnames: ['NETWORK', 'WITNESS', 'NETWORK_LIMITED'],
    localrelay: true,
    timeoffset: 0,
    networkactive: true,
    connections: 0,
    connections_in: 0,
    connections_out: 0,
    connections_mn: 0,
    connections_mn_in: 0,
    connections_mn_out: 0,
    networks: ['ipv4', 'ipv6', 'onion', 'i2p', 'cjdns'].map(networkView),
    relayfee: amount(1000n),
    incrementalfee: amount(1000n),
    localaddresses: [],
    warnings: '',
  };
};

export const uptime: Handler = (_, { state, startedAtSeconds }) => state.nowSeconds() - startedAtSeconds;

function networkView(name: string): Reply {
  const reachable = name === 'ipv4' || name === 'ipv6';
  return { name, limited: !reachable, reachable, proxy: '', proxy_randomize_credentials: false };
}
