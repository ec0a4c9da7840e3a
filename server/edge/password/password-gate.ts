import type { IncomingMessage } from 'node:http'
import { Semaphore } from '../../lib/semaphore.ts'
import { DAY_SECONDS } from '../../lib/time.ts'
import { Signer } from '../../lib/tokens.ts'
import type { RequestTarget } from '../../net/http-handler.ts'
import { PASSWORD_COOKIE, SECURE_PASSWORD_COOKIE, verifyPassword } from '../../sites/password.ts'
import type { EdgeOptions } from '../edge-options.ts'
import type { ResolvedSite } from '../resolve/resolution.ts'
import { formError, PASSWORD_PATH, passwordPage } from '../respond/pages/error-pages.ts'
import type { EdgeResponse } from '../response.ts'
import { AttemptLimiter } from './attempt-limiter.ts'
import { readForm } from './form.ts'
import { safeRedirectTarget } from './redirect-target.ts'

type PasswordGateOptions = Pick<
  EdgeOptions,
  'store' | 'clock' | 'secret' | 'clientIp' | 'addresses' | 'https'
>

const COOKIE_TTL_SECONDS = 30 * DAY_SECONDS

/** An attempt takes 19 MiB and a thread for some tens of milliseconds. */
const HASHING_LIMITS = { running: 4, waiting: 64 }

/** Until when it is valid, in milliseconds since 1970, and the signature. */
const COOKIE_VALUE = /^(\d{13,16})\.([\w-]{43})$/

/** Protects sites with a password (contract, "Serving", 7). */
export class PasswordGate {
  readonly #options: PasswordGateOptions
  readonly #signer: Signer
  /** Whether sites use HTTPS, even behind a proxy: the cookie is then `Secure`. */
  readonly #secure: boolean
  readonly #attempts: AttemptLimiter
  readonly #semaphore = new Semaphore(HASHING_LIMITS)

  constructor(options: PasswordGateOptions) {
    this.#options = options
    this.#signer = new Signer(options.secret, 'site passwords')
    // Behind a TLS-terminating proxy no connection is encrypted here.
    this.#secure = options.addresses.base.startsWith('https:') && !options.https
    this.#attempts = new AttemptLimiter(options)
  }

  /** Whether a visitor with these cookies may see the site: it has no password, or the cookie is valid. */
  isAuthorized({ slug, passwordHash }: ResolvedSite, cookies: string | undefined): boolean {
    if (passwordHash === null) return true
    const now = this.#options.clock()
    return readCookies(cookies).some((value) => {
      const [, until, signature] = COOKIE_VALUE.exec(value) ?? []
      if (!until || !signature || now >= Number(until)) return false
      return this.#signer.verify([slug, passwordHash, until], signature)
    })
  }

  /** The form in place of any content of the site. */
  showForm({ path, query }: RequestTarget, secure: boolean): EdgeResponse {
    const next = path === PASSWORD_PATH ? '/' : safeRedirectTarget(path + query)
    return this.#form('Whoever published it can tell you which.', { next, secure })
  }

  /** Handles a posted form: a cookie and a redirect to the requested page, or the form again. */
  async submit(request: IncomingMessage, site: ResolvedSite, secure: boolean): Promise<EdgeResponse> {
    const form = await readForm(request)
    if (form === 413) return formError(form, 'It is longer than a password and an address can be.')
    if (form === 415) return formError(form, 'It has to be sent as application/x-www-form-urlencoded.')
    const next = safeRedirectTarget(form.get('next'))
    const password = form.get('password')
    if (site.passwordHash === null) return seeOther(next)
    if (!password) return this.#form('Please enter the password.', { next, secure })
    return this.#semaphore.run(() =>
      this.#verify(request, site, site.passwordHash!, { password, next, secure }),
    )
  }

  async #verify(
    request: IncomingMessage,
    { slug }: ResolvedSite,
    passwordHash: string,
    { password, next, secure }: { password: string; next: string; secure: boolean },
  ): Promise<EdgeResponse> {
    const attempt = await this.#attempts.begin(this.#options.clientIp(request), slug)
    if ('retryAfterSeconds' in attempt) return this.#tooManyAttempts(attempt.retryAfterSeconds, next)
    if (!(await verifyPassword(password, passwordHash))) {
      return this.#form('That is not the password. Please try again.', { next, secure })
    }
    await this.#attempts.reset(attempt)
    return seeOther(next, ['Set-Cookie', this.#cookie(slug, passwordHash, secure)])
  }

  #form(text: string, { next, secure }: { next: string; secure: boolean }): EdgeResponse {
    // Named after the draft for forms and cookies, draft-broyer-http-cookie-auth; RFC 9110, 15.5.2 requires one.
    const challenge = `Cookie realm="site", form-action="${PASSWORD_PATH}", cookie-name="${this.#cookieName(secure)}"`
    return passwordPage({ status: 401, text, next, headers: ['WWW-Authenticate', challenge] })
  }

  #cookieName(secure: boolean): string {
    return secure || this.#secure ? SECURE_PASSWORD_COOKIE : PASSWORD_COOKIE
  }

  #tooManyAttempts(seconds: number, next: string): EdgeResponse {
    const wait = seconds > 90 ? `${Math.ceil(seconds / 60)} minutes` : `${seconds} seconds`
    const text = `There were too many wrong passwords. Please try again in ${wait}.`
    return passwordPage({ status: 429, text, next, headers: ['Retry-After', `${seconds}`] })
  }

  /** A cookie for this host; invalid for any other site and after a change of the password. */
  #cookie(slug: string, passwordHash: string, secure: boolean): string {
    const until = `${this.#options.clock() + COOKIE_TTL_SECONDS * 1000}`
    const value = `${until}.${this.#signer.sign([slug, passwordHash, until])}`
    const name = this.#cookieName(secure)
    const attributes = `Path=/; Max-Age=${COOKIE_TTL_SECONDS}; HttpOnly; SameSite=Lax`
    return `${name}=${value}; ${attributes}${name === SECURE_PASSWORD_COOKIE ? '; Secure' : ''}`
  }
}

function seeOther(next: string, headers: readonly string[] = []): EdgeResponse {
  return {
    status: 303,
    headers: ['Location', next, 'Content-Length', '0', 'Cache-Control', 'no-store', ...headers],
  }
}

/**
 * All cookies of both names: a script of a sibling site can set any number of cookies with the plain name for the whole
 * domain, which must not hide the valid one. Over HTTPS the plain name is accepted too: it is older than the other one.
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
