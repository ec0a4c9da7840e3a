import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import type { Caller } from '../../server/accounts/authorization.ts'
import { ApiError } from '../../server/lib/errors.ts'
import { Metrics } from '../../server/lib/metrics.ts'
import { PublishQueue } from '../../server/publish/publish-queue.ts'
import type { ChangeListener } from '../../server/store/store.ts'

const RUNNING = 4
const TIMEOUT_MS = 2000

interface Run {
  from?: string
  step?: 'new' | 'finalize'
  uploads?: number
  account?: Caller['account']
}

function openQueue({ timeoutMs = TIMEOUT_MS, uploadsAtOnce = 1000 } = {}) {
  const time = { now: 0, readWaitMs: 0 }
  const metrics = new Metrics()
  const listeners: ChangeListener[] = []
  const queue = new PublishQueue({
    ...{
      running: RUNNING,
      timeouts: { acquire: 800, queue: timeoutMs, expectedUploads: 2500 },
      metrics,
      uploadsAtOnce,
    },
    store: { readWaitMs: () => time.readWaitMs, onChange: (listener) => listeners.push(listener) },
    clock: () => time.now,
  })
  const started: string[] = []
  const refused: string[] = []
  const ends: (() => void)[] = []
  const clients = new Map<string, () => void>()
  /** A publish, by default from an address of its own. */
  const run = async (name: string, { from = name, step = 'new', uploads = 0, account }: Run = {}) => {
    const onDisconnect = (listener: () => void) => void clients.set(name, listener)
    const work = () => {
      started.push(name)
      return new Promise<void>((resolve) => ends.push(resolve))
    }
    try {
      const caller = { account, address: from, onDisconnect }
      await queue.run(caller, step, work, uploads)
      if (uploads > 0) queue.expectUploads(caller, name, uploads)
    } catch (error) {
      assert.ok(error instanceof ApiError && error.status === 503 && error.retryAfterSeconds)
      refused.push(name)
    }
  }
  /** Ends the publish that has written longest, `milliseconds` later. */
  const endOne = async (milliseconds: number) => {
    time.now += milliseconds
    ends.shift()!()
    await turn()
  }
  const hasRoom = (address = 'another', given?: Parameters<PublishQueue['assertRoom']>[1]) => {
    try {
      queue.assertRoom({ account: undefined, address }, given)
      return true
    } catch {
      return false
    }
  }
  const disconnect = async (name: string) => {
    clients.get(name)?.()
    await turn()
  }
  const uploads: (() => void)[] = []
  const upload = (address: string) => {
    const work = () => new Promise<void>((resolve) => uploads.push(resolve))
    void queue.receive({ account: undefined, address }, work, () => false)
  }
  const endUpload = async () => {
    uploads.shift()!()
    await turn()
  }
  const countWaiting = () => metrics.read().slipway_publishes_waiting
  const change = (names?: string[]) => listeners[0]!(names, false, new Map())
  return {
    time,
    queue,
    started,
    refused,
    run,
    endOne,
    hasRoom,
    disconnect,
    upload,
    endUpload,
    change,
    countWaiting,
  }
}

const nameMany = (count: number) => Array.from({ length: count }, (_, number) => `publish ${number}`)

test('publishes are refused that would wait too long, by the pace of the last ones', async () => {
  const { run, endOne, hasRoom } = openQueue()
  for (const name of nameMany(RUNNING + 30)) void run(name)
  for (let count = 0; count < 16; count++) await endOne(20)
  for (const name of nameMany(36)) void run(name)
  assert.equal(hasRoom(), true, '50 wait for two writes each, of which one begins every 20 ms')
  void run('one more')
  assert.equal(hasRoom(), false)
})

test('those that came last are refused as soon as the pace shows that they will wait too long', async () => {
  const { run, endOne, refused } = openQueue()
  for (const name of nameMany(RUNNING + 14)) void run(name)
  await endOne(100)
  assert.deepEqual(refused, [])
  await endOne(100)
  assert.deepEqual(refused, ['publish 17', 'publish 16', 'publish 15'])
})

test('publishes are refused while reads of the database wait for more than a quarter of their deadline', () => {
  const { time, hasRoom } = openQueue()
  for (const [waitMs, expected] of [
    [200, true],
    [201, false],
    [0, true],
  ] as const) {
    time.readWaitMs = waitMs
    assert.equal(hasRoom(), expected)
    assert.equal(hasRoom('another', { sinceAdmittedMs: 201 }), expected)
    assert.ok(hasRoom('another', { sinceAdmittedMs: 200 }), 'it has waited with these reads')
  }
})

test('publishes are refused while none has ended for too long', () => {
  const { time, run, hasRoom } = openQueue()
  for (const name of nameMany(RUNNING)) void run(name)
  time.now += TIMEOUT_MS
  assert.equal(hasRoom(), true)
  time.now++
  assert.equal(hasRoom(), false)
})

test('a publish that has waited too long is refused', async () => {
  const { run, refused, countWaiting } = openQueue({ timeoutMs: 0 })
  for (const name of nameMany(RUNNING)) void run(name)
  await run('late')
  assert.deepEqual([refused, countWaiting()], [['late'], 0])
})

