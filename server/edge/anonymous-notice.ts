import type { IncomingMessage } from 'node:http'
import type { HttpRequest } from '../../packages/http-server/http-handler.ts'
import { Component } from '../lib/component.ts'
import { DAY_SECONDS } from '../lib/time.ts'
import { NOTICE_COOKIE, SECURE_NOTICE_COOKIE } from '../site-rules/parse/header-line.ts'
import type { EdgeOptions } from './edge-options.ts'
import { isOwnForm, readForm, safeRedirectTarget } from './password/form.ts'
import { isPageRequest } from './respond/negotiation.ts'
import { NOTICE_PATH } from './respond/pages/error-pages.ts'
import { type EdgeResponse, seeOther } from './response.ts'

const COOKIE_TTL_SECONDS = 365 * DAY_SECONDS

/** Shows a page before the pages of an anonymous site, until the visitor continues. */
export class AnonymousNotice extends Component<Pick<EdgeOptions, 'addresses' | 'https' | 'pages'>> {
  readonly #service = new URL(this.parts.addresses.base).host
  /** Whether a proxy terminates TLS: no connection is encrypted here. */
  readonly #isSecure = this.parts.addresses.base.startsWith('https:') && !this.parts.https

  /** The page, to a browser that opens a page and has not continued yet. Programs and parts of pages never see it. */
  show(request: HttpRequest): EdgeResponse | undefined {
    const { headers, target } = request
    if (!isPageRequest(headers) || this.#hasContinued(request)) return undefined
    const next = target.path === NOTICE_PATH ? '/' : safeRedirectTarget(target.path + target.query)
    return this.parts.pages.notice({ service: this.#service, next }, headers)
  }

  /** Handles the posted form. A form of another site shows the page: its link must not open the site directly. */
  async accept(request: HttpRequest, message: IncomingMessage): Promise<EdgeResponse> {
    const form = await readForm(message, this.parts.pages)
    if ('status' in form) return form
    const next = safeRedirectTarget(form.get('next'))
    if (!isOwnForm(request, message))
      return this.parts.pages.notice({ service: this.#service, next }, request.headers)
    return seeOther(next, ['Set-Cookie', this.#cookie(request)])
  }

  #hasContinued({ headers: { cookie = '' }, isSecure }: HttpRequest): boolean {
    const name = this.#cookieName(isSecure)
    return cookie.split(';').some((pair) => pair.trim() === `${name}=1`)
  }

  #cookie({ isSecure }: HttpRequest): string {
    const name = this.#cookieName(isSecure)
    const attributes = `Path=/; Max-Age=${COOKIE_TTL_SECONDS}; HttpOnly; SameSite=Lax`
    return `${name}=1; ${attributes}${name === SECURE_NOTICE_COOKIE ? '; Secure' : ''}`
  }

  #cookieName(isSecure: boolean): string {
    return isSecure || this.#isSecure ? SECURE_NOTICE_COOKIE : NOTICE_COOKIE
  }
}
