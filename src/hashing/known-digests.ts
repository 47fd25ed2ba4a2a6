import type { HashType } from '../core/blob/ids.ts';

interface KnownDigest extends Readonly<Record<HashType, string>> {
  /** Bytes of the input. */
  readonly length: number;
}

/** The input of so many bytes whose digests are known. It repeats itself every 256 bytes. */
export function checkedInput(length: number): Uint8Array {
  return Buffer.alloc(
    length,
    Uint8Array.from({ length: 256 }, (_, at) => at * 167 + length),
  );
}

/**
 * Noble's digests of these inputs. The lengths are on both sides of the padding and of the block sizes (Keccak256 136
 * bytes, BLAKE2s 64), and of their multiples. 1 MiB makes an implementation cross its own buffers.
 */
export const KNOWN_DIGESTS: readonly KnownDigest[] = [
  {
    length: 0,
    keccak256: 'c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470',
    blake2s256: '69217a3079908094e11121d042354a7c1f55b6482ca1a51e1b250dfd1ed0eef9',
  },
  {
    length: 1,
    keccak256: '5fe7f977e71dba2ea1a68e21057beebb9be2ac30c6410aa38d4f3fbe41dcffd2',
    blake2s256: 'fc87f4f1d721942d282aa61989c069b290d1447d20d4b811430f47ea0edf9991',
  },
  {
    length: 32,
    keccak256: 'e0c88a449ff3ec9bd891f68d36a28e8d604200de6dba8f0f80b1f85c691b4788',
    blake2s256: '277873378167cb37dd3e02f77c7f49ba6fcec1b1bd51377eb2ca9ea4c7748a6f',
  },
  {
    length: 63,
    keccak256: '24cdd345b2abe10955c01be3216782841d777fac281cb85a6c21505a57005dee',
    blake2s256: 'ab6f1ca0d0fa396f54e01e5bc8015b3ba0ab127d6b183e925d386415826fcb44',
  },
  {
    length: 64,
    keccak256: 'd4a351d26a47f5dc2ed24f4d4f50d5af8ae11542bbf4221543ad795a63040bfa',
    blake2s256: '3b974e1f3030cc8433e0c895d74ba5c4c3f6ada6da58038f1a44909039ab4e20',
  },
  {
    length: 65,
    keccak256: 'a501dea842ac3f222ef8ba0e3021754bd391be81e6f462890d5ea99bd60edf07',
    blake2s256: '154f50ae70208038eb06bbba95cec22cbde960161a3efa35a6b18e4dbdb5586b',
  },
  {
    length: 127,
    keccak256: '020d8875ea09e8d2c55fdc6127d71c335c4d7b58883e407e7f079e035aab4819',
    blake2s256: '3b877f6261368f47ede6371afb15465b3555adb5e62859bffef1e83dafe8533e',
  },
  {
    length: 128,
    keccak256: 'bbc48e31dbb50adf87750c2a9a7de6e96656a722e7d6c5fb6deca33cc9f6fab1',
    blake2s256: '67c2d087360a02d2fc86b5d0ff45acb8017525039925e31fe08e1fe9e4f14d80',
  },
  {
    length: 129,
    keccak256: '13aa13b4ee8e4606b36b8867996be6621ebd3eb24b95c685a36bb625a193a10a',
    blake2s256: 'a276187985990c809a8e38956ad6bfc8cb35790e0c0375a311c3e8cbdee12f87',
  },
  {
    length: 135,
    keccak256: 'b030cb8a6a0612977be075055cb298cac1569ed37907d29f9e27002e8226634f',
    blake2s256: 'e0f8b317ac11f349e10e137d59b55e0db20aeb2cdce2e156dc8bb9aaaf1f807c',
  },
  {
    length: 136,
    keccak256: 'db6582d34b8a2657632facf225345ca4b2412c4f7ec2929e55935656ef5d4951',
    blake2s256: 'f738818b55482432d435440216365d0aafcf79932dab705790dac1a261f3a0a6',
  },
  {
    length: 137,
    keccak256: '05155eb238c19de43d789924e963319cbdec44110afdd2114f29479f2e94a150',
    blake2s256: '8a0ac8bac074e8ed958f925d92042587ae6c649bd73fd54a828dab34acf03cb3',
  },
  {
    length: 271,
    keccak256: '66567e0ff44c718965cb13dcc584da7bfddc10ae6c35d7b07a606d23089cf053',
    blake2s256: 'c032bf57340ed1ae40a8f4a15c29ae94645456208f97ac3ef90fb2fc1bab0f0c',
  },
  {
    length: 272,
    keccak256: 'a993867738baa27cd632c6bc740a7574cf12cd9f36ecea81647b8a9883a57b47',
    blake2s256: '4037129c1f37781ee4eba349da301e859ca3f16f0dfc28c7877ed0591f2e6fe0',
  },
  {
    length: 273,
    keccak256: 'bf476614afd89a9d59d5f3f63fddfa391d16d7eec454389d1310821c2d2ff7b4',
    blake2s256: '7869827c5d61ec39c4c63becf7cdfc2d9246514f71d62bf8955c33f21c060251',
  },
  {
    length: 4_096,
    keccak256: 'b18f733c892acd231a9102d4b8e9d14177d961e1127e6123c084f48894150d8c',
    blake2s256: '8654400075e892bedbbce29ae65d0ddd32ef5d7db7e70f68dc8df225e97b337b',
  },
  {
    length: 65_537,
    keccak256: 'f40d3e41bd3b2df8385c1bf1d264f84aa83e2894666ee41e648a270f8838c610',
    blake2s256: 'c5aa4ad611aff3af553ee4711c6e25e5b814f72dec09473644d21ac871a1a2a2',
  },
  {
    length: 1_048_576,
    keccak256: '4ecd0c6029f59bbe53411ed9256cee9413f4fd8734f41eb0ba925f862386c76d',
    blake2s256: 'dd5ba8f4efaf1cfdb1c9965357c803fe5e2533a1e9b68581cfc0e561131cf19d',
  },
];
