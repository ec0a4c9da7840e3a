import { ask } from '../operator/requests.ts'
import { type Drawn, drawing, render } from './drawings.ts'
import type { Owner, Web } from './person.ts'

const DAY_MS = 86_400_000

interface Furnished {
  /** Slugs, the one with the most to show first. */
  sites: string[]
  /** Of a site that nobody owns yet. */
  claimPath: string
  /** Waits for its records. */
  domain: string
}

/** Gives somebody what a person has after a month: sites with versions and visits, a domain that waits, one to claim. */
export async function furnish({ service }: Web, { key }: Owner): Promise<Furnished> {
  const client = service.client(key)
  const today = service.clock.now
  const publish = (files: Drawn[], more: object = {}) =>
    client.publish({
      files: files.map((file) => ({
        path: file.path,
        size: render(file).length,
        contentType: file.contentType,
        open: () => render(file),
      })),
      ...more,
    })
  service.clock.now = today - 28 * DAY_MS
  const cafe = await publish(drawing('Harbour Café', 'Coffee by the water, from seven.'), {
    title: 'Harbour Café',
    description: 'Coffee by the water, from seven. Bread from the oven next door.',
    ogImagePath: 'images/harbour.svg',
  })
  for (let day = 27; day >= 0; day--) {
    service.clock.now = today - day * DAY_MS
    if (day === 20 || day === 9 || day === 1)
      await publish(drawing('Harbour Café', `Coffee by the water. Week ${day}.`, day), { slug: cafe.slug })
    await look(service.port, cafe.slug, 3 + ((day * 7) % 11) + (day % 7 < 2 ? 9 : 0))
    // What was counted is written before the day is over.
    await client.visits(cafe.slug, '24h')
  }
  const notes = await publish(drawing('Field notes', 'What grew this week.'), { title: 'Field notes' })
  await client.setMetadata(notes.slug, { password: 'correct horse' })
  const poster = await publish(drawing('', '').filter(({ path }) => path.endsWith('.svg')))
  await client.setMetadata(poster.slug, { ttlSeconds: 7 * 86_400 })
  const { domain } = await client.addDomain('www.harbour-cafe.example', cafe.slug)
  const anyone = await service.client().publish({
    title: 'A weekend project',
    files: drawing('A weekend project', 'Made in an afternoon.').map((file) => ({
      path: file.path,
      size: render(file).length,
      contentType: file.contentType,
      open: () => render(file),
    })),
  })
  const { pathname, search } = new URL(anyone.claimUrl!)
  return { sites: [cafe.slug, notes.slug, poster.slug], claimPath: pathname + search, domain }
}

const AGENTS = ['Firefox', 'Chrome', 'Safari', 'Edge', 'Opera', 'Vivaldi', 'Epiphany']

async function look(port: number, slug: string, times: number): Promise<void> {
  const paths = ['/', '/', '/menu.html', '/images/harbour.svg', '/style.css', '/old-menu']
  for (let count = 0; count < times * 3; count++) {
    const headers = {
      Host: `${slug}.localhost:${port}`,
      'User-Agent': `${AGENTS[(count * times) % AGENTS.length]}/${times}`,
      ...(count % 4 === 0 && { Referer: `https://${['maps', 'news', 'friends'][count % 3]}.example/` }),
    }
    await ask(port, { path: paths[count % paths.length]!, headers })
  }
}
