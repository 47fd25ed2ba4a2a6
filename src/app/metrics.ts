import type { Condition } from '../core/conditions/condition.ts';
import type { MetricsRegistry, Sample } from '../core/observability/metrics.ts';
import type { Figures } from './figures.ts';

type Read = (figures: Figures) => readonly Sample[];

const one = (value: number | boolean | null): readonly Sample[] => [
  { value: typeof value === 'boolean' ? Number(value) : value },
];
const labelled = (label: string, values: Readonly<Record<string, number>>): readonly Sample[] =>
  Object.entries(values).map(([key, value]) => ({ labels: { [label]: key }, value }));
const perBackend =
  (value: (backend: Figures['backends'][number]) => number | null): Read =>
  ({ backends }) =>
    backends.map((backend) => ({ labels: { backend: backend.id }, value: value(backend) }));

/** Name, help, labels, and where the value is. Timestamps are seconds since 1970, as `time()` gives them. */
const GAUGES: readonly (readonly [name: string, help: string, labels: readonly string[], read: Read])[] = [
  ['holdfast_node_up', '1: the node answers, and is on our chain.', [], ({ node }) => one(node.isUp)],
  [
    'holdfast_node_last_answer_timestamp_seconds',
    'When a node last answered.',
    [],
    ({ node }) => one(node.lastAnswerSeconds),
  ],
  ['holdfast_node_height_blocks', 'Height of the tip of the node.', [], ({ node }) => one(node.height)],
  [
    'holdfast_node_median_time_timestamp_seconds',
    "Median time of the node's tip: the clock that prunes.",
    [],
    ({ node }) => one(node.medianTimeSeconds),
  ],
  [
    'holdfast_node_tip_changed_timestamp_seconds',
    'When this process last saw a new tip.',
    [],
    ({ node }) => one(node.tipSeenSeconds),
  ],
  ['holdfast_node_listed_blobs', 'Blobs in the last list of the node.', [], ({ node }) => one(node.listedEntries)],
  [
    'holdfast_walk_start_height_blocks',
    'Height where the walk of the chain began, for good.',
    [],
    ({ chain }) => one(chain.startHeight),
  ],
  ['holdfast_walk_height_blocks', 'Every block up to here is examined.', [], ({ chain }) => one(chain.height)],
  [
    'holdfast_walk_lag_blocks',
    'Blocks that the node has and the walk has not.',
    [],
    ({ chain }) => one(chain.lagBlocks),
  ],
  [
    'holdfast_walk_lag_seconds',
    "From the last examined block to the node's tip, on the chain's clock.",
    [],
    ({ chain }) => one(chain.lagSeconds),
  ],
  [
    'holdfast_final_height_blocks',
    'Up to here everything is final: by ChainLock, or by the depth that is configured.',
    [],
    ({ chain }) => one(chain.finalHeight),
  ],
  [
    'holdfast_final_block_timestamp_seconds',
    'Median time of the last final block.',
    [],
    ({ chain }) => one(chain.finalMedianTimeSeconds),
  ],
  [
    'holdfast_last_blob_height_blocks',
    'Height of the newest block with a blob.',
    [],
    ({ chain }) => one(chain.lastBlobHeight),
  ],
  [
    'holdfast_last_blob_block_timestamp_seconds',
    'Median time of the newest block with a blob.',
    [],
    ({ chain }) => one(chain.lastBlobMedianTimeSeconds),
  ],
  [
    'holdfast_last_spooled_timestamp_seconds',
    'When the newest blob became durable here.',
    [],
    ({ content }) => one(content.newestSpooledSeconds),
  ],
  [
    'holdfast_content_blobs',
    'Blobs by state: seen (bytes not here yet), spooled (durable), stored (proven on enough backends), withheld (taken down), custom (bytes that match neither hash).',
    ['state'],
    ({ content: { seen, spooled, stored, withheld, custom } }) =>
      labelled('state', { seen, spooled, stored, withheld, custom }),
  ],
  [
    'holdfast_not_archived_by_rule_blobs',
    "Blobs that the operator's rule leaves out: neither fetched nor held, and neither missing nor lost.",
    [],
    ({ content }) => one(content.notArchivedByRule),
  ],
  ['holdfast_content_stored_bytes', 'Bytes of what is stored.', [], ({ content }) => one(content.storedBytes)],
  [
    'holdfast_failing_blobs',
    'Blobs that were asked for in vain and are tried again.',
    [],
    ({ content }) => one(content.failing),
  ],
  [
    'holdfast_overdue_blobs',
    'On chain, not here, deadline over, and not recorded as lost: still to be saved, or judged lost; while a new catalog is made, only what was known in time.',
    [],
    ({ content }) => one(content.overdue),
  ],
  [
    'holdfast_lost_blobs',
    'Blobs on chain that no source had when their deadline was over.',
    [],
    ({ chain }) => one(chain.lost),
  ],
  [
    'holdfast_unspooled_slack_seconds',
    "Left on the chain's clock until the node may prune the most urgent blob that is not durable here; absent: none.",
    [],
    ({ content }) => one(content.unspooledSlackSeconds),
  ],
  [
    'holdfast_unstored_slack_seconds',
    'The same of the most urgent blob that is durable here and not proven on enough backends.',
    [],
    ({ content }) => one(content.unstoredSlackSeconds),
  ],
  [
    'holdfast_unspooled_late_blobs',
    'On chain, not durable here, and at least this share of the window over.',
    ['window_percent'],
    ({ content }) =>
      content.late.map(({ percent, unspooled }) => ({ labels: { window_percent: `${percent}` }, value: unspooled })),
  ],
  [
    'holdfast_unstored_late_blobs',
    'Durable here, not on enough backends, and at least this share of the window over.',
    ['window_percent'],
    ({ content }) =>
      content.late.map(({ percent, unstored }) => ({ labels: { window_percent: `${percent}` }, value: unstored })),
  ],
  [
    'holdfast_backend_queue_blobs',
    'Objects that the backend still has to hold or to have repaired.',
    ['backend'],
    perBackend(({ queued }) => queued),
  ],
  [
    'holdfast_backend_queue_oldest_age_seconds',
    "Age of the oldest of these on the chain's clock; absent: nothing waits.",
    ['backend'],
    perBackend(({ oldestQueuedSeconds }) => oldestQueuedSeconds),
  ],
  [
    'holdfast_backend_damaged_blobs',
    'Copies there that are known to be missing or damaged now.',
    ['backend'],
    perBackend(({ damaged }) => damaged),
  ],
  [
    'holdfast_backend_free_bytes',
    'Room on its disk, as its server told it when the canary last ran; absent: it does not tell, as S3 does not.',
    ['backend'],
    perBackend(({ freeBytes }) => freeBytes),
  ],
  [
    'holdfast_scrub_progress_ratio',
    'How far the current reading of everything there has come, 0 to 1.',
    ['backend'],
    perBackend(({ scrubbedShare }) => Math.min(1, scrubbedShare)),
  ],
  [
    'holdfast_backend_clock_offset_seconds',
    'The clock of that server minus ours, by its last answer; absent where it tells none.',
    ['backend'],
    perBackend(({ clockOffsetSeconds }) => clockOffsetSeconds),
  ],
  [
    'holdfast_block_clock_offset_seconds',
    'Time of the newest block that was found while this process looked on, minus our clock; absent: none.',
    [],
    ({ blockClockOffsetSeconds }) => one(blockClockOffsetSeconds),
  ],
  [
    'holdfast_canary_good',
    '1: the last old and the last new blob that were fetched through the backend hashed to their names.',
    ['backend', 'age'],
    ({ canary }) => canary.map(({ backend, age, isGood }) => ({ labels: { backend, age }, value: Number(isGood) })),
  ],
  [
    'holdfast_canary_duration_seconds',
    'How long that took.',
    ['backend', 'age'],
    ({ canary }) => canary.map(({ backend, age, seconds }) => ({ labels: { backend, age }, value: seconds })),
  ],
  [
    'holdfast_audited_occurrences_blobs',
    'Of what is final on chain, at the last scheduled audit of this process: what became of it.',
    ['class'],
    ({ audit }) => (audit === null ? [] : labelled('class', audit)),
  ],
  [
    'holdfast_attested_timestamp_seconds',
    'When the latest statement of everything was signed; absent: none has been.',
    [],
    ({ attestedSeconds }) => one(attestedSeconds),
  ],
  [
    'holdfast_peer_up',
    '1: each peer answered its last question. 0: it did not, or is left alone after wrong bytes. Absent: not asked since the start.',
    ['peer'],
    ({ peers }) =>
      peers.map(({ name, state }) => ({
        labels: { peer: name },
        value: state === 'not-asked' ? null : Number(state === 'good'),
      })),
  ],
  [
    'holdfast_peer_comparison_whole',
    '1: the last comparison with each peer covered all heights that both have. 0: it ended early, or the two share no block.',
    ['peer'],
    ({ peers }) =>
      peers.map(({ name, compared }) => ({
        labels: { peer: name },
        value: compared === null ? null : Number(compared.extent === 'whole'),
      })),
  ],
  [
    'holdfast_peer_compared_timestamp_seconds',
    'When what each peer holds was last compared to the end with what is held here; before that, when the first comparison of this process began.',
    ['peer'],
    ({ peers }) =>
      peers.map(({ name, compared }) => ({
        labels: { peer: name },
        value: compared === null ? null : Date.parse(compared.endedAt) / 1_000,
      })),
  ],
  ['holdfast_local_bytes', 'Bytes of blobs in the data folder, by the books.', [], ({ local }) => one(local.bytes)],
  [
    'holdfast_local_budget_bytes',
    'What a cache may hold at most; absent: as much as the disk leaves.',
    [],
    ({ local }) => one(local.budgetBytes),
  ],
];

