import assert from 'node:assert/strict'
import type { BrowserContextOptions } from 'playwright-core'
import { type RunningService, startTestService } from '../service.ts'
import { type Browser, openBrowser } from '../tools/chromium.ts'
import { needs } from '../tools/part.ts'
import { Visitor } from '../visitor.ts'

export const inBrowser = needs('chromium')

let names = 0

/** A real service and a real browser, for the tests of one file; nothing is open where there is no browser. */
export class Web implements AsyncDisposable {
  readonly service: RunningService
  readonly #browser: Browser | undefined

  private constructor(service: RunningService, browser: Browser | undefined) {
    this.service = service
    this.#browser = browser
  }

  static async open(settings: Record<string, string> = {}): Promise<Web> {
    const service = await startTestService(settings)
    return new Web(service, inBrowser.skip ? undefined : await openBrowser())
  }

  /** Somebody with a browser of their own. */
  async visitor(options: BrowserContextOptions = {}): Promise<Visitor> {
    const visitor = await Visitor.open(this.#browser!.page.context().browser()!, options)
    return visitor
  }

  /** The same, signed in; without an address as somebody new. */
  async owner(options: BrowserContextOptions = {}, email = newAddress()): Promise<Owner> {
    const visitor = await this.visitor(options)
    const { baseUrl } = this.service
    await visitor.page.goto(`${baseUrl}/sign-in`)
    await this.service.client().requestCode(email)
    const code = await this.service.mailedCode(email)
    await visitor.page.evaluate(signInHere, { email, code })
    const key = await this.service.signIn(email)
    return { visitor, email, key, [Symbol.asyncDispose]: () => visitor[Symbol.asyncDispose]() }
  }

  /** Pages have kept to their Content-Security-Policy: no browser has reported otherwise. */
  assertPolicyKept(): void {
    const reports = this.service.log.filter(
      ({ message }) => message === 'a page broke its content security policy',
    )
    assert.deepEqual(reports, [])
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#browser?.[Symbol.asyncDispose]()
    await this.service[Symbol.asyncDispose]()
  }
}

/** Somebody with an account: a browser that is signed in, and an API key to prepare things with. */
export interface Owner extends AsyncDisposable {
  visitor: Visitor
  email: string
  key: string
}

export function newAddress(): string {
  return `person-${++names}@example.test`
}

/** Runs in the page. */
async function signInHere(body: { email: string; code: string }): Promise<void> {
  const headers = { 'Content-Type': 'application/json' }
  const answer = await fetch('/api/auth/session', { method: 'POST', headers, body: JSON.stringify(body) })
  if (!answer.ok) throw new Error(await answer.text())
  localStorage.setItem('slipway.signed-in', body.email)
}
