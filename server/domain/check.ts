import { inParallel } from '../blobs/in-parallel.ts'
import type { Dns } from '../dns/dns.ts'
import { busy } from '../limits/turns.ts'
import type { Log } from '../log.ts'
import type { DomainRow } from '../store/schema.ts'
import type { Durability, Store, Writing } from '../store/store.ts'
import { outcomeOf } from './outcome.ts'
import { holds, type Look, lookAt, textsOf } from './proof.ts'
import { ASKED_APART, BEYOND, revived } from './schedule.ts'
import { activate, type DomainCertificates, deactivate } from './status.ts'

export interface DomainChecksOptions {
  store: Store
  dns: Dns
  clock: () => number
  log: Log
  /** Spec `{proxy_host}`. */
  proxyHost: string
  certificates?: DomainCertificates | undefined
  random?: () => number
  /** Milliseconds since whenever: tells how long a look took. */
  stopwatch?: () => number
}

/** Names that one turn of the sweep looks up, and how many of them at once. */
const MOST_A_TURN = 200
const AT_ONCE = 20

/** Names that take so long (milliseconds) have a few places of their own, each for one look a turn: the others go on. */
const SLOW = 2000
const SLOW_A_TURN = 10

/** Looks that are under way because somebody asked, over all accounts. */
const MOST_ASKED = 32

/** When a name is looked up again whose look failed for a reason of our own (milliseconds). */
const AFTER_FAILURE = 60_000

/** How often the log says that the service's own name cannot be looked up (milliseconds). */
const BETWEEN_WARNINGS = 3_600_000

/** How a status changed, for the log. */
interface Turn {
  becomes: DomainRow['status']
  reason: DomainRow['reason'] | undefined
  /** The account that had the name until then. */
  takenFrom: string | undefined
}

/** Looks names up in DNS, when they are due and when somebody asks, and does what follows. */
export class DomainChecks {
  readonly #options: DomainChecksOptions
  /** Names that somebody asked for and that are being looked up. */
  readonly #asked = new Map<string, Promise<DomainRow | undefined>>()
  #busy = 0
  #stopped = false
  #warnedAt = -Infinity

  constructor(options: DomainChecksOptions) {
    this.#options = options
  }

