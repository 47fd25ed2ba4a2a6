import { text } from './setting.ts';

/**
 * Methods that the façade may pass through to the node, when the operator lists them. All read the chain at little
 * cost.
 * None spends, signs, submits, changes the node or reads a wallet, because any stranger may read an archive.
 */
const READ_ONLY = new Set([
  'decoderawtransaction',
  'decodescript',
  'estimatesmartfee',
  'getblock',
  'getblockhash',
  'getblockheader',
  'getchaintips',
  'getdifficulty',
  'getmempoolentry',
  'getmempoolinfo',
  'getnetworkhashps',
  'getrawtransaction',
  'gettxout',
  'gettxoutproof',
  'uptime',
  'validateaddress',
  'verifytxoutproof',
]);

/** Splits a list of method names at spaces and commas. */
export function passedMethods(value: string): string[] {
  return value.split(/[\s,]+/).filter((name) => name !== '');
}

export const passThrough = text.superRefine((value, context) => {
  const wrong = passedMethods(value).find((name) => !READ_ONLY.has(name));
  if (wrong === undefined) return;
  const message = `may not name ${JSON.stringify(wrong.slice(0, 60))}; only ${[...READ_ONLY].join(', ')}`;
  context.addIssue({ code: 'custom', message });
});
