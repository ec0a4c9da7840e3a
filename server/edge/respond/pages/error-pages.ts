import { hash } from 'node:crypto'
import { escapeHtml } from '../../../lib/html.ts'
import type { EdgeResponse } from '../../response.ts'
import { THEME } from './theme.ts'

/** The path of the password form: the only path of a site that the site does not own. */
export const PASSWORD_PATH = '/_slipway/password'

/** Headers of error pages: they are never cached (contract, "Serving", 6). */
export const ERROR_HEADERS = ['Cache-Control', 'no-store', 'X-Content-Type-Options', 'nosniff'] as const

const CSS = `${THEME}
body{min-height:100vh;display:grid;place-items:center;padding:1.5rem}
main{width:100%;max-width:27rem;padding:2.25rem;background:var(--card);border:1px solid var(--line);border-radius:.9rem}
.status{margin:0;color:var(--soft);font-size:.85rem;letter-spacing:.08em}
h1{margin:.2rem 0 .6rem;font-size:1.45rem;line-height:1.25;text-wrap:balance}
p{margin:0;color:var(--soft)}
form{display:grid;gap:.6rem;margin-top:1.4rem}
label{font-weight:600}
input,button{font:inherit;padding:.6rem .8rem;border-radius:.5rem}
input{width:100%;color:var(--ink);background:var(--paper);border:1px solid var(--soft)}
button{border:0;background:var(--deep);color:var(--card);font-weight:600;cursor:pointer}
`

/** Nothing runs and nothing is loaded: the only style sheet is inline, allowed by its hash. */
const ERROR_PAGE_CSP = [
  "default-src 'none'",
  `style-src 'sha256-${hash('sha256', CSS, 'base64')}'`,
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join('; ')

interface ErrorPageText {
  status: number
  title: string
  /** Sentences for a visitor. */
  text: string
  /** HTML after the text. */
  extraHtml?: string
  headers?: readonly string[]
}

/** An error page of the service, never cached. Everything but `extraHtml` is escaped. */
export function errorPage({
  status,
  title,
  text,
  extraHtml = '',
  headers = [],
}: ErrorPageText): EdgeResponse {
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<style>${CSS}</style>
</head>
<body>
<main>
<p class="status">${status}</p>
<h1>${escapeHtml(title)}</h1>
<p>${escapeHtml(text)}</p>${extraHtml}
</main>
</body>
</html>
`
  return inlineResponse(status, 'text/html; charset=utf-8', html, [
    'Content-Security-Policy',
    ERROR_PAGE_CSP,
    ...headers,
  ])
}

/** The form in front of a site with a password (contract, "Serving", 7). */
export function passwordPage({
  status,
  text,
  next,
  headers,
}: Omit<ErrorPageText, 'title'> & { next: string }): EdgeResponse {
  const extraHtml = `
<form method="post" action="${PASSWORD_PATH}">
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" required autofocus>
<input name="next" type="hidden" value="${escapeHtml(next)}">
<button>Open the site</button>
</form>`
  return errorPage({ status, title: 'This site needs a password', text, extraHtml, headers: headers ?? [] })
}

export const SITE_NOT_FOUND = errorPage({
  status: 404,
  title: 'There is no site here',
  text: 'Nothing is published at this address. Check it for a typing error.',
})

export const SITE_NOT_PUBLISHED = errorPage({
  status: 404,
  title: 'This site is not published yet',
  text: 'Its address is taken, but no version of it has been finished. Come back shortly.',
})

export const VERSION_NOT_FOUND = errorPage({
  status: 404,
  title: 'There is no such version',
  text: 'This version of the site was never finished, or it is no longer kept.',
})

export const PAGE_NOT_FOUND = errorPage({
  status: 404,
  title: 'There is no such page',
  text: 'The site has nothing at this address. The link may be old, or mistyped.',
})

/** The response for a missing script or style sheet, which HTML would only confuse. */
export const ASSET_NOT_FOUND = inlineResponse(404, 'text/plain; charset=utf-8', 'Not found\n')

export const SITE_EXPIRED = errorPage({
  status: 410,
  title: 'This site has expired',
  text: 'It was published for a limited time, and that time is over.',
})

export const BAD_REQUEST = errorPage({
  status: 400,
  title: 'This request cannot be read',
  text: 'Its address is malformed or says two different things.',
})

/** RFC 9110, 15.5.20. */
export const MISDIRECTED = errorPage({
  status: 421,
  title: 'This connection is for another site',
  text: 'Its certificate is not for the address that was asked for.',
})

/** The methods of the paths of a site, and of the path of the password form. */
const SITE_METHODS = 'GET, HEAD, OPTIONS'
const FORM_METHODS = `${SITE_METHODS}, POST`

export const METHOD_NOT_ALLOWED = methodNotAllowed(SITE_METHODS, 'Sites can only be read.')
export const PASSWORD_METHOD_NOT_ALLOWED = methodNotAllowed(FORM_METHODS, 'A password can only be posted.')

/** RFC 9110, 9.3.7. */
export const OPTIONS_RESPONSE = optionsResponse(SITE_METHODS)
export const PASSWORD_OPTIONS_RESPONSE = optionsResponse(FORM_METHODS)

export const PRECONDITION_FAILED = errorPage({
  status: 412,
  title: 'The file is another one by now',
  text: 'The request asked for it only on a condition that does not hold.',
})

/** The 416 response of every file; the length of the file is added. */
export const RANGE_NOT_SATISFIABLE = errorPage({
  status: 416,
  title: 'The file has no such part',
  text: 'It ends before the part that was asked for.',
})

export const INTERNAL_ERROR = errorPage({
  status: 500,
  title: 'Something is wrong on our side',
  text: 'The service could not answer this request. It has been noted.',
})

/** `seconds` until a retry makes sense. */
export function unavailable(seconds: number): EdgeResponse {
  return errorPage({
    status: 503,
    title: 'Back in a moment',
    text: 'The service is busy or a part of it is away. Please try again shortly.',
    headers: ['Retry-After', `${seconds}`],
  })
}

export function formError(status: 413 | 415, text: string): EdgeResponse {
  return errorPage({ status, title: 'This form cannot be read', text })
}

function inlineResponse(
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

function methodNotAllowed(methods: string, text: string): EdgeResponse {
  return errorPage({ status: 405, title: 'This cannot be done here', text, headers: ['Allow', methods] })
}

function optionsResponse(methods: string): EdgeResponse {
  return { status: 204, headers: ['Allow', methods, 'Cache-Control', 'no-store'] }
}