  /**
   * The row after a look now; as it is when it was looked up a moment ago, or when too many others ask. Undefined when it
   * went away meanwhile.
   */
  async asked(row: DomainRow): Promise<DomainRow | undefined> {
    const { clock } = this.#options
    const since = row.checked_at === null ? Infinity : Math.abs(clock() - row.checked_at)
    if (since < ASKED_APART) return row
    const name = `${row.account_id} ${row.domain}`
    const underway = this.#asked.get(name)
    if (underway) return underway
    if (this.#busy >= MOST_ASKED) return row
    const isGivenUp = row.status === 'pending' && row.next_check_at === null
    const look = this.#bounded(() =>
      this.#lookAgain(isGivenUp ? { ...row, pending_since: revived(clock()) } : row),
    )
    this.#asked.set(name, look)
    return look.finally(() => this.#asked.delete(name))
  }

  /** Whether the TXT record of a row is gone for sure. UNAVAILABLE when too many others ask. */
  async hasLostProof({ domain, proof }: DomainRow): Promise<boolean> {
    if (this.#busy >= MOST_ASKED) throw busy()
    const texts = await this.#bounded(() => textsOf(this.#options.dns, domain))
    return texts !== undefined && !holds(texts, proof)
  }

  /** Begins no more looks that are due. */
  stop(): void {
    this.#stopped = true
  }

  /** Looks up what is due, a bounded part of it; answers how many names became active or pending by that. */
  async due(): Promise<number> {
    let changed = 0
    const look = async (row: DomainRow) => {
      if (this.#stopped) return
      try {
        if (await this.#look(row)) changed++
      } catch (error) {
        await this.#postpone(row, error)
      }
    }
    const [quick, slow] = [await this.#due(MOST_A_TURN, false), await this.#due(SLOW_A_TURN, true)]
    await Promise.all([inParallel(AT_ONCE, quick, look), inParallel(SLOW_A_TURN, slow, look)])
    return changed
  }

  #due(limit: number, slow: boolean): Promise<DomainRow[]> {
    const { store, clock } = this.#options
    const now = clock()
    return store.read.domains.due(now, { limit, slow, beyond: now + BEYOND })
  }

  async #lookAgain(row: DomainRow): Promise<DomainRow | undefined> {
    await this.#look(row)
    return this.#options.store.read.domains.find(row.account_id, row.domain)
  }

  /** Answers whether the name became active or pending: only that has to be flushed to the disk. */
  async #look(row: DomainRow): Promise<boolean> {
    const { dns, proxyHost, clock, store, log, stopwatch = () => performance.now() } = this.#options
    const [began, start] = [clock(), stopwatch()]
    const look = await lookAt(dns, row, proxyHost)
    const slow = stopwatch() - start >= SLOW
    if (look.pointing.is === 'unclear' && look.pointing.ours) this.#warn(look.pointing.words)
    const conclude = (durability: Durability) =>
      store.write(durability, async (tx) => {
        const found = await tx.domains.find(row.account_id, row.domain)
        if (!found || !isSame(found, row)) return false
        return this.#conclude(
          tx,
          { ...found, pending_since: row.pending_since },
          { look, began, slow, durability },
        )
      })
    const turn = (await conclude('soft')) ?? (await conclude('durable'))
    if (!turn) return false
    const { domain, account_id: account, slug } = row
    log.info('a domain changed', { domain, slug, account, ...turn })
    return true
  }

  /** False when the status stays, undefined when it has to be concluded durably. */
  async #conclude(
    tx: Writing,
    row: DomainRow,
    { look, began, slow, durability }: { look: Look; began: number; slow: boolean; durability: Durability },
  ): Promise<Turn | false | undefined> {
    const { clock, certificates, random = Math.random } = this.#options
    const now = clock()
    const { domain, account_id: account } = row
    const rival = notOf(account, await tx.domains.active(domain))
    const hold = notOf(account, await tx.domains.held(domain, now))
    const { becomes, change } = outcomeOf(row, look, { began, now, slow, rival, hold, random })
    if (becomes === row.status) {
      await tx.domains.update(row, { pending_since: row.pending_since, ...change })
      return false
    }
    if (durability === 'soft') return undefined
    if (becomes === 'active') await activate(tx, row, change, { now, rival, certificates })
    else await deactivate(tx, row, change, certificates)
    return { becomes, reason: change.reason, takenFrom: becomes === 'active' ? rival?.account_id : undefined }
  }

  /** One that always fails must not be in the way of the others. */
  async #postpone(row: DomainRow, error: unknown): Promise<void> {
    const { log, store, clock } = this.#options
    const { domain, account_id: account } = row
    log.error('a domain could not be looked up; it is tried again', { domain, account, error })
    try {
      const next_check_at = clock() + AFTER_FAILURE
      await store.write('soft', async (tx) => {
        const found = await tx.domains.find(account, domain)
        if (found && isSame(found, row)) await tx.domains.update(row, { next_check_at })
      })
    } catch (error) {
      log.error('a domain could not be put off', { domain, account, error })
    }
  }

  #warn(problem: string): void {
    const { log, clock, proxyHost } = this.#options
    if (Math.abs(clock() - this.#warnedAt) < BETWEEN_WARNINGS) return
    this.#warnedAt = clock()
    log.warn('custom domains cannot be compared with the name they have to point to', { proxyHost, problem })
  }

  async #bounded<T>(work: () => Promise<T>): Promise<T> {
    this.#busy++
    try {
      return await work()
    } finally {
      this.#busy--
    }
  }
}

/** A look says nothing about a row that changed its status, was added anew or went away meanwhile. */
function isSame(one: DomainRow, other: DomainRow): boolean {
  const said = ({ status, slug, proof, created_at }: DomainRow) =>
    JSON.stringify([status, slug, proof, created_at])
  return said(one) === said(other)
}

function notOf<Row extends { account_id: string }>(account: string, row: Row | undefined): Row | undefined {
  return row?.account_id === account ? undefined : row
}
