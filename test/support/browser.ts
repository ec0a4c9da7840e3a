import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import {
  type APIRequestContext,
  type BrowserContext,
  type BrowserContextOptions,
  type CDPSession,
  chromium as engine,
  type LaunchOptions,
  type Page,
  type Browser as PlaywrightBrowser,
  request,
} from 'playwright-core'
import { program } from '../../scripts/program.mjs'
import { sharedServer } from '../tools/shared-server.ts'
import { LONG_SILENCE_MS, onSilence } from './silence.ts'
import { ALL_VARIANTS } from './variants.ts'

export interface Browser extends AsyncDisposable {
  page: Page
  /** Errors of the page, one line each: console errors, script errors, failed requests. */
  complaints: string[]
}

const FLAGS = [
  // The name of a computer on a home network.
  '--host-resolver-rules=MAP slip.lan 127.0.0.1',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/**
 * Opens a page in headless Chromium with a new profile; tests use `requires('chromium')`.
 * Chromium resolves every name under localhost to loopback, so that `http://slug.localhost:port/` works.
 */
export async function openBrowser(...flags: string[]): Promise<Browser> {
  const browser = await openChromium(...flags)
  const page = await (await openContext(browser)).newPage()
  const complaints: string[] = []
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(`console: ${message.text()} (${message.location().url})`)
  })
  page.on('pageerror', (error) => complaints.push(`script: ${error.message}`))
  page.on('requestfailed', (request) => {
    complaints.push(`request: ${request.method()} ${request.url()} ${request.failure()?.errorText}`)
  })
  return { page, complaints, [Symbol.asyncDispose]: () => browser.close() }
}

/** Tests read dates and times of 24 hours, unless they set another locale. */
const LOCALE = 'en-GB'

/** Opens the Chromium that the run shares, or one of its own with these flags; callers create contexts. */
async function openChromium(...flags: string[]): Promise<PlaywrightBrowser> {
  if (flags.length > 0) return engine.launch(launchOptions(flags))
  return engine.connect(await sharedServer('chromium'), { timeout: 0 })
}

/** Opens a context whose pages wait without a limit, until the runner finds the group silent while they request nothing. */
async function openContext(
  browser: PlaywrightBrowser,
  options: BrowserContextOptions = {},
): Promise<BrowserContext> {
  // Animations take CPU time.
  const context = await browser.newContext({ locale: LOCALE, reducedMotion: 'reduce', ...options })
  context.setDefaultTimeout(0)
  context.setDefaultNavigationTimeout(0)
  let hasRequested = true
  context.on('request', () => {
    hasRequested = true
  })
  const stopListening = onSilence((silentMs) => {
    if (hasRequested && silentMs < LONG_SILENCE_MS) hasRequested = false
    else closeWithReport(context)
  })
  context.once('close', stopListening)
  return context
}

/** Contexts that are closed as soon as their pages were read. */
const closing = new WeakSet<BrowserContext>()

/** Fails what waits for the pages of a context, with what they show. */
async function closeWithReport(context: BrowserContext): Promise<void> {
  closing.add(context)
  const read = async (page: Page) => `${page.url()}\n${await page.locator('body').ariaSnapshot()}`
  const pages = await Promise.allSettled(context.pages().map(read))
  const shown = pages.map((page) => (page.status === 'fulfilled' ? page.value : String(page.reason)))
  const reason = `nothing happens any more on the pages of this test, which show:\n${shown.join('\n\n')}`
  // The test that fails may close its browser at the same time.
  await context.close({ reason }).catch(() => undefined)
}

/** Opens a client that sends requests with cookies, as the pages of a browser do, and waits without a limit. */
export function openRequestContext(options: {
  baseURL: string
  extraHTTPHeaders: Record<string, string>
  userAgent?: string
}): Promise<APIRequestContext> {
  return request.newContext({ ...options, timeout: 0 })
}

/** Starts the Chromium that all test files of a run connect to; resolves with its endpoint. It ends with this process. */
export async function startChromium(): Promise<string> {
  return (await engine.launchServer(launchOptions([]))).wsEndpoint()
}

/** The build without a user interface takes a quarter less CPU time for these tests. */
function launchOptions(flags: string[]): LaunchOptions {
  return {
    executablePath: program('chromium-headless-shell')!,
    headless: true,
    chromiumSandbox: false,
    args: [...FLAGS, ...flags],
    // A loaded machine may take longer than the default; the runner ends what hangs.
    timeout: 0,
  }
}

interface PooledPage {
  page: Page
  session: CDPSession
}

