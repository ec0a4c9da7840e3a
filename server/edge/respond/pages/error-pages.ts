import { hash } from 'node:crypto'
import { Html, html } from '../../../lib/html.ts'
import type { RequestHeaders } from '../../../net/http-handler.ts'
import type { EdgeResponse } from '../../response.ts'
import { type Language, negotiateLanguage, TEXTS } from './language.ts'
import type { PageText, VisitorTexts } from './languages/visitor-texts.ts'
import { THEME } from './theme.ts'

/** The path of the password form, which the site does not own. */
export const PASSWORD_PATH = '/_slipway/password'

/** The path of the form of `noticePage`, and that which leads to the form for reports. */
export const NOTICE_PATH = '/_slipway/notice'
export const REPORT_PATH = '/_slipway/report'

/** Headers of error pages: they are never cached (contract, "Serving", 6). */
export const ERROR_HEADERS = ['Cache-Control', 'no-store', 'X-Content-Type-Options', 'nosniff'] as const

const CSS = `${THEME}
body{min-height:100vh;display:grid;place-items:center;padding:1.5rem}
main{width:100%;max-width:27rem;padding:2rem;background:var(--surface);border:1px solid var(--line);border-radius:var(--radius-large)}
.above{display:flex;gap:.5rem;align-items:center;margin:0 0 .75rem;color:var(--quiet);font-size:.875rem;overflow-wrap:anywhere}
svg{flex:none;fill:none;stroke:currentColor;stroke-width:1.75;stroke-linecap:round;stroke-linejoin:round}
h1{margin:0 0 .5rem;font-size:1.25rem;font-weight:600;line-height:1.3;letter-spacing:-.011em;text-wrap:balance}
p{margin:0;color:var(--quiet)}
p+p{margin-top:1rem}
a{color:var(--accent);text-underline-offset:.2em}
form{display:grid;gap:.5rem;margin-top:1.25rem}
label{font-weight:500}
input,button,select,textarea{min-height:2.75rem;font:inherit;padding:.5rem .75rem;border-radius:var(--radius)}
input,select,textarea{width:100%;color:var(--ink);background:var(--surface);border:1px solid var(--edge)}
button{margin-top:.5rem;border:0;background:var(--accent);color:var(--on-accent);font-weight:500;cursor:pointer}
button:hover{background:var(--accent-strong)}
.wrong{color:var(--wrong)}
footer{margin-top:1.5rem;font-size:.8125rem}
footer a{color:var(--quiet)}
`

