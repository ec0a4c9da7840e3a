import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { acmeClient } from '../../server/certificates/acme/client.ts'
import { CertificateManager } from '../../server/certificates/certificates.ts'
import { dnsHook } from '../../server/certificates/dns-hook.ts'
import { prepareDataFolder } from '../../server/config/data-folder.ts'
import { makeLog } from '../../server/lib/log.ts'
import { SecretBox } from '../../server/lib/secret-box.ts'
import type { CertificateSummary } from '../../server/store/queries/certificates.ts'
import { sqliteStore } from '../../server/store/sqlite.ts'
import type { Store } from '../../server/store/store.ts'
import { domainRow } from '../store/rows.ts'
import type { CaFixture } from './ca-fixture.ts'

const SECOND_MS = 1000
const HOUR_MS = 3600 * SECOND_MS
const DAY_MS = 24 * HOUR_MS

/** The longest until a CA is asked when it wants a new certificate renewed. */
const INFORMATION = 6 * HOUR_MS

/** Turns that all names together may take until they have their certificates. */
const MAX_RUNS = 300

interface Parts {
  fixture: CaFixture
  names: readonly string[]
  store: Store
  certificates: CertificateManager
  problems: Map<string, number>
}

/**
 * One more process of the service, which alone tends certificates: it holds the lease of that sweep. Time of the service
 * passes as it does, and all that nothing happens in is skipped.
 */
export class RestartingNode implements AsyncDisposable {
  /** What was logged, without the name that it is about: how often. */
  readonly problems: Map<string, number>
  readonly #parts: Parts
  #owned: AsyncDisposableStack | undefined
  /** When the certificates that are wanted were not there yet. */
  #since: number
  /** The clock of the service before that of the CA, in milliseconds: any lease that was taken before is over. */
  #ahead = 60 * SECOND_MS

  static async join(
    fixture: CaFixture,
    { names, haste }: { names: readonly string[]; haste: number },
  ): Promise<RestartingNode> {
    await using owned = new AsyncDisposableStack()
    const clock = () => fixture.service.clock.now
    const { database, secret } = prepareDataFolder(fixture.service.data, '')
    const store = owned.use(await sqliteStore({ file: database, clock }))
    const problems = new Map<string, number>()
    const log = makeLog({ level: 'warn', text: false, write: (line) => count(problems, problemIn(line)) })
    const base = { store, secretBox: new SecretBox(secret), clock, log }
    const ca = { directory: fixture.ca.directory, caFile: fixture.ca.caFile, email: '', profile: '' }
    const pause = (ms: number) => sleep(ms / haste)
    const acme = owned.use(acmeClient({ ...base, ...ca, version: 'test', pause }))
    const hook =
      fixture.hook === undefined
        ? undefined
        : dnsHook({ program: fixture.hook, environment: { PATH: process.env.PATH! }, log })
    // Only names of the service's own are proven in DNS.
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

  /** Tends until all have the certificates that are wanted, or that takes too many turns; they are served afterwards. */
  async getAll(): Promise<void> {
    const { certificates, fixture, names } = this.#parts
    for (let turns = 0; turns < MAX_RUNS; turns++) {
      const got = await certificates.runDue()
      const waiting = (await this.#rows()).filter(({ issued_at }) => (issued_at ?? 0) < this.#since)
      if (waiting.length === 0) break
      const isDue = waiting.some(({ due_at }) => due_at !== null && due_at <= this.#now)
      if (!isDue) this.#passTo(waiting, 'due_at')
      // It may leave the CA alone for a while.
      else if (got === 0) this.#ahead += 10 * SECOND_MS
    }
    fixture.service.service.invalidate(names)
  }

  /** Lets the CA be asked when it wants them renewed, and skips to when the last one is to be. */
  async passUntilRenewal(): Promise<void> {
    const { certificates } = this.#parts
    const first = Math.min(
      ...(await this.#rows()).map(({ renew_at }) => renew_at ?? Number.POSITIVE_INFINITY),
    )
    this.#ahead += Math.max(0, Math.min(INFORMATION, first - this.#now - SECOND_MS))
    for (let turns = 0; turns < MAX_RUNS; turns++) {
      await certificates.runDue()
      if ((await this.#rows()).every(({ due_at }) => due_at !== null && due_at > this.#now)) break
    }
    this.#passTo(await this.#rows(), 'renew_at')
    this.#since = this.#now
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#owned?.disposeAsync()
  }

  get #now(): number {
    return this.#parts.fixture.service.clock.now
  }

  /** All at once: one after the other they would take as long as they wait for the CA. */
  #passTo(rows: readonly CertificateSummary[], what: 'due_at' | 'renew_at'): void {
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
      if (fence === undefined) throw new Error('another process tends certificates')
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
