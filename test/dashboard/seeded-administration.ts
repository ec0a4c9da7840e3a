import { sweeps } from '../../server/jobs/jobs.ts'
import { runOnce } from '../../server/jobs/scheduler.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../server/lib/time.ts'
import { COMMAND_LINE } from '../../server/store/tables/administration.ts'
import { type Certificate, emptyCertificate } from '../../server/store/tables/certificates.ts'
import { toFiles } from '../api/content.ts'
import { openOperator } from '../support/service.ts'
import type { Account, WebFixture } from './web-fixture.ts'

/** Marks an account as an administrator, and creates what its pages show: activity, runs of sweeps, certificates. */
export async function seedAdministration({ service }: WebFixture, { email }: Account): Promise<void> {
  await using operator = await openOperator(service, {})
  const { administrators, store } = operator
  await administrators.set(COMMAND_LINE, email, true)
  await runOnce(sweeps.find(({ name }) => name === 'figures')!, operator)
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
      if (!(await tx.certificates.find(certificate.name))) await tx.rows.insert('certificates', certificate)
  })
}

/** Creates what the pages about abuse show: reports, a suspended site of the account, blocks and an invitation. */
export async function seedModeration({ service }: WebFixture, { client }: Account): Promise<void> {
  const visitor = service.client()
  const publish = (title: string) => {
    const page = `<title>${title}</title><h1>${title}</h1>`
    return client.publish({ files: toFiles({ 'index.html': page }) })
  }
  const [bank, shop] = [await publish('Nordbank – Sign in'), await publish('Cheap watches')]
  for (const [reason, url, text] of [
    ['phishing', bank.siteUrl, 'Asks for the PIN of my card. Nordbank confirms that it is not theirs.'],
    ['phishing', `${bank.siteUrl}login.html`, 'Copy of our page. Please take it offline.'],
    ['other', bank.siteUrl, ''],
    ['phishing', bank.siteUrl, 'I got the link by SMS.'],
    ['copyright', shop.siteUrl, 'The photographs are ours.'],
  ] as const)
    await visitor.report({
      url,
      reason,
      text,
      ...(text.startsWith('Copy') && { email: 'abuse@nordbank.example' }),
    })
  await using operator = await openOperator(service, {})
  const { suspensions, blocks, invitations } = operator
  const statement = { reason: 'The photographs are not yours', note: 'Ticket 4711' }
  await suspensions.changeSite(COMMAND_LINE, shop.slug, statement)
  for (const block of [
    { kind: 'network', value: '198.51.100.0/24', reason: 'A flood of spam', seconds: 7 * 86_400 },
    { kind: 'hash', value: 'ab'.repeat(32), reason: 'A login page of a phishing kit' },
  ] as const)
    await blocks.add(COMMAND_LINE, block)
  await invitations.invite(COMMAND_LINE, 'colleague@example.com')
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
