import { join } from 'node:path'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { Slipway } from '../../client/sdk/slipway.ts'
import { program } from '../../scripts/program.mjs'
import { whatIsMissing } from '../../scripts/test-dependencies.mjs'
import { type Figure, figure, type Measurement } from '../figures.ts'
import { command, writeSite } from '../publish.ts'
import { makeContent } from '../publish-flow.ts'
import { scratchFolder, startServer } from '../server-process.ts'
import { signIn } from '../watch.ts'

const FILES = 1000
const BYTES = 10_240

/** An older phone on a slow connection. */
const SLOW_PHONE = { cpu: 4, bytesPerSecond: 200_000, roundTrip: 150 }

/** What users wait for in a browser. */
export const dashboard: Measurement = {
  name: 'dashboard',
  means: '1,000 files of 10 kB dropped in Chromium, beside the command; two pages on a slow phone',
  missing: () => whatIsMissing('chromium'),
  async run({ quick }) {
    await using scratch = await scratchFolder()
    const data = join(scratch.path, 'data')
    await using server = await startServer(data)
    await using browser = await openChromium()
    const [dropped, commanded]: [number[], number[]] = [[], []]
    const rounds = quick ? 3 : 9
    // Before much is published, so that background precompression does not slow the phone.
    const front = await onPhone(browser, rounds, server.baseUrl, '.drop-box button')
    const key = await signIn(server.baseUrl, data)
    const link = await startReview(new Slipway({ baseUrl: server.baseUrl, key }))
    const review = await onPhone(browser, rounds, link, '.review-desk [role=toolbar] button:enabled')
    for (let round = 0; round <= rounds; round++) {
      const folders = ['command', 'browser'].map((who) => join(scratch.path, `${who}-${round}`, 'site'))
      for (const folder of folders) writeSite(folder, makeContent(FILES, BYTES))
      const byCommand = await command(
        ['publish', folders[0]!, '--server', server.baseUrl],
        join(folders[0]!, '..'),
      )
      await using context = await browser.newContext()
      const byDrop = await drop(await context.newPage(), server.baseUrl, folders[1]!)
      if (round === 0) continue
      commanded.push(byCommand)
      dropped.push(byDrop)
    }
    return [
      ...figures(dropped, commanded),
      figure('the front page is usable, on a slow phone', 'ms', front, 1000),
      figure('the page of a review is usable, on a slow phone', 'ms', review, 1000),
    ]
  },
}

export function openChromium(): Promise<Browser> {
  return chromium.launch({
    executablePath: program('chromium-headless-shell')!,
    chromiumSandbox: false,
    args: ['--disable-gpu', '--disable-background-networking'],
  })
}

function figures(dropped: number[], commanded: number[]): Figure[] {
  const ratios = dropped.map((value, round) => value / commanded[round]!)
  return [
    figure('publish with the command, the whole process', 'ms', commanded),
    figure('publish by dropping, from the drop to the URL', 'ms', dropped),
    figure('the same, relative to the command', 'times', ratios, 2),
  ]
}

/** Milliseconds from the moment the page has the folder until it shows the site's address. */
async function drop(page: Page, baseUrl: string, folder: string): Promise<number> {
  await page.addInitScript(watchDrop)
  await page.goto(baseUrl, { waitUntil: 'networkidle' })
  await page.locator('input[aria-label="A folder"]').setInputFiles(folder)
  await page.getByRole('heading', { name: 'Your site is live' }).waitFor()
  return page.evaluate(() => {
    const { shown, had } = globalThis as unknown as { shown: number; had: number }
    return shown - had
  })
}

/** Runs in the page. */
function watchDrop(): void {
  const moments = globalThis as unknown as { shown: number; had: number }
  addEventListener('change', () => Object.assign(moments, { had: performance.now() }), true)
  new MutationObserver((_, observer) => {
    if (!document.querySelector('a.address')) return
    moments.shown = performance.now()
    observer.disconnect()
  }).observe(document, { childList: true, subtree: true })
}

/** Publishes a page with a comment; returns the link of its review. */
export async function startReview(owner: Slipway): Promise<string> {
  const files = [{ path: 'index.html', content: '<!doctype html><title>Menu</title><button>Order</button>' }]
  const { slug, versionId } = await owner.publishContents({ files })
  const place = {
    path: '/',
    selector: 'button',
    text: 'Order',
    before: '',
    after: '',
    width: 360,
    height: 740,
  }
  await owner.review(slug).createThread({ versionId, place, text: 'Too small' })
  return (await owner.review(slug).createLink()).url
}

/** Milliseconds of each round but the first, in a new profile, until these buttons of a page are usable. */
async function onPhone(browser: Browser, rounds: number, url: string, buttons: string): Promise<number[]> {
  const taken: number[] = []
  for (let round = 0; round <= rounds; round++) {
    await using pocket = await browser.newContext({ viewport: { width: 360, height: 740 }, isMobile: true })
    taken.push(await interactive(pocket, url, buttons))
  }
  return taken.slice(1)
}

/** Milliseconds from requesting the page to the frame in which its buttons are visible and respond. */
async function interactive(context: BrowserContext, url: string, buttons: string): Promise<number> {
  const page = await context.newPage()
  const session = await context.newCDPSession(page)
  const { cpu, bytesPerSecond, roundTrip } = SLOW_PHONE
  const line = { latency: roundTrip, downloadThroughput: bytesPerSecond, uploadThroughput: bytesPerSecond }
  await session.send('Network.enable')
  await session.send('Network.emulateNetworkConditions', { offline: false, ...line })
  await session.send('Emulation.setCPUThrottlingRate', { rate: cpu })
  await page.addInitScript(watchButton, buttons)
  await page.goto(url)
  await page.locator(buttons).first().waitFor()
  return page.evaluate(() => (globalThis as unknown as { usable: Promise<number> }).usable)
}

/** Runs in the page. Work of the same turn after the frame is complete when a task after it runs. */
function watchButton(buttons: string): void {
  // A reviewer who has been here before.
  localStorage.setItem('slipway.reviewer', 'Bea')
  const moments = globalThis as unknown as { usable: Promise<number> }
  moments.usable = new Promise((settle) => {
    new MutationObserver((_, observer) => {
      if (!document.querySelector(buttons)) return
      observer.disconnect()
      requestAnimationFrame(() => setTimeout(() => settle(performance.now())))
    }).observe(document, { childList: true, subtree: true })
  })
}
