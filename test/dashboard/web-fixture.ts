import assert from 'node:assert/strict'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { ContextPool } from '../context-pool.ts'
import { type RunningService, startTestService } from '../support/service.ts'
import { requires } from '../tools/part.ts'
import type { BrowserUser } from '../visitor.ts'

export const requiresBrowser = requires('chromium')

let names = 0

/** A real service and a real browser for the tests of one file; only the service without an installed browser. */
export class WebFixture implements AsyncDisposable {
  readonly service: RunningService
  readonly #contexts: ContextPool | undefined
  readonly #opened: AsyncDisposableStack

  private constructor(
    service: RunningService,
    contexts: ContextPool | undefined,
    opened: AsyncDisposableStack,
  ) {
    this.service = service
    this.#contexts = contexts
    this.#opened = opened
  }

  static async open(settings: Record<string, string> = {}): Promise<WebFixture> {
    await using opened = new AsyncDisposableStack()
    const service = opened.use(await startTestService(settings))
    const contexts = requiresBrowser.skip ? undefined : opened.use(await ContextPool.open())
    return new WebFixture(service, contexts, opened.move())
  }

  /** Starts another service, for the same browser. */
  async another(settings: Record<string, string>): Promise<WebFixture> {
    await using opened = new AsyncDisposableStack()
    const service = opened.use(await startTestService(settings))
    return new WebFixture(service, this.#contexts, opened.move())
  }

  /** Opens a page in a context without cookies and storage. */
  async visitor(options: BrowserContextOptions = {}): Promise<BrowserUser> {
    return this.#contexts!.visitor(options)
  }

  /** Opens a context that is signed in to the account of this address, by default to a new account. */
  async owner(options: BrowserContextOptions = {}, email = newAddress()): Promise<Owner> {
    const visitor = await this.visitor(options)
    await this.service.client().requestCode(email)
    const code = await this.service.mailedCode(email)
    await this.#openEmptyPage(visitor.page)
    await visitor.page.evaluate(signInHere, { email, code })
    const key = await this.service.signIn(email)
    return { visitor, email, key, [Symbol.asyncDispose]: () => visitor[Symbol.asyncDispose]() }
  }

  /** Opens another context with the session of an owner. */
  async visitorSignedInAs(owner: Owner, options: BrowserContextOptions = {}): Promise<BrowserUser> {
    const visitor = await this.visitor(options)
    await visitor.context.addCookies(await owner.visitor.context.cookies())
    await this.#openEmptyPage(visitor.page)
    await visitor.page.evaluate(rememberSignedIn, owner.email)
    return visitor
  }

  /** Opens an empty page at the origin of the service, which is faster than loading the dashboard. */
  async #openEmptyPage(page: Page): Promise<void> {
    const url = `${this.service.baseUrl}/empty`
    const body = '<!doctype html><link rel="icon" href="data:,">'
    await page.route(url, (route) => route.fulfill({ contentType: 'text/html', body }), { times: 1 })
    await page.goto(url)
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

/** An account with a signed-in browser, and an API key to prepare data with. */
export interface Owner extends AsyncDisposable {
  visitor: BrowserUser
  email: string
  key: string
}

export function newAddress(): string {
  return `user-${++names}@example.test`
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
