import { hash, randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import pg from 'pg'
import { MemoryBudget } from '../../packages/http-server/memory/second-chance-cache.ts'
import type { Backends } from '../../server/backends.ts'
import type { Blobs } from '../../server/blobs/blobs.ts'
import { Ballast, DiskReserve } from '../../server/blobs/disk-reserve.ts'
import { CertificateManager } from '../../server/certificates/certificates.ts'
import type { IssuingDeps } from '../../server/certificates/deps.ts'
import { readConfig } from '../../server/config/settings.ts'
import { Incidents } from '../../server/lib/incidents.ts'
import { Metrics } from '../../server/lib/metrics.ts'
import { SecretBox } from '../../server/lib/secret-box.ts'
import { DAY_MS } from '../../server/lib/time.ts'
import { isId } from '../../server/lib/tokens.ts'
import { createServices } from '../../server/services.ts'
import { postgresStore } from '../../server/store/postgres/postgres.ts'
import type { ChangeListener, Store } from '../../server/store/store.ts'
import { memoryBlobs } from '../blobs/memory-blobs.ts'
import { fakeCodec, SimulatedCa } from '../certificates/simulated-ca.ts'
import { PATIENT_TIMEOUTS } from '../support/engines.ts'
import { silentLog } from '../support/silent-log.ts'
import { CONTENT, insertFixture, NOW, OTHER_CONTENT, SECRET } from './fixture.ts'

/** All services of a node. */
export type Node = ReturnType<typeof createServices> & { store: Store; issuing: IssuingDeps }

/** Sees each write of a node before its store does. */
export type Wrap = (store: Store) => Store

const CONFIG = readConfig({
  SLIPWAY_BASE_URL: 'https://pages.test',
  SLIPWAY_SITE_DOMAIN: 'sites.test',
  SLIPWAY_PROXY_HOST: 'proxy.test',
  SLIPWAY_DOMAINS_FREE: '3',
  SLIPWAY_VERSIONS_KEPT: '2',
  SLIPWAY_DRAFTS_KEPT: '1',
  SLIPWAY_PREVIEWS: '2',
  SLIPWAY_REPORT_EMAIL: 'operator@pages.test',
  // Its process would start for each node.
  SLIPWAY_SECRET_SCAN: 'off',
})

/** Tables whose rows do not tell what was written. */
const UNRELATED = ['applied_migrations', 'changes', 'changes_trimmed', 'feed_epoch']

/** Two nodes on one database, which can be put back into the state of the fixture. */
export class World implements AsyncDisposable {
  readonly observer: pg.Client
  /** Their rows are what calls change. */
  readonly tables: readonly string[]
  readonly #stores: readonly Store[]
  /** Of the nodes since the last reset, by store: those before would repeat their work after each change. */
  readonly #listeners: readonly Set<ChangeListener>[]
  #nodes = new AsyncDisposableStack()
  /** Random texts of the fixture. */
  readonly #known: ReadonlySet<string>

  private constructor(
    observer: pg.Client,
    stores: readonly Store[],
    tables: readonly string[],
    known: string,
  ) {
    this.observer = observer
    this.#stores = stores
    this.#listeners = stores.map((store) => {
      const listeners = new Set<ChangeListener>()
      store.onChange(async (...change) => {
        await Promise.all([...listeners].map((listener) => listener(...change)))
      })
      return listeners
    })
    this.tables = tables
    this.#known = new Set(known.match(RANDOM))
  }

  static async open(url: string): Promise<World> {
    const observer = new pg.Client({ connectionString: url })
    await observer.connect()
    const open = () => postgresStore({ url, pollIntervalMs: 2 ** 30, timeouts: PATIENT_TIMEOUTS })
    const stores = [await open(), await open()]
    await insertFixture(stores[0]!)
    const { rows } = await observer.query<{ name: string }>(
      `select tablename as name from pg_tables where schemaname = 'public' order by 1`,
    )
    const tables = rows.map(({ name }) => name).filter((name) => !UNRELATED.includes(name))
    const copy = (name: string) => `create table fixture.${name} as table ${name}`
    // The rows that calls have left alone stay, so that the tables do not fill with dead ones.
    const reset = (name: string) => `
      delete from ${name} as t where t in (select d from (table ${name} except table fixture.${name}) as d);
      insert into ${name} (table fixture.${name} except table ${name})`
    await observer.query(`
      create schema fixture; ${tables.map(copy).join(';')};
      create procedure fixture.reset() language plpgsql as $$begin ${tables.map(reset).join(';')}; end$$`)
    return new World(observer, stores, tables, (await readRows(observer, tables)).join('\n'))
  }

  /** Deletes all that calls have written, and ends the nodes. */
  async reset(): Promise<void> {
    for (const listeners of this.#listeners) listeners.clear()
    await this.#nodes.disposeAsync()
    this.#nodes = new AsyncDisposableStack()
    await this.observer.query('call fixture.reset()')
  }

  /** All rows, with a placeholder for what differs each time. */
  async readState(): Promise<string[]> {
    const replace = (random: string) => (this.#known.has(random) ? random : placeholder(random))
    return (await readRows(this.observer, this.tables)).map((row) => row.replace(RANDOM, replace)).sort()
  }

  /** The services of a node that has just started. Its clock stands still, and differs from that of others. */
  node(number: number, wrap: Wrap = (store) => store): Node {
    const clock = () => NOW + (number + 1) * 1000
    const index = number % this.#stores.length
    const onChange: Store['onChange'] = (listener) => void this.#listeners[index]!.add(listener)
    const store = wrap({ ...this.#stores[index]!, clock, onChange })
    const secretBox = new SecretBox(SECRET)
    const issuing: IssuingDeps = {
      store,
      acme: new SimulatedCa({ clock, life: 90 * DAY_MS }),
      directory: 'https://ca.example/directory',
      dns: fixedDns,
      secretBox,
      clock,
      log: silentLog,
      own: ['pages.test'],
      sites: { domain: 'sites.test', perWeek: 1 },
      codec: fakeCodec,
    }
    const metrics = new Metrics()
    const reserve = new DiskReserve({ folder: '', size: undefined })
    const backends: Backends = {
      telemetry: { metrics },
      incidents: new Incidents({ log: silentLog, metrics }),
      ...{ reserve, ballast: new Ballast({ folder: '', reserve, log: silentLog }) },
      secret: SECRET,
      folder: { database: '', blobs: '', spool: '', cache: '', secret: SECRET },
      store,
      blobs: fixedBlobs,
      mail: { delivery: 'email', send: async () => undefined },
      dns: fixedDns,
      secretBox,
      certificates: new CertificateManager(issuing),
    }
    const budget = new MemoryBudget(CONFIG.cacheBytes)
    const services = createServices(CONFIG, CONFIG.baseUrl, backends, {
      log: silentLog,
      version: 'test',
      budget,
    })
    this.#nodes.use(services.precompressor)
    // The work that follows responses is a call of its own.
    services.precompressor.enqueue = () => undefined
    return { ...services, store, issuing }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#nodes.disposeAsync()
    for (const store of this.#stores) await store[Symbol.asyncDispose]()
    await this.observer.end()
  }
}

/** Version ids, UUIDs, hashes in hex and base64, tokens, generated names and encrypted keys. */
const RANDOM =
  /\b[0-9a-z]{26}\b|\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b[0-9a-f]{64}\b|\b[0-9a-f]{32}\b|\b[0-9a-f]{16}\b|\b[a-z]+-[a-z]+-[2-9a-z]{6}\b|(?<=")[\w+/]{60,}={0,2}|(?<=[":])[\w-]{43}\b/g

/** Ids keep their time, by which they are ordered. */
function placeholder(random: string): string {
  return isId(random) ? `${random.slice(0, 10)}…` : '…'
}

async function readRows(observer: pg.Client, tables: readonly string[]): Promise<string[]> {
  const selects = tables.map((name) => `select '${name} ' || to_jsonb(t)::text as row from ${name} as t`)
  const text = selects.join(' union all ')
  const { rows } = await observer.query<{ row: string }>({ name: 'read rows', text })
  return rows.map(({ row }) => row)
}

const BYTES = new Map([CONTENT, OTHER_CONTENT].map((text) => [hash('sha256', text), Buffer.from(text)]))

/** The files of the fixture, all of them durable. */
const fixedBlobs: Blobs = {
  ...memoryBlobs(() => NOW),
  async put(body) {
    const bytes = await buffer(body)
    return { hash: hash('sha256', bytes), size: bytes.length, object: randomUUID(), piecesHash: null }
  },
  commit: async () => [],
  putTogether: async () => [],
  bytes: async ({ hash }) => BYTES.get(hash),
  read: async ({ hash }) => (BYTES.has(hash) ? Readable.from([BYTES.get(hash)]) : undefined),
  verify: async () => 'intact',
}

/** All names point here, and have the proof of the fixture, but `shop.test`. */
const fixedDns: Backends['dns'] = {
  cname: async (name) => ({ values: name === 'shop.test' ? [] : ['proxy.test'] }),
  addresses: async () => ({ values: ['192.0.2.1'] }),
  caa: async () => ({ records: [] }),
  txt: async (name) => ({
    values: name.endsWith('shop.test') ? [] : [`proof of ${name.replace(/^[^.]*\./, '')}`],
  }),
}
