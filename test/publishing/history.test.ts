import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Random } from '../support/random.ts'
import { firstSite, generateBytes, INDEX } from './content.ts'
import { History, type SiteHistory } from './history.ts'

const SLUG = 'bakery'
const SITES = new Map(['1', '2'].map((name) => [name, firstSite(name, new Random(1))]))
const NEVER = Number.POSITIVE_INFINITY

/** Changes that take no time, a minute apart: to these versions, to no site (null), and `2?` without a response. */
function historyOf(changes: readonly (string | null)[], expiresAt?: number): SiteHistory {
  let now = 0
  const history = new History({ now: () => now })
  history.add({ kind: 'site', slug: SLUG, ...(expiresAt !== undefined && { expiresAt }) })
  for (const name of changes) {
    now += 60_000
    const state = name === null ? null : SITES.get(name[0]!)!
    history.add({ kind: 'change request', slug: SLUG, state })
    if (name?.endsWith('?')) history.add({ kind: 'failure', slug: SLUG })
    else if (state) history.add({ kind: 'live', slug: SLUG, versionId: `${now}`, state })
    else history.add({ kind: 'deleted', slug: SLUG })
  }
  return history.sites.get(SLUG)!
}

for (const [title, changes, [seen, at], age, expiresAt] of [
  ['0 of the newest version', ['1', '2'], ['2', 125_000], 0],
  ['the time since the replacement of an older one', ['1', '2'], ['1', 125_000], 5000],
  ['infinite of a version that was never published', ['1'], ['2', 65_000], NEVER],
  ['the time since the first version, of nothing', ['1'], [null, 65_000], 5000],
  ['0 of nothing after a deletion', ['1', null], [null, 125_000], 0],
  ['the time since the deletion of a version', ['1', null], ['1', 125_000], 5000],
  ['0 of a version whose replacement was not acknowledged', ['1', '2?'], ['1', 500_000], 0],
  ['0 of a replacement that was not acknowledged', ['1', '2?'], ['2', 500_000], 0],
  ['0 of a restored version', ['1', '2', '1'], ['1', 185_000], 0],
  ['0 of nothing after the expiry', ['1'], [null, 64_000], 0, 63_000],
  [
    'the time since the expiry of a version, less the tolerance of clocks',
    ['1'],
    ['1', 65_000],
    1900,
    63_000,
  ],
] as const)
  test(`the age of what a visitor saw is ${title}`, () =>
    assert.equal(historyOf(changes, expiresAt).age(seen, at, at + 1), age))

test('bytes that belong to no version of a site, or not to all of it, are identified as others', () => {
  const site = historyOf(['1'])
  const body = generateBytes(SITES.get('1')![INDEX]!)
  assert.equal(site.identify(INDEX, { status: 200, body }), '1')
  assert.equal(site.identify(INDEX, { status: 404, body: Buffer.alloc(0) }), null)
  for (const other of [body.subarray(1), body.subarray(0, -1), generateBytes(SITES.get('2')![INDEX]!)])
    assert.equal(site.identify(INDEX, { status: 200, body: other }), 'other')
})

test('the outcome of a change without a response is what the service shows later', () => {
  const site = historyOf(['1', '2?'])
  assert.equal(site.possibleStates.length, 2)
  site.resolve(SITES.get('2')!)
  assert.deepEqual(site.possibleStates, [SITES.get('2')])
})
