import { domainRow } from '../store/rows.ts'
import { openTestStore } from '../support/engines.ts'
import type { RunningService } from '../support/service.ts'

/** TTL of the service's cache of unknown host names. */
const UNKNOWN_HOST_TTL_MS = 1000

/** Adds a custom domain to a site as another process would, without DNS checks, and waits until it is served. */
export async function giveDomain(
  service: RunningService,
  slug: string,
  domain: string,
  status: 'pending' | 'active' = 'active',
): Promise<void> {
  const clock = () => service.clock.now
  await using store = await openTestStore({ folder: service.data, clock })
  const site = (await store.read.sites.find(slug))!
  await store.write('durable', {}, async (tx) => {
    const isActive = status === 'active'
    const row = domainRow(domain, {
      accountId: site.ownerId ?? 'account',
      slug,
      status,
      createdAt: clock(),
      verifiedAt: isActive ? clock() : null,
      pendingSince: isActive ? null : clock(),
    })
    await tx.domains.insert(row)
    await tx.notifyChanged(slug)
  })
  service.clock.now += UNKNOWN_HOST_TTL_MS
}
