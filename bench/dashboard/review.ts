import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { Slipway } from '../../client/sdk/slipway.ts'
import { whatIsMissing } from '../../scripts/test-dependencies.mjs'
import { insertAccount } from '../../test/support/insert-account.ts'
import { freePort } from '../../test/tools/port.ts'
import { startPostgres } from '../../test/tools/postgres.ts'
import { type Figure, figure, type Measurement } from '../figures.ts'
import { nodeSettings } from '../fleet/settings.ts'
import { scratchFolder, startServer } from '../server-process.ts'
import { signIn } from '../watch.ts'
import { openChromium, startReview } from './dashboard.ts'

const COMMENTS = 30
const MAX_MS = 1000

/** What reviewers wait for. */
export const review: Measurement = {
  name: 'review',
  means: 'comments that a reviewer adds in Chromium, until they are on screen in the browser of another one',
  missing: () => whatIsMissing('chromium') ?? whatIsMissing('postgres'),
  async run({ quick }) {
    await using scratch = await scratchFolder()
    await using browser = await openChromium()
    const count = quick ? 3 : COMMENTS
    const data = (name: string) => join(scratch.path, name)
    const figures: Figure[] = []
    {
      await using server = await startServer(data('embedded'))
      const { baseUrl } = server
      const link = await startReview(new Slipway({ baseUrl, key: await signIn(baseUrl, data('embedded')) }))
      figures.push(...describe('one process', await exchange(browser, [link, link], count)))
    }
    await using postgres = await startPostgres({ isDurable: true })
    const databaseUrl = await postgres.createDatabase()
    const settings = await nodeSettings(databaseUrl)
    const key = await insertAccount(databaseUrl, 'owner')
    await using one = await startServer(data('nodes'), { settings })
    await using other = await startServer(data('nodes'), {
      settings: { ...settings, PORT: `${await freePort()}` },
    })
    const link = await startReview(new Slipway({ baseUrl: one.baseUrl, key }))
    const elsewhere = link.replace(one.baseUrl, other.baseUrl)
    figures.push(...describe('two nodes with PostgreSQL', await exchange(browser, [link, elsewhere], count)))
    return figures
  },
}

function describe(where: string, times: number[]): Figure[] {
  const name = `from the press of "Add comment" to the comment on another open page, ${where}`
  return [
    figure(name, 'ms', times, MAX_MS),
    figure(`the slowest of ${times.length}, ${where}`, 'ms', [Math.max(...times)], MAX_MS),
  ]
}

/** Milliseconds of each comment but the first, from one page of a review to another one. */
async function exchange(
  browser: Browser,
  links: readonly [string, string],
  count: number,
): Promise<number[]> {
  await using writing = await browser.newContext()
  await using reading = await browser.newContext()
  const [writer, reader] = [await writing.newPage(), await reading.newPage()]
  for (const [index, page] of [writer, reader].entries()) {
    await page.addInitScript(prepare)
    await page.goto(links[index]!)
    await page.locator('.review-desk [role=toolbar] button:enabled').first().waitFor()
  }
  const times: number[] = []
  for (let round = 0; round <= count; round++) {
    const shownAt = reader.evaluate(watchText, `Comment number ${round}.`)
    const pressedAt = await addComment(writer, `Comment number ${round}.`)
    times.push((await shownAt) - pressedAt)
  }
  return times.slice(1)
}

/** The time when the button was pressed. */
async function addComment(page: Page, text: string): Promise<number> {
  await page.getByRole('button', { name: 'Comment', exact: true }).click()
  await page.getByRole('button', { name: 'Comment on the whole page' }).click()
  await page.getByLabel('Comment', { exact: true }).fill(text)
  await page.getByRole('button', { name: 'Add comment' }).click()
  await page.getByLabel('Comment', { exact: true }).waitFor({ state: 'detached' })
  return page.evaluate(() => (globalThis as unknown as { pressedAt: number }).pressedAt)
}

/** Runs in the page. */
function prepare(): void {
  localStorage.setItem('slipway.reviewer', 'Bea')
  addEventListener('click', () => Object.assign(globalThis, { pressedAt: Date.now() }), true)
}

/** Runs in the page; the time of the frame that has the text. */
function watchText(text: string): Promise<number> {
  return new Promise((resolve) => {
    new MutationObserver((_, observer) => {
      if (!document.querySelector('.review-side')?.textContent.includes(text)) return
      observer.disconnect()
      requestAnimationFrame(() => setTimeout(() => resolve(Date.now())))
    }).observe(document, { childList: true, subtree: true })
  })
}
