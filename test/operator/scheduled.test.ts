import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mock, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { openForOperator } from '../../server/app.ts'
import type { Blobs } from '../../server/blobs/blobs.ts'
import { readConfig } from '../../server/config/settings.ts'
import { type Sweep, type SweepParts, sweeps } from '../../server/jobs/jobs.ts'
import { Scheduler } from '../../server/jobs/scheduler.ts'
import { type LogFields, makeLog } from '../../server/lib/log.ts'
import { repeatUntilEmpty } from '../../server/lib/repeat-until-empty.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../../server/lib/time.ts'
import { siteRow, storedBlob, versionRow } from '../store/rows.ts'
import { PATIENT } from '../support/patient.ts'
import { memoryFolder } from '../tools/memory-folder.ts'

// Scheduled sweeps, on timers and a clock that the test controls.

test('each sweep runs by schedule', async () => {
  await using data = await memoryFolder()
  await using fixture = await startSchedules(data.path, 10 * DAY_MS)
  const { store } = fixture
  await store.write('durable', {}, async (tx) => {
    await tx.sites.insert(siteRow('expired', { expiresAt: 1, liveVersionId: 'v', createdAt: fixture.now }))
    await tx.sites.insert(siteRow('abandoned', { createdAt: fixture.now - 2 * DAY_MS }))
    await tx.sites.insert(siteRow('crowded', { liveVersionId: 'v19', updatedAt: fixture.now }))
    for (let number = 0; number < 20; number++)
      await tx.rows.insert('versions', versionRow(`v${number}`, 'crowded', { publishedAt: number }))
    await tx.rows.insert(
      'versions',
      versionRow('p', 'crowded', { state: 'pending', createdAt: fixture.now - 2 * DAY_MS }),
    )
    const counts = { attemptTries: 0, openTries: 0, expiresAt: fixture.now - 1 }
    const code = { attemptHash: 'x', email: 'a@b.test', network: '', codeHash: 'x', ...counts }
    await tx.rows.insert('sign_in_codes', code)
    await tx.counters.add('old', fixture.now - 3 * HOUR_MS)
  })
  await fixture.pass(2 * HOUR_MS, MINUTE_MS)
  const { read } = store
  assert.equal((await read.sites.find('expired'))?.deletionReason, 'expired')
  assert.equal((await read.sites.find('abandoned'))?.deletionReason, 'abandoned')
  assert.equal((await read.versions.bySlug('crowded')).length, 10)
  assert.deepEqual(await read.signIns.codes('a@b.test'), [])
  assert.equal(await read.counters.value('old', 10 * DAY_MS - 3 * HOUR_MS), 0)
})

test('one of several processes runs each sweep at its interval', async () => {
  await using data = await memoryFolder()
  const counted = new Map<string, number>()
  const leased = sweeps.filter(({ runsOnAllNodes }) => !runsOnAllNodes)
  const table = leased.map(
    (sweep): Sweep => ({
      ...sweep,
      isEnabled: () => true,
      async run() {
        counted.set(sweep.name, (counted.get(sweep.name) ?? 0) + 1)
        return 0
      },
    }),
  )
  await using fixture = await startSchedules(data.path, 10 * DAY_MS, { schedulers: 3, table })
  await fixture.pass(HOUR_MS)
  for (const { name, intervalSeconds } of leased) {
    const turns = HOUR_MS / SECOND_MS / intervalSeconds
    const runs = counted.get(name) ?? 0
    // A lease expires a tenth of the interval before the next run of its holder.
    assert.ok(runs <= turns / 0.9 + 1, `${name} ran ${runs} times in ${turns} intervals`)
    assert.ok(runs >= Math.max(1, turns * 0.9), `${name} ran ${runs} times in ${turns} intervals`)
  }
})

