import type { CertificateRow } from '../../store/schema.ts'
import type { Writing } from '../../store/store.ts'
import { tidyRequests } from './budget.ts'
import { type IssuingParts, LEASE, LEASES } from './parts.ts'
import { retryTime } from './renewal.ts'

const DAY = 86_400_000

/** How long the certificate of a name that is wanted no more is kept: a deleted domain is held 7 days for its account. */
const UNUSED_KEPT = 8 * DAY

/** Later than any try is planned: retries are daily, and no limit of a CA has a window over 7 days. */
const LATEST_PLAN = 8 * DAY

/** How far the clocks of nodes may be apart (milliseconds). */
const CLOCKS_APART = 3_600_000

const BATCH = 100
const MOST_BATCHES = 1000

/** Plans a certificate for a name: now, unless it has a good one, or failed lately: to remove and add it is no way around a wait. */
export async function want(tx: Writing, name: string, now: number): Promise<void> {
  const row = await tx.certificates.summary(name)
  if (!row) return tx.certificates.insert(newRow(name, now))
  const good = row.not_after !== null && row.not_after > now
  const next = Math.min(row.renew_at ?? now, row.information_at ?? Number.POSITIVE_INFINITY)
  const due_at = good && row.order_url === null ? Math.max(now, next) : now
  const since = row.unused_since
  if (good || row.failures === 0 || since === null || now - since > DAY)
    return tx.certificates.update(name, { due_at, unused_since: null, failures: 0, problem: null })
  const retry = Math.max(now, retryTime(row.failures, row.not_after, name, since))
  await tx.certificates.update(name, { due_at: retry, unused_since: null })
}

/** Plans nothing for a name any more; what it has is kept for some days. */
export async function release(tx: Writing, name: string, now: number): Promise<void> {
  const row = await tx.certificates.summary(name)
  if (row && row.unused_since === null)
    await tx.certificates.update(name, { due_at: null, unused_since: now, problem: null })
}

/** Makes good what events have missed, such as domains from before there was HTTPS, and drops what is of no use any more. */
export async function upkeep(parts: IssuingParts): Promise<void> {
  await adopt(parts)
  const { store, clock } = parts
  await store.write('soft', async (tx) => {
    const now = clock()
    await tx.certificates.dropUnused(now - UNUSED_KEPT)
    await tx.authorities.dropExpiredChallenges(now)
    await tx.leases.dropBeyond(LEASES, now + LEASE + CLOCKS_APART)
    await tidyRequests(tx, now)
    await tx.certificates.planAnew(now, now + LATEST_PLAN)
  })
}

/** Looks at everything anew, because the clock was set back: what was planned since then may be far in the future. */
export async function mendPlans({ store, clock }: IssuingParts): Promise<void> {
  await store.write('soft', (tx) => tx.certificates.planAnew(clock()))
}

async function adopt({ store, clock, own }: IssuingParts): Promise<void> {
  await store.write('soft', async (tx) => {
    for (const name of own) {
      const row = await tx.certificates.summary(name)
      if (!row || row.unused_since !== null) await want(tx, name, clock())
    }
  })
  await inBatches(
    () => store.read.certificates.missing(BATCH),
    (names) =>
      store.write('soft', async (tx) => {
        for (const name of names) if (await tx.domains.active(name)) await want(tx, name, clock())
      }),
  )
  await inBatches(
    () => store.read.certificates.needless(own, BATCH),
    (names) =>
      store.write('soft', async (tx) => {
        for (const name of names) if (!(await tx.domains.active(name))) await release(tx, name, clock())
      }),
  )
}

async function inBatches(
  find: () => Promise<string[]>,
  mend: (names: readonly string[]) => Promise<void>,
): Promise<void> {
  for (let batch = 0; batch < MOST_BATCHES; batch++) {
    const names = await find()
    if (names.length > 0) await mend(names)
    if (names.length < BATCH) return
  }
}

function newRow(name: string, due_at: number): CertificateRow {
  return {
    name,
    chain: null,
    key: null,
    not_before: null,
    not_after: null,
    issued_at: null,
    certificate_id: null,
    informed: 0,
    renew_at: null,
    information_at: null,
    order_url: null,
    order_key: null,
    proof_type: null,
    failures: 0,
    problem: null,
    due_at,
    unused_since: null,
  }
}
