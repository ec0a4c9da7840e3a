import type { Addresses } from '../../address.ts'
import type { StoredFile } from '../../file.ts'
import { currentFront, saidWhenLive } from '../../front/front.ts'
import type { SiteRules } from '../../rules/site-rules.ts'
import type { SiteRow, VersionRow } from '../../store/schema.ts'
import type { Queries } from '../../store/store.ts'
import { momentOf, openPolicy, type Policy, previewPolicy, privatePolicy } from '../policy.ts'
import { compile, type Published, type Table } from '../table.ts'

/** How long files that only the version before had stay reachable (contract, "Serving", 4). */
const BEFORE_MILLISECONDS = 3_600_000

interface Context {
  read: Queries
  addresses: Addresses
  /** Milliseconds since 1970. */
  now: number
}

/** The live version of a site as visitors see it. */
export async function liveTable(site: SiteRow, version: VersionRow, context: Context): Promise<Table> {
  const since = site.live_since ?? site.created_at
  const policyOf = site.password_hash === null ? openPolicy : privatePolicy
  const [before, published] = await Promise.all([
    beforeOf(site, since + BEFORE_MILLISECONDS, context),
    publishedOf(site, version, { ...context, policy: policyOf(timesOf(site, since)) }),
  ])
  return compile({ ...published, before })
}

/** One version of a site at a host of its own. */
export async function previewTable(site: SiteRow, version: VersionRow, context: Context): Promise<Table> {
  const policy = previewPolicy(timesOf(site, version.published_at ?? version.created_at))
  return compile(await publishedOf(site, version, { ...context, policy }))
}

/** What is said of a site can change while its version stays, and back again. */
function timesOf(site: SiteRow, since: number): Pick<Policy, 'live' | 'said'> {
  return { live: momentOf(since), said: momentOf(Math.max(since, site.updated_at)) }
}

async function publishedOf(
  site: SiteRow,
  version: VersionRow,
  { read, addresses, policy }: Context & { policy: Policy },
): Promise<Published> {
  const encodings = await read.encodings.ofSite(site.slug)
  return {
    files: JSON.parse(version.files) as StoredFile[],
    policy,
    rules: version.rules === null ? undefined : (JSON.parse(version.rules) as SiteRules),
    front: currentFront(site, version, addresses.site(site.slug)),
    encodings: new Map(encodings.map((row) => [row.hash, row])),
    said: saidWhenLive(site, version),
    urlOf: (name) => addresses.file(site.slug, name),
    spaMode: site.spa_mode === 1,
  }
}

async function beforeOf(
  { slug, previous_version_id: id }: SiteRow,
  until: number,
  { read, now }: Context,
): Promise<Published['before']> {
  const version = id !== null && now < until ? await read.versions.byId(id) : undefined
  if (version?.slug !== slug || version.state !== 'ready') return undefined
  return { files: JSON.parse(version.files) as StoredFile[], until }
}
