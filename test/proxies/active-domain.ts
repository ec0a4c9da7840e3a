import { join } from 'node:path'
import { sqliteStore } from '../../server/store/sqlite.ts'
import type { RunningService } from '../service.ts'
import { domainRow } from '../store/rows.ts'

/** That a name is nobody's is believed for so many milliseconds. */
const BELIEVED = 1000

/** Gives a site a custom domain as another process would, without asking DNS; visitors find it there then. */
export async function giveDomain(
  service: RunningService,
  slug: string,
  domain: string,
  status: 'pending' | 'active' = 'active',
): Promise<void> {
  const clock = () => service.clock.now
  await using store = await sqliteStore({ file: join(service.data, 'slipway.db'), clock })
  const site = (await store.read.sites.bySlug(slug))!
  await store.write('durable', async (tx) => {
    const isActive = status === 'active'
    const row = domainRow(domain, {
      accountId: site.ownerId ?? 'somebody',
      slug,
      status,
      createdAt: clock(),
      verifiedAt: isActive ? clock() : null,
      pendingSince: isActive ? null : clock(),
    })
    await tx.domains.insert(row)
    await tx.notifyChanged(slug)
  })
  service.clock.now += BELIEVED
}
