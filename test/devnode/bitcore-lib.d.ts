/** Declares the part of bitcore-lib that the second opinion uses; the package ships no declarations. */
declare module 'bitcore-lib' {
  interface MerkleBlock {
    readonly header: { readonly hash: string; readonly merkleRoot: Uint8Array };
    readonly numTransactions: number;
    validMerkleTree(): boolean;
    filterdTxsHash(): string[];
  }
  const bitcore: { readonly MerkleBlock: { fromBuffer(bytes: Uint8Array): MerkleBlock } };
  export default bitcore;
}
