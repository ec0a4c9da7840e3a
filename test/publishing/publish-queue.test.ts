import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { ApiError } from '../../server/lib/errors.ts'
import { Metrics } from '../../server/lib/metrics.ts'
import { PublishQueue } from '../../server/publish/publish-queue.ts'

const RUNNING = 4
const TIMEOUT_MS = 2000

function openQueue({ timeoutMs = TIMEOUT_MS } = {}) {
  const time = { now: 0, readWaitMs: 0 }
  const metrics = new Metrics()
  const queue = new PublishQueue({
    ...{ running: RUNNING, timeouts: { acquire: 800, queue: timeoutMs }, metrics },
    readWaitMs: () => time.readWaitMs,
    clock: () => time.now,
  })
  const started: string[] = []
  const refused: string[] = []
  const ends: (() => void)[] = []
  const clients = new Map<string, () => void>()
  /** A publish, by default from an address of its own. */
  const run = async (name: string, { from = name, step = 'new' as 'new' | 'finalize' } = {}) => {
    const onDisconnect = (listener: () => void) => void clients.set(name, listener)
    const work = () => {
      started.push(name)
      return new Promise<void>((resolve) => ends.push(resolve))
    }
    try {
      await queue.run({ account: undefined, address: from, onDisconnect }, step, work)
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
  const hasRoom = (address = 'another', sinceAdmittedMs?: number) => {
    try {
      queue.assertRoom({ account: undefined, address }, sinceAdmittedMs)
      return true
    } catch {
      return false
    }
  }
  const disconnect = async (name: string) => {
    clients.get(name)?.()
    await turn()
  }
  const countWaiting = () => metrics.read().slipway_publishes_waiting
  return { time, started, refused, run, endOne, hasRoom, disconnect, countWaiting }
}

const nameMany = (count: number) => Array.from({ length: count }, (_, number) => `publish ${number}`)

test('publishes are refused that would wait too long, by how long the last ones took', async () => {
  const { run, endOne, hasRoom } = openQueue()
  for (const name of nameMany(100)) void run(name)
  for (let count = 0; count < 85; count++) await endOne(100)
  assert.equal(hasRoom(), false, '11 wait for two writes each, of which one ends every 100 ms')
  await endOne(100)
  assert.equal(hasRoom(), true, '10 wait')
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
    assert.equal(hasRoom('another', 201), expected)
    assert.ok(hasRoom('another', 200), 'it has waited with these reads')
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
  for (const name of nameMany(100)) void run(name)
  for (let count = 0; count < 40; count++) await endOne(100)
  void run('new')
  void run('arrived', { step: 'finalize' })
  await endOne(1)
  assert.deepEqual([started.at(-1), refused], ['arrived', ['new']])
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