test('a sweep that runs longer than its interval keeps its lease, and another process continues a minute after a crash', async () => {
  await using data = await memoryFolder()
  const held = Promise.withResolvers<number>()
  let runs = 0
  const run = async () => {
    runs++
    return runs === 1 ? held.promise : 0
  }
  const table = [{ name: 'long', intervalSeconds: 20, description: '', run }]
  await using fixture = await startSchedules(data.path, 10 * DAY_MS, { table, schedulers: 3 })
  const { store } = fixture
  await fixture.pass(10 * MINUTE_MS, SECOND_MS, { waits: false })
  held.resolve(0)
  assert.equal(runs, 1)
  await fixture.pass(MINUTE_MS)
  assert.ok(runs > 1, `${runs} runs`)
  const crashed = { name: 'long', holder: 'a crashed process', until: fixture.now + MINUTE_MS }
  await store.execute('relaxed', ({ leases }) =>
    leases.acquireOrFind(crashed, fixture.now + MINUTE_MS, crashed.until),
  )
  const before = runs
  await fixture.pass(50 * SECOND_MS)
  assert.equal(runs, before)
  await fixture.pass(MINUTE_MS)
  assert.ok(runs > before, `${runs} runs`)
})

test('sweeps run at their intervals after a clock that was years ahead is set right, also in a process that starts then', async () => {
  await using data = await memoryFolder()
  let runs = 0
  const table = [{ name: 'job', intervalSeconds: 60, description: '', run: async () => ++runs }]
  const now = 10 * DAY_MS
  {
    await using ahead = await startSchedules(data.path, now + 1000 * DAY_MS, { table })
    await ahead.pass(5 * MINUTE_MS)
  }
  const before = runs
  await using right = await startSchedules(data.path, now, { table })
  await right.pass(10 * MINUTE_MS)
  assert.ok(runs >= before + 9, `${runs - before} runs`)
})

test('a failed sweep is logged and runs again after its interval; the others continue', async () => {
  await using data = await memoryFolder()
  let tries = 0
  let others = 0
  const table: Sweep[] = [
    {
      name: 'failing',
      intervalSeconds: 60,
      description: '',
      run: async () => {
        if (++tries < 3) throw new Error('not now')
        return 7
      },
    },
    { name: 'other', intervalSeconds: 60, description: '', run: async () => ++others },
  ]
  await using fixture = await startSchedules(data.path, 10 * DAY_MS, { table })
  await fixture.pass(10 * MINUTE_MS)
  assert.ok(tries >= 9 && others >= 9, `${tries} tries, ${others} runs of the other`)
  const failures = fixture.log.filter(({ message }) => message.startsWith('sweep failed'))
  const causes = failures.map(({ level, sweep, error }) => [level, sweep, String(error).split('\n')[0]])
  assert.deepEqual(causes, Array(2).fill(['error', 'failing', 'Error: not now']))
  assert.ok(
    fixture.log.some(
      ({ message, sweep, count }) => message === 'sweep finished' && sweep === 'failing' && count === 7,
    ),
  )
})

for (const [schedulers, lines] of [
  [1, 0],
  [2, 1],
] as const)
  test(`${schedulers} processes on a data folder, and one that has ended, log ${lines} lines about others`, async () => {
    await using data = await memoryFolder()
    const table = [{ name: 'job', intervalSeconds: 60, description: '', run: async () => 0 }]
    await using fixture = await startSchedules(data.path, 10 * DAY_MS, { table, schedulers })
    const { store, now } = fixture
    await store.write('relaxed', {}, (tx) => tx.leases.acquire('job', 'ended', now, now + 50 * SECOND_MS))
    await fixture.pass(10 * MINUTE_MS)
    assert.equal(fixture.log.filter(({ message }) => message.startsWith('another process')).length, lines)
  })

test('stopping waits for the running sweep', async () => {
  await using data = await memoryFolder()
  const held = Promise.withResolvers<number>()
  const begun = Promise.withResolvers<void>()
  let ended = false
  const run = async () => {
    begun.resolve()
    await held.promise
    ended = true
    return 0
  }
  await using fixture = await startSchedules(data.path, DAY_MS, {
    table: [{ name: 'slow', intervalSeconds: 10, description: '', run }],
  })
  fixture.tick(10 * SECOND_MS)
  await begun.promise
  const stopping = fixture.stop()
  await turn()
  held.resolve(0)
  await stopping
  assert.ok(ended)
})

/** Each calls `onStep` in its steps. */
const LONG_SWEEPS: Record<
  string,
  (onStep: () => void, ...given: Parameters<Sweep['run']>) => Promise<number>
> = {
  async reads(onStep, { store }) {
    for (; ; onStep()) await store.read.jobCursors.find('long')
  },
  writes: (onStep, { store }) =>
    repeatUntilEmpty(async () => {
      onStep()
      await store.execute('relaxed', ({ jobCursors }) => jobCursors.set('long', 'here'))
      return 1
    }),
  'reads files': (...given) => verifyFiles('to its end', ...given),
  'reads a large file': (...given) => verifyFiles('until the stop', ...given),
}