/**
 * One Chromium with pages for many tests. A new page costs more CPU time than most tests, so each has a browser context
 * of its own and is reset and reused with it; only the HTTP cache is kept. Contexts with custom options are not reused.
 */
export class ContextPool implements AsyncDisposable {
  readonly #browser: PlaywrightBrowser
  readonly #idle: PooledPage[] = []

  static async open(...flags: string[]): Promise<ContextPool> {
    return new ContextPool(await openChromium(...flags))
  }

  private constructor(browser: PlaywrightBrowser) {
    this.#browser = browser
  }

  /** Opens a page in a context without cookies and storage. A `viewport` and `permissions` need no context of their own. */
  async visitor(options: BrowserContextOptions = {}): Promise<BrowserUser> {
    const { viewport, permissions, ...own } = options
    if (Object.keys(own).length > 0) return BrowserUser.open(this.#browser, options)
    const pooled = this.#takeIdle() ?? (await this.#create())
    await pooled.page.setViewportSize(viewport ?? DESKTOP)
    if (permissions) await pooled.page.context().grantPermissions(permissions)
    return new BrowserUser(pooled.page, () => this.#release(pooled))
  }

  /** Skips those that are closed because nothing happened on them while another test waited. */
  #takeIdle(): PooledPage | undefined {
    while (true) {
      const pooled = this.#idle.pop()
      if (!pooled || !closing.has(pooled.page.context())) return pooled
    }
  }

  async #create(): Promise<PooledPage> {
    const context = await openContext(this.#browser)
    const page = await context.newPage()
    return { page, session: await context.newCDPSession(page) }
  }

  async #release(pooled: PooledPage): Promise<void> {
    if (await reset(pooled)) this.#idle.push(pooled)
    else await pooled.page.context().close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#browser.close()
  }
}

/** Resets a page and its context except for the HTTP cache; returns false when they cannot be reused. */
async function reset({ page, session }: PooledPage): Promise<boolean> {
  if (page.isClosed() || (await page.evaluate(hasFakeClock))) return false
  const context = page.context()
  page.removeAllListeners()
  await Promise.all([
    page.unrouteAll({ behavior: 'ignoreErrors' }),
    context.unrouteAll({ behavior: 'ignoreErrors' }),
  ])
  // Closing one while the context changes would fail the change.
  await Promise.all(context.pages().map((one) => one !== page && one.close()))
  await Promise.all([
    page.emulateMedia({ colorScheme: null, reducedMotion: 'reduce' }),
    context.setOffline(false),
    context.clearPermissions(),
  ])
  // The storage of a tab is cleared where it is: a page that has been elsewhere is not reused.
  const { entries } = await session.send('Page.getNavigationHistory')
  const origins = new Set(entries.map(({ url }) => new URL(url).origin).filter((origin) => origin !== 'null'))
  if (origins.size > 1) return false
  for (const origin of origins) await openEmptyPage(page, origin)
  await page.evaluate(() => origin !== 'null' && sessionStorage.clear())
  await Promise.all([
    session.send('Page.resetNavigationHistory'),
    context.clearCookies(),
    session.send('Storage.clearDataForOrigin', { origin: '*', storageTypes: 'all' }),
  ])
  return true
}

/** Opens an empty page of an origin, which is faster than one of its own, and keeps its process unlike `about:blank`. */
export async function openEmptyPage(page: Page, origin: string): Promise<void> {
  const url = `${origin}/empty`
  if (page.url() === url) return
  const body = '<!doctype html><link rel="icon" href="data:,">'
  await page.route(url, (route) => route.fulfill({ contentType: 'text/html', body }), { times: 1 })
  await page.goto(url)
}

/** Runs in the page. An installed clock stays in its context; it imitates even the text of `Date`. */
function hasFakeClock(): boolean {
  return !Function.prototype.toString.call(Date).includes('[native code]')
}

export interface Viewport {
  name: string
  viewport: { width: number; height: number }
  colorScheme: 'light' | 'dark'
}

/** The smallest width that every page supports, WCAG 2.2, 1.4.10 with a margin. */
export const PHONE = { width: 360, height: 800 }

export const DESKTOP = { width: 1280, height: 800 }

/** Every page must be usable at these sizes and in these color schemes; `npm test -- --all-variants` checks all of them. */
export const VIEWPORTS: Viewport[] = [PHONE, DESKTOP].flatMap((viewport) =>
  (['light', 'dark'] as const).map((colorScheme) => ({
    name: `${viewport.width} px wide, ${colorScheme}`,
    viewport,
    colorScheme,
  })),
)