/** Nothing runs and nothing is loaded: the only style sheet is inline, allowed by its hash. */
const ERROR_PAGE_CSP = [
  "default-src 'none'",
  `style-src 'sha256-${hash('sha256', CSS, 'base64')}'`,
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join('; ')

/** What a request says about the preferred language of its response. */
export type LanguageHeaders = Pick<RequestHeaders, 'accept-language'>

/** A page in each language, made when it is first requested. The response for one language is always the same object. */
export class LocalizedPage {
  readonly #render: (texts: VisitorTexts, language: Language) => EdgeResponse
  readonly #rendered = new Map<Language, EdgeResponse>()

  constructor(render: (texts: VisitorTexts, language: Language) => EdgeResponse) {
    this.#render = render
  }

  /** The page in the language that the request prefers, by default in English. */
  for({ 'accept-language': accepted = '' }: LanguageHeaders = {}): EdgeResponse {
    const language = negotiateLanguage(accepted)
    let response = this.#rendered.get(language)
    if (!response) {
      response = this.#render(TEXTS[language], language)
      this.#rendered.set(language, response)
    }
    return response
  }
}

export interface ServicePage {
  status: number
  language: Language
  /** In the tab. */
  title: string
  /** HTML in `main`. */
  main: Html
  headers?: readonly string[]
}

/** A page of the service, never cached. */
export function renderPage({ status, language, title, main, headers = [] }: ServicePage): EdgeResponse {
  const document = html`<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<style>${new Html(CSS)}</style>
</head>
<body>
<main>
${main}
<footer><a href="${REPORT_PATH}" rel="nofollow">${TEXTS[language].reportAbuse}</a></footer>
</main>
</body>
</html>
`
  return inlineResponse(status, 'text/html; charset=utf-8', document.text, [
    ...['Content-Language', language],
    ...['Content-Security-Policy', ERROR_PAGE_CSP],
    ...headers,
  ])
}

type ErrorName = {
  [Name in keyof VisitorTexts]: PageText extends VisitorTexts[Name] ? Name : never
}[keyof VisitorTexts]

interface ErrorPageOptions {
  headers?: readonly string[]
  /** Whether it links to the root of the host. */
  linksHome?: boolean
}

function errorPage(
  status: number,
  name: ErrorName,
  { headers = [], linksHome = false }: ErrorPageOptions = {},
): LocalizedPage {
  return new LocalizedPage((texts, language) => {
    const { title, text } = texts[name]
    const link = linksHome ? html`\n<p><a href="/">${texts.homePage}</a></p>` : undefined
    const main = html`<p class="above">${status}</p>
<h1>${title}</h1>
<p>${text}</p>${link}`
    return renderPage({ status, language, title, main, headers })
  })
}

/** Why the password form is shown. */
export type PasswordProblem = 'missing' | 'wrong' | { retryAfterSeconds: number }

interface PasswordPageOptions {
  /** The host of the site, and the title that its owner has set for link previews. */
  site: { host: string; title: string | null }
  /** The path to open next. */
  next: string
  problem?: PasswordProblem | undefined
  headers: readonly string[]
}

const LOCK = new Html(
  '<svg viewBox="0 0 24 24" width="18" height="18" aria-hidden="true"><path d="M6 11h12v9H6zM8 11V8a4 4 0 0 1 8 0v3"/></svg>',
)

/**
 * The form in front of a site with a password (contract, "Serving", 7). It names the site by the title for link
 * previews, never by the title of its document, which is content behind the password.
 */
export function passwordPage(
  { site, next, problem, headers }: PasswordPageOptions,
  { 'accept-language': accepted = '' }: LanguageHeaders,
): EdgeResponse {
  const language = negotiateLanguage(accepted)
  const { password } = TEXTS[language]
  const name = site.title ?? site.host
  const main = html`<p class="above">${LOCK}${name}</p>
<h1>${password.title}</h1>
<p>${password.text}</p>
<form method="post" action="${PASSWORD_PATH}">
<label for="password">${password.label}</label>
<input id="password" name="password" type="password" autocomplete="current-password" required autofocus${
    problem && new Html(' aria-invalid="true" aria-describedby="problem"')
  }>${problem && html`\n<p class="wrong" id="problem" role="alert">${describeProblem(problem, password)}</p>`}
<input name="next" type="hidden" value="${next}">
<button>${password.button}</button>
</form>`
  const status = typeof problem === 'object' ? 429 : 401
  return renderPage({ status, language, title: name, main, headers })
}

function describeProblem(problem: PasswordProblem, texts: VisitorTexts['password']): string {
  if (typeof problem === 'string') return texts[problem]
  const minutes = Math.max(1, Math.ceil(problem.retryAfterSeconds / 60))
  return texts.tooManyAttempts.replace('{minutes}', `${minutes}`)
}

interface SuspendedPageOptions {
  /** For visitors; null for none. */
  publicReason: string | null
  /** The URL of the operator. */
  contact: string
  service: string
}

/** RFC 7725. */
export function suspendedPage({ publicReason, contact, service }: SuspendedPageOptions): LocalizedPage {
  return new LocalizedPage((texts, language) => {
    const { title, text } = texts.siteSuspended
    const main = html`<p class="above">451</p>
<h1>${title}</h1>
<p>${text}</p>${publicReason === null ? undefined : html`\n<p>${publicReason}</p>`}
<p><a href="${contact}">${texts.contactOperator}</a></p>`
    const headers = ['Link', `<${service}>; rel="blocked-by"`]
    return renderPage({ status: 451, language, title, main, headers })
  })
}

/** The page before the pages of an anonymous site; `next` is the path to open with its button. */
export function noticePage(
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
  return renderPage({ status: 200, language, title, main, headers: ['X-Robots-Tag', 'noindex'] })
}

export const SITE_NOT_FOUND = errorPage(404, 'siteNotFound')
export const SITE_NOT_PUBLISHED = errorPage(404, 'siteNotPublished')
export const VERSION_NOT_FOUND = errorPage(404, 'versionNotFound')
export const PAGE_NOT_FOUND = errorPage(404, 'pageNotFound', { linksHome: true })

/** The response for a missing script or style sheet, which HTML would only confuse. */
export const ASSET_NOT_FOUND = inlineResponse(404, 'text/plain; charset=utf-8', 'Not found\n')

export const SITE_EXPIRED = errorPage(410, 'siteExpired')
export const FILE_BLOCKED = errorPage(451, 'fileBlocked')
export const BAD_REQUEST = errorPage(400, 'badRequest')

/** RFC 9110, 15.5.20. */
export const MISDIRECTED = errorPage(421, 'misdirected')

/** The methods of the paths of a site, and of the path of the password form. */
const SITE_METHODS = 'GET, HEAD, OPTIONS'
const FORM_METHODS = `${SITE_METHODS}, POST`

export const METHOD_NOT_ALLOWED = methodNotAllowed(SITE_METHODS)
export const PASSWORD_METHOD_NOT_ALLOWED = methodNotAllowed(FORM_METHODS)

/** RFC 9110, 9.3.7. */
export const OPTIONS_RESPONSE = optionsResponse(SITE_METHODS)
export const PASSWORD_OPTIONS_RESPONSE = optionsResponse(FORM_METHODS)

export const PRECONDITION_FAILED = errorPage(412, 'preconditionFailed')

/** The 416 response of every file; the length of the file is added. */
export const RANGE_NOT_SATISFIABLE = errorPage(416, 'rangeNotSatisfiable')

export const INTERNAL_ERROR = errorPage(500, 'internalError')

/** `seconds` until a retry makes sense. */
export function unavailable(seconds: number): LocalizedPage {
  return errorPage(503, 'unavailable', { headers: ['Retry-After', `${seconds}`] })
}

export const FORM_TOO_LARGE = errorPage(413, 'unreadableForm')
export const FORM_UNSUPPORTED = errorPage(415, 'unreadableForm')

/** A response that is never cached. */
export function inlineResponse(
  status: number,
  type: string,
  text: string,
  headers: readonly string[] = [],
): EdgeResponse {
  const body = Buffer.from(text)
  return {
    status,
    headers: ['Content-Type', type, 'Content-Length', `${body.length}`, ...ERROR_HEADERS, ...headers],
    body,
  }
}

function methodNotAllowed(methods: string): LocalizedPage {
  return errorPage(405, 'methodNotAllowed', { headers: ['Allow', methods] })
}

function optionsResponse(methods: string): EdgeResponse {
  return { status: 204, headers: ['Allow', methods, 'Cache-Control', 'no-store'] }
}