const COUNTED: readonly (readonly [name: string, help: string, labels: readonly string[], read: Read])[] = [
  ['holdfast_losses_recorded_total', 'Blobs that were found to be lost.', [], ({ chain }) => one(chain.lossesRecorded)],
  [
    'holdfast_reorganisations_total',
    'Times that blocks were taken back.',
    [],
    ({ chain }) => one(chain.reorganisations),
  ],
  [
    'holdfast_damaged_found_total',
    'Copies found missing or damaged.',
    ['backend'],
    perBackend(({ damagedFound }) => damagedFound),
  ],
  [
    'holdfast_peer_answers_total',
    'Blobs that each peer was asked for, by what it answered.',
    ['peer', 'answer'],
    ({ peers }) =>
      peers.flatMap(({ name: peer, gave, absent, withheld, wrongBytes }) =>
        Object.entries({ gave, absent, withheld, 'wrong-bytes': wrongBytes }).map(([answer, value]) => ({
          labels: { peer, answer },
          value,
        })),
      ),
  ],
  [
    'holdfast_peer_audited_total',
    'Occurrences drawn from the chain that each peer was asked to give and to prove, by what came of it.',
    ['peer', 'outcome'],
    ({ peers }) =>
      peers.flatMap(({ name: peer, audited }) =>
        Object.entries(audited?.outcomes ?? {}).map(([outcome, value]) => ({ labels: { peer, outcome }, value })),
      ),
  ],
  ['holdfast_healed_total', 'Copies that are good again.', ['backend'], perBackend(({ healed }) => healed)],
];

