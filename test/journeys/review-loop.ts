import assert from 'node:assert/strict'
import type { BrowserContextOptions, FrameLocator, Page } from 'playwright-core'
import type { Slipway } from '../../client/sdk/slipway.ts'
import { isSlipwayError } from '../../client/sdk/slipway-error.ts'
import type { ReviewThread } from '../../protocol/api/reviews.schema.ts'
import type { CliHarness } from '../cli/cli-harness.ts'
import { type ContextPool, PHONE } from '../support/browser.ts'
import { getUrl } from '../support/http-client.ts'
import { waitFor } from '../support/wait-for.ts'

/** A service with an account, and what uses it. */
interface ReviewLoopParts {
  /** With the key of the account. */
  client: Slipway
  command: ReviewCommand
  browsers: ContextPool
}

/** The command with the key of the account. */
export interface ReviewCommand {
  run(args: string[]): Promise<{ code: number; stdout: string }>
  /** Writes the page of the folder to publish; returns the folder. */
  write(page: string): string
}

/** The command of this repository; `now` returns a later time for each page. */
export function reviewCommand(cli: CliHarness, now: () => number): ReviewCommand {
  return {
    run: (args) => cli.run(args),
    write(page) {
      cli.now = now()
      cli.write({ 'site/index.html': page })
      return 'site'
    },
  }
}

const page = (...parts: string[]) =>
  `<!doctype html><html lang="en"><title>Menu</title><link rel="icon" href="data:,"><h1>Bakery</h1>${parts.join('')}`

/**
 * Two reviewers and a program, from the first publish to the promotion: one comments by touch on a phone, the other one
 * by keyboard alone, the program publishes another version, and the approval permits exactly this one.
 */
