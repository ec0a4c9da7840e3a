import cluster from 'node:cluster'
import { mock } from 'node:test'
import { supervise, WorkerChannel } from '../../server/commands/workers.ts'
import { silentLog } from '../support/silent-log.ts'

// A change through the first of two workers, while the second one refreshes its caches until an early acknowledgment
// would have arrived. Both print what they see. No time-out passes.

mock.timers.enable({ apis: ['setTimeout'] })

type Step = { kind: 'change' | 'sent' | 'echo' | 'echoed' | 'finish' | 'acknowledged' }

if (cluster.isPrimary) {
  const supervisor = supervise({
    workers: 2,
    args: [],
    log: silentLog,
    onReady: () => first().send({ kind: 'change' }),
  })
  const [first, second] = [0, 1].map((at) => () => Object.values(cluster.workers!)[at]!) as [Find, Find]
  cluster.on('message', (_, { kind }: Step) => {
    if (kind === 'sent') first().send({ kind: 'echo' })
    if (kind === 'echoed') second().send({ kind: 'finish' })
    if (kind === 'acknowledged') supervisor.stop()
  })
  process.exitCode = await supervisor.ended
} else {
  const { Metrics } = await import('../../server/lib/metrics.ts')
  const refreshed = Promise.withResolvers<void>()
  const channel = new WorkerChannel(() => cluster.worker!.disconnect())
  const report = (kind: Step['kind']) => process.send!({ kind })
  process.on('message', ({ kind }: Step) => {
    if (kind === 'change') {
      channel.broadcastInvalidation(new Map([['a-site', 'outdated']])).then(() => {
        console.log('acknowledged')
        report('acknowledged')
      })
      report('sent')
    }
    if (kind === 'echo') setImmediate(report, 'echoed')
    if (kind === 'finish') refreshed.resolve()
  })
  const invalidate = async (slugs: readonly string[]) => {
    await refreshed.promise
    console.log(`refreshed ${slugs}`)
  }
  channel.ready({ baseUrl: 'http://localhost', metrics: new Metrics(), invalidate })
}

type Find = () => import('node:cluster').Worker
