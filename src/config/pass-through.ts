import { text } from './setting.ts';

/**
 * What the façade may pass on to the node when the operator names it: methods that read the chain and cost a node little.
 * None that spends, signs, submits, changes the node, or looks into a wallet: whoever may read an archive is a stranger.
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

/** Names of methods, separated by spaces or commas. */
export function passedMethods(value: string): string[] {
  return value.split(/[\s,]+/).filter((name) => name !== '');
}

export const passThrough = text.superRefine((value, context) => {
  const wrong = passedMethods(value).find((name) => !READ_ONLY.has(name));
  if (wrong === undefined) return;
  const message = `may not name ${JSON.stringify(wrong.slice(0, 60))}; only ${[...READ_ONLY].join(', ')}`;
  context.addIssue({ code: 'custom', message });
});
