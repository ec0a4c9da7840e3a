import type { RequestHeaders } from '../../../../packages/http-server/http-handler.ts'
import { DEFAULT_BRANDING } from '../../../../protocol/branding.ts'
import { Component } from '../../../lib/component.ts'
import { Html, html } from '../../../lib/html.ts'
import type { EdgeResponse } from '../../response.ts'
import { acceptsHtml } from '../negotiation.ts'
import { type Language, negotiateLanguage, TEXTS } from './language.ts'
import type { VisitorTexts } from './languages/english.ts'
import { inlineResponse, PageFrame } from './page-frame.ts'

/** The path of the password form, which the site does not own. */
export const PASSWORD_PATH = '/_slipway/password'

export const NOTICE_PATH = '/_slipway/notice'

export type LanguageHeaders = Pick<RequestHeaders, 'accept' | 'accept-language'>

interface LocalizedPageOptions {
  render(texts: VisitorTexts, language: Language): EdgeResponse
  error: JsonError
}

/** The response for one language is always the same object. */
export class LocalizedPage extends Component<LocalizedPageOptions> {
  readonly #rendered = new Map<Language | 'json', EdgeResponse>()

  /** The page, in English by default; JSON for a client that does not accept HTML (contract, "Additions"). */
  for({ accept = '', 'accept-language': accepted = '' }: LanguageHeaders = {}): EdgeResponse {
    const language = acceptsHtml(accept) ? negotiateLanguage(accepted) : 'json'
    let response = this.#rendered.get(language)
    if (!response) {
      response =
        language === 'json' ? jsonError(this.parts.error) : this.parts.render(TEXTS[language], language)
      this.#rendered.set(language, response)
    }
    return response
  }
}

type ErrorName = Exclude<
  {
    [Name in keyof VisitorTexts]: readonly [string, string] extends VisitorTexts[Name] ? Name : never
  }[keyof VisitorTexts],
  'reportReceived'
>

export type PasswordProblem = 'missing' | 'wrong' | { retryAfterSeconds: number }

interface PasswordPageOptions {
  /** The title is that for link previews, never that of the document, which is content behind the password. */
  site: { host: string; title: string | null }
  next: string
  problem?: PasswordProblem | undefined
  headers: readonly string[]
}

interface SuspendedPageOptions {
  publicReason: string | null
  /** Of the operator; undefined without an address. */
  contact: string | undefined
  service: string
}

const SITE_METHODS = 'GET, HEAD, OPTIONS'
const FORM_METHODS = `${SITE_METHODS}, POST`