/** Each size and each color scheme once. */
const CHECKED_VIEWPORTS = ALL_VARIANTS
  ? VIEWPORTS
  : VIEWPORTS.filter(({ viewport, colorScheme }) => (viewport === PHONE) === (colorScheme === 'dark'))

/** A page in its own browser context, with the errors that the browser reports. */
export class BrowserUser implements AsyncDisposable {
  readonly context: BrowserContext
  readonly page: Page
  /** Errors and warnings of the console: exceptions, blocked content, failed requests. */
  readonly complaints: string[] = []
  readonly #close: () => Promise<void>

  static async open(browser: PlaywrightBrowser, options: BrowserContextOptions = {}): Promise<BrowserUser> {
    const context = await openContext(browser, options)
    return new BrowserUser(await context.newPage(), () => context.close())
  }

  constructor(page: Page, close: () => Promise<void>) {
    this.context = page.context()
    this.page = page
    this.#close = close
    page.on('pageerror', (error) => this.complaints.push(String(error)))
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) this.complaints.push(message.text())
    })
  }

  /** Asserts a fast subset of WCAG 2.2: contrast, names, headings, target sizes, and no overflow. */
  async assertReadable(): Promise<void> {
    await this.page.evaluate(settleLayout, this.page.viewportSize()!.width)
    assert.deepEqual(await this.page.evaluate(faults), [])
  }

  /** Asserts WCAG 2.2 AA with axe (`AXE_RULES`), and `assertReadable`. */
  async assertAccessible(): Promise<void> {
    await this.assertReadable()
    assert.deepEqual(await this.#violations(AXE_RULES), [])
  }

  /**
   * `assertReadable` in each viewport and color scheme, and with all variants `assertAccessibleInAllViewports`; restores
   * the viewport.
   */
  async assertReadableInAllViewports(): Promise<void> {
    if (ALL_VARIANTS) await this.assertAccessibleInAllViewports()
    else await this.#checkViewports(() => this.page.evaluate(faults))
  }

  /** `assertReadable` in each viewport and color scheme, and WCAG 2.2 AA with axe on the desktop. */
  async assertAccessibleInAllViewports(): Promise<void> {
    await this.#checkViewports(async ({ viewport, colorScheme }) => [
      ...(await this.page.evaluate(faults)),
      ...(viewport === PHONE
        ? []
        : await this.#violations(colorScheme === 'light' ? AXE_RULES : CONTRAST_RULES)),
    ])
  }

  /** WCAG 2.2 AA with axe, and `assertReadable`, in every viewport and color scheme. */
  async assertAccessibleInEveryVariant(): Promise<void> {
    const rules = { ...AXE_RULES, rules: {} }
    const findFaults = async () => [...(await this.page.evaluate(faults)), ...(await this.#violations(rules))]
    await this.#checkViewports(findFaults, VIEWPORTS)
  }

  async #checkViewports(
    findFaults: (viewport: Viewport) => Promise<string[]>,
    viewports = CHECKED_VIEWPORTS,
  ): Promise<void> {
    const { page } = this
    const before = page.viewportSize()!
    const found: string[] = []
    for (const one of viewports) {
      await page.setViewportSize(one.viewport)
      await page.emulateMedia({ colorScheme: one.colorScheme })
      await page.evaluate(settleLayout, one.viewport.width)
      found.push(...(await findFaults(one)).map((fault) => `${one.name}: ${fault}`))
    }
    await page.setViewportSize(before)
    await page.emulateMedia({ colorScheme: 'light' })
    await page.evaluate(settleLayout, before.width)
    assert.deepEqual(found, [])
  }

  async #violations(rules: object): Promise<string[]> {
    if (!(await this.page.evaluate(() => 'axe' in globalThis))) await this.page.evaluate(axe)
    const violations = await this.page.evaluate(findViolations, rules)
    return violations.map(
      ({ id, help, nodes }) => `${id}: ${help}: ${nodes.map(({ html }) => html).join(' ')}`,
    )
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // A pending route handler would fail with the page, and be reported as an error of the next test.
    if (!this.page.isClosed()) await this.page.unrouteAll({ behavior: 'ignoreErrors' })
    await this.#close()
  }
}

/** `faults` checks the contrast, too, in a tenth of the CPU time that axe takes for it. */
const AXE_RULES = {
  runOnly: {
    type: 'tag',
    values: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
  },
  rules: { 'color-contrast': { enabled: ALL_VARIANTS } },
}
const CONTRAST_RULES = { runOnly: { type: 'rule', values: ['color-contrast', 'link-in-text-block'] } }

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** Runs in the page, after `axe`. */
async function findViolations(rules: object) {
  const { axe } = globalThis as unknown as {
    axe: { run(root: Document, options: object): Promise<{ violations: Violation[] }> }
  }
  // axe is not loaded in frames, and each run would wait half a second for them.
  return (await axe.run(document, { ...rules, iframes: false, resultTypes: ['violations'] })).violations
}

