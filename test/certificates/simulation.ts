import { join } from 'node:path'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { AcmeError } from '../../packages/acme-client/acme.ts'
import { CertificateManager } from '../../server/certificates/certificates.ts'
import { makeLog } from '../../server/lib/log.ts'
import { SecretBox } from '../../server/lib/secret-box.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../../server/lib/time.ts'
import { sqliteStore } from '../../server/store/sqlite.ts'
import type { Store } from '../../server/store/store.ts'
import { domainRow } from '../store/rows.ts'
import { PATIENT } from '../support/patient.ts'
import { Random } from '../support/random.ts'
import { memoryFolder } from '../tools/memory-folder.ts'
import { fakeCodec, noCaa, SimulatedCa } from './simulated-ca.ts'

const START = Date.UTC(2030, 0, 1)

/** Validities of CAs, and how long the CA must have been available before an expiry counts as needless. */
export const LIVES = {
  '90d': { life: 90 * DAY_MS, grace: 48 * HOUR_MS },
  '64d': { life: 64 * DAY_MS, grace: 48 * HOUR_MS },
  '45d': { life: 45 * DAY_MS, grace: 48 * HOUR_MS },
  '160h': { life: 160 * HOUR_MS, grace: 6 * HOUR_MS },
} as const

export type LifeName = keyof typeof LIVES

export interface SimulationOptions {
  years: number
  domains: number
  life: LifeName
  seed: number
  /** Whether the CA supports renewal information. */
  information: boolean
}

export interface Simulated {
  orders: number
  issued: number
  questions: number
  /** Share of the time in which the CA was unavailable. */
  away: number
  /** Orders that failed for other reasons. */
  faults: number
  /** Limits of the CA that were exceeded. */
  passed: number
  /** Certificates that expired before their renewal; those that did although the CA was available. */
  expired: string[]
  expiredNeedlessly: string[]
}

/**
 * Runs the real `CertificateManager` with the real store, on a clock that jumps between due times, against a CA that is
 * unavailable a tenth of the time, enforces its limits, and fails one order in fifty.
 */
export async function simulate(options: SimulationOptions): Promise<Simulated> {
  await using stack = new AsyncDisposableStack()
  const folder = stack.use(await memoryFolder())
  const file = join(folder.path, 'slipway.db')
  const time = { now: START }
  const clock = () => time.now
  const store = stack.use(await sqliteStore({ file, clock, deadlines: PATIENT }))
  const random = new Random(options.seed)
  const end = START + options.years * 365 * DAY_MS
  const outages = new Outages(random.fork(), START + DAY_MS, end)
  const { life, grace } = LIVES[options.life]
  const ca = new SimulatedCa({ clock, life, renewalInformation: options.information })
  const faults = injectFaults(ca, { random: random.fork(), outages, clock })
  const certificates = stack.use(
    new CertificateManager({
      store,
      acme: ca,
      directory: 'https://ca.example/directory',
      dns: noCaa,
      secretBox: new SecretBox('a secret of thirty-two characters'),
      clock,
      log: makeLog({ level: 'silent', text: false, write: () => undefined }),
      own: [],
      codec: fakeCodec,
    }),
  )
  await activate(store, options.domains)
  await certificates.repairNames(store)
  const monitor = stack.use(new RowMonitor(file, { outages, grace, settled: START + 2 * DAY_MS }))
  while (time.now < end) {
    const got = await certificates.runDue()
    time.now = monitor.nextTime(time.now, got > 0)
  }
  return {
    orders: ca.ordered.values().reduce((sum, orders) => sum + orders, 0),
    issued: ca.certificates,
    questions: ca.requests.information,
    away: outages.share(START, end),
    faults: faults.count,
    passed: ca.limits.passed.length,
    expired: monitor.expired,
    expiredNeedlessly: monitor.expiredNeedlessly,
  }
}

/** Adds all domains at the same time, without a schedule, as after an upgrade. */
async function activate(store: Store, domains: number): Promise<void> {
  await store.write('relaxed', {}, async (tx) => {
    for (let number = 0; number < domains; number++)
      await tx.domains.insert(
        domainRow(`www.domain-${number}.example`, { status: 'active', accountId: `account-${number}` }),
      )
  })
}

