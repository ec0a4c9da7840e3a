import assert from 'node:assert/strict'
import { beforeEach, describe, test } from 'node:test'
import { certificateId } from '../../packages/acme-client/x509.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../server/lib/time.ts'
import { pluck } from '../support/pluck.ts'
import { startForAllTests } from '../support/started-fixture.ts'
import { obtain, startAcmeFixture } from './acme-fixture.ts'
import { FakeCa } from './fake-ca.ts'
import { NullSolver } from './null-solver.ts'

const NOW = Date.UTC(2031, 4, 5, 6, 7, 8)

describe('renewal information', () => {
  let now = NOW

  const ca = startForAllTests(() => FakeCa.start(() => now))
  const service = startForAllTests(() => startAcmeFixture(ca, { clock: () => now }))

  beforeEach(() => {
    now = NOW
    ca.override = () => undefined
    service.logged.length = 0
  })

  test('the CA suggests a renewal window', async () => {
    const proofs = new NullSolver('http-01')
    now = Date.now()
    const { chain } = await obtain(service.acme, ['www.example.test'], { proofs })
    ca.window = { start: now + 3 * DAY_MS, end: now + 4 * DAY_MS }
    assert.equal(await service.acme.supportsRenewalInfo(), true)
    assert.deepEqual(await service.acme.renewalInfo((await certificateId(chain))!), {
      ...ca.window,
      nextRequestAt: now + 6 * HOUR_MS,
    })
  })

  test('a certificate that the CA does not know has no renewal information', async () => {
    assert.equal(await service.acme.renewalInfo('AAAA.AAAA'), undefined)
  })

  test('an unavailable CA is reported with its Retry-After', async () => {
    ca.override = ({ endpoint }) =>
      endpoint === 'renewal-information' ? { status: 503, headers: { 'retry-after': '60' } } : undefined
    await assert.rejects(service.acme.renewalInfo('AAAA.AAAA'), {
      kind: 'unreachable',
      notBefore: NOW + MINUTE_MS,
    })
  })

  const WINDOW = { start: '2031-05-08T00:00:00Z', end: '2031-05-09T00:00:00.123456Z' }
  const READ = { start: Date.UTC(2031, 4, 8), end: Date.UTC(2031, 4, 9, 0, 0, 0, 123) }

  test('Retry-After delays the next request by a minute to a day', async () => {
    for (const [retryAfter, wait] of [
      ['3600', HOUR_MS],
      ['0', MINUTE_MS],
      ['86400', DAY_MS],
      ['86401', DAY_MS],
      [new Date(NOW + 2 * HOUR_MS).toUTCString(), 2 * HOUR_MS],
      ['Thu, 01 Jan 1970 00:00:00 GMT', MINUTE_MS],
      ['-5', 6 * HOUR_MS],
      ['now', 6 * HOUR_MS],
      ['', 6 * HOUR_MS],
    ] as const) {
      respondWith({ suggestedWindow: WINDOW }, retryAfter)
      assert.deepEqual(await getInfo(), { ...READ, nextRequestAt: NOW + wait }, `"${retryAfter}"`)
    }
  })

  test('a window in the past is valid: the certificate is due now', async () => {
    respondWith({ suggestedWindow: { start: '2030-01-01T00:00:00+02:00', end: '2030-01-02T00:00:00z' } })
    assert.equal((await getInfo())?.start, Date.UTC(2029, 11, 31, 22))
  })

  const NONSENSE: [string, object][] = [
    ['nothing', {}],
    ['no window', { suggestedWindow: null }],
    ['a window that ends before it begins', { suggestedWindow: { start: WINDOW.end, end: WINDOW.start } }],
    ['a window of no time', { suggestedWindow: { start: WINDOW.start, end: WINDOW.start } }],
    ['a window without an end', { suggestedWindow: { start: WINDOW.start } }],
    ['times that are none', { suggestedWindow: { start: 'today', end: 'tomorrow' } }],
    ['times that only JavaScript reads', { suggestedWindow: { start: '1', end: '2031' } }],
    ['numbers', { suggestedWindow: { start: 1, end: 2e12 } }],
    ['a day that is none', { suggestedWindow: { start: '2031-02-31T99:00:00Z', end: WINDOW.end } }],
    ['a time before such things', { suggestedWindow: { start: '0001-01-01T00:00:00Z', end: WINDOW.end } }],
    ['a time long after', { suggestedWindow: { start: WINDOW.start, end: '9999-01-01T00:00:00Z' } }],
  ]
  test('an invalid window is ignored and logged', async () => {
    for (const [what, body] of NONSENSE) {
      respondWith(body)
      assert.equal(await getInfo(), undefined, what)
      assert.deepEqual(pluck(service.logged.splice(0), 'message'), [
        'certificate authority sent invalid renewal information',
      ])
    }
  })

  test('the directory is cached, and reloaded when it is old or the clock has jumped', async () => {
    respondWith({ suggestedWindow: WINDOW })
    const acme = service.openAnother()
    const before = ca.count('directory')
    await Promise.all([1, 2, 3].map(() => acme.renewalInfo('a.b')))
    now += 9 * MINUTE_MS
    await acme.renewalInfo('a.b')
    assert.equal(ca.count('directory') - before, 1)
    now += 2 * MINUTE_MS
    await acme.renewalInfo('a.b')
    assert.equal(ca.count('directory') - before, 2)
    now -= DAY_MS
    await acme.renewalInfo('a.b')
    assert.equal(ca.count('directory') - before, 3)
  })

  function respondWith(body: object, retryAfter?: string): void {
    ca.override = ({ endpoint }) =>
      endpoint === 'renewal-information'
        ? { status: 200, headers: retryAfter === undefined ? {} : { 'retry-after': retryAfter }, body }
        : undefined
  }

  function getInfo() {
    return service.acme.renewalInfo('AAAA.AAAA')
  }
})
