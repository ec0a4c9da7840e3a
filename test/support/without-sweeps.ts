import type { MockTracker } from 'node:test'
import { JobLease } from '../../server/jobs/job-lease.ts'
import { DAY_MS } from '../../server/lib/time.ts'

/** Lets another node hold all leases, so that services of this process run no sweeps by schedule. */
export function withoutSweeps(mocks: MockTracker): void {
  mocks.method(JobLease, 'acquire', async ({ name, clock }: { name: string; clock: () => number }) => {
    return { name, holder: 'another node', fence: 1, until: clock() + DAY_MS }
  })
}