interface Violation {
  id: string
  help: string
  nodes: { html: string }[]
}

/** Runs in the page. Resolves when it has this width, no transition runs, and a frame left the layout unchanged. */
async function settleLayout(width: number): Promise<void> {
  const frame = () => new Promise((resolve) => requestAnimationFrame(resolve))
  const size = () => `${document.documentElement.scrollWidth} ${document.documentElement.scrollHeight}`
  let before: string
  do {
    before = size()
    await frame()
    const transitions = document
      .getAnimations()
      .filter((one) => one.effect?.getTiming().iterations !== Infinity)
    await Promise.allSettled(transitions.map((one) => one.finished))
    await frame()
  } while (innerWidth !== width || size() !== before)
}

/** Runs in the page, so it must be self-contained. */
function faults(): string[] {
  const shown = [...document.body.querySelectorAll<HTMLElement>('*')].filter((element) =>
    element.checkVisibility(),
  )
  const headings = shown.filter((element) => /^H[1-6]$/.test(element.tagName))
  return [
    ...(document.documentElement.scrollWidth > innerWidth ? ['the page is wider than the window'] : []),
    ...(document.documentElement.lang ? [] : ['the page has no language']),
    ...(document.querySelector('main') ? [] : ['the page has no main part']),
    ...(headings.filter((heading) => heading.tagName === 'H1').length === 1
      ? []
      : ['there is not one first heading']),
    ...headings.filter(skipsLevel).map((heading) => `${named(heading)} skips a level`),
    ...shown.filter(isNameless).map((element) => `${named(element)} has no name`),
    ...shown.filter(isSmallTarget).map((element) => `${named(element)} is hard to hit`),
    ...shown.filter(isPale).map((element) => `${named(element)} is pale: ${contrast(element).toFixed(2)}`),
  ]

  function named(element: HTMLElement): string {
    return `<${element.tagName.toLowerCase()}> ${element.textContent.slice(0, 40)}`
  }

  function skipsLevel(heading: HTMLElement, index: number): boolean {
    const before = headings[index - 1]
    return before !== undefined && Number(heading.tagName[1]) > Number(before.tagName[1]) + 1
  }

  function isNameless(element: HTMLElement): boolean {
    if (element instanceof HTMLInputElement) return (element.labels?.length ?? 0) === 0
    if (element instanceof HTMLImageElement) return !element.hasAttribute('alt')
    const isLabeled = element instanceof HTMLButtonElement && element.labels.length > 0
    return element.matches('a, button') && !isLabeled && element.textContent.trim() === ''
  }

  /** 2.5.8: 24 by 24 pixels, unless it stands in a line of text. */
  function isSmallTarget(element: HTMLElement): boolean {
    if (!element.matches('a, button, input, summary') || getComputedStyle(element).display === 'inline')
      return false
    const { width, height } = element.getBoundingClientRect()
    return width < 24 || height < 24
  }

  /** 1.4.3: 4.5 to 1, and 3 to 1 for large text. */
  function isPale(element: HTMLElement): boolean {
    const writes = [...element.childNodes].some(
      (node) => node.nodeType === Node.TEXT_NODE && node.textContent?.trim(),
    )
    const { fontSize, fontWeight } = getComputedStyle(element)
    const pixels = Number.parseFloat(fontSize)
    const isLarge = pixels >= 24 || (pixels >= 18.66 && Number(fontWeight) >= 700)
    return writes && contrast(element) < (isLarge ? 3 : 4.5)
  }

  function contrast(element: HTMLElement): number {
    const [text, ground] = [luminance(getComputedStyle(element).color), luminance(groundOf(element))]
    return (Math.max(text, ground) + 0.05) / (Math.min(text, ground) + 0.05)
  }

  function groundOf(element: HTMLElement | null): string {
    if (element === null) return 'rgb(255, 255, 255)'
    const { backgroundColor } = getComputedStyle(element)
    return backgroundColor === 'rgba(0, 0, 0, 0)' ? groundOf(element.parentElement) : backgroundColor
  }

  function luminance(color: string): number {
    const [red = 0, green = 0, blue = 0] = (color.match(/[\d.]+/g) ?? []).map((value) => {
      const share = Number(value) / 255
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
    })
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
  }
}
