import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { ADMIN_VIEWS, adminPath } from '../../dashboard/admin/views.ts'
import { VIEWPORTS } from '../support/browser.ts'
import { Disk, pickFolder } from './file-drop.ts'
import { sampleSite } from './sample-site.ts'
import { seedAccount } from './seeded-account.ts'
import { seedAdministration, seedModeration } from './seeded-administration.ts'
import { WebFixture } from './web-fixture.ts'

// `npm run screenshots -- FOLDER`: every page of the dashboard of an account with a few sites, in both viewports and
// color schemes. Uses port 8080.

const [folder] = process.argv.slice(2)
if (folder === undefined) throw new Error('Usage: npm run screenshots -- FOLDER')
await mkdir(folder, { recursive: true })

await using web = await new WebFixture().start({ PORT: '8080' })
const account = await web.createAccount()
const { sites, claimPath, domain } = await seedAccount(web, account)
await seedModeration(web, account)
await seedAdministration(web, account)
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
  ...Object.keys(ADMIN_VIEWS).map((view): [string, string] => {
    return [adminPath(view).slice(1).replace('/', '-'), adminPath(view)]
  }),
  ['claim', claimPath],
  ['reference', '/docs'],
]

for (const { name, ...options } of VIEWPORTS) {
  const words = name.replace(' px wide, ', '-')
  for (const isSignedIn of [true, false]) {
    await using visitor = isSignedIn ? await web.owner({ ...options, account }) : await web.visitor(options)
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
      // The page of a pending domain has an event stream, so that the network never becomes idle.
      if (name === 'domain') await visitor.page.getByText('DNS records').first().waitFor()
      else await visitor.page.waitForLoadState('networkidle')
      await visitor.page.screenshot({ path: join(folder, `${name}-${words}.png`), fullPage: true })
    }
    if (!isSignedIn) await published(visitor.page, join(folder, `published-${words}.png`))
  }
}

/** The page after a drop without an account. */
async function published(page: Page, path: string): Promise<void> {
  using disk = new Disk()
  const contents = sampleSite('A weekend project', 'Made in an afternoon.')
  await page.goto(web.service.baseUrl)
  await pickFolder(page, disk.folder('weekend', contents))
  await page.getByRole('heading', { name: 'Your site is live' }).waitFor()
  await page.waitForLoadState('networkidle')
  await page.screenshot({ path, fullPage: true })
}
