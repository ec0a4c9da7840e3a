import { join } from 'node:path'
import pg from 'pg'
import { whatIsMissing } from '../../scripts/test-dependencies.mjs'
import type { Service } from '../../server/app.ts'
import { sendRequest } from '../../test/support/http-client.ts'
import { startTestService } from '../../test/support/service.ts'
import { startCeph } from '../../test/tools/ceph.ts'
import { type Postgres, startPostgres } from '../../test/tools/postgres.ts'
import { type S3Proxy, startS3Proxy } from '../../test/tools/s3-proxy.ts'
import { type Figure, figure, type Measurement } from '../figures.ts'
import { makeContent, publish, publishWithSdk, toFiles, touch } from '../publish-flow.ts'
import { scratchFolder } from '../server-process.ts'
import { nodeSettings } from './settings.ts'

const FILES = 1000
const BYTES = 10_240

const ROUNDS = 3

/** The publish with bundles has the limits of the project. */
const MAX_KB = { publish: 500, update: 100 }

/** What a publish, an update and visits send to PostgreSQL and S3, for the page on costs in docs/scale.md. */
export const costs: Measurement = {
  name: 'costs',
  means: 'what 1,000 text files of 10 kB, an update of one and first visits send to PostgreSQL and to S3',
  missing: () => whatIsMissing('postgres') ?? whatIsMissing('ceph'),
  async run({ quick }) {
    await using stack = new AsyncDisposableStack()
    const postgres = stack.use(await startPostgres())
    const ceph = stack.use(await startCeph())
    const proxy = stack.use(await startS3Proxy(ceph.endpoint))
    const blobsUrl = ceph.storageUrl(proxy.endpoint)
    const meter = await Meter.open(postgres, proxy)
    const taken = new Map<string, { figure: Figure; rounds: number[] }>()
    for (let round = 0; round < (quick ? 1 : ROUNDS); round++)
      for (const found of await measureOnce({
        databaseUrl: await postgres.createDatabase(),
        blobsUrl,
        meter,
      })) {
        const rounds = taken.get(found.name)?.rounds ?? []
        taken.set(found.name, { figure: found, rounds: [...rounds, found.value] })
      }
    return [...taken.values()].map(({ figure: { name, unit, target }, rounds }) =>
      figure(name, unit, rounds, target),
    )
  },
}

interface Parts {
  databaseUrl: string
  blobsUrl: string
  meter: Meter
}

/** With an empty database. */
async function measureOnce({ databaseUrl, blobsUrl, meter }: Parts): Promise<Figure[]> {
  await using scratch = await scratchFolder()
  const settings = {
    ...(await nodeSettings(databaseUrl)),
    BLOBS_URL: blobsUrl,
  }
  const figures: Figure[] = []
  await using running = await startTestService({ ...settings, DATA: join(scratch.path, 'one') })
  const encode = holdEncodings(running.service)
  const content = makeContent(FILES, BYTES)
  await meter.begin()
  const { site } = await publishWithSdk(running.baseUrl, toFiles(content))
  figures.push(...(await meter.end('publish of 1,000 files in bundles', MAX_KB.publish)))
  await encode()
  figures.push(...(await meter.end('their encodings, later')))
  touch(content, BYTES)
  await publishWithSdk(running.baseUrl, toFiles(content), site)
  figures.push(...(await meter.end('update of one file', MAX_KB.update)))
  await encode()
  figures.push(...(await meter.end('its encodings, later')))
  await publish(running.baseUrl, makeContent(FILES, BYTES))
  figures.push(...(await meter.end('publish of 1,000 files in single uploads')))
  await encode()
  // Another node, which has nothing in memory and an empty disk cache.
  await using other = await startTestService({ ...settings, PORT: '0', DATA: join(scratch.path, 'two') })
  await meter.begin()
  const visit = (path: string) => sendRequest(other.port, { site: site.slug, path })
  await visit('/')
  figures.push(...(await meter.end('first visit of a site on a node')))
  await visit('/assets/2/file-2.txt')
  figures.push(...(await meter.end('first visit of another file')))
  await visit('/assets/2/file-2.txt')
  figures.push(...(await meter.end('later visit of it')))
  return figures
}

