import { hash } from 'node:crypto'
import { escapeHtml } from '../../html.ts'
import type { Answer } from '../answer.ts'
import { THEME } from './theme.ts'

/** Where the password form posts to: the one path of a site that is not the site's own. */
export const PASSWORD_PATH = '/_slipway/password'

/** What errors say about themselves: they are never cached (contract, "Serving", 6). */
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

/** Nothing runs and nothing is fetched: the one style sheet is in the page, named by its hash. */
const POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${hash('sha256', CSS, 'base64')}'`,
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join('; ')

interface PageText {
  status: number
  title: string
  /** Sentences for a visitor. */
  text: string
  /** HTML after the text. */
  more?: string
  headers?: readonly string[]
}

/** A page of the service's own: an error, never cached. Everything but `more` is escaped. */
export function page({ status, title, text, more = '', headers = [] }: PageText): Answer {
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
<p>${escapeHtml(text)}</p>${more}
</main>
</body>
</html>
`
  return whole(status, 'text/html; charset=utf-8', html, ['Content-Security-Policy', POLICY, ...headers])
}

/** The form that stands before a site with a password (contract, "Serving", 7). */
export function passwordPage({
  status,
  text,
  next,
  headers,
}: Omit<PageText, 'title'> & { next: string }): Answer {
  const more = `
<form method="post" action="${PASSWORD_PATH}">
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" required autofocus>
<input name="next" type="hidden" value="${escapeHtml(next)}">
<button>Open the site</button>
</form>`
  return page({ status, title: 'This site needs a password', text, more, headers: headers ?? [] })
}

export const NO_SITE = page({
  status: 404,
  title: 'There is no site here',
  text: 'Nothing is published at this address. Check it for a typing error.',
})

export const NOT_PUBLISHED = page({
  status: 404,
  title: 'This site is not published yet',
  text: 'Its address is taken, but no version of it has been finished. Come back shortly.',
})

export const NO_VERSION = page({
  status: 404,
  title: 'There is no such version',
  text: 'This version of the site was never finished, or it is no longer kept.',
})

export const NO_PAGE = page({
  status: 404,
  title: 'There is no such page',
  text: 'The site has nothing at this address. The link may be old, or mistyped.',
})

/** In place of a script or a style sheet, which HTML would only confuse. */
export const NO_ASSET = whole(404, 'text/plain; charset=utf-8', 'Not found\n')

export const EXPIRED = page({
  status: 410,
  title: 'This site has expired',
  text: 'It was published for a limited time, and that time is over.',
})

export const MALFORMED = page({
  status: 400,
  title: 'This request cannot be read',
  text: 'Its address is malformed or says two different things.',
})

export const NOT_ALLOWED = page({
  status: 405,
  title: 'This cannot be done here',
  text: 'Sites can only be read.',
  headers: ['Allow', 'GET, HEAD, OPTIONS'],
})

export const PASSWORD_NOT_ALLOWED = page({
  status: 405,
  title: 'This cannot be done here',
  text: 'A password can only be posted.',
  headers: ['Allow', 'GET, HEAD, OPTIONS, POST'],
})

/** RFC 9110, 9.3.7. */
export const OPTIONS = allowing('GET, HEAD, OPTIONS')

/** The same for the path that the password form posts to. */
export const PASSWORD_OPTIONS = allowing('GET, HEAD, OPTIONS, POST')

export const PRECONDITION_FAILED = page({
  status: 412,
  title: 'The file is another one by now',
  text: 'The request asked for it only on a condition that does not hold.',
})

/** What is true of every file; the length of the one that was asked for is still to be added. */
export const NOT_SATISFIABLE = page({
  status: 416,
  title: 'The file has no such part',
  text: 'It ends before the part that was asked for.',
})

export const BROKEN = page({
  status: 500,
  title: 'Something is wrong on our side',
  text: 'The service could not answer this request. It has been noted.',
})

/** `seconds` until another try makes sense. */
export function unavailable(seconds: number): Answer {
  return page({
    status: 503,
    title: 'Back in a moment',
    text: 'The service is busy or a part of it is away. Please try again shortly.',
    headers: ['Retry-After', `${seconds}`],
  })
}

export function refusedForm(status: 413 | 415, text: string): Answer {
  return page({ status, title: 'This form cannot be read', text })
}

function whole(status: number, type: string, text: string, headers: readonly string[] = []): Answer {
  const body = Buffer.from(text)
  return {
    status,
    headers: ['Content-Type', type, 'Content-Length', `${body.length}`, ...ERROR_HEADERS, ...headers],
    body,
  }
}

function allowing(methods: string): Answer {
  return { status: 204, headers: ['Allow', methods, 'Cache-Control', 'no-store'] }
}
