import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { whatIsMissing } from '../../scripts/test-dependencies.mjs'
import { sendRequest } from '../../test/support/http-client.ts'
import { startTestService } from '../../test/support/service.ts'
import { startCeph } from '../../test/tools/ceph.ts'
import { freePort } from '../../test/tools/port.ts'
import { type Postgres, startPostgres } from '../../test/tools/postgres.ts'
import { type S3Proxy, startS3Proxy } from '../../test/tools/s3-proxy.ts'
import { type Figure, figure, type Measurement } from '../figures.ts'
import { makeContent, publish, touch, update } from '../publish-flow.ts'

const FILES = 1000
const BYTES = 10_240

/** What a publish, an update and visits send to PostgreSQL and S3, for the page on costs in docs/scale.md. */
export const costs: Measurement = {
  name: 'costs',
  means: 'what 1,000 text files of 10 kB, an update of one and first visits send to PostgreSQL and to S3',
  missing: () => whatIsMissing('postgres') ?? whatIsMissing('ceph'),
  async run() {
    await using stack = new AsyncDisposableStack()
    const postgres = stack.use(await startPostgres())
    const ceph = stack.use(await startCeph())
    const proxy = stack.use(await startS3Proxy(ceph.endpoint))
    const folder = await mkdtemp(join(tmpdir(), 'slipway-costs-'))
    stack.defer(() => rm(folder, { recursive: true }))
    const url = await postgres.createDatabase()
    const port = await freePort()
    const settings = {
      DATABASE_URL: url,
      BLOBS_URL: ceph.storageUrl(proxy.endpoint),
      SECRET: 'a secret of this measurement, long enough',
      SMTP_URL: 'smtp://127.0.0.1:1',
      BASE_URL: `http://localhost:${port}`,
      PORT: `${port}`,
    }
    const meter = new Meter({ postgres, url, proxy })
    const figures: Figure[] = []
    const content = makeContent(FILES, BYTES)
    {
      await using running = await startTestService({ ...settings, DATA: join(folder, 'one') })
      const encode = () => running.service.precompressor.onIdle()
      await meter.begin()
      const { site } = await publish(running.baseUrl, content)
      figures.push(...(await meter.end('publish of 1,000 files')))
      await encode()
      figures.push(...(await meter.end('their encodings, later')))
      touch(content, BYTES)
      await update(running.baseUrl, site, content)
      figures.push(...(await meter.end('update of one file')))
      await encode()
      figures.push(...(await meter.end('its encodings, later')))
      // Another node, which has nothing in memory and an empty disk cache.
      await using other = await startTestService({
        ...settings,
        PORT: '0',
        DATA: join(folder, 'two'),
      })
      await meter.begin()
      const visit = (path: string) => sendRequest(other.port, { site: site.slug, path })
      await visit('/')
      figures.push(...(await meter.end('first visit of a site on a node')))
      await visit('/assets/2/file-2.txt')
      figures.push(...(await meter.end('first visit of another file')))
      await visit('/assets/2/file-2.txt')
      figures.push(...(await meter.end('later visit of it')))
    }
    return figures
  },
}

interface MeterOptions {
  postgres: Postgres
  url: string
  proxy: S3Proxy
}

/** Counts messages with SQL, WAL, and requests to S3 with their bytes. */
class Meter {
  readonly #options: MeterOptions
  #statements = 0
  #wal = 0

  constructor(options: MeterOptions) {
    this.#options = options
    const count = (text: string) => {
      // Not the polls of an idle node, its report, and what this class asks.
      if (
        !/pg_current_snapshot|^(listen|notify)\b|pg_is_in_recovery|"nodes"|"leases"|pg_current_wal/.test(text)
      )
        this.#statements++
    }
    const { query } = pg.Client.prototype
    pg.Client.prototype.query = function (this: pg.Client, ...given: [{ text: string }]) {
      count(typeof given[0] === 'string' ? given[0] : given[0].text)
      return query.apply(this, given as never)
    } as typeof query
  }

  async begin(): Promise<void> {
    this.#statements = 0
    this.#options.proxy.requests.length = 0
    this.#options.proxy.forwardedBytes = 0
    this.#wal = await this.#readWal()
  }

  async end(what: string): Promise<Figure[]> {
    const { proxy } = this.#options
    const wal = (await this.#readWal()) - this.#wal
    const figures = [
      figure(`${what}: messages to PostgreSQL`, 'requests', [this.#statements]),
      figure(`${what}: WAL`, 'kB', [wal / 1000]),
      figure(`${what}: requests to S3`, 'requests', [proxy.requests.length]),
      figure(`${what}: bytes to S3`, 'kB', [proxy.forwardedBytes / 1000]),
    ]
    await this.begin()
    return figures
  }

  async #readWal(): Promise<number> {
    const { postgres, url } = this.#options
    const { rows } = await postgres.run(url, "select pg_current_wal_insert_lsn() - '0/0'::pg_lsn as bytes")
    return Number(rows[0].bytes)
  }
}