/** Figures that an archive and a stateless reader share. */
export interface Standing {
  readonly backends: readonly { readonly id: string; readonly isUp: boolean }[];
  readonly conditions: readonly Pick<Condition, 'code' | 'severity' | 'blocksReadiness'>[];
}

export function declareStandingMetrics(metrics: MetricsRegistry, read: () => Standing): void {
  metrics.gauge({
    name: 'holdfast_backend_up',
    help: '1: in use. 0: not reached yet, or left alone after failures.',
    labels: ['backend'],
    read: () => read().backends.map(({ id, isUp }) => ({ labels: { backend: id }, value: Number(isUp) })),
  });
  metrics.gauge({
    name: 'holdfast_condition',
    help: '1 for each thing that is wrong now, as /v1/status names it; the most severe first.',
    labels: ['code', 'blocks_readiness', 'severity'],
    read: () =>
      worstOfEachCode(read().conditions).map(({ code, severity, blocksReadiness }) => ({
        labels: { code, blocks_readiness: String(blocksReadiness), severity },
        value: 1,
      })),
  });
}

/** Several backends may raise one code: of these the first is the most severe. */
function worstOfEachCode(conditions: Standing['conditions']): Standing['conditions'] {
  return conditions.filter(({ code }, at) => conditions.findIndex((one) => one.code === code) === at);
}

export function declareArchiveMetrics(metrics: MetricsRegistry, figures: () => Figures): void {
  declareStandingMetrics(metrics, figures);
  for (const [name, help, labels, read] of GAUGES) metrics.gauge({ name, help, labels, read: () => read(figures()) });
  for (const [name, help, labels, read] of COUNTED) {
    metrics.countedElsewhere({ name, help, labels, read: () => read(figures()) });
  }
}
