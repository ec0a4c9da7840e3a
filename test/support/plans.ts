import type { Limits } from '../../protocol/api/account.schema.ts'
import { UNLIMITED } from '../../protocol/format.ts'
import { Plans } from '../../server/accounts/plans.ts'
import { Quotas } from '../../server/accounts/quotas.ts'
import { readConfig } from '../../server/config/settings.ts'
import { Metrics } from '../../server/lib/metrics.ts'
import { PublishQueue } from '../../server/publish/publish-queue.ts'
import { PATIENT } from './patient.ts'
import { silentLog } from './silent-log.ts'

/** The plans without any setting (spec 8). */
export const DEFAULT_PLANS = plansWith({})

/** Plans of which the one of new accounts has these limits. */
export function plansWith(limits: Partial<Limits>): Plans {
  const { plans } = readConfig({})
  return new Plans({ table: { ...plans, free: { ...plans.free!, ...limits } }, log: silentLog })
}

/** Quotas of accounts; sites without an account have none. */
export function quotasWith(plans: Plans): Quotas {
  const unlimited = { bytes: UNLIMITED, sites: UNLIMITED }
  return new Quotas({
    plans,
    anonymous: { total: unlimited, network: unlimited },
    secret: 'a secret',
    clock: Date.now,
    log: silentLog,
  })
}

/** No publish waits. */
export function unlimitedQueue(): PublishQueue {
  const running = Number.POSITIVE_INFINITY
  const timeouts = { ...PATIENT.database, expectedUploads: 0 }
  const store = { readWaitMs: () => 0, onChange: () => undefined }
  return new PublishQueue({ running, timeouts, store, uploadsAtOnce: running, metrics: new Metrics() })
}
