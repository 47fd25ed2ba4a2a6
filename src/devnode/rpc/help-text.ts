import type { ParamSpec, WireMethod, WireType } from '../../node/method-table.ts';

interface Description {
  readonly summary: string;
  readonly params: readonly string[];
  readonly example: string;
}

/** Help texts of the node's blob operations (recorded from release 5.1.1). */
const DESCRIPTIONS: Readonly<Record<string, Description>> = {
  syscoincreatenevmblob: {
    summary: 'Create NEVM blob data used by rollups',
    params: [
      '(string, required) blob in hex',
      '(boolean, optional, default=true) true to overwrite an existing blob if it exists, false to return versionhash of data on duplicate.',
      '(string, optional, default="keccak") "blake2s" for versioned 33-byte hash (0x01 || blake2s), "keccak" for legacy 32-byte hash',
    ],
    example: '"data" true "blake2s"',
  },
  syscoincreaterawnevmblob: {
    summary: 'Create NEVM blob data used by rollups via a custom raw parameters',
    params: [
      '(string, required) Version hash of the blob',
      '(string, required) data in hex',
      '(string, optional, default="keccak") "blake2s" or "keccak" when versionhash is 32-byte digest; optional/ignored for 33-byte versioned hash',
    ],
    example: '"versionhash" "data" "blake2s"',
  },
  getnevmblobdata: {
    summary: 'Return NEVM blob information and status from a version hash.',
    params: [
      '(string, required) The 32-byte version hash digest or txid of the NEVM blob',
      '(boolean, optional) Optional, retrieve the blob data',
    ],
    example: '',
  },
};

const TYPE_WORDS: Readonly<Record<WireType, string>> = {
  string: 'string',
  number: 'numeric',
  bool: 'boolean',
  object: 'json object',
  array: 'json array',
  amount: 'numeric or string',
};

/** The node's answer with code -1 for a wrong number of arguments. */
export function helpText(wire: WireMethod): string {
  const described = DESCRIPTIONS[wire.method];
  // Only release 5 was recorded; for other releases the method table gives the parameters.
  const words = described?.params.length === wire.params.length ? described.params : wire.params.map(plainWords);
  const width = Math.max(0, ...wire.params.map((param) => param.name.length)) + 4;
  const lines = wire.params.map((param, index) => `${index + 1}. ${param.name.padEnd(width)}${words[index] ?? ''}\n`);
  const example = described?.example ?? '';
  return [
    `${oneLine(wire)}\n\n${described?.summary ?? `Calls ${wire.method}.`}\n`,
    lines.length === 0 ? '' : `\nArguments:\n${lines.join('')}`,
    `\nExamples:\n> syscoin-cli ${wire.method} ${example}\n`,
    `> curl --user myusername --data-binary '{"jsonrpc": "1.0", "id": "curltest", "method": "${wire.method}", "params": [${example}]}'`,
    " -H 'content-type: text/plain;' http://127.0.0.1:8370/\n",
  ].join('');
}

/** Formats `method "text" ( number )`: strings in quotes, optional parameters in brackets. */
export function oneLine({ method, params }: WireMethod): string {
  const show = (param: ParamSpec): string => (param.type === 'string' ? `"${param.name}"` : param.name);
  const needed = params.filter((param) => param.optional !== true).map(show);
  const free = params.filter((param) => param.optional === true).map(show);
  return [method, ...needed, ...(free.length === 0 ? [] : ['(', ...free, ')'])].join(' ');
}

function plainWords(param: ParamSpec): string {
  return `(${TYPE_WORDS[param.type]}, ${param.optional === true ? 'optional' : 'required'})`;
}
