import assert from 'node:assert/strict'
import { after, before } from 'node:test'
import type {
  APIRequestContext,
  BrowserContext,
  BrowserContextOptions,
  Cookie,
  Locator,
  Page,
  Route,
} from 'playwright-core'
import type { Slipway } from '../../client/sdk/slipway.ts'
import { type BrowserUser, ContextPool, openEmptyPage, openRequestContext } from '../support/browser.ts'
import { type RunningService, startTestService } from '../support/service.ts'
import { requires } from '../tools/part.ts'

export const requiresBrowser = requires('chromium')

/** An account with an API key, and the cookies of a browser that is signed in. */
export interface Account {
  email: string
  client: Slipway
  cookies: Cookie[]
}

/** A browser that is signed in. */
export type Owner = BrowserUser & Account

interface OwnerOptions extends BrowserContextOptions {
  /** By default a new one. */
  account?: Account
}

let names = 0

/** The toast after an undo of a version. */
export function undone(page: Page): Locator {
  return page.locator('.toast-message', { hasText: 'Undone. The previous version is live.' })
}

/** Types after `send` has sent the next request to these URLs, and before the server receives it. */
export async function typeWhileSending(
  page: Page,
  urls: string,
  { send, type }: Record<'send' | 'type', () => Promise<void>>,
): Promise<void> {
  const [sent, typed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const hold = async (route: Route) => {
    sent.resolve()
    await typed.promise
    await route.continue()
  }
  await page.route(urls, hold, { times: 1 })
  await send()
  await sent.promise
  await type()
  typed.resolve()
}

export function newAddress(): string {
  return `user-${++names}@example.test`
}

/** A real service and a real browser; only the service without an installed browser. */
export class WebFixture implements AsyncDisposable {
  service!: RunningService
  #contexts: ContextPool | undefined
  readonly #opened = new AsyncDisposableStack()
  #ofTest = new AsyncDisposableStack()
  /** Whose consoles are checked after each test. */
  readonly #users = new Set<BrowserUser>()
  #checkedLines = 0

  async start(settings: Record<string, string> = {}): Promise<this> {
    this.service = this.#opened.use(await startTestService(settings))
    if (!requiresBrowser.skip) this.#contexts = this.#opened.use(await ContextPool.open())
    return this
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

  /** Opens a page that is signed in, until the end of the test. */
  async asOwner(path?: string, options: OwnerOptions = {}): Promise<{ page: Page; owner: Owner }> {
    const owner = await this.#open(this.owner(options), path)
    return { page: owner.page, owner }
  }

  async #open<User extends BrowserUser>(opening: Promise<User>, path: string | undefined): Promise<User> {
    const user = this.#ofTest.use(await opening)
    this.#watchUntilDisposal(user, this.#ofTest)
    if (path !== undefined) await user.page.goto(this.url(path))
    return user
  }

  /**
   * Opens a page for all tests of the suite around the call: loading one costs more CPU time than most tests. Each test
   * works on a page that another one has left, and on a new one.
   */
  openForSuite(open: () => Promise<BrowserUser>): void {
    const ofSuite = new AsyncDisposableStack()
    before(async () => this.#watchUntilDisposal(ofSuite.use(await open()), ofSuite))
    after(() => ofSuite.disposeAsync())
  }

  #watchUntilDisposal(user: BrowserUser, disposal: AsyncDisposableStack): void {
    this.#users.add(user)
    disposal.defer(() => void this.#users.delete(user))
  }

  /**
   * Closes the pages of a test, and asserts that the consoles have only failed requests, which tests provoke, and that
   * no browser has reported a violation of the policy.
   */
  async endTest(): Promise<void> {
    const complaints = [...this.#users].flatMap((user) => user.complaints.splice(0))
    await this.#ofTest.disposeAsync()
    this.#ofTest = new AsyncDisposableStack()
    this.service.clock.now = Date.now()
    const unexpected = complaints.filter((line) => !line.startsWith('Failed to load resource'))
    assert.deepEqual(unexpected, [])
    this.assertPolicyKept()
  }

  url(path: string): string {
    return this.service.baseUrl + path
  }

  /** Opens a page in a context without cookies and storage. */
  async visitor(options: BrowserContextOptions = {}): Promise<BrowserUser> {
    return this.#contexts!.visitor(options)
  }

  /** Opens a page in a context that is signed in. */
  async owner({ account, ...options }: OwnerOptions = {}): Promise<Owner> {
    // The account may be that of another page.
    const { email, client, cookies } = account ?? (await this.createAccount())
    const owner = Object.assign(await this.visitor(options), { email, client, cookies })
    await openEmptyPage(owner.page, this.service.baseUrl)
    await this.signIn(owner.page, owner)
    return owner
  }

  async createAccount(): Promise<Account> {
    const email = newAddress()
    const client = this.service.client(await this.service.signIn(email))
    await using session = await this.openSession(email)
    return { email, client, cookies: (await session.storageState()).cookies }
  }

  /** Signs in a client that sends requests as the pages of a browser do. */
  async openSession(email: string, userAgent?: string): Promise<APIRequestContext> {
    const session = await openRequestContext({
      baseURL: this.service.baseUrl,
      extraHTTPHeaders: { Origin: this.service.baseUrl },
      ...(userAgent && { userAgent }),
    })
    await this.service.client().requestCode(email)
    const data = { email, code: await this.service.mailedCode(email) }
    assert.ok((await session.post('/api/auth/session', { data })).ok())
    return session
  }

  /** Signs the browser of a page of the service in, without the form. */
  async signIn(page: Page, { email, cookies }: Account): Promise<void> {
    await page.context().addCookies(cookies)
    await page.evaluate(rememberSignedIn, email)
  }

  /** Requests a code with the form of the page. */
  async askForCode(page: Page, email: string): Promise<void> {
    await page.getByLabel('Your email address').fill(email)
    await page.getByRole('button', { name: 'Get a sign-in code' }).click()
    await page.getByText(`The code for ${email} expires in`).waitFor()
  }

  /** Enters the code from the email, which is submitted as soon as it is complete. */
  async writeCode(page: Page, email: string): Promise<void> {
    await page.getByLabel('Sign-in code').fill(await this.service.mailedCode(email))
  }

  /** Asserts that no browser has reported a violation of the Content-Security-Policy since the last call. */
  assertPolicyKept(): void {
    const { log } = this.service
    const lines = log.slice(this.#checkedLines)
    this.#checkedLines = log.length
    const violations = lines.filter(({ message }) => message === 'content security policy violation')
    assert.deepEqual(violations, [])
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#opened.disposeAsync()
  }
}

/** Signs in a new account in another tab of the same browser; returns its address. */
export async function signInElsewhere(web: WebFixture, context: BrowserContext): Promise<string> {
  const tab = await context.newPage()
  await openEmptyPage(tab, web.service.baseUrl)
  const account = await web.createAccount()
  await web.signIn(tab, account)
  await tab.close()
  return account.email
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

/** Waits until the visible elements have exactly these texts, in this order. */
export async function textsAre(page: Page, selector: string, texts: string[]): Promise<void> {
  await page.waitForFunction(areShown, { selector, texts }).catch((cause) => {
    throw new Error(`${selector} do not become ${JSON.stringify(texts)}`, { cause })
  })
}

/** Runs in the page. */
function areShown({ selector, texts }: { selector: string; texts: string[] }): boolean {
  const shown = [...document.querySelectorAll(selector)].filter((one) => one.checkVisibility())
  return JSON.stringify(shown.map(({ textContent }) => textContent)) === JSON.stringify(texts)
}

/** Runs in the page: stores what the dashboard stores when a session begins. */
function rememberSignedIn(email: string): void {
  localStorage.setItem('slipway.signed-in', email)
}

/** Fails unless the browser asks before it closes the page; the page stays open. */
export async function asksBeforeClosing(page: Page): Promise<void> {
  const asking = page.waitForEvent('dialog')
  await page.close({ runBeforeUnload: true })
  const dialog = await asking
  assert.equal(dialog.type(), 'beforeunload')
  await dialog.dismiss()
}
