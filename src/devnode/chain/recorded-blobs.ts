import { parseVersionHash } from '../../core/blob/ids.ts';
import type { Content } from './content.ts';

/** Label, size, hash type and version hash of each content that a real node (release 5.1.1) put on chain. */
const RECORDED = [
  ['one byte', 1, 'keccak256', 'cd5edcba1904ce1b09e94c8a2d2a85375599856ca21c793571193054498b51d7'],
  ['sixteen', 16, 'keccak256', '54ec92884f270859f3aa5ddf9180122f28906c4f44f07a133178c41c50a7c89c'],
  ['sixteen blake', 16, 'blake2s256', '4e41dd47d89096a2eaaff50b2c2f987d441e4d826969046f400488bd02cc3cc7'],
  ['small 0', 100, 'blake2s256', '24b0a3fc7edd4a7581f437dcb083573784e42f095a73dcc66643d364da1946aa'],
  ['small 1', 137, 'keccak256', '6f2dcbfa9696156de4afe11238b7f586a11e08466de219d30c3b6f222ace5c49'],
  ['small 2', 174, 'keccak256', '386d14e1f5019f79be9ceddbbd5caaabc0afc3752661c14d9248e7220ce36c8a'],
  ['small 3', 211, 'blake2s256', 'c15aaa80ae936c12db7fb8db30a2cfd7ee6516c9347d54d25aa7ade1e77efe19'],
  ['small 4', 248, 'keccak256', '6aa8f6ca1f897a1c4b4f229b4d3dc0665d37c5227d9f0283aa6f7261960f4830'],
  ['small 5', 285, 'keccak256', 'f5408fc78429384d507ddd13fa5e13d238ed5798138c4035144a89fa70a884d3'],
  ['small 6', 322, 'blake2s256', '0754b5bd7dea6945f7c47375fbdc22dbfd57e31bb7964b7c8d7286ffd385680a'],
  ['small 7', 359, 'keccak256', 'c50fb045bdf87fac94d4c94c5d17b6006ef40408eae62814544a3dfd749eb5a7'],
  ['small 8', 396, 'keccak256', 'd2c289ddb5812e0cfba6a301ad484266aeea05ba9b3c04b496260cfe6be629b3'],
  ['small 9', 433, 'blake2s256', 'a51952417852cde2972b194a6a6ef38b44abe0a9895c40113af6ce6e9496cfe6'],
  ['small 10', 470, 'keccak256', '81d6138c405f7e62f5fa2c4ecb5bed0cd48e1dd31263d876f56cbb323f4ccee3'],
  ['small 11', 507, 'keccak256', 'f247ef844b1315b3591b3baa169f1e76373c3d2103fb7c0a83a4586fdca9dd78'],
  ['64 KiB', 65536, 'keccak256', 'af1490ab25a1e3875062b0307ce1263a259cffd3ea76635e2ce192cab9d149fe'],
  ['64 KiB and one', 65537, 'blake2s256', '5537c2d77202c7ca3d4197506408f51a21ee4ce613b9628b6447cc3cc51fa098'],
  ['one MiB', 1048576, 'keccak256', '0f787fe24855715372953a9f60d43c3cba1844fa16002776bb37760a0cfab30e'],
  ['full', 2097152, 'keccak256', '05791b8ab9f358990813322ed91eed7568487fb8559e7638525197bdc307a123'],
  ['full blake', 2097152, 'blake2s256', '8e47cc4cffe814b69f8e0208ab6d16a0cd54eb7133f299cd9823d494696ec5cf'],
  ['in the losing branch a', 900, 'keccak256', '5e2e6dc4534e4b56ea3bbc810aa300c29c59c92dc19fe44262b78e01e9216fb7'],
  ['in the losing branch b', 901, 'blake2s256', '87f917e88c604e7f2abc6f5bec2010fb6fe2cc8c59e7a89769d2540c7d384232'],
] as const;

/** The recorded contents. Their bytes are SHAKE256(label); a real node computed their names. */
export const RECORDED_BLOBS: readonly Content[] = RECORDED.map(([label, sizeBytes, hashType, versionHash]) => ({
  versionHash: parseVersionHash(versionHash),
  hashType,
  sizeBytes,
  source: { kind: 'label', label },
}));
