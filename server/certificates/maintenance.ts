import { DAY_MS } from '../lib/time.ts'
import type { NamesPage } from '../store/queries/certificates.ts'
import { deleteBefore, INDEPENDENT, type Store, type WriteTransaction } from '../store/store.ts'
import { emptyCertificate } from '../store/tables/certificates.ts'
import {
  BUDGET_SCOPE,
  findPause,
  hasRoom,
  maxCertificatesOfOwner,
  prune,
  ROOT_WINDOW_MS,
} from './ca-rate-limits.ts'
import type { IssuingDeps } from './deps.ts'
import { retryTime } from './schedule.ts'

/** A deleted domain is reserved for its account for 7 days. */
const UNUSED_RETENTION_MS = 8 * DAY_MS

const SITES_PER_RUN = 5

const PAGE_SIZE = 500

/** Now, unless the name has a valid certificate or failed recently. Removing and adding a name does not skip a wait. */
export async function requestCertificate(tx: WriteTransaction, name: string, now: number): Promise<void> {
  const certificate = await tx.certificates.findSummary(name)
  if (!certificate) return tx.rows.insert('certificates', { ...emptyCertificate(name), dueAt: now })
  const isValid = certificate.notAfter !== null && certificate.notAfter > now
  const next = Math.min(certificate.renewAt ?? now, certificate.informationAt ?? Number.POSITIVE_INFINITY)
  const dueAt = isValid && certificate.orderUrl === null ? Math.max(now, next) : now
  const since = certificate.unusedSince
  if (isValid || certificate.failures === 0 || since === null || now - since > DAY_MS)
    return tx.certificates.update(name, { dueAt, unusedSince: null, failures: 0, problem: null })
  const retry = Math.max(now, retryTime(certificate.failures, certificate.notAfter, name, since))
  await tx.certificates.update(name, { dueAt: retry, unusedSince: null })
}

/** For the operator. The orders name no predecessors: another CA may have issued those. */
export async function orderNow(store: Store, names: readonly string[], now: number): Promise<void> {
  const due = { dueAt: now, renewAt: now, hasRenewalInfo: false, failures: 0 }
  for (const name of names)
    await store.write('relaxed', { host: name }, (tx) => tx.certificates.update(name, due))
}

/** While the budget has room; never for names without a site. False when sites are left whose owners have room. */
export async function requestSiteCertificates(
  { store, clock, sites, directory }: IssuingDeps,
  changedSince = 0,
): Promise<boolean> {
  if (!sites) return true
  const { domain, perWeek } = sites
  const maxOfOwner = maxCertificatesOfOwner(perWeek)
  const owners = { changedSince, maxOfOwner, directory, since: clock() - ROOT_WINDOW_MS }
  const missing = await store.read.certificates.missingSites(domain, SITES_PER_RUN, owners)
  if (missing.length === 0) return true
  const host = missing.map(({ name }) => name)
  await store.write('relaxed', { host, ...BUDGET_SCOPE }, async (tx) => {
    const now = clock()
    for (const { name, ownerId } of missing)
      if (
        !(await tx.certificates.findSummary(name)) &&
        (await hasRoom({ tx, directory }, { accountId: ownerId, root: domain, ofSites: perWeek }, now))
      )
        await requestCertificate(tx, name, now)
  })
  return false
}

/** The certificate is kept for some days. */
export async function releaseCertificate(tx: WriteTransaction, name: string, now: number): Promise<void> {
  const certificate = await tx.certificates.findSummary(name)
  if (certificate && certificate.unusedSince === null)
    await tx.certificates.update(name, { dueAt: null, unusedSince: now, problem: null })
}

/** At a start own names that failed are due, unless the CA named a time, and with another CA all that wait. */
export async function maintain(
  { store, clock, own, directory }: IssuingDeps,
  isStart: boolean,
): Promise<void> {
  const last = isStart ? await store.read.acme.lastOrder() : undefined
  if (last && last.directory !== directory)
    await store.write('relaxed', BUDGET_SCOPE, (tx) => tx.certificates.restartOrders(clock()))
  await store.write('relaxed', { host: own }, async (tx) => {
    for (const name of own) {
      const certificate = await tx.certificates.findSummary(name)
      if (certificate?.unusedSince !== null) await requestCertificate(tx, name, clock())
      else if (
        isStart &&
        certificate.failures > 0 &&
        (await findPause(tx, { directory, names: [name] }, clock())) === undefined
      )
        await tx.certificates.update(name, { dueAt: clock() })
    }
  })
  const now = clock()
  await deleteBefore(store, 'certificates', now - UNUSED_RETENTION_MS)
  await deleteBefore(store, 'acme_challenges', now + 1)
  await store.write('relaxed', INDEPENDENT, (tx) => prune(tx, now))
}

/**
 * For a job with its store: schedules names that no event has scheduled, such as domains from before HTTPS was enabled, or
 * restored sites. Returns how many names were changed.
 */
export async function repairNames({ clock, own, sites }: IssuingDeps, store: Store): Promise<number> {
  const missing = await repairInPages(
    store,
    (after) => store.read.certificates.missing(after, PAGE_SIZE),
    async (tx, name) => {
      if (await tx.domains.active(name)) await requestCertificate(tx, name, clock())
    },
  )
  const options = { others: own, siteDomain: sites?.domain }
  const unneeded = await repairInPages(
    store,
    (after) => store.read.certificates.unneeded(after, PAGE_SIZE, options),
    async (tx, name) => {
      if (!(await tx.domains.active(name))) await releaseCertificate(tx, name, clock())
    },
  )
  const restored = await repairInPages(
    store,
    (after) => store.read.certificates.released(after, PAGE_SIZE, sites?.domain ?? ''),
    (tx, name) => requestCertificate(tx, name, clock()),
  )
  return missing + unneeded + restored
}

async function repairInPages(
  store: Store,
  find: (after: string) => Promise<NamesPage>,
  repair: (tx: WriteTransaction, name: string) => Promise<void>,
): Promise<number> {
  let repaired = 0
  for (let after: string | undefined = ''; after !== undefined; ) {
    const { names, next }: NamesPage = await find(after)
    if (names.length > 0)
      await store.write('relaxed', { host: names }, async (tx) => {
        for (const name of names) await repair(tx, name)
      })
    repaired += names.length
    after = next
  }
  return repaired
}
