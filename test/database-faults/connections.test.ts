import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { Metrics } from '../../server/lib/metrics.ts'
import { parseConnectionUrl } from '../../server/store/postgres/connection-url.ts'
import { PrimaryPool } from '../../server/store/postgres/pool.ts'
import { PATIENT_TIMEOUTS } from '../support/engines.ts'
import { sendRequest } from '../support/http-client.ts'
import { PATIENT } from '../support/patient.ts'
import { startTestService } from '../support/service.ts'
import { waitFor } from '../support/wait-for.ts'
import { requires } from '../tools/part.ts'
import { sharedPostgres, startPostgres } from '../tools/postgres.ts'
import { nodeSettings } from './node-settings.ts'

const MAX_CONNECTIONS = 20

/** How long requests of an impatient node wait for a connection: longer than the server takes to refuse one under load. */
const ACQUIRE_MS = 3000

const TOO_MANY = '53300'

test(
  'while the server has no connection left, a node works with those that it has, and without one it serves warm sites and says why',
  requires('postgres'),
  async () => {
    await using stack = new AsyncDisposableStack()
    const server = stack.use(await startPostgres({ maxConnections: MAX_CONNECTIONS }))
    const databaseUrl = await server.createDatabase()
    const settings = await nodeSettings(databaseUrl)
    const { client, port, service, log } = stack.use(await startTestService(settings))
    const deadlines = { database: { ...PATIENT.database, acquire: ACQUIRE_MS } }
    const other = stack.use(await startTestService({ ...settings, PORT: '0' }, Date.now(), { deadlines }))
    const publish = (content: string) =>
      client().publishContents({ files: [{ path: 'index.html', content }] })
    const visit = async (site: string) => (await sendRequest(port, { site })).text
    const { slug: warm } = await publish('warm')
    assert.equal(await visit(warm), 'warm')
    const { slug: cold } = await publish('cold')

    const others: pg.Client[] = []
    stack.defer(async () => void (await Promise.all(others.map((other) => other.end()))))
    /** Other programs take all connections that are left. */
    const takeAll = async () => {
      for (;;) {
        const other = new pg.Client({ connectionString: databaseUrl })
        other.on('error', () => undefined)
        try {
          await other.connect()
        } catch (error) {
          assert.equal((error as { code?: string }).code, TOO_MANY)
          return
        }
        others.push(other)
      }
    }
    await takeAll()
    assert.equal(await visit(cold), 'cold')
    const sites = await Promise.all(Array.from({ length: 20 }, (_, number) => publish(`site ${number}`)))
    for (const [number, { slug }] of sites.entries()) assert.equal(await visit(slug), `site ${number}`)

    const reasonAt = (log: Record<string, unknown>[], name: string) =>
      String(log.find(({ incident }) => incident === name)?.reason)
    await others[0]!.query('begin; lock table sites in access exclusive mode')
    const lookups = Array.from({ length: 2 * MAX_CONNECTIONS }, (_, number) =>
      sendRequest(other.port, { site: `no-such-site-${number}` }),
    )
    assert.equal((await Promise.race(lookups)).status, 503)
    await other.service.incidents.check()
    assert.match(reasonAt(other.log, 'database-busy'), /too many clients/)
    await others[0]!.query('rollback')
    await Promise.all(lookups)

    const terminate = `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'slipway'`
    // A node can get a connection again that another one has just lost.
    let refusal: { code?: string } | undefined
    await waitFor(async () => {
      await others[0]!.query(terminate)
      await takeAll()
      refusal = await publish('new').then(
        () => undefined,
        (error) => error,
      )
      await service.incidents.check()
      return refusal !== undefined && log.some(({ incident }) => incident === 'database-unreachable')
    })
    assert.equal(refusal?.code, 'UNAVAILABLE')
    assert.match(reasonAt(log, 'database-unreachable'), /too many clients/)
    assert.equal(await visit(warm), 'warm')

    await Promise.all(others.splice(0).map((other) => other.end()))
    await waitFor(() =>
      publish('new').then(
        () => true,
        () => false,
      ),
    )
  },
)

test('a caller waits for a connection only while the server refuses one', requires('postgres'), async () => {
  await using stack = new AsyncDisposableStack()
  const postgres = await sharedPostgres()
  const { url } = stack.use(await postgres.createDatabase())
  const role = `limited_${process.pid}`
  // A superuser has no limit.
  await postgres.run(url, `create role ${role} login connection limit 1`)
  stack.defer(async () => void (await postgres.run(postgres.url(), `drop role ${role}`)))
  const metrics = new Metrics()
  const pool = stack.use(
    new PrimaryPool({
      cluster: parseConnectionUrl(url.replace('slipway@', `${role}@`)),
      maxConnections: 2,
      timeouts: PATIENT_TIMEOUTS,
      metrics,
    }),
  )
  const refusals = metrics.counter('slipway_store_pool_connects_total', { outcome: 'failed' })
  await pool.use(async () => {
    const second = pool.use(async () => 'served')
    await waitFor(() => refusals.value > 0)
    await postgres.run(url, `alter role ${role} connection limit 2`)
    assert.equal(await second, 'served')
  })
})
