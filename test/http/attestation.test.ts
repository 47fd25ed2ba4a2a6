import { expect, test } from 'vitest';
import { FakeArchiveView } from './fake-archive-view.ts';
import { FakeAttestations } from './fake-attestations.ts';
import { FakeChainView } from './fake-chain-view.ts';
import { injectable } from './harness.ts';

function archive() {
  const attestations = new FakeAttestations();
  return { attestations, ...injectable(new FakeArchiveView(), new FakeChainView(), { attestations }) };
}

test('gives the latest, that of a month, and that of a range', async () => {
  const { inject, attestations } = archive();
  expect((await inject('/v1/attestation')).json()).toEqual(attestations.attestation({ month: null, range: null }));
  await inject('/v1/attestation?month=2026-10');
  await inject('/v1/attestation?from=4&to=7');
  expect(attestations.asked.slice(2)).toEqual([
    { month: '2026-10', range: null },
    { month: null, range: { from: 4, to: 7 } },
  ]);
});

test('says that nothing was signed', async () => {
  const { inject, attestations } = archive();
  attestations.isThere = false;
  expect((await inject('/v1/attestation')).json()).toMatchObject({ status: 404, code: 'attestation/absent' });
});

test.each(['month=2026-13', 'month=', 'from=4', 'to=4', 'from=5&to=4', 'month=2026-11&from=1&to=2', 'mnoth=2026-11'])(
  'refuses %s',
  async (query) => {
    const { inject, attestations } = archive();
    const answer = await inject(`/v1/attestation?${query}`);
    expect(answer.json()).toMatchObject({ status: 400, code: 'http/bad-parameter' });
    expect(attestations.asked).toEqual([]);
  },
);
