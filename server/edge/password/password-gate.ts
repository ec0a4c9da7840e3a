import type { IncomingMessage } from 'node:http'
import { Signer } from '../../key.ts'
import { Turns } from '../../limits/turns.ts'
import { PASSWORD_COOKIE as COOKIE, isPassword } from '../../password.ts'
import type { Store } from '../../store/store.ts'
import type { Answer } from '../answer.ts'
import type { Site } from '../memory/places.ts'
import { PASSWORD_PATH, passwordPage, refusedForm } from '../pages/pages.ts'
import { samePlace, type Target } from '../target.ts'
import { readForm } from './form.ts'
import { Guesses } from './guesses.ts'

interface PasswordGateOptions {
  store: Store
  clock: () => number
  secret: string
  /** Whether sites are reached by HTTPS, whatever a request looks like here: then the cookie may only travel there. */
  secure: boolean
  /** The address that a guess is counted for. */
  addressOf: (request: IncomingMessage) => string
}

const COOKIE_SECONDS = 30 * 86_400

/** Cookies of that name that are looked at: a neighbour's script could set some for the whole domain. */
const MOST_COOKIES = 8

/** A guess takes 19 MiB and a thread for some tens of milliseconds. */
const WORK = { running: 4, waiting: 64 }

/** Named after the draft for forms and cookies, draft-broyer-http-cookie-auth; RFC 9110, 15.5.2 wants one. */
const CHALLENGE = `Cookie realm="site", form-action="${PASSWORD_PATH}", cookie-name="${COOKIE}"`

/** Stands before sites with a password (contract, "Serving", 7). */
export class PasswordGate {
  readonly #options: PasswordGateOptions
  readonly #signer: Signer
  readonly #guesses: Guesses
  readonly #turns = new Turns(WORK)

  constructor(options: PasswordGateOptions) {
    this.#options = options
    this.#signer = new Signer(options.secret, 'site passwords')
    this.#guesses = new Guesses(options)
  }

  /** Whether a visitor with these cookies may see the site: it has no password, or the visitor gave the present one. */
  admits({ slug, passwordHash }: Site, cookies: string | undefined): boolean {
    if (passwordHash === null) return true
    const now = this.#options.clock()
    return valuesOf(cookies).some((value) => {
      const [, until, signature] = /^(\d+)\.([\w-]+)$/.exec(value) ?? []
      if (!until || !signature || now >= Number(until)) return false
      return this.#signer.verify([slug, passwordHash, until], signature)
    })
  }

  /** The form, in place of anything of the site. */
  ask({ path, query }: Target): Answer {
    const next = path === PASSWORD_PATH ? '/' : samePlace(path + query)
    return this.#form(401, 'Whoever published it can tell you which.', next)
  }

  /** A posted form: a cookie and the way to where the visitor wanted to go, or the form again. */
  async guess(request: IncomingMessage, site: Site, secure: boolean): Promise<Answer> {
    const form = await readForm(request)
    if (form === 413) return refusedForm(form, 'It is longer than a password and an address can be.')
    if (form === 415) return refusedForm(form, 'It has to be sent as application/x-www-form-urlencoded.')
    const next = samePlace(form.get('next'))
    const password = form.get('password')
    if (site.passwordHash === null) return seeOther(next)
    if (!password) return this.#form(401, 'Please enter the password.', next)
    return this.#turns.take(() => this.#check(request, site, site.passwordHash!, { password, next, secure }))
  }

  async #check(
    request: IncomingMessage,
    { slug }: Site,
    passwordHash: string,
    { password, next, secure }: { password: string; next: string; secure: boolean },
  ): Promise<Answer> {
    const guess = await this.#guesses.begin(this.#options.addressOf(request), slug)
    if ('retryAfterSeconds' in guess) return this.#refused(guess.retryAfterSeconds, next)
    if (!(await isPassword(password, passwordHash))) {
      return this.#form(401, 'That is not the password. Please try again.', next)
    }
    await this.#guesses.right(guess)
    return seeOther(next, ['Set-Cookie', this.#cookie(slug, passwordHash, secure)])
  }

  #form(status: 401, text: string, next: string): Answer {
    return passwordPage({ status, text, next, headers: ['WWW-Authenticate', CHALLENGE] })
  }

  #refused(seconds: number, next: string): Answer {
    const wait = seconds > 90 ? `${Math.ceil(seconds / 60)} minutes` : `${seconds} seconds`
    const text = `There were too many wrong passwords. Please try again in ${wait}.`
    return passwordPage({ status: 429, text, next, headers: ['Retry-After', `${seconds}`] })
  }

  /** For this host only, and worth nothing at another site or once the password changed. */
  #cookie(slug: string, passwordHash: string, secure: boolean): string {
    const until = `${this.#options.clock() + COOKIE_SECONDS * 1000}`
    const value = `${until}.${this.#signer.sign([slug, passwordHash, until])}`
    return `${COOKIE}=${value}; Path=/; Max-Age=${COOKIE_SECONDS}; HttpOnly; SameSite=Lax${secure || this.#options.secure ? '; Secure' : ''}`
  }
}

function seeOther(next: string, headers: readonly string[] = []): Answer {
  return {
    status: 303,
    headers: ['Location', next, 'Content-Length', '0', 'Cache-Control', 'no-store', ...headers],
  }
}

function valuesOf(cookies = ''): string[] {
  const values: string[] = []
  for (const cookie of cookies.split(';')) {
    const at = cookie.indexOf('=')
    if (at > 0 && cookie.slice(0, at).trim() === COOKIE) values.push(cookie.slice(at + 1).trim())
    if (values.length === MOST_COOKIES) break
  }
  return values
}
