import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { WorkerThread } from '../../server/lib/worker-thread.ts'

const MINUTE_MS = 60_000

/** Answers with the message and its count, ends at `exit`, and fails at `throw`. */
const PROGRAM = `
  import { parentPort } from 'node:worker_threads'
  let count = 0
  parentPort.on('message', (message) => {
    if (message === 'exit') process.exit()
    if (message === 'throw') throw new Error('the message')
    parentPort.postMessage([message, ++count])
  })`

const startThread = (idleTimeoutMs = MINUTE_MS) =>
  new WorkerThread<string, [string, number]>({
    program: new URL(`data:text/javascript,${encodeURIComponent(PROGRAM)}`),
    ...{ timeoutMs: MINUTE_MS, idleTimeoutMs, memoryMb: 32 },
  })

test('a message that ends its thread fails alone: another thread answers those after it', async () => {
  using thread = startThread()
  const messages = ['a', 'b', 'exit', 'c', 'throw', 'exit', 'd']
  const answers = await Promise.allSettled(messages.map((message) => thread.call(message)))
  const outcomes = answers.map((one) => (one.status === 'fulfilled' ? one.value.join() : one.reason.message))
  assert.deepEqual(outcomes, [
    'a,1',
    'b,2',
    'The thread ended',
    'c,1',
    'the message',
    'The thread ended',
    'd,1',
  ])
  assert.deepEqual(await thread.call('e'), ['e', 2])
})

test('a thread ends when it is idle, and the next message starts another one', async () => {
  using thread = startThread(0)
  assert.deepEqual(await thread.call('a'), ['a', 1])
  await once(AbortSignal.timeout(1), 'abort')
  assert.deepEqual(await thread.call('b'), ['b', 1])
})

test('what a thread has not answered when it is closed is UNAVAILABLE, and so is each later message', async () => {
  const thread = startThread()
  const calls = [thread.call('a'), thread.call('b')]
  thread[Symbol.dispose]()
  for (const call of [...calls, thread.call('c')]) await assert.rejects(call, { code: 'UNAVAILABLE' })
})

test('a thread that the system cannot start fails the messages that wait, and the next one starts it', async () => {
  const env = { refuses: true }
  const program = new URL(`data:text/javascript,${encodeURIComponent(PROGRAM)}`)
  using thread = new WorkerThread<string, [string, number]>({
    get program() {
      if (env.refuses) throw new Error('EAGAIN')
      return program
    },
    ...{ timeoutMs: MINUTE_MS, idleTimeoutMs: MINUTE_MS, memoryMb: 32 },
  })
  await assert.rejects(thread.call('a'), /EAGAIN/)
  env.refuses = false
  const answers = Promise.all([
    thread.call('b'),
    assert.rejects(thread.call('exit')),
    assert.rejects(thread.call('c')),
  ])
  env.refuses = true
  assert.deepEqual((await answers)[0], ['b', 1])
})
