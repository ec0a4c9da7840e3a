import { DAY_MS } from '../lib/time.ts'
import type { CertificateRow } from '../store/schema.ts'
import type { WriteTransaction } from '../store/store.ts'
import { prune } from './ca-rate-limits.ts'
import type { IssuingDeps } from './deps.ts'
import { retryTime } from './schedule.ts'

/**
 * How long the certificate of a removed name is kept: a deleted domain is reserved for its account for 7
 * days.
 */
const UNUSED_RETENTION_MS = 8 * DAY_MS

const BATCH_SIZE = 100
const MAX_BATCHES = 1000

/**
 * Schedules a certificate for a name: now, unless it has a valid one or failed recently. Removing and adding
 * a name does not skip a wait.
 */
export async function requestCertificate(tx: WriteTransaction, name: string, now: number): Promise<void> {
  const row = await tx.certificates.summary(name)
  if (!row) return tx.certificates.insert(newRow(name, now))
  const isValid = row.not_after !== null && row.not_after > now
  const next = Math.min(row.renew_at ?? now, row.information_at ?? Number.POSITIVE_INFINITY)
  const due_at = isValid && row.order_url === null ? Math.max(now, next) : now
  const since = row.unused_since
  if (isValid || row.failures === 0 || since === null || now - since > DAY_MS)
    return tx.certificates.update(name, { due_at, unused_since: null, failures: 0, problem: null })
  const retry = Math.max(now, retryTime(row.failures, row.not_after, name, since))
  await tx.certificates.update(name, { due_at: retry, unused_since: null })
}

/** Removes the schedule of a name; its certificate is kept for some days. */
export async function releaseCertificate(tx: WriteTransaction, name: string, now: number): Promise<void> {
  const row = await tx.certificates.summary(name)
  if (row && row.unused_since === null)
    await tx.certificates.update(name, { due_at: null, unused_since: now, problem: null })
}

/**
 * Schedules names that no event has scheduled, such as domains from before HTTPS was enabled, and deletes unused
 * certificates.
 */
export async function maintain(deps: IssuingDeps): Promise<void> {
  await importOwnNames(deps)
  const { store, clock } = deps
  await store.write('relaxed', async (tx) => {
    const now = clock()
    await tx.certificates.deleteUnused(now - UNUSED_RETENTION_MS)
    await tx.acme.deleteExpiredChallenges(now)
    await prune(tx, now)
  })
}

async function importOwnNames({ store, clock, own }: IssuingDeps): Promise<void> {
  await store.write('relaxed', async (tx) => {
    for (const name of own) {
      const row = await tx.certificates.summary(name)
      if (!row || row.unused_since !== null) await requestCertificate(tx, name, clock())
    }
  })
  await repairInBatches(
    () => store.read.certificates.missing(BATCH_SIZE),
    (names) =>
      store.write('relaxed', async (tx) => {
        for (const name of names)
          if (await tx.domains.active(name)) await requestCertificate(tx, name, clock())
      }),
  )
  await repairInBatches(
    () => store.read.certificates.unneeded(own, BATCH_SIZE),
    (names) =>
      store.write('relaxed', async (tx) => {
        for (const name of names)
          if (!(await tx.domains.active(name))) await releaseCertificate(tx, name, clock())
      }),
  )
}

async function repairInBatches(
  find: () => Promise<string[]>,
  repair: (names: readonly string[]) => Promise<void>,
): Promise<void> {
  for (let batch = 0; batch < MAX_BATCHES; batch++) {
    const names = await find()
    if (names.length > 0) await repair(names)
    if (names.length < BATCH_SIZE) return
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
