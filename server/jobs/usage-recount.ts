import { listPages } from '../lib/list-pages.ts'
import type { Log } from '../lib/log.ts'
import { sumVersions } from '../sites/version.ts'
import type { HeldSite } from '../store/queries/sites.ts'
import type { Store } from '../store/store.ts'
import { ANONYMOUS, accountHolder, type Holding, networkHolder } from '../store/tables/usage.ts'
import { processEach } from './process-each.ts'

type HeldSites = Parameters<Store['read']['sites']['listHeld']>[0]

const HOLDERS_PER_PAGE = 100
const SITES_PER_PAGE = 2000

/** A holder that publishes all the time is counted at the next run. */
const MAX_ATTEMPTS = 3

/** Corrects what was counted otherwise. Returns the number of corrections. */
export async function recountUsage({ store, log }: { store: Store; log: Log }): Promise<number> {
  try {
    return await processEach(listHolders(store), async (holder) => {
      const difference = await correct(store, holder)
      if (difference === undefined) return 0
      log.warn('usage was not counted correctly: corrected', { holder, ...difference })
      return 1
    })
  } finally {
    await removeEmptyNetworks(store)
  }
}

/** All anonymous sites last: they are the sum of their networks. */
async function* listHolders(store: Store): AsyncGenerator<string> {
  for await (const ids of listPages('', (after) => store.read.accounts.ids(after, HOLDERS_PER_PAGE)))
    yield* ids.map(accountHolder)
  for await (const networks of listNetworks(store)) yield* networks
  yield ANONYMOUS
}

function listNetworks(store: Store): AsyncGenerator<string[]> {
  return listPages(networkHolder(''), (after) => store.read.usage.listNetworks(after, HOLDERS_PER_PAGE))
}

/** Undefined for all anonymous sites. */
function heldBy(holder: string): HeldSites | undefined {
  const [account, network] = [accountHolder(''), networkHolder('')]
  if (holder.startsWith(account)) return { ownerId: holder.slice(account.length) }
  return holder.startsWith(network) ? { network: holder.slice(network.length) } : undefined
}

/** What was counted too much, after its correction; undefined when nothing was, or the holder changes all the time. */
async function correct(store: Store, holder: string): Promise<Holding | undefined> {
  const which = heldBy(holder)
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const { revision, ...counted } = await store.read.usage.find(holder)
    const difference = which
      ? await compareSites(store, which, counted)
      : await store.read.usage.anonymousDifference()
    if (!difference) continue
    if (difference.bytes === 0 && difference.sites === 0) return undefined
    const held = { bytes: counted.bytes - difference.bytes, sites: counted.sites - difference.sites }
    if (await store.execute('relaxed', ({ usage }) => usage.replace(holder, held, revision)))
      return difference
  }
  return undefined
}

/** Undefined when there are other sites after they were summed. */
async function compareSites(store: Store, which: HeldSites, counted: Holding): Promise<Holding | undefined> {
  const sites = await listHeld(store, which)
  const bytes = await sumBytes(store, sites, which)
  const isStable = JSON.stringify(await listHeld(store, which)) === JSON.stringify(sites)
  return isStable ? { bytes: counted.bytes - bytes, sites: counted.sites - sites.length } : undefined
}

async function listHeld({ read }: Store, which: HeldSites): Promise<HeldSite[]> {
  const pages = listPages({ at: 0, slug: '', visitsKey: '' }, (after) =>
    read.sites.listHeld(which, { after, limit: SITES_PER_PAGE }),
  )
  return (await Array.fromAsync(pages)).flat()
}

/** Contents that several sites of an owner have count for the first of these sites. */
async function sumBytes(store: Store, sites: readonly HeldSite[], which: HeldSites): Promise<number> {
  const ownerId = 'ownerId' in which ? which.ownerId : null
  let sum = 0
  for (const { slug, visitsKey } of sites) {
    sum += (await store.read.reviews.size({ slug })).characters
    const { bytes, own } = await store.read.references.sum(visitsKey, ownerId, '<')
    sum += (ownerId === null ? bytes : own) + (await sumVersions(store.read, { slug, ownerId }))
  }
  return sum
}

async function removeEmptyNetworks(store: Store): Promise<void> {
  let after = networkHolder('')
  for await (const networks of listNetworks(store)) {
    const [from, last] = [after, networks.at(-1)!]
    await store.execute('relaxed', ({ usage }) => usage.removeEmptyNetworks(from, last))
    after = last
  }
}