export async function playReviewLoop({ client, command, browsers }: ReviewLoopParts): Promise<void> {
  const { run, write } = command
  await using opened = new AsyncDisposableStack()
  const open = async (options: BrowserContextOptions) => opened.use(await browsers.visitor(options))
  const slug = `menu-${Date.now().toString(36)}`
  const site = ['--site', slug, '--json']
  const preview = ['--preview', 'spring', ...site]
  const call = async (...args: string[]) => {
    const { code, stdout } = await run(args)
    assert.equal(code, 0, `${args.join(' ')}: ${stdout}`)
    return JSON.parse(stdout)
  }
  const publish = (content: string, ...options: string[]) => call('publish', write(content), ...options)

  const { siteUrl } = await publish(page('<p>Closed</p>'), '--create', ...site)
  await client.setMetadata(slug, { requireApproval: 'anyone' })
  const parts = ['<p>Bread and cakes</p>', '<button>Order</button>', '<p>Opening hours</p>']
  const { reviewUrl } = await publish(page(...parts), '--review', ...preview)

  const phone = await open({ viewport: PHONE, hasTouch: true, isMobile: true })
  await phone.page.goto(reviewUrl)
  await phone.page.getByLabel('Your name').fill('Bea')
  await phone.page.getByRole('button', { name: 'Comment', exact: true }).tap()
  await phone.page.getByRole('button', { name: 'Tap the page' }).waitFor()
  await frameOf(phone.page).getByRole('button', { name: 'Order' }).tap()
  await phone.page.getByLabel('Comment', { exact: true }).fill('<b>Too small</b>')
  await phone.assertReadableInAllViewports()
  await phone.page.getByRole('button', { name: 'Add comment' }).tap()
  await phone.page.getByText('<b>Too small</b>').waitFor()
  assert.equal(new URL(phone.page.url()).hash, '', 'the token leaves the address')

  const desk = await open({ locale: 'en-GB' })
  const { keyboard } = desk.page
  await desk.page.goto(reviewUrl)
  await frameOf(desk.page).getByRole('button', { name: 'Order' }).waitFor()
  await desk.page.getByText('Too small').waitFor()
  await tabTo(desk.page, 'Skip to content')
  await keyboard.press('Enter')
  assert.equal(await desk.page.evaluate(() => document.activeElement?.tagName), 'MAIN')
  await tabTo(desk.page, 'Your name')
  await keyboard.type('Carl')
  await tabTo(desk.page, 'Comment')
  const commentMode = frameOf(desk.page).locator('html[style*="crosshair"]')
  await keyboard.press('Enter')
  await commentMode.waitFor()
  await keyboard.press('Escape')
  await commentMode.waitFor({ state: 'detached' })
  // The focus is on the button again.
  await keyboard.press('Enter')
  await commentMode.waitFor()
  // The heading, then the paragraph.
  for (const key of ['ArrowDown', 'ArrowDown', 'Enter']) await keyboard.press(key)
  await desk.page.getByLabel('Comment', { exact: true }).waitFor()
  await desk.page.locator('textarea:focus').waitFor()
  await keyboard.type('Which cakes?')
  for (const key of ['Tab', 'Enter']) await keyboard.press(key)
  await desk.page.locator('li:focus', { hasText: 'Which cakes?' }).waitFor()
  await phone.page.getByText('Which cakes?').waitFor()

  const { threads } = await call('feedback', ...preview)
  const read = threads.map(({ place, comments }: ReviewThread) => {
    const { author, text } = comments[0]!
    return `${author.name}, a ${author.role}, on "${place.text}" at ${place.width < 400 ? 'a phone' : 'a desk'}: ${text}`
  })
  assert.deepEqual(read.toSorted(), [
    'Bea, a guest, on "Order" at a phone: <b>Too small</b>',
    'Carl, a guest, on "Bread and cakes" at a desk: Which cakes?',
  ])
  const { id } = threads.find(({ place }: ReviewThread) => place.text === 'Order')
  await call('feedback', 'reply', id, 'It is larger, and below', ...preview)
  await phone.page.getByText('It is larger, and below').waitFor()
  const fixed = page('<p>Opening hours</p>', '<div><button style="padding:1rem">Order</button></div>')
  await publish(fixed, ...preview)

  for (const { page } of [phone, desk]) await page.getByText('A newer version was published.').waitFor()
  await tabTo(desk.page, 'Show it')
  await keyboard.press('Enter')
  await desk.page.locator('main:focus').waitFor()
  await frameOf(desk.page).locator('div > button').waitFor()
  await tabTo(desk.page, 'Desk')
  await keyboard.press('Enter')
  await waitFor(async () => (await widthOf(frameOf(desk.page))) === 1280)
  await desk.page.getByRole('button', { name: 'Outdated 1' }).waitFor()
  await desk.page.getByRole('button', { name: 'Open 1' }).waitFor()
  // The page reports places when it is shown, and the program reads what the server has recorded.
  await waitFor(async () => (await call('feedback', '--status', 'outdated', ...preview)).threads.length === 1)
  const [outdated] = (await call('feedback', '--status', 'outdated', ...preview)).threads
  assert.equal(outdated.place.text, 'Bread and cakes')
  for (const name of ['open 1', 'Resolve']) {
    await tabTo(desk.page, name)
    await keyboard.press('Enter')
  }
  // The thread has left the list.
  await desk.page.locator('section:focus', { hasText: 'No open comments.' }).waitFor()
  await phone.page.getByRole('button', { name: 'Resolved 1' }).waitFor()

  await assert.rejects(client.promote(slug, 'spring'), (error) => isSlipwayError(error, 'APPROVAL_REQUIRED'))
  const refused = run(['feedback', '--wait', ...preview])
  await phone.page.getByRole('button', { name: 'Show it' }).tap()
  await frameOf(phone.page).locator('div > button').waitFor()
  await phone.page.getByRole('button', { name: 'Request changes' }).tap()
  const dialog = phone.page.getByRole('dialog')
  await dialog.getByRole('button', { name: 'Request changes' }).tap()
  assert.equal((await refused).code, 8)
  await desk.page.getByText('Changes requested', { exact: true }).waitFor()
  await assert.rejects(client.promote(slug, 'spring'), (error) => isSlipwayError(error, 'APPROVAL_REQUIRED'))
  await tabTo(desk.page, 'Approve')
  await keyboard.press('Enter')
  await tabTo(desk.page, 'Note (optional)')
  await keyboard.type('Nice')
  await tabTo(desk.page, 'Approve')
  await keyboard.press('Enter')
  await phone.page.getByText('Approved', { exact: true }).waitFor()
  assert.equal((await call('feedback', '--wait', ...preview)).decided.note, 'Nice')
  await call('promote', 'spring', ...site)
  await waitFor(async () => (await getUrl(siteUrl)).text === fixed)
  for (const { complaints } of [phone, desk]) assert.deepEqual(complaints, [])
}

function frameOf(page: Page): FrameLocator {
  return page.frameLocator('iframe[title="The reviewed page"]')
}

function widthOf(frame: FrameLocator): Promise<number> {
  return frame.locator('html').evaluate(() => innerWidth)
}

/** Presses Tab until the element with this name has the focus. */
async function tabTo(page: Page, name: string): Promise<void> {
  const focused = page.locator(':focus')
  for (let presses = 0; presses < 60; presses++) {
    await page.keyboard.press('Tab')
    const found = await focused.evaluateAll((all) =>
      all.map((one) => (one as HTMLInputElement).labels?.[0]?.textContent ?? one.textContent?.trim()),
    )
    if (found[0]?.startsWith(name)) return
  }
  assert.fail(`"${name}" cannot be reached with the Tab key`)
}
