import type { DomainCertificate } from '../../../client/wire.ts'
import { inParallel } from '../../blobs/in-parallel.ts'
import type { CertificateSummary } from '../../store/queries/certificates.ts'
import type { Writing } from '../../store/store.ts'
import { isoOrNull } from '../../time.ts'
import { askAbout } from './information.ts'
import { Issuance, needsOrder } from './issuance.ts'
import type { IssuingParts } from './parts.ts'
import { mendPlans, release, upkeep, want } from './upkeep.ts'

const SECOND = 1000
const MINUTE = 60 * SECOND

/** Names taken in one turn, and at the same time. */
const A_TURN = 100
const AT_ONCE = 10

/** How long after its beginning a turn begins with further names: what has come up meanwhile may be more urgent. */
const TURN = 30 * SECOND

const UPKEEP_EVERY = 60 * MINUTE

/** How far back a clock may go without everything being looked at anew. */
const CLOCK_DRIFT = MINUTE

/** How long a CA that does not answer is left alone: at first, and at most, so that all goes on soon when it is back. */
const SHORTEST_PATIENCE = 10 * SECOND
const LONGEST_PATIENCE = 5 * MINUTE

const NONE: DomainCertificate = {
  status: 'none',
  issuedAt: null,
  expiresAt: null,
  renewsAt: null,
  problem: null,
}

/**
 * Certificates that renew themselves, for active domains and the service's own names. All that is known about one is its row
 * in the store, so that any node goes on where another one ended. What is issued is served to its last minute, or until the
 * next one takes its place.
 */
export class Certificates implements AsyncDisposable {
  readonly #parts: IssuingParts
  readonly #issuance: Issuance
  readonly #stopping = Promise.withResolvers<void>()
  #stopped = false
  #lastNow = Number.NEGATIVE_INFINITY
  #upkeepAt = Number.NEGATIVE_INFINITY
  /** Times in a row that the CA was away, and until when it is left alone. */
  #away = { times: 0, until: Number.NEGATIVE_INFINITY }

  constructor(parts: IssuingParts) {
    this.#parts = parts
    this.#issuance = new Issuance(parts)
  }

  /** Within the write that makes a name active: a certificate is got for it now, unless there is a good one. */
  want(tx: Writing, name: string): Promise<void> {
    return want(tx, name, this.#parts.clock())
  }

  /** Within the write that ends it: nothing is got or renewed any more. */
  release(tx: Writing, name: string): Promise<void> {
    return release(tx, name, this.#parts.clock())
  }

  /** Tries once more what was given up after too many failures; the limits of the CA hold for this too. */
  async retry(name: string): Promise<void> {
    const { store, clock } = this.#parts
    const isGivenUp = (row: CertificateSummary | undefined) =>
      row?.due_at === null && row.unused_since === null
    if (!isGivenUp(await store.read.certificates.summary(name))) return
    await store.write('soft', async (tx) => {
      if (isGivenUp(await tx.certificates.summary(name)))
        await tx.certificates.update(name, { due_at: clock() })
    })
  }

  /** How the certificates of names stand, one for each name. */
  async records(names: readonly string[]): Promise<Map<string, DomainCertificate>> {
    const { store, clock } = this.#parts
    const records = new Map(names.map((name) => [name, NONE]))
    for (const row of await store.read.certificates.summaries(names)) {
      if (row.unused_since === null) records.set(row.name, recordOf(row, clock()))
    }
    return records
  }

  /**
   * Does what is due, a bounded part of it at a time, and answers how many certificates were got. To be called every few
   * seconds; costs one indexed question when nothing is due. Other nodes doing the same do no harm.
   */
  async tend(): Promise<number> {
    if (this.#stopped) return 0
    const turn = this.#turn()
    return (await Promise.race([turn, this.#stopping.promise])) ?? 0
  }

  /** Ends at once: what is under way at the CA is resumed by whoever comes next. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped = true
    this.#stopping.resolve()
    await this.#issuance.stop()
  }

  async #turn(): Promise<number> {
    const { store, clock } = this.#parts
    await this.#keepUp()
    const now = clock()
    if (now < this.#away.until) return 0
    let due = await store.read.certificates.due(now, A_TURN, { ordered: true })
    if (due.length === 0) return 0
    const paused = (await store.read.authorities.requestBefore({ kind: 'pause' }, 1, now)) !== undefined
    if (paused) due = await store.read.certificates.due(now, A_TURN, { ordered: false })
    const { ordered = [], asked = [] } = Object.groupBy(due, (row) =>
      needsOrder(row, now) ? 'ordered' : 'asked',
    )
    const [issued] = await Promise.all([this.#visitAll(ordered), askAbout(this.#parts, asked)])
    return issued
  }

  /** What is to be done once in a while, and when the clock was set back. */
  async #keepUp(): Promise<void> {
    const now = this.#parts.clock()
    const setBack = now < this.#lastNow - CLOCK_DRIFT
    this.#lastNow = now
    if (setBack) {
      this.#away = { times: 0, until: now }
      this.#upkeepAt = now
      this.#parts.log.warn('the clock was set back; all certificates are looked at anew')
      await mendPlans(this.#parts)
    }
    if (now < this.#upkeepAt) return
    await upkeep(this.#parts)
    this.#upkeepAt = now + UPKEEP_EVERY
  }

  /** One name first when the CA was away, ten at a time when it is there, and no more when it wants no more. */
  async #visitAll(rows: readonly CertificateSummary[]): Promise<number> {
    const { clock } = this.#parts
    const began = clock()
    let issued = 0
    let goesOn = true
    const visit = async ({ name }: CertificateSummary) => {
      if (!goesOn || this.#stopped || clock() - began > TURN) return
      const outcome = await this.#visit(name)
      if (outcome === 'issued') issued++
      if (outcome === 'away' || outcome === 'paused') goesOn = false
    }
    const alone = this.#away.times > 0 ? 1 : 0
    for (const row of rows.slice(0, alone)) await visit(row)
    await inParallel(AT_ONCE, rows.slice(alone), visit)
    return issued
  }

  async #visit(name: string) {
    try {
      const outcome = await this.#issuance.visit(name, { caIsThere: this.#away.times === 0 })
      if (outcome === 'away') this.#waitForCa()
      else if (outcome !== 'waits') this.#away.times = 0
      return outcome
    } catch (error) {
      if (!this.#stopped) this.#parts.log.error('could not tend a certificate', { name, error })
      return 'failed'
    }
  }

  #waitForCa(): void {
    const now = this.#parts.clock()
    if (now < this.#away.until) return
    const patience = Math.min(SHORTEST_PATIENCE * 2 ** this.#away.times, LONGEST_PATIENCE)
    this.#away = { times: this.#away.times + 1, until: now + patience }
  }
}

function recordOf(row: CertificateSummary, now: number): DomainCertificate {
  const active = row.not_after !== null && row.not_after > now
  return {
    status: active ? 'active' : 'pending',
    issuedAt: isoOrNull(row.issued_at),
    expiresAt: isoOrNull(row.not_after),
    renewsAt: isoOrNull(active && row.problem === null ? row.renew_at : row.due_at),
    problem: row.problem,
  }
}