interface FaultOptions {
  random: Random
  outages: Outages
  clock: () => number
}

function injectFaults(ca: SimulatedCa, { random, outages, clock }: FaultOptions): { count: number } {
  const faults = { count: 0 }
  ca.before = (step, names) => {
    if (outages.within(clock(), clock())) throw new AcmeError('unreachable', 'the CA does not answer')
    if (step === 'information' || !random.chance(0.005)) return
    faults.count++
    if (step === 'authorize') throw ca.failValidation(names)
    if (step === 'finalize') throw new AcmeError('timeout', 'the order is not ready yet')
    throw new AcmeError(random.pick(['rejected', 'unreachable', 'timeout']), 'the CA failed')
  }
  ca.after = (step) => {
    if (step === 'information' || !random.chance(0.005)) return
    faults.count++
    throw new AcmeError(random.pick(['unreachable', 'timeout']), 'the response of the CA was lost')
  }
  return faults
}

/** Outages of an hour to four days, together a tenth of the time; in milliseconds. */
class Outages {
  readonly #stretches: { start: number; end: number }[] = []

  constructor(random: Random, start: number, end: number) {
    for (let at = start; at < end; ) {
      const length = HOUR_MS * 2 ** (random.below(6600) / 1000)
      const up = length * 9 * (0.5 + random.below(1000) / 1000)
      this.#stretches.push({ start: at + up, end: at + up + length })
      at += up + length
    }
  }

  /** Whether an outage overlaps the time from `start` to `end`. */
  within(start: number, end: number): boolean {
    const first = this.#stretches[this.#firstEndingAfter(start)]
    return first !== undefined && first.start <= end
  }

  share(start: number, end: number): number {
    const away = this.#stretches.reduce(
      (sum, one) => sum + Math.max(0, Math.min(one.end, end) - Math.max(one.start, start)),
      0,
    )
    return away / (end - start)
  }

  #firstEndingAfter(time: number): number {
    let [low, high] = [0, this.#stretches.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.#stretches[middle]!.end > time) high = middle
      else low = middle + 1
    }
    return low
  }
}

/** Reads the rows over its own connection: the next due time, and expired certificates. */
class RowMonitor implements Disposable {
  readonly expired: string[] = []
  readonly expiredNeedlessly: string[] = []
  readonly #db: DatabaseSync
  readonly #options: { outages: Outages; grace: number; settled: number }
  readonly #nextDue: StatementSync
  readonly #reported = new Set<string>()
  #nextScan = 0

  constructor(file: string, options: { outages: Outages; grace: number; settled: number }) {
    this.#db = new DatabaseSync(file, { readOnly: true })
    this.#options = options
    this.#nextDue = this.#db.prepare('SELECT min(due_at) AS next FROM certificates WHERE due_at IS NOT NULL')
  }

  /** The time of the next run: the next due time, at least minutes later unless the last run issued certificates. */
  nextTime(now: number, madeProgress: boolean): number {
    if (now >= this.#nextScan) this.#scan(now)
    const { next } = this.#nextDue.get() as { next: number }
    if (next <= now) return now + (madeProgress ? 10 * SECOND_MS : 5 * MINUTE_MS)
    return Math.min(Math.max(next, now + 10 * MINUTE_MS), now + HOUR_MS)
  }

  [Symbol.dispose](): void {
    this.#db.close()
  }

  #scan(now: number): void {
    const { outages, grace, settled } = this.#options
    this.#nextScan = now + HOUR_MS
    const rows = this.#db
      .prepare('SELECT name, not_after FROM certificates WHERE coalesce(not_after, ?) <= ?')
      .all(settled, now) as { name: string; not_after: number | null }[]
    for (const { name, not_after } of rows) {
      const since = not_after ?? settled
      const what = `${name} at ${new Date(since).toISOString()}`
      if (this.#reported.has(what)) continue
      this.#reported.add(what)
      this.expired.push(what)
      if (!outages.within(since - grace, since)) this.expiredNeedlessly.push(what)
    }
  }
}
