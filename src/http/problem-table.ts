interface ProblemKind {
  readonly status: number;
  readonly title: string;
  /** The next step of the client; an answer can give a better one. */
  readonly hint: string;
}

const ASK_AGAIN = 'Ask again after the seconds in Retry-After.';
const HASH_FORM = 'Give the 32 bytes as 64 characters of 0-9 and a-f.';

/** Every error that a client can get, by its stable code. */
export const PROBLEMS = {
  'blob/absent': {
    status: 404,
    title: 'No such blob',
    hint: 'Check the hash; the archive, its backends and the node all answered that they do not have it.',
  },
  'blob/lost': {
    status: 410,
    title: 'The blob is lost',
    hint: 'It is on chain, and no place had its bytes when its window was over. Should they turn up, they are served again.',
  },
  'blob/withheld': {
    status: 451,
    title: 'The blob is withheld by the operator',
    hint: 'Ask another archive: it may serve the blob.',
  },
  'blob/not-archived-by-rule': {
    status: 421,
    title: 'This archive does not archive the blob, by a rule of its operator',
    hint: 'Ask another archive, or the node while its window lasts: this answer says nothing about whether the blob exists elsewhere.',
  },
  'reader/needs-archiver': {
    status: 503,
    title: 'This reader has no catalog',
    hint: 'Ask the archiver itself: this process only gives bytes and proofs out of its backends.',
  },
  'custom/absent': {
    status: 404,
    title: 'No such bytes of a custom commitment',
    hint: 'Check both hashes; what matches its version hash is at /v1/blobs/.',
  },
  'attestation/absent': {
    status: 404,
    title: 'No such statement',
    hint: 'Ask without parameters for the latest; `holdfast attest` beside the archive signs one now.',
  },
  'transaction/absent': {
    status: 404,
    title: 'No such transaction with a blob',
    hint: 'Check the id; no block from where the walk began on holds such a transaction with a blob.',
  },
  'block/absent': {
    status: 404,
    title: 'No such block',
    hint: 'Check height or hash; the branch that is followed has no such block.',
  },
  'chain/not-walked': {
    status: 503,
    title: 'That part of the chain was not looked at',
    hint: 'Ask an archiver that walks it; /v1/status says from where on.',
  },
  'chain/walk-behind': { status: 503, title: 'The walk of the chain is behind', hint: ASK_AGAIN },
  'chain/finality-unknown': { status: 503, title: 'The node does not say what is final', hint: ASK_AGAIN },
  'chain/not-compared': { status: 503, title: 'The nodes are being compared', hint: ASK_AGAIN },
  'chain/rebuilding': { status: 503, title: 'The catalog is being rebuilt', hint: ASK_AGAIN },
  'chain/conflict': { status: 503, title: 'The nodes contradict each other', hint: ASK_AGAIN },
  'chain/not-placed': { status: 503, title: 'Something is not stored yet', hint: ASK_AGAIN },
  'chain/not-final': { status: 503, title: 'Not final yet', hint: ASK_AGAIN },
  'chain/store-fault': { status: 503, title: 'The records cannot be read', hint: ASK_AGAIN },
  'blob/not-fetched-yet': { status: 503, title: 'The blob is known but not fetched yet', hint: ASK_AGAIN },
  'blob/damaged': { status: 503, title: 'The copy here is damaged', hint: ASK_AGAIN },
  'blob/store-fault': { status: 503, title: 'The store does not answer', hint: ASK_AGAIN },
  'blob/cannot-tell': { status: 503, title: 'The archive cannot tell now', hint: ASK_AGAIN },
  'malformed/version-hash': { status: 400, title: 'Not a version hash', hint: HASH_FORM },
  'malformed/txid': { status: 400, title: 'Not a transaction id', hint: HASH_FORM },
  'malformed/block-hash': { status: 400, title: 'Not a block hash', hint: HASH_FORM },
  'malformed/hex': { status: 400, title: 'Not hex', hint: 'Use 0-9 and a-f only.' },
  'events/senders-unknown': {
    status: 400,
    title: 'This archive does not learn who sends blobs',
    hint: 'Leave the parameter `sender` out, or let the operator set HOLDFAST_SENDERS=learn.',
  },
  'archive/bad-cursor': {
    status: 400,
    title: 'Not a cursor of this listing',
    hint: 'Pass `next` of the page before as it is, or leave `after` out to begin again.',
  },
  'http/bad-parameter': { status: 400, title: 'A parameter has a wrong value', hint: 'Correct it as the detail says.' },
  'http/bad-json': { status: 400, title: 'The body is not JSON', hint: 'Send JSON in UTF-8.' },
  'http/bad-body': { status: 400, title: 'The body has a wrong value', hint: 'Correct it as the detail says.' },
  'http/unauthorized': {
    status: 401,
    title: 'A token is needed',
    hint: 'Send Authorization: Bearer and a token that the operator gave you.',
  },
  'http/admin-closed': {
    status: 403,
    title: 'Closed over this port',
    hint: 'Use the holdfast command on the machine itself, or set HOLDFAST_HTTP_ADMIN_TOKENS_FILE.',
  },
  'archive/not-withheld': {
    status: 404,
    title: 'Not withheld by this archiver',
    hint: 'GET /admin/withhold lists what is.',
  },
  'subscriptions/full': {
    status: 409,
    title: 'As many subscriptions wait as may',
    hint: 'GET /admin/subscriptions lists them; DELETE takes one back.',
  },
  'subscriptions/unknown': {
    status: 404,
    title: 'No such subscription waits',
    hint: 'GET /admin/subscriptions lists those that wait; a delivered one is gone.',
  },
  'jobs/unknown-kind': { status: 404, title: 'No such kind of job', hint: 'GET /admin/jobs names the kinds.' },
  'jobs/local-only': {
    status: 403,
    title: 'Not over this port',
    hint: 'Use the holdfast command on the machine of the daemon.',
  },
  'jobs/unknown-job': {
    status: 404,
    title: 'No such job',
    hint: 'GET /admin/jobs lists them; a restart forgets them.',
  },
  'jobs/bad-parameters': {
    status: 400,
    title: 'A parameter has a wrong value',
    hint: 'Correct it as the detail says.',
  },
  'jobs/busy': { status: 409, title: 'A job of this kind is under way', hint: 'Watch it, or cancel it first.' },
  'jobs/stopping': { status: 503, title: 'No job is begun now', hint: ASK_AGAIN },
  'http/bad-url': {
    status: 400,
    title: 'The URL cannot be decoded',
    hint: 'Every % must begin two hex digits, and all of them together be UTF-8.',
  },
  'http/malformed-request': {
    status: 400,
    title: 'This is not an HTTP/1.1 request',
    hint: 'Check the request line and the headers, and that the client speaks plain HTTP to this port.',
  },
  'http/body-not-allowed': { status: 400, title: 'This request takes no body', hint: 'Send it without one.' },
  'http/no-such-route': {
    status: 404,
    title: 'No such route',
    hint: 'Blobs are at /v1/blobs/{version hash} and /vh/{version hash}, the state of the archive at /v1/status.',
  },
  'http/method-not-allowed': {
    status: 405,
    title: 'This route does not take that method',
    hint: 'Use one of the methods in Allow.',
  },
  'http/request-timeout': { status: 408, title: 'The request took too long to arrive', hint: 'Send it again, faster.' },
  'http/body-too-large': { status: 413, title: 'The body is too large', hint: 'Ask for less in one request.' },
  'http/uri-too-long': { status: 414, title: 'The URL is too long', hint: 'No route needs one so long.' },
  'http/range-not-satisfiable': {
    status: 416,
    title: 'The range begins behind the end',
    hint: 'Content-Range says how many bytes there are.',
  },
  'http/headers-too-large': { status: 431, title: 'The headers are too large', hint: 'Send fewer or shorter headers.' },
  'http/too-many-requests': { status: 429, title: 'Too many requests', hint: ASK_AGAIN },
  'http/internal': {
    status: 500,
    title: 'The archive made an error',
    hint: 'Tell the operator the X-Request-Id of this answer.',
  },
  'http/temporary-fault': { status: 503, title: 'The archive cannot answer now', hint: ASK_AGAIN },
  'http/too-busy': {
    status: 503,
    title: 'Too much is being sent already',
    hint: ASK_AGAIN,
  },
  'http/not-ready': { status: 503, title: 'The archive is not ready', hint: 'Each condition says what to do.' },
} as const satisfies Readonly<Record<string, ProblemKind>>;

export type ProblemCode = keyof typeof PROBLEMS;
