import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { acmeClient } from '../../server/certificates/acme/client.ts'
import { CertificateManager } from '../../server/certificates/certificates.ts'
import { dnsHook } from '../../server/certificates/dns-hook.ts'
import { prepareDataFolder } from '../../server/config/data-folder.ts'
import { makeLog } from '../../server/lib/log.ts'
import { SecretBox } from '../../server/lib/secret-box.ts'
import { DAY_MS, HOUR_MS, SECOND_MS } from '../../server/lib/time.ts'
import type { CertificateSummary } from '../../server/store/contract/certificates.ts'
import { sqliteStore } from '../../server/store/sqlite.ts'
import type { Store } from '../../server/store/store.ts'
import { domainRow } from '../store/rows.ts'
import type { CaFixture } from './ca-fixture.ts'

/** Maximum time until renewal information of a new certificate is requested. */
const INFORMATION_INTERVAL_MS = 6 * HOUR_MS

/** Maximum runs until all names have their certificates. */
const MAX_RUNS = 300

interface Parts {
  fixture: CaFixture
  names: readonly string[]
  store: Store
  certificates: CertificateManager
  problems: Map<string, number>
}

/**
 * Another process of the service, the only one that manages certificates: it holds the lease of that sweep. The clock of
 * the service runs in real time and skips idle periods.
 */
export class RestartingNode implements AsyncDisposable {
  /** Counts of log messages, without the names of domains. */
  readonly problems: Map<string, number>
  readonly #parts: Parts
  #owned: AsyncDisposableStack | undefined
  /** Only certificates issued after this time count. */
  #since: number
  /** Milliseconds by which the clock of the service is ahead of the CA's, so that earlier leases have expired. */
  #ahead = 60 * SECOND_MS

  static async join(
    fixture: CaFixture,
    { names, speedup }: { names: readonly string[]; speedup: number },
  ): Promise<RestartingNode> {
    await using owned = new AsyncDisposableStack()
    const clock = () => fixture.service.clock.now
    const { database, secret } = prepareDataFolder(fixture.service.data, '')
    const store = owned.use(await sqliteStore({ file: database, clock }))
    const problems = new Map<string, number>()
    const log = makeLog({ level: 'warn', text: false, write: (line) => count(problems, problemIn(line)) })
    const base = { store, secretBox: new SecretBox(secret), clock, log }
    const ca = { directory: fixture.ca.directory, caFile: fixture.ca.caFile, email: '', profile: '' }
    const pause = (ms: number) => sleep(ms / speedup)
    const acme = owned.use(acmeClient({ ...base, ...ca, version: 'test', pause }))
    const hook =
      fixture.hook === undefined
        ? undefined
        : dnsHook({ program: fixture.hook, environment: { PATH: process.env.PATH! }, log })
    // Only the service's own names are validated by DNS-01.
    const certificates = owned.use(new CertificateManager({ ...base, acme, hook, own: hook ? names : [] }))
    const node = new RestartingNode({ fixture, names, store, certificates, problems })
    await node.#addDomains()
    node.#owned = owned.move()
    return node
  }

  private constructor(parts: Parts) {
    this.#parts = parts
    this.problems = parts.problems
    const ahead = () => this.#ahead
    Object.defineProperty(parts.fixture.service.clock, 'now', { get: () => Date.now() + ahead() })
    this.#since = this.#now
  }

  count(problem: string): void {
    count(this.problems, problem)
  }

  /** Runs until all names have new certificates, at most MAX_RUNS times; then the service uses them. */
  async getAll(): Promise<void> {
    const { certificates, fixture, names } = this.#parts
    for (let turns = 0; turns < MAX_RUNS; turns++) {
      const issued = await certificates.runDue()
      const pending = (await this.#rows()).filter(({ issuedAt }) => (issuedAt ?? 0) < this.#since)
      if (pending.length === 0) break
      const isDue = pending.some(({ dueAt }) => dueAt !== null && dueAt <= this.#now)
      if (!isDue) this.#passTo(pending, 'dueAt')
      // The service may pause requests to the CA.
      else if (issued === 0) this.#ahead += 10 * SECOND_MS
    }
    fixture.service.service.invalidate(names)
  }

  /** Requests renewal information, and advances the clock until all certificates are due for renewal. */
  async passUntilRenewal(): Promise<void> {
    const { certificates } = this.#parts
    const first = Math.min(...(await this.#rows()).map(({ renewAt }) => renewAt ?? Number.POSITIVE_INFINITY))
    this.#ahead += Math.max(0, Math.min(INFORMATION_INTERVAL_MS, first - this.#now - SECOND_MS))
    for (let turns = 0; turns < MAX_RUNS; turns++) {
      await certificates.runDue()
      if ((await this.#rows()).every(({ dueAt }) => dueAt !== null && dueAt > this.#now)) break
    }
    this.#passTo(await this.#rows(), 'renewAt')
    this.#since = this.#now
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#owned?.disposeAsync()
  }

  get #now(): number {
    return this.#parts.fixture.service.clock.now
  }

  /** Advances to the latest row, so that all are due together and not in sequence. */
  #passTo(rows: readonly CertificateSummary[], what: 'dueAt' | 'renewAt'): void {
    const latest = Math.max(...rows.map((row) => row[what] ?? 0))
    this.#ahead += Math.max(0, latest - this.#now)
  }

  #rows(): Promise<CertificateSummary[]> {
    return this.#parts.store.read.certificates.summaries(this.#parts.names)
  }

  async #addDomains(): Promise<void> {
    const { store, fixture, names, certificates } = this.#parts
    await store.write('durable', async (tx) => {
      const fence = await tx.leases.acquire(
        'certificates',
        randomUUID(),
        this.#now,
        this.#now + 1000 * DAY_MS,
      )
      if (fence === undefined) throw new Error('another process manages certificates')
      const { ownerId } = (await tx.sites.bySlug(fixture.slug))!
      for (const name of names) {
        const row = { accountId: ownerId!, slug: fixture.slug, status: 'active' } as const
        await tx.domains.insert(domainRow(name, row))
        await certificates.request(tx, name)
        await tx.notifyChanged(name)
      }
    })
  }
}

function problemIn(line: string): string {
  const { message, name, error } = JSON.parse(line)
  const whole = `${message}: ${error?.message ?? error}`.replace(/(acme-challenge\/)[\w-]+/, '$1…')
  return name === undefined ? whole : whole.replaceAll(name, 'a name')
}

function count(counts: Map<string, number>, what: string): void {
  counts.set(what, (counts.get(what) ?? 0) + 1)
}
