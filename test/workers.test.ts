import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { test } from 'node:test'

const SCRIPT = join(import.meta.dirname, '..', 'server', 'bin', 'slipway-server.js')

test('a service whose workers have all exited shuts down in order', async () => {
  await using stack = new AsyncDisposableStack()
  const data = await mkdtemp(join(tmpdir(), 'slipway-workers-'))
  stack.defer(() => rm(data, { recursive: true, force: true }))
  const env = { PATH: process.env.PATH, SLIPWAY_DATA: data, SLIPWAY_PORT: '0', SLIPWAY_WORKERS: '2' }
  const supervisor = spawn(process.execPath, [SCRIPT], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  stack.defer(() => void supervisor.kill('SIGKILL'))
  const ended = once(supervisor, 'exit')
  const lines = createInterface({ input: supervisor.stdout })[Symbol.asyncIterator]()
  await lineWith(lines, 'runs at')
  for (const pid of childrenOf(supervisor.pid!)) process.kill(pid, 'SIGKILL')
  for (const _ of [1, 2]) await lineWith(lines, 'worker exited')
  supervisor.kill('SIGTERM')
  assert.deepEqual(await ended, [0, null])
})

/** A worker whose refresh after a change ends on command. */
const WORKER = `
  import { WorkerChannel } from ${JSON.stringify(join(import.meta.dirname, '..', 'server', 'workers.ts'))}
  const refresh = Promise.withResolvers()
  process.on('message', ({ kind }) => kind === 'finish' && refresh.resolve())
  new WorkerChannel(() => process.disconnect()).ready({
    baseUrl: 'http://localhost',
    async invalidate() {
      process.send({ kind: 'refreshing' })
      await refresh.promise
      process.send({ kind: 'refreshed' })
    },
  })
`

test('a worker acknowledges a change after it has refreshed the affected caches, not before', async () => {
  const worker = spawn(process.execPath, ['--input-type=module', '--eval', WORKER], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  const messages: { kind: string; id?: number }[] = []
  const ended = once(worker, 'exit')
  worker.on('message', (message: { kind: string }) => {
    messages.push(message)
    if (message.kind === 'ready') worker.send({ kind: 'invalidate', id: 7, slugs: ['www.example.test'] })
    // An early acknowledgement would have been sent by now.
    if (message.kind === 'refreshing') worker.send({ kind: 'finish' })
    if (messages.length === 4) worker.send({ kind: 'stop' })
  })
  await ended
  assert.deepEqual(
    messages.map(({ kind }) => kind),
    ['ready', 'refreshing', 'refreshed', 'invalidated'],
  )
  assert.equal(messages.at(-1)!.id, 7)
})

async function lineWith(lines: AsyncIterator<string>, text: string): Promise<void> {
  for (;;) {
    const { value, done } = await lines.next()
    if (done) throw new Error(`it ended before it printed '${text}'`)
    if (value.includes(text)) return
  }
}

function childrenOf(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
  return children.split(' ').filter(Boolean).map(Number)
}
