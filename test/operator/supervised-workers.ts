import cluster from 'node:cluster'
import { supervise, WorkerChannel } from '../../server/commands/workers.ts'
import { makeLog } from '../../server/lib/log.ts'

/** Short, so that a test of a worker that hangs need not wait long. */
const PING_INTERVAL_MS = 300

// Two workers under a supervisor, which ends on SIGTERM. Each prints its process id when it starts and when it is ready. With
// the argument `hang` they hang before that, and print each ping; with `hang later` those do that replace the first two. On
// SIGUSR2 the second argument becomes the program of workers, and at the next SIGUSR2 it is Node again.
if (cluster.isPrimary) {
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
  console.log(`ready ${process.pid}`)
}

async function receivePings(count: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const onPing = () => --count === 0 && resolve()
  process.on('message', onPing)
  await promise
  process.off('message', onPing)
}