export class ErrorPages extends PageFrame {
  readonly siteNotFound = this.#error(404, 'NOT_FOUND', 'siteNotFound')
  readonly siteNotPublished = this.#error(404, 'NOT_FOUND', 'siteNotPublished')
  readonly versionNotFound = this.#error(404, 'NOT_FOUND', 'versionNotFound')
  readonly pageNotFound = this.#error(404, 'NOT_FOUND', 'pageNotFound', {
    more: ({ homePage }) => html`\n<p><a href="/">${homePage}</a></p>`,
  })
  readonly siteExpired = this.#error(410, 'SITE_EXPIRED', 'siteExpired')
  readonly fileBlocked = this.#error(451, 'CONTENT_REFUSED', 'fileBlocked')
  readonly badRequest = this.#error(400, 'VALIDATION_ERROR', 'badRequest')
  /** RFC 9110, 15.5.20. */
  readonly misdirected = this.#error(421, 'MISDIRECTED_REQUEST', 'misdirected')
  readonly methodNotAllowed = this.#error(405, 'METHOD_NOT_ALLOWED', 'methodNotAllowed', {
    headers: ['Allow', SITE_METHODS],
  })
  readonly formMethodNotAllowed = this.#error(405, 'METHOD_NOT_ALLOWED', 'methodNotAllowed', {
    headers: ['Allow', FORM_METHODS],
  })
  readonly preconditionFailed = this.#error(412, 'PRECONDITION_FAILED', 'preconditionFailed')
  /** The 416 response of every file; its length is added. */
  readonly rangeNotSatisfiable = this.#error(416, 'RANGE_NOT_SATISFIABLE', 'rangeNotSatisfiable')
  readonly internalError = this.#error(500, 'INTERNAL', 'internalError')
  readonly formTooLarge = this.#error(413, 'VALIDATION_ERROR', 'unreadableForm')
  readonly formUnsupported = this.#error(415, 'VALIDATION_ERROR', 'unreadableForm')

  /** `seconds` until a retry makes sense. */
  unavailable(seconds: number): LocalizedPage {
    return this.#error(503, 'UNAVAILABLE', 'unavailable', { headers: ['Retry-After', `${seconds}`] })
  }

  /** Contract, "Serving", 7. */
  password(
    { site, next, problem, headers }: PasswordPageOptions,
    { accept = '', 'accept-language': accepted = '' }: LanguageHeaders,
  ): EdgeResponse {
    const status = typeof problem === 'object' ? 429 : 401
    const code = status === 429 ? 'RATE_LIMITED' : 'UNAUTHORIZED'
    if (!acceptsHtml(accept)) return jsonError({ status, code, name: 'passwordRequired', headers })
    const language = negotiateLanguage(accepted)
    const { passwordRequired, password } = TEXTS[language]
    const [title, text] = passwordRequired
    const name = site.title ?? site.host
    const main = html`<p class="above">${LOCK}${name}</p>
<h1>${title}</h1>
<p>${text}</p>
<form method="post" action="${PASSWORD_PATH}">
<label for="password">${password.label}</label>
<input id="password" name="password" type="password" autocomplete="current-password" required autofocus${
      problem && new Html(' aria-invalid="true" aria-describedby="problem"')
    }>${problem && html`\n<p class="wrong" id="problem" role="alert">${describeProblem(problem, password)}</p>`}
<input name="next" type="hidden" value="${next}">
<button>${password.button}</button>
</form>`
    return this.render({ status, language, title: name, main, headers })
  }

  /** RFC 7725. */
  suspended({ publicReason, contact, service }: SuspendedPageOptions): LocalizedPage {
    const reason = publicReason === null ? undefined : html`\n<p>${publicReason}</p>`
    return this.#error(451, 'SITE_SUSPENDED', 'siteSuspended', {
      headers: ['Link', `<${service}>; rel="blocked-by"`],
      more: ({ contactOperator }) =>
        html`${reason}${contact && html`\n<p><a href="${contact}">${contactOperator}</a></p>`}`,
    })
  }

  notice(
    { service, next }: { service: string; next: string },
    { 'accept-language': accepted = '' }: LanguageHeaders,
  ): EdgeResponse {
    const language = negotiateLanguage(accepted)
    const { title, text, button } = TEXTS[language].anonymousNotice
    const main = html`<p class="above">${service}</p>
<h1>${title}</h1>
<p>${text.replace('{service}', service)}</p>
<form method="post" action="${NOTICE_PATH}">
<input name="next" type="hidden" value="${next}">
<button>${button}</button>
</form>`
    return this.render({ status: 200, language, title, main, headers: ['X-Robots-Tag', 'noindex'] })
  }

  #error(
    status: number,
    code: string,
    name: ErrorName,
    { headers = [], more }: { headers?: readonly string[]; more?: (texts: VisitorTexts) => Html } = {},
  ): LocalizedPage {
    return new LocalizedPage({
      render: (texts, language) => {
        const [title, text] = texts[name]
        const main = html`<p class="above">${status}</p>
<h1>${title}</h1>
<p>${text}</p>${more?.(texts)}`
        return this.render({ status, language, title, main, headers })
      },
      error: { status, code, name, headers },
    })
  }
}

interface JsonError {
  status: number
  code: string
  name: ErrorName
  headers: readonly string[]
}

function jsonError({ status, code, name, headers }: JsonError): EdgeResponse {
  const [title, text] = TEXTS.en[name]
  return jsonResponse({ error: `${title}. ${text}`, code, status }, headers)
}

function jsonResponse(
  error: { error: string; code: string; status: number },
  headers: readonly string[],
): EdgeResponse {
  return inlineResponse(error.status, 'application/json; charset=utf-8', JSON.stringify(error), headers)
}

export const DEFAULT_PAGES = new ErrorPages(DEFAULT_BRANDING, '')

const LOCK = new Html(
  '<svg viewBox="0 0 24 24" width="18" height="18" aria-hidden="true"><path d="M6 11h12v9H6zM8 11V8a4 4 0 0 1 8 0v3"/></svg>',
)

function describeProblem(problem: PasswordProblem, texts: VisitorTexts['password']): string {
  if (typeof problem === 'string') return texts[problem]
  const minutes = Math.max(1, Math.ceil(problem.retryAfterSeconds / 60))
  return texts.tooManyAttempts.replace('{minutes}', `${minutes}`)
}

/** For a missing script or style sheet, where HTML would only confuse. */
export const ASSET_NOT_FOUND = inlineResponse(404, 'text/plain; charset=utf-8', 'Not found\n')

/** Of requests of the API as well, which HTTP/2 refuses before it is known whose they are. */
export const BUSY = jsonResponse(
  {
    error: 'Too many requests from your network are in progress. Try again shortly.',
    code: 'UNAVAILABLE',
    status: 503,
  },
  ['Retry-After', '5'],
)

/** RFC 9110, 9.3.7. */
export const OPTIONS_RESPONSE = optionsResponse(SITE_METHODS)
export const PASSWORD_OPTIONS_RESPONSE = optionsResponse(FORM_METHODS)

function optionsResponse(methods: string): EdgeResponse {
  return { status: 204, headers: ['Allow', methods, 'Cache-Control', 'no-store'] }
}
