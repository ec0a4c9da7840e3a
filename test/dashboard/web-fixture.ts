import assert from 'node:assert/strict'
import { after, afterEach, before } from 'node:test'
import type { BrowserContextOptions, Locator, Page } from 'playwright-core'
import type { Slipway } from '../../client/sdk/slipway.ts'
import { type BrowserUser, ContextPool } from '../support/browser.ts'
import { type RunningService, startTestService } from '../support/service.ts'
import { requires } from '../tools/part.ts'

export const requiresBrowser = requires('chromium')

/** A signed-in browser, with the account's address and an SDK client with its API key. */
export type Owner = BrowserUser & { email: string; key: string; client: Slipway }

let names = 0

/**
 * A service and a browser for the tests of one file. `prepare` receives the account of `asAccount`, which exists
 * only with it.
 */
export function useWeb(
  settings: Record<string, string> = {},
  prepare?: (account: Owner) => Promise<void> | void,
): WebFixture {
  const web = new WebFixture()
  before(async () => {
    await web.start(settings)
    if (prepare && !requiresBrowser.skip) await prepare(await web.openAccount())
  })
  afterEach(() => web.endTest())
  after(() => web[Symbol.asyncDispose]())
  return web
}

/** A real service and a real browser; only the service without an installed browser. */
export class WebFixture implements AsyncDisposable {
  service!: RunningService
  /** The account of `asAccount`. */
  account!: Owner
  #contexts: ContextPool | undefined
  readonly #opened = new AsyncDisposableStack()
  #ofTest = new AsyncDisposableStack()

  async start(settings: Record<string, string> = {}): Promise<this> {
    this.service = this.#opened.use(await startTestService(settings))
    if (!requiresBrowser.skip) this.#contexts = this.#opened.use(await ContextPool.open())
    return this
  }

  async openAccount(): Promise<Owner> {
    this.account = await this.owner()
    return this.account
  }

  /** Starts another service, for the same browser. */
  async another(settings: Record<string, string>): Promise<WebFixture> {
    const other = new WebFixture()
    other.service = other.#opened.use(await startTestService(settings))
    other.#contexts = this.#contexts
    return other
  }

  /** Opens a page that is not signed in, until the end of the test. */
  async asVisitor(
    path?: string,
    options: BrowserContextOptions = {},
  ): Promise<{ page: Page; visitor: BrowserUser }> {
    const visitor = await this.#open(this.visitor(options), path)
    return { page: visitor.page, visitor }
  }

  /** Opens a page that is signed in to a new account, until the end of the test. */
  async asOwner(path?: string, options: BrowserContextOptions = {}): Promise<{ page: Page; owner: Owner }> {
    const owner = await this.#open(this.owner(options), path)
    return { page: owner.page, owner }
  }

  /** Opens a page in a context of its own that is signed in to `account`, until the end of the test. */
  async asAccount(
    path?: string,
    options: BrowserContextOptions = {},
  ): Promise<{ page: Page; user: BrowserUser }> {
    const user = await this.#open(this.visitorSignedInAs(this.account, options), path)
    return { page: user.page, user }
  }

  async #open<User extends BrowserUser>(opening: Promise<User>, path: string | undefined): Promise<User> {
    const user = this.#ofTest.use(await opening)
    if (path !== undefined) await user.page.goto(this.url(path))
    return user
  }

  /** Closes the pages of a test, and asserts that no browser has reported a violation of the policy. */
  async endTest(): Promise<void> {
    await this.#ofTest.disposeAsync()
    this.#ofTest = new AsyncDisposableStack()
    this.assertPolicyKept()
  }

  url(path: string): string {
    return this.service.baseUrl + path
  }

  /** Opens a page in a context without cookies and storage. */
  async visitor(options: BrowserContextOptions = {}): Promise<BrowserUser> {
    return this.#contexts!.visitor(options)
  }

  /** Opens a context that is signed in to the account of this address, by default to a new account. */
  async owner(options: BrowserContextOptions = {}, email = newAddress()): Promise<Owner> {
    const visitor = await this.visitor(options)
    await this.#openEmptyPage(visitor.page)
    await this.signIn(visitor.page, email)
    const key = await this.service.signIn(email)
    return Object.assign(visitor, { email, key, client: this.service.client(key) })
  }

  /** Opens another context with the session of an owner. */
  async visitorSignedInAs(owner: Owner, options: BrowserContextOptions = {}): Promise<BrowserUser> {
    const visitor = await this.visitor(options)
    await visitor.context.addCookies(await owner.context.cookies())
    await this.#openEmptyPage(visitor.page)
    await visitor.page.evaluate(rememberSignedIn, owner.email)
    return visitor
  }

  /** Opens an empty page at the origin of the service, which is faster than loading the dashboard. */
  async #openEmptyPage(page: Page): Promise<void> {
    const url = this.url('/empty')
    const body = '<!doctype html><link rel="icon" href="data:,">'
    await page.route(url, (route) => route.fulfill({ contentType: 'text/html', body }), { times: 1 })
    await page.goto(url)
  }

  /** Signs the browser of a page of the service in, without the form. */
  async signIn(page: Page, email: string): Promise<void> {
    await this.service.client().requestCode(email)
    await page.evaluate(signInHere, { email, code: await this.service.mailedCode(email) })
  }

  /** Requests a code with the form of the page. */
  async askForCode(page: Page, email: string): Promise<void> {
    await page.getByLabel('Your email address').fill(email)
    await page.getByRole('button', { name: 'Get a sign-in code' }).click()
    await page.getByText(`The code for ${email} expires in`).waitFor()
  }

  /** Enters the mailed code, which is submitted as soon as it is complete. */
  async writeCode(page: Page, email: string): Promise<void> {
    await page.getByLabel('Sign-in code').fill(await this.service.mailedCode(email))
  }

  /** Asserts that no browser has reported a violation of the Content-Security-Policy. */
  assertPolicyKept(): void {
    const reports = this.service.log.filter(({ message }) => message === 'content security policy violation')
    assert.deepEqual(reports, [])
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#opened.disposeAsync()
  }
}

export function newAddress(): string {
  return `user-${++names}@example.test`
}

/** Presses Tab until the element has the focus. */
export async function tabTo(page: Page, target: Locator): Promise<void> {
  await target.waitFor()
  for (let presses = 0; presses < 20; presses++) {
    if (await target.evaluate((element) => element === document.activeElement)) return
    await page.keyboard.press('Tab')
  }
  assert.fail('it cannot be reached with the Tab key')
}

/** Runs in the page. */
async function signInHere(body: { email: string; code: string }): Promise<void> {
  const headers = { 'Content-Type': 'application/json' }
  const answer = await fetch('/api/auth/session', { method: 'POST', headers, body: JSON.stringify(body) })
  if (!answer.ok) throw new Error(await answer.text())
  localStorage.setItem('slipway.signed-in', body.email)
}

/** Runs in the page: stores what the dashboard stores when a session begins. */
function rememberSignedIn(email: string): void {
  localStorage.setItem('slipway.signed-in', email)
}
