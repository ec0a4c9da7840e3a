import cluster, { type Worker } from 'node:cluster'
import { mock } from 'node:test'
import { supervise, WorkerChannel } from '../../server/commands/workers.ts'
import { makeLog } from '../../server/lib/log.ts'

/** Short, so that a test of a worker that hangs need not wait long. */
const PING_INTERVAL_MS = 300

// Two workers under a supervisor, which ends on SIGTERM. Each prints its process id when it starts and when it is ready. With
// the argument `hang` they hang before that, and print each ping; with `hang later` those do that replace the first two. On
// SIGUSR2 the second argument becomes the program of workers, and at the next SIGUSR2 it is Node again. A ready worker that
// gets SIGUSR2 hangs.
if (cluster.isPrimary) {
  pingAfterAnswers()
  cluster.on('fork', ({ id }) => console.log(`forks ${id}`))
  const supervisor = supervise({
    workers: 2,
    args: process.argv.slice(2),
    log: makeLog({ level: 'info', text: false, write: (line) => void process.stdout.write(line) }),
    onReady: () => undefined,
    pingIntervalMs: PING_INTERVAL_MS,
  })
  process.on('SIGTERM', () => supervisor.stop())
  let otherPath = process.argv[3]!
  process.on('SIGUSR2', () => {
    ;[process.execPath, otherPath] = [otherPath, process.execPath]
    console.log(`program ${process.execPath}`)
  })
  process.exitCode = await supervisor.ended
} else if (process.argv[2] === 'hang' && (process.argv[3] !== 'later' || cluster.worker!.id > 2)) {
  console.log(`starts ${process.pid}`)
  process.on('message', () => console.log(`ping ${process.pid}`))
} else {
  console.log(`starts ${process.pid}`)
  const keepAlive = setInterval(() => undefined, 1000)
  if (process.argv[2] === 'late' && cluster.worker!.id > 2) await receivePings(5)
  const channel = new WorkerChannel(() => {
    clearInterval(keepAlive)
    cluster.worker!.disconnect()
  })
  const { Metrics } = await import('../../server/lib/metrics.ts')
  channel.ready({ baseUrl: 'http://localhost', metrics: new Metrics(), invalidate: async () => undefined })
  process.on('SIGUSR2', () => process.send!({ kind: 'hangs' }, () => process.kill(process.pid, 'SIGSTOP')))
  console.log(`ready ${process.pid}`)
}

/** Pings again only when the last ping was answered by each ready worker that does not hang, however slow it is. */
function pingAfterAnswers(): void {
  const [answering, awaited] = [new Set<Worker>(), new Set<Worker>()]
  const onMessage = (worker: Worker, kind: string) => {
    if (kind === 'ready') answering.add(worker)
    if (kind === 'hangs' || kind === 'exit') answering.delete(worker)
    if (kind !== 'ready') awaited.delete(worker)
  }
  cluster.on('message', (worker, { kind }) => onMessage(worker, kind))
  cluster.on('exit', (worker) => onMessage(worker, 'exit'))
  // The workers that are to stop need not answer.
  process.on('SIGTERM', () => [answering, awaited].forEach((workers) => void workers.clear()))
  const { setInterval } = globalThis
  mock.method(globalThis, 'setInterval', (ping: () => void, milliseconds: number) =>
    setInterval(() => {
      if (awaited.size > 0) return
      for (const worker of answering) awaited.add(worker)
      ping()
    }, milliseconds),
  )
}

async function receivePings(count: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const onPing = () => --count === 0 && resolve()
  process.on('message', onPing)
  await promise
  process.off('message', onPing)
}
