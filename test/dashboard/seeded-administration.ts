import { sweeps } from '../../server/jobs/jobs.ts'
import { runOnce } from '../../server/jobs/scheduler.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../server/lib/time.ts'
import { type Certificate, emptyCertificate } from '../../server/store/contract/certificates.ts'
import { openOperator } from '../support/service.ts'
import type { Account, WebFixture } from './web-fixture.ts'

/** Marks an account as an administrator, and creates what its pages show: activity, runs of sweeps, certificates. */
export async function seedAdministration({ service }: WebFixture, { email }: Account): Promise<void> {
  await using operator = await openOperator(service, {})
  const { administrators, store, sweepOptions } = operator
  await administrators.setByEmail(email, true)
  await runOnce(sweeps.find(({ name }) => name === 'figures')!, sweepOptions)
  const now = service.clock.now
  await store.write('relaxed', {}, async (tx) => {
    for (const [width, length] of [
      [10 * MINUTE_MS, DAY_MS],
      [HOUR_MS, 30 * DAY_MS],
    ] as const)
      for (let at = Math.floor((now - length) / width) * width; at <= now; at += width)
        await tx.activity.add(
          Object.entries(activityAt(at, width)).map(([name, value]) => ({ width, at, name, value })),
        )
    for (const [index, { name }] of sweeps.entries()) {
      const error = name === 'unnamed' ? 'connect ECONNREFUSED 192.0.2.10:443' : null
      const startedAt = now - index * 7 * MINUTE_MS
      await tx.sweepRuns.record({ name, startedAt, durationMs: 3 + index * 2, items: index % 4, error })
    }
    for (const certificate of certificatesAt(now))
      if (!(await tx.certificates.find(certificate.name))) await tx.certificates.insert(certificate)
  })
}

/** Issued ones, and one that fails. */
function certificatesAt(now: number): Certificate[] {
  const names = ['*.sites.example', 'slipway.example', 'www.harbour-cafe.example']
  const issued = names.map((name, index) => {
    const notAfter = now + (30 + index * 20) * DAY_MS
    const renewAt = notAfter - 30 * DAY_MS
    return { ...emptyCertificate(name), issuedAt: notAfter - 90 * DAY_MS, notAfter, renewAt, dueAt: renewAt }
  })
  const failing = {
    ...emptyCertificate('shop.harbour-cafe.example'),
    ...{ failures: 3, dueAt: now + HOUR_MS },
    problem: 'The certificate authority could not reach shop.harbour-cafe.example on port 80',
  }
  return [...issued, failing]
}

/** A day with a quiet night, for an interval of this width. */
function activityAt(at: number, width: number): Record<string, number> {
  const hour = (at % DAY_MS) / HOUR_MS
  const share = (Math.sin(((hour - 8) / 24) * 2 * Math.PI) + 1.2) * (width / HOUR_MS)
  const visits = Math.round(900 * share)
  return {
    ...{ visits, requests: Math.round(160 * share), bytes: visits * 48_000 },
    ...{ errors: hour > 13 && hour < 14 ? 3 : 0, publishes: Math.round(7 * share) },
    ...{ storeOperations: visits * 2, storeMicroseconds: Math.round(visits * 2 * (350 + 200 * share)) },
  }
}
