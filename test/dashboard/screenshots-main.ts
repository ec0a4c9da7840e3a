import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { VIEWPORTS } from '../visitor.ts'
import { drawing } from './drawings.ts'
import { Disk, pickFolder } from './dropping.ts'
import { furnish } from './furnished.ts'
import { Web } from './person.ts'

// `npm run screenshots -- FOLDER`: every page of the dashboard as somebody with a few sites sees it, at the four sizes and schemes. Takes port 8080.

const [folder] = process.argv.slice(2)
if (folder === undefined) throw new Error('Say where to: npm run screenshots -- FOLDER')
await mkdir(folder, { recursive: true })

await using web = await Web.open({ PORT: '8080' })
await using owner = await web.owner()
const { sites, claimPath, domain } = await furnish(web, owner)
const [first] = sites
const PAGES: [string, string][] = [
  ['front', '/'],
  ['terminal', '/?from=terminal'],
  ['agent', '/?from=agent'],
  ['sites', '/sites'],
  ...['', '/files', '/versions', '/visits', '/settings'].map((view): [string, string] => [
    `site${view.replace('/', '-')}`,
    `/sites/${first}${view}`,
  ]),
  ['domains', '/domains'],
  ['domain', `/domains?domain=${domain}`],
  ['account', '/account'],
  ['claim', claimPath],
  ['reference', '/docs'],
]

for (const { name, ...options } of VIEWPORTS) {
  const words = name.replace(' px wide, ', '-')
  for (const isSignedIn of [true, false]) {
    await using visitor = await web.visitor(options)
    if (isSignedIn) {
      const { cookies, origins } = await owner.visitor.context.storageState()
      await visitor.context.addCookies(cookies)
      const kept = origins.flatMap(({ localStorage }) => localStorage)
      await visitor.context.addInitScript((items) => {
        for (const { name, value } of items) localStorage.setItem(name, value)
      }, kept)
    }
    const shown: [string, string][] = isSignedIn
      ? PAGES
      : [
          ['front-anyone', '/'],
          ['sign-in', '/sign-in'],
          ['claim-anyone', claimPath],
          ['not-found', '/nowhere'],
        ]
    for (const [name, path] of shown) {
      await visitor.page.goto(web.service.baseUrl + path)
      // A domain that waits is followed by a request that does not end.
      if (name === 'domain') await visitor.page.getByText('Two records to enter in DNS').first().waitFor()
      else await visitor.page.waitForLoadState('networkidle')
      await visitor.page.screenshot({ path: join(folder, `${name}-${words}.png`), fullPage: true })
    }
    if (!isSignedIn) await published(visitor.page, join(folder, `published-${words}.png`))
  }
}

/** What somebody without an account sees after a drop. */
async function published(page: Page, path: string): Promise<void> {
  using disk = new Disk()
  const files = drawing('A weekend project', 'Made in an afternoon.')
  const contents = Object.fromEntries(files.map((file) => [file.path, file.text]))
  await page.goto(web.service.baseUrl)
  await pickFolder(page, disk.folder('weekend', contents))
  await page.getByRole('heading', { name: 'It is live.' }).waitFor()
  await page.waitForLoadState('networkidle')
  await page.screenshot({ path, fullPage: true })
}
