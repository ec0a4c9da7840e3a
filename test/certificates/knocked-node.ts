import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { prepareDataFolder } from '../../server/data-folder.ts'
import { makeLog } from '../../server/log.ts'
import type { CertificateSummary } from '../../server/store/queries/certificates.ts'
import { sqliteStore } from '../../server/store/sqlite.ts'
import type { Store } from '../../server/store/store.ts'
import { acmeClient } from '../../server/tls/acme/client.ts'
import { dnsHook } from '../../server/tls/dns-hook.ts'
import { Certificates } from '../../server/tls/issuing/certificates.ts'
import { Seal } from '../../server/tls/seal.ts'
import { domainRow } from '../store/rows.ts'
import type { Knocked } from './knocked.ts'

const SECOND = 1000
const HOUR = 3600 * SECOND
const DAY = 24 * HOUR

/** The longest until a CA is asked when it wants a new certificate renewed. */
const INFORMATION = 6 * HOUR

/** Turns that all names together may take until they have their certificates. */
const MOST_TURNS = 300

interface Parts {
  knocked: Knocked
  names: readonly string[]
  store: Store
  certificates: Certificates
  problems: Map<string, number>
}

/**
 * One more process of the service, which alone tends certificates: it holds the lease of that sweep. Time of the service
 * passes as it does, and all that nothing happens in is skipped.
 */
export class KnockedNode implements AsyncDisposable {
  /** What was logged, without the name that it is about: how often. */
  readonly problems: Map<string, number>
  readonly #parts: Parts
  #owned: AsyncDisposableStack | undefined
  /** When the certificates that are wanted were not there yet. */
  #since: number
  /** The clock of the service before that of the CA, in milliseconds: any lease that was taken before is over. */
  #ahead = 60 * SECOND

  static async join(
    knocked: Knocked,
    { names, haste }: { names: readonly string[]; haste: number },
  ): Promise<KnockedNode> {
    await using owned = new AsyncDisposableStack()
    const clock = () => knocked.service.clock.now
    const { database, secret } = prepareDataFolder(knocked.service.data, '')
    const store = owned.use(await sqliteStore({ file: database, clock }))
    const problems = new Map<string, number>()
    const log = makeLog({ level: 'warn', text: false, write: (line) => count(problems, problemIn(line)) })
    const base = { store, seal: new Seal(secret), clock, log }
    const ca = { directory: knocked.ca.directory, caFile: knocked.ca.caFile, email: '', profile: '' }
    const pause = (ms: number) => sleep(ms / haste)
    const acme = owned.use(acmeClient({ ...base, ...ca, version: 'test', pause }))
    const hook = knocked.hook === undefined ? undefined : dnsHook({ program: knocked.hook, log })
    // Only names of the service's own are proven in DNS.
    const certificates = owned.use(new Certificates({ ...base, acme, hook, own: hook ? names : [] }))
    const node = new KnockedNode({ knocked, names, store, certificates, problems })
    await node.#addDomains()
    node.#owned = owned.move()
    return node
  }

  private constructor(parts: Parts) {
    this.#parts = parts
    this.problems = parts.problems
    const ahead = () => this.#ahead
    Object.defineProperty(parts.knocked.service.clock, 'now', { get: () => Date.now() + ahead() })
    this.#since = this.#now
  }

  count(problem: string): void {
    count(this.problems, problem)
  }

  /** Tends until all have the certificates that are wanted, or that takes too many turns; they are served afterwards. */
  async getAll(): Promise<void> {
    const { certificates, knocked, names } = this.#parts
    for (let turns = 0; turns < MOST_TURNS; turns++) {
      const got = await certificates.tend()
      const waiting = (await this.#rows()).filter(({ issued_at }) => (issued_at ?? 0) < this.#since)
      if (waiting.length === 0) break
      const isDue = waiting.some(({ due_at }) => due_at !== null && due_at <= this.#now)
      if (!isDue) this.#passTo(waiting, 'due_at')
      // It may leave the CA alone for a while.
      else if (got === 0) this.#ahead += 10 * SECOND
    }
    knocked.service.service.forget(names)
  }

  /** Lets the CA be asked when it wants them renewed, and skips to when the last one is to be. */
  async passUntilRenewal(): Promise<void> {
    const { certificates } = this.#parts
    const first = Math.min(
      ...(await this.#rows()).map(({ renew_at }) => renew_at ?? Number.POSITIVE_INFINITY),
    )
    this.#ahead += Math.max(0, Math.min(INFORMATION, first - this.#now - SECOND))
    for (let turns = 0; turns < MOST_TURNS; turns++) {
      await certificates.tend()
      if ((await this.#rows()).every(({ due_at }) => due_at !== null && due_at > this.#now)) break
    }
    this.#passTo(await this.#rows(), 'renew_at')
    this.#since = this.#now
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#owned?.disposeAsync()
  }

  get #now(): number {
    return this.#parts.knocked.service.clock.now
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
    const { store, knocked, names, certificates } = this.#parts
    await store.write('durable', async (tx) => {
      const fence = await tx.leases.take('certificates', randomUUID(), this.#now, this.#now + 1000 * DAY)
      if (fence === undefined) throw new Error('another process tends certificates')
      const { owner_id } = (await tx.sites.bySlug(knocked.slug))!
      for (const name of names) {
        const row = { account_id: owner_id!, slug: knocked.slug, status: 'active' } as const
        await tx.domains.insert(domainRow(name, row))
        await certificates.want(tx, name)
        await tx.changed(name)
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