/** Until the returned function is called, which resolves once the encodings are stored: they have figures of their own. */
function holdEncodings({ precompressor }: Service): () => Promise<void> {
  const enqueue = precompressor.enqueue.bind(precompressor)
  let held: Parameters<typeof enqueue>[] = []
  precompressor.enqueue = (...version) => void held.push(version)
  return async () => {
    for (const version of held) enqueue(...version)
    held = []
    await precompressor.onIdle()
  }
}

/** Not the polls of an idle node, its report, and what the meter itself queries. */
const BACKGROUND =
  /pg_current_snapshot|^(listen|notify)\b|pg_is_in_recovery|"nodes"|"leases"|pg_current_wal|pg_get_wal|^checkpoint/

/**
 * Counts messages with SQL, WAL, and requests to S3 with their bytes. Each measurement begins after a checkpoint, after
 * which the first change of a page writes the whole page: the most that there can be, and counted apart.
 */
class Meter {
  readonly #postgres: Postgres
  readonly #proxy: S3Proxy
  #statements = 0
  #walPosition = ''

  static async open(postgres: Postgres, proxy: S3Proxy): Promise<Meter> {
    await postgres.run(postgres.url(), 'create extension pg_walinspect')
    // A checkpoint removes what is not kept, also before it was read.
    await postgres.run(postgres.url(), "alter system set wal_keep_size = '1GB'")
    await postgres.run(postgres.url(), 'select pg_reload_conf()')
    return new Meter(postgres, proxy)
  }

  private constructor(postgres: Postgres, proxy: S3Proxy) {
    this.#postgres = postgres
    this.#proxy = proxy
    const count = (text: string) => {
      if (!BACKGROUND.test(text)) this.#statements++
    }
    const { query } = pg.Client.prototype
    pg.Client.prototype.query = function (this: pg.Client, ...given: [{ text: string }]) {
      count(typeof given[0] === 'string' ? given[0] : given[0].text)
      return query.apply(this, given as never)
    } as typeof query
  }

  async begin(): Promise<void> {
    await this.#query('checkpoint')
    this.#walPosition = await this.#readWalPosition()
    this.#statements = 0
    this.#proxy.requests.length = 0
    this.#proxy.forwardedBytes = 0
  }

  async end(what: string, maxKb?: number): Promise<Figure[]> {
    const figures = [
      figure(`${what}: messages to PostgreSQL`, 'requests', [this.#statements]),
      figure(`${what}: requests to S3`, 'requests', [this.#proxy.requests.length]),
      figure(`${what}: bytes to S3`, 'kB', [this.#proxy.forwardedBytes / 1000]),
    ]
    const { records, pages } = await this.#readWal()
    figures.push(
      figure(`${what}: WAL`, 'kB', [records / 1000], maxKb),
      figure(`${what}: whole pages in the WAL after a checkpoint`, 'kB', [pages / 1000]),
    )
    await this.begin()
    return figures
  }

  /** Bytes of WAL since the beginning. */
  async #readWal(): Promise<{ records: number; pages: number }> {
    const end = await this.#readWalPosition()
    if (end === this.#walPosition) return { records: 0, pages: 0 }
    // It flushes the WAL of relaxed commits, which cannot be read before.
    await this.#query('checkpoint')
    const text = `select coalesce(sum(record_size), 0)::float8 as records, coalesce(sum(fpi_size), 0)::float8 as pages
      from pg_get_wal_stats('${this.#walPosition}', '${end}')`
    return (await this.#query(text)).rows[0]
  }

  async #readWalPosition(): Promise<string> {
    return (await this.#query('select pg_current_wal_insert_lsn()::text as position')).rows[0].position
  }

  #query(text: string): Promise<pg.QueryResult> {
    return this.#postgres.run(this.#postgres.url(), text)
  }
}
