import type { IncomingMessage } from 'node:http'
import { rateLimitSubnet } from '../../../packages/http-server/clients/client-ip.ts'
import type { HttpRequest } from '../../../packages/http-server/http-handler.ts'
import { Component } from '../../lib/component.ts'
import { readParameters } from '../../lib/parameters.ts'
import { DAY_SECONDS } from '../../lib/time.ts'
import { Signer } from '../../lib/tokens.ts'
import {
  PASSWORD_COOKIE,
  passwordWork,
  SECURE_PASSWORD_COOKIE,
  verifyPassword,
} from '../../sites/password.ts'
import type { EdgeOptions } from '../edge-options.ts'
import type { ResolvedSite } from '../resolve/site-resolver.ts'
import { PASSWORD_PATH, type PasswordProblem } from '../respond/pages/error-pages.ts'
import { type EdgeResponse, seeOther } from '../response.ts'
import { AttemptLimiter } from './attempt-limiter.ts'
import { isOwnForm, readForm, safeRedirectTarget } from './form.ts'

type PasswordGateOptions = Pick<
  EdgeOptions,
  'store' | 'clock' | 'secret' | 'clientIp' | 'addresses' | 'https' | 'pages'
>

const COOKIE_TTL_SECONDS = 30 * DAY_SECONDS

/** In characters: proxies may refuse longer targets. */
const MAX_RETRY_LENGTH = 4000

/** Expiry, in milliseconds since 1970, and signature. */
const COOKIE_VALUE = /^(\d{13,16})\.([\w-]{43})$/

interface PostedForm {
  site: ResolvedSite
  request: HttpRequest
  next: string
}

/** Protects sites with a password (contract, "Serving", 7). */
export class PasswordGate extends Component<PasswordGateOptions> {
  readonly #signer = new Signer(this.parts.secret, 'site passwords')
  /** Also true behind a proxy that terminates TLS, where no connection is encrypted here. */
  readonly #secure = this.parts.addresses.base.startsWith('https:') && !this.parts.https
  readonly #attempts = new AttemptLimiter(this.parts)

  /** Undefined when the cookies are those of the password. Who goes back to a refused form continues at its page. */
  respond(site: ResolvedSite, request: HttpRequest): EdgeResponse | undefined {
    const { path, query } = request.target
    const refused = path === PASSWORD_PATH ? readParameters(query) : undefined
    const isAuthorized = this.#isAuthorized(site, request.headers.cookie)
    if (isAuthorized && !refused) return undefined
    const next = safeRedirectTarget(refused ? refused.get('next') : path + query)
    if (isAuthorized) return seeOther(next)
    return this.#form({ site, request, next }, refused?.has('wrong') ? 'wrong' : undefined)
  }

  /**
   * Handles a posted form: a cookie and a redirect to the requested page, or the form again. A form of another site is no
   * attempt: its visitors' networks would use up those of the site.
   */
  async submit(message: IncomingMessage, site: ResolvedSite, request: HttpRequest): Promise<EdgeResponse> {
    const form = await readForm(message, this.parts.pages)
    if ('status' in form) return form
    const next = safeRedirectTarget(form.get('next'))
    const password = form.get('password')
    if (site.passwordHash === null) return seeOther(next)
    const posted = { site, request, next }
    if (!isOwnForm(request, message) || !password) return this.#form(posted, 'missing')
    const address = this.parts.clientIp(message)
    return passwordWork.run(rateLimitSubnet(address), () => this.#verify(posted, password, address))
  }

  async #verify(posted: PostedForm, password: string, address: string): Promise<EdgeResponse> {
    const { visitsKey, passwordHash } = posted.site
    const attempt = await this.#attempts.begin(address, visitsKey)
    if ('retryAfterSeconds' in attempt) return this.#form(posted, attempt)
    if (!(await verifyPassword(password, passwordHash!))) {
      // A browser could not go back to a response to POST.
      const isPage = posted.request.headers.accept?.includes('text/html')
      const retry = `${PASSWORD_PATH}?wrong&next=${encodeURIComponent(posted.next)}`
      return isPage && retry.length <= MAX_RETRY_LENGTH ? seeOther(retry) : this.#form(posted, 'wrong')
    }
    await this.#attempts.reset(attempt)
    return seeOther(posted.next, [
      'Set-Cookie',
      this.#cookie(visitsKey, passwordHash!, posted.request.isSecure),
    ])
  }

  #isAuthorized({ visitsKey, passwordHash }: ResolvedSite, cookies: string | undefined): boolean {
    const now = this.parts.clock()
    return readCookies(cookies).some((value) => {
      const [, until, signature] = COOKIE_VALUE.exec(value) ?? []
      if (!until || !signature || now >= Number(until)) return false
      return this.#signer.verify([visitsKey, passwordHash!, until], signature)
    })
  }

  /** 401 with the form; 429 after too many attempts. */
  #form({ site, request, next }: PostedForm, problem?: PasswordProblem): EdgeResponse {
    // draft-broyer-http-cookie-auth; RFC 9110, 15.5.2 requires a challenge.
    const challenge = `Cookie realm="site", form-action="${PASSWORD_PATH}", cookie-name="${this.#cookieName(request.isSecure)}"`
    const headers =
      typeof problem === 'object'
        ? ['Retry-After', `${problem.retryAfterSeconds}`]
        : ['WWW-Authenticate', challenge]
    const { host, headers: accepted } = request
    return this.parts.pages.password({ site: { host, title: site.title }, next, problem, headers }, accepted)
  }

  #cookieName(secure: boolean): string {
    return secure || this.#secure ? SECURE_PASSWORD_COOKIE : PASSWORD_COOKIE
  }

  /** A cookie for this host; invalid for any other site and after a change of the password, valid after a rename. */
  #cookie(visitsKey: string, passwordHash: string, secure: boolean): string {
    const until = `${this.parts.clock() + COOKIE_TTL_SECONDS * 1000}`
    const value = `${until}.${this.#signer.sign([visitsKey, passwordHash, until])}`
    const name = this.#cookieName(secure)
    const attributes = `Path=/; Max-Age=${COOKIE_TTL_SECONDS}; HttpOnly; SameSite=Lax`
    return `${name}=${value}; ${attributes}${name === SECURE_PASSWORD_COOKIE ? '; Secure' : ''}`
  }
}

/**
 * All cookies of both names: a script of a sibling site can set any number of cookies with the plain name for the whole
 * domain, which must not hide the valid one. Over HTTPS the plain name is accepted too: it may have been set over HTTP.
 */
function readCookies(cookies = ''): string[] {
  const values: string[] = []
  for (const cookie of cookies.split(';')) {
    const at = cookie.indexOf('=')
    const name = cookie.slice(0, Math.max(at, 0)).trim()
    if (name === SECURE_PASSWORD_COOKIE || name === PASSWORD_COOKIE) values.push(cookie.slice(at + 1).trim())
  }
  return values
}