test('one address takes half of the places and of the queue, also when it is an IPv6 network', async () => {
  const { run, endOne, hasRoom, started } = openQueue()
  const addresses = ['2001:db8::1', '2001:db8::2', '2001:db8::3']
  for (const from of addresses) void run(from, { from })
  for (const name of ['a', 'b', 'c']) void run(name)
  assert.deepEqual(started, ['2001:db8::1', '2001:db8::2', 'a', 'b'])
  await endOne(1)
  assert.equal(started.at(-1), '2001:db8::3')
  const crowd = openQueue()
  for (const name of nameMany(RUNNING)) void crowd.run(name)
  for (const name of nameMany(499)) void crowd.run(name, { from: 'many' })
  assert.deepEqual([crowd.hasRoom('many'), crowd.hasRoom()], [true, true])
  void crowd.run('one more', { from: 'many' })
  assert.deepEqual([crowd.hasRoom('many'), crowd.hasRoom()], [false, true])
  assert.equal(hasRoom(), true)
})

test('an address whose publishes hang does not keep others from publishing', () => {
  const { time, run, hasRoom } = openQueue()
  for (const name of ['a', 'b', 'c']) void run(name, { from: 'many' })
  time.now += TIMEOUT_MS + 1
  assert.deepEqual([hasRoom('many'), hasRoom()], [false, true])
})

test('a publish whose files have arrived goes before new ones, and does not wait for them', async () => {
  const { run, endOne, started, refused } = openQueue()
  for (const name of nameMany(RUNNING + 10)) void run(name)
  for (let count = 0; count < 2; count++) await endOne(90)
  for (const name of ['a', 'b', 'c', 'd', 'new']) void run(name)
  void run('arrived', { step: 'finalize' })
  await endOne(1)
  assert.deepEqual([started.at(-1), refused.includes('new')], ['arrived', true])
})

test('a publish leaves the queue when its client disconnects, unless its files have arrived', async () => {
  const { run, endOne, started, refused, disconnect, countWaiting } = openQueue()
  for (const name of nameMany(RUNNING)) void run(name)
  void run('left')
  void run('stays', { step: 'finalize' })
  await disconnect('left')
  await disconnect('stays')
  assert.deepEqual([refused, countWaiting()], [['left'], 1])
  await endOne(1)
  assert.deepEqual([started.at(-1), refused], ['stays', ['left']])
})

test('beyond a thousand that wait, all are refused', async () => {
  const { run, refused } = openQueue()
  for (const name of nameMany(RUNNING + 1000)) void run(name, { step: 'finalize' })
  await run('one more', { step: 'finalize' })
  assert.deepEqual(refused, ['one more'])
})

for (const [what, end] of Object.entries<(queue: ReturnType<typeof openQueue>) => unknown>({
  'an upload has ended': ({ endUpload }) => endUpload(),
  'a file has arrived': ({ queue }) => queue.uploadsArrived('a', 1),
  'a bundle has arrived': ({ queue }) => queue.uploadsArrived('a'),
  'a publish has been finalized at another node': ({ change }) => change(['other', 'a']),
  'changes may have been missed': ({ change }) => change(),
}))
  test(`a publish begins only when its uploads will not be refused: when ${what}`, async () => {
    const opened = openQueue({ uploadsAtOnce: 64 })
    const { run, endOne, started, upload } = opened
    for (const name of ['a', 'b']) void run(name, { uploads: 100 })
    for (const _ of ['a', 'b']) await endOne(1)
    for (let number = 0; number < 16; number++) upload(`address ${number}`)
    void run('c', { uploads: 1 })
    assert.deepEqual(started, ['a', 'b'], '32 of 48 places are for uploads that will come')
    await end(opened)
    assert.deepEqual(started, ['a', 'b', 'c'])
  })

test('uploads that do not come are not waited for', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { run, endOne, started } = openQueue({ uploadsAtOnce: 16, timeoutMs: 10_000 })
  void run('a', { uploads: 100 })
  await endOne(1)
  void run('b', { uploads: 1 })
  t.mock.timers.tick(2499)
  assert.deepEqual(started, ['a'])
  t.mock.timers.tick(1)
  assert.deepEqual(started, ['a', 'b'])
})

test('one address has a quarter of the uploads that are expected', async () => {
  const { run, endOne, started } = openQueue({ uploadsAtOnce: 64 })
  void run('a', { from: 'many', uploads: 100 })
  await endOne(1)
  void run('b', { from: 'many', uploads: 1 })
  void run('c', { uploads: 1 })
  assert.deepEqual(started, ['a', 'c'])
})

test('while all uploads are in progress, publishes without uploads begin, and those of accounts beyond what others take', async () => {
  const { run, started, refused, upload, time, hasRoom } = openQueue({ uploadsAtOnce: 64 })
  for (let number = 0; number < 48; number++) upload(`address ${number}`)
  time.now += TIMEOUT_MS + 1
  void run('waits', { uploads: 1 })
  void run('archive')
  void run('of an account', { uploads: 1, account: { id: 'account' } as Caller['account'] })
  assert.deepEqual([started, refused], [['archive', 'of an account'], []])
  time.now += TIMEOUT_MS + 1
  assert.deepEqual([hasRoom(), hasRoom('another', { hasAccount: true })], [false, true])
})
