import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { LOOKS } from '../visitor.ts'
import { furnish } from './furnished.ts'
import { Web } from './person.ts'

// `npm run screenshots -- FOLDER`: every page of the dashboard as somebody with a few sites sees it, in the four looks.

const [folder] = process.argv.slice(2)
if (folder === undefined) throw new Error('Say where to: npm run screenshots -- FOLDER')
await mkdir(folder, { recursive: true })

await using web = await Web.open({ PORT: '0' })
await using owner = await web.owner()
const { sites, claimPath } = await furnish(web, owner)
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
  ['account', '/account'],
  ['claim', claimPath],
  ['reference', '/docs'],
]

for (const { name: look, options } of LOOKS) {
  const words = look.replace(' px wide, ', '-')
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
      await visitor.page.goto(web.service.baseUrl + path, { waitUntil: 'networkidle' })
      await visitor.page.screenshot({ path: join(folder, `${name}-${words}.png`), fullPage: true })
    }
  }
}
