import type { Browser, BrowserContext, BrowserContextOptions, CDPSession } from 'playwright-core'
import { launchChromium } from './tools/chromium.ts'
import { BrowserUser } from './visitor.ts'

interface PooledContext {
  context: BrowserContext
  /** Of a blank page that stays open, with which the next page of the context opens in half the time. */
  session: CDPSession
}

/**
 * One Chromium with browser contexts for the tests of one file. A new context costs more CPU time than most tests, so
 * contexts are reset and reused; only their HTTP cache is kept. Contexts with custom options are not reused.
 */
export class ContextPool implements AsyncDisposable {
  readonly #browser: Browser
  readonly #idle: PooledContext[] = []

  static async open(): Promise<ContextPool> {
    return new ContextPool(await launchChromium())
  }

  private constructor(browser: Browser) {
    this.#browser = browser
  }

  /** Opens a page in a context without cookies and storage. A `viewport` alone does not need a context of its own. */
  async visitor(options: BrowserContextOptions = {}): Promise<BrowserUser> {
    const { viewport, ...own } = options
    if (Object.keys(own).length > 0) return BrowserUser.open(this.#browser, options)
    const pooled = this.#idle.pop() ?? (await this.#create())
    const page = await pooled.context.newPage()
    if (viewport) await page.setViewportSize(viewport)
    return new BrowserUser(page, () => this.#release(pooled))
  }

  async #create(): Promise<PooledContext> {
    const context = await this.#browser.newContext()
    return { context, session: await context.newCDPSession(await context.newPage()) }
  }

  async #release(pooled: PooledContext): Promise<void> {
    if (await reset(pooled)) this.#idle.push(pooled)
    else await pooled.context.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#browser.close()
  }
}

/** Resets a context except for its HTTP cache; returns false when it cannot be reused. */
async function reset({ context, session }: PooledContext): Promise<boolean> {
  const [blank, ...pages] = context.pages()
  if (!blank || (await blank.evaluate(hasFakeClock))) return false
  await context.unrouteAll({ behavior: 'ignoreErrors' })
  await Promise.all(pages.map((page) => page.close()))
  await Promise.all([
    context.setOffline(false),
    context.clearPermissions(),
    context.clearCookies(),
    session.send('Storage.clearDataForOrigin', { origin: '*', storageTypes: 'all' }),
  ])
  return true
}

/** Runs in the page. An installed clock stays in its context; it imitates even the text of `Date`. */
function hasFakeClock(): boolean {
  return !Function.prototype.toString.call(Date).includes('[native code]')
}