async function verifyFiles(
  howFar: 'to its end' | 'until the stop',
  ...[onStep, parts, scope]: Parameters<(typeof LONG_SWEEPS)[string]>
): Promise<number> {
  await parts.store.write('relaxed', {}, (tx) => tx.blobs.add('bakery', [storedBlob(1), storedBlob(2)]))
  const verify: Blobs['verify'] = async (_location, signal) => {
    if (signal!.aborted) throw new Error('another file is read')
    onStep()
    await once(signal!, 'abort')
    if (howFar === 'until the stop') throw new Error('the stop ends the read')
    return 'intact'
  }
  const verification = sweeps.find(({ name }) => name === 'verification')!
  const config = { ...parts.config, verifyDaily: { bytes: 1e15 } }
  return verification.run({ ...parts, config, blobs: { ...parts.blobs, verify } }, scope)
}

for (const [what, run] of Object.entries(LONG_SWEEPS))
  test(`a stop ends a daily sweep that ${what} at its next step, and another process runs it again`, async () => {
    await using data = await memoryFolder()
    const begun = Promise.withResolvers<void>()
    const sweep: Sweep = {
      ...{ name: 'long', intervalSeconds: DAY_MS / SECOND_MS, description: '' },
      run: (...given) => run(begun.resolve, ...given),
    }
    await using fixture = await startSchedules(data.path, 10 * DAY_MS, { table: [sweep] })
    fixture.tick(MINUTE_MS)
    await begun.promise
    await fixture.stop()
    assert.deepEqual(fixture.log, [])
    const { store, now } = fixture
    assert.deepEqual(await store.read.sweepRuns.list(), [], 'neither a success nor a failure')
    const next = { name: 'long', holder: 'another process', until: now + MINUTE_MS }
    const { holder } = await store.execute('relaxed', ({ leases }) =>
      leases.acquireOrFind(next, now, now + DAY_MS),
    )
    assert.equal(holder, next.holder)
  })

interface Line extends LogFields {
  level: string
  message: string
}

/** Schedulers of several processes on one data folder, on timers and a clock that only the test moves. */
async function startSchedules(
  data: string,
  now: number,
  { schedulers = 1, table = sweeps }: { schedulers?: number; table?: readonly Sweep[] } = {},
) {
  await using started = new AsyncDisposableStack()
  const log: Line[] = []
  const clock = { now }
  const operator = started.use(
    await openForOperator(readConfig({ SLIPWAY_DATA: data }), {
      log: makeLog({ level: 'info', text: false, write: (line) => void log.push(JSON.parse(line)) }),
      version: 'test',
      deadlines: PATIENT,
      clock: () => clock.now,
    }),
  )
  const { store } = operator
  const running = new Set<Promise<unknown>>()
  const watched = table.map((sweep) => watchedBy(running, sweep))
  mock.timers.enable({ apis: ['setTimeout'] })
  started.defer(() => mock.timers.reset())
  const all = Array.from({ length: schedulers }, () => started.use(new Scheduler(operator, watched)))
  const tick = (milliseconds: number) => {
    clock.now += milliseconds
    mock.timers.tick(milliseconds)
  }
  const owned = started.move()
  return {
    store,
    log,
    get now() {
      return clock.now
    },
    tick,
    /** Moves the clock in steps, and waits after each until no sweep is running. */
    async pass(milliseconds: number, step = 5 * SECOND_MS, { waits = true } = {}) {
      for (let left = milliseconds; left > 0; left -= step) {
        tick(Math.min(left, step))
        // Writes are serialized, so that those that acquire a lease are done before this one.
        await store.write('relaxed', {}, async () => undefined)
        await turn()
        if (waits) await Promise.allSettled(running)
      }
    },
    async stop() {
      for (const scheduler of all) await scheduler[Symbol.asyncDispose]()
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

function watchedBy(running: Set<Promise<unknown>>, sweep: Sweep): Sweep {
  const run = (...given: [SweepParts, { since: number }]) => {
    const turn = sweep.run(...given)
    running.add(turn)
    void turn.catch(() => undefined).finally(() => running.delete(turn))
    return turn
  }
  return { ...sweep, run }
}
