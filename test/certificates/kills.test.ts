import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AcmeError } from '../../packages/acme-client/acme.ts'
import { CertificateManager } from '../../server/certificates/certificates.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../../server/lib/time.ts'
import type { Store } from '../../server/store/store.ts'
import { activate, type Issuing, NAME, startIssuing } from './fixture.ts'
import type { Step } from './simulated-ca.ts'

// A kill is simulated by a promise that never resolves: the process makes no progress and releases nothing.

const NEVER = new Promise<never>(() => undefined)

const STEPS: Step[] = ['order', 'authorize', 'finalize', 'download']

/** Orders that a kill costs: an order whose URL was not stored is lost. */
const ORDERS_LOST: Partial<Record<`${'before' | 'after'} ${Step}`, number>> = { 'after order': 1 }

for (const step of STEPS) {
  for (const side of ['before', 'after'] as const) {
    test(`a kill ${side} the CA does "${step}" loses nothing, at first and at renewal`, async () => {
      await using issuing = await startIssuing()
      const certificates = issuing.node()
      await activate(issuing.store, certificates)
      const lost = ORDERS_LOST[`${side} ${step}`] ?? 0
      await killAt(issuing, step, side)
      assert.equal(await issuing.served(), undefined)
      await recover(issuing, 1)
      assert.equal(issuing.ca.ordered.get(NAME), 1 + lost)

      const first = (await issuing.served())!
      issuing.time.now = (await issuing.row()).renewAt!
      await killAt(issuing, step, side)
      assert.deepEqual(await issuing.served(), first, 'the old certificate is served')
      await recover(issuing, 2)
      assert.equal(issuing.ca.ordered.get(NAME), 2 + 2 * lost)
      assert.deepEqual(issuing.ca.limits.passed, [])
    })
  }
}

test('a kill before or after any write to the store loses nothing', async () => {
  for (const side of ['before', 'after'] as const) {
    let write = 0
    for (let finished = false; !finished; write++) {
      await using issuing = await startIssuing()
      await activate(issuing.store, issuing.node())
      await issuing.store.write('relaxed', {}, (tx) =>
        tx.certificates.update(NAME, { dueAt: issuing.time.now }),
      )
      const killed = withKill(issuing.store, write, side)
      const dying = new CertificateManager({ ...issuing.parts, store: killed.store })
      finished = (await Promise.race([dying.runDue(), killed.dead])) !== 'dead'
      if (finished) break
      const done = (await issuing.served()) !== undefined
      await recover(issuing, 1)
      assert.ok(issuing.ca.ordered.get(NAME)! <= 2, `${side} write ${write}`)
      assert.equal(issuing.ca.certificates, 1, `${side} write ${write}: ${done}`)
    }
    assert.ok(write >= 8, `${write} writes were tried`)
  }
})

test('a process that shuts down releases its work, and the next one continues immediately', async () => {
  await using issuing = await startIssuing()
  const { ca, store, time } = issuing
  const ending = issuing.node()
  await activate(store, ending)
  const { promise: reached, resolve } = Promise.withResolvers<void>()
  ca.before = (step) => {
    if (step !== 'finalize') return
    ca.before = () => undefined
    resolve()
    return NEVER
  }
  const turn = ending.runDue()
  await reached
  await ending[Symbol.asyncDispose]()
  assert.equal(await turn, 0)
  assert.equal(await ending.runDue(), 0)
  time.now += SECOND_MS
  assert.equal(await issuing.node().runDue(), 1)
  assert.equal(ca.ordered.get(NAME), 1)
})

for (const step of ['order', 'authorize', 'download'] as const) {
  for (const fails of [false, true]) {
    const when = `in "${step}"${fails ? ', which fails,' : ''}`
    test(`a process that was suspended ${when} does not overwrite the one that took over`, async () => {
      await using issuing = await startIssuing()
      const { ca, store, time } = issuing
      const slow = issuing.node()
      await activate(store, slow)
      const suspended = Promise.withResolvers<void>()
      const reached = Promise.withResolvers<void>()
      ca.after = (at) => {
        if (at !== step) return
        ca.after = () => undefined
        reached.resolve()
        return suspended.promise
      }
      const turn = slow.runDue()
      await reached.promise
      time.now += 11 * MINUTE_MS
      assert.equal(await issuing.node().runDue(), 1)
      const row = await issuing.row()
      if (fails) suspended.reject(new AcmeError('challenge-failed', 'nothing was found'))
      else suspended.resolve()
      assert.equal(await turn, 0)
      assert.deepEqual(await issuing.row(), row)
    })
  }
}

test('an order that the CA has deleted or invalidated is placed again', async () => {
  for (const absence of [HOUR_MS, 8 * DAY_MS]) {
    await using issuing = await startIssuing()
    await activate(issuing.store, issuing.node())
    await killAt(issuing, 'finalize', 'before')
    issuing.time.now += absence
    await recover(issuing, 1)
    assert.equal(issuing.ca.ordered.get(NAME), absence > DAY_MS ? 2 : 1)
  }
})

/** Runs a new process until it reaches the step, and kills it there. */
async function killAt(issuing: Issuing, step: Step, side: 'before' | 'after'): Promise<void> {
  const { ca } = issuing
  const { promise: reached, resolve } = Promise.withResolvers<void>()
  ca[side] = (at) => {
    if (at !== step) return
    ca[side] = () => undefined
    resolve()
    return NEVER
  }
  void issuing.node().runDue()
  await reached
}

/** Runs the next process, which waits until the lease has expired, and asserts that it gets the certificate. */
async function recover(issuing: Issuing, certificates: number): Promise<void> {
  const next = issuing.node()
  for (let minutes = 0; minutes <= 12 && issuing.ca.certificates < certificates; minutes++) {
    await next.runDue()
    issuing.time.now += MINUTE_MS
  }
  for (let turns = 0; turns < 12 && (await issuing.row()).orderUrl !== null; turns++) {
    issuing.time.now += MINUTE_MS
    await next.runDue()
  }
  const served = (await issuing.served())!
  assert.ok(served.fits)
  assert.equal(served.notAfter, Math.max(...[...issuing.ca.issued.values()].map((one) => one.notAfter)))
}

/** A store that stops before or after its `at`th write. */
function withKill(store: Store, at: number, side: 'before' | 'after') {
  const { promise: dead, resolve } = Promise.withResolvers<'dead'>()
  let writes = 0
  const write: Store['write'] = async (durability, scope, work) => {
    const number = writes++
    if (number > at) return NEVER
    if (number === at && side === 'before') {
      resolve('dead')
      return NEVER
    }
    const result = await store.write(durability, scope, work)
    if (number < at) return result
    resolve('dead')
    return NEVER
  }
  return { dead, store: { ...store, write } as Store }
}
