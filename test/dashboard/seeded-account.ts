import { type Contents, toFiles } from '../api/content.ts'
import { sendRequest } from '../support/http-client.ts'
import { sampleSite } from './sample-site.ts'
import type { Account, WebFixture } from './web-fixture.ts'

const DAY_MS = 86_400_000

interface SeededAccount {
  /** Slugs, the site with the most data first. */
  sites: string[]
  /** Of an anonymous site. */
  claimPath: string
  /** A domain whose DNS records are missing. */
  domain: string
}

/** Creates a month of data: sites with versions and visits, a pending domain, and a site to claim. */
export async function seedAccount({ service }: WebFixture, { client }: Account): Promise<SeededAccount> {
  const today = service.clock.now
  const publish = (contents: Contents, more: object = {}) =>
    client.publish({ files: toFiles(contents), ...more })
  service.clock.now = today - 28 * DAY_MS
  const cafe = await publish(sampleSite('Harbour Café', 'Coffee by the water, from seven.'), {
    title: 'Harbour Café',
    description: 'Coffee by the water, from seven. Bread from the oven next door.',
    ogImagePath: 'images/harbour.svg',
  })
  for (let day = 27; day >= 0; day--) {
    service.clock.now = today - day * DAY_MS
    if (day === 20 || day === 9 || day === 1)
      await publish(sampleSite('Harbour Café', `Coffee by the water. Week ${day}.`, day), { slug: cafe.slug })
    await visit(service.port, cafe.slug, 3 + ((day * 7) % 11) + (day % 7 < 2 ? 9 : 0))
    // Reading the visits writes those of this day before the clock moves on.
    await client.visits(cafe.slug, '24h')
  }
  const notes = await publish(sampleSite('Field notes', 'What grew this week.'), { title: 'Field notes' })
  await client.setMetadata(notes.slug, { password: 'correct horse' })
  const { 'favicon.svg': picture = '' } = sampleSite('', '')
  const poster = await publish({ 'poster.svg': picture })
  await client.setMetadata(poster.slug, { ttlSeconds: 7 * 86_400 })
  const { domain } = await client.addDomain('www.harbour-cafe.example', cafe.slug)
  await client.createKey({ name: 'CI of the café', scope: 'publish', sites: [cafe.slug] })
  await client.createTrust({
    ...{ forge: 'github', repository: 'harbour/cafe', site: cafe.slug, branch: 'main', pullRequests: true },
  })
  const anyone = await service.client().publish({
    title: 'A weekend project',
    files: toFiles(sampleSite('A weekend project', 'Made in an afternoon.')),
  })
  const { pathname, search } = new URL(anyone.claimUrl!)
  return { sites: [cafe.slug, notes.slug, poster.slug], claimPath: pathname + search, domain }
}

const AGENTS = ['Firefox', 'Chrome', 'Safari', 'Edge', 'Opera', 'Vivaldi', 'Epiphany']

async function visit(port: number, slug: string, times: number): Promise<void> {
  const paths = ['/', '/', '/menu.html', '/images/harbour.svg', '/style.css', '/old-menu']
  for (let count = 0; count < times * 3; count++) {
    const headers = {
      Host: `${slug}.localhost:${port}`,
      'User-Agent': `${AGENTS[(count * times) % AGENTS.length]}/${times}`,
      ...(count % 4 === 0 && { Referer: `https://${['maps', 'news', 'friends'][count % 3]}.example/` }),
    }
    await sendRequest(port, { path: paths[count % paths.length]!, headers })
  }
}
