import { join } from 'node:path'
import { sqliteStore } from '../../server/store/sqlite.ts'
import type { RunningService } from '../service.ts'

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
    await tx.domains.insert({
      domain,
      account_id: site.owner_id ?? 'somebody',
      slug,
      status,
      proof: 'slipway-proof',
      reason: null,
      created_at: clock(),
      verified_at: status === 'active' ? clock() : null,
      checked_at: null,
      pending_since: status === 'active' ? null : clock(),
      primary_domain: null,
      found: null,
      proven_since: null,
      failing_since: null,
      next_check_at: null,
      slow: 0,
    })
    await tx.changed(slug)
  })
  service.clock.now += BELIEVED
}
