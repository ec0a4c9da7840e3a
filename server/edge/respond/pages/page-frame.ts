import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { DEFAULT_BRANDING, LOGO_PATH, legalLinks } from '../../../../protocol/branding.ts'
import { accentStyle, type ServiceBranding } from '../../../lib/branding.ts'
import { Html, html } from '../../../lib/html.ts'
import type { EdgeResponse } from '../../response.ts'
import { type Language, TEXTS } from './language.ts'

const TOKENS_FILE = new URL('../../../../dashboard/style/tokens.css', import.meta.url)

const USED = new Set(
  [
    'ground',
    'surface',
    'sunken',
    'ink',
    'quiet',
    'line',
    'edge',
    'accent',
    'accent-strong',
    'on-accent',
    'wrong',
  ]
    .concat('radius', 'radius-large')
    .map((name) => `--${name}`),
)

/** The values of the dashboard. The typeface is not loaded: visitors who have it installed see it. */
export const THEME = `
${readTokens(readFileSync(TOKENS_FILE, 'utf8'))}
*{box-sizing:border-box}
body{margin:0;background:var(--ground);color:var(--ink);font:1rem/1.5 Inter,system-ui,sans-serif}
:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
`

/** In the file, those of the dark color scheme are the last rule. */
function readTokens(css: string): string {
  const [light = '', dark = ''] = css.split('@media (prefers-color-scheme: dark)')
  return `:root{color-scheme:light dark;${pickUsed(light)}}
@media (prefers-color-scheme:dark){:root{${pickUsed(dark)}}}`
}

function pickUsed(css: string): string {
  return [...css.matchAll(/^ +(--[\w-]+): (.+);$/gm)]
    .filter(([, name]) => USED.has(name!))
    .map(([, name, value]) => `${name}:${value}`)
    .join(';')
}

export const REPORT_PATH = '/_slipway/report'

/** Error pages are never cached (contract, "Serving", 6). */
export const ERROR_HEADERS = ['Cache-Control', 'no-store', 'X-Content-Type-Options', 'nosniff'] as const

const CSS = `${THEME}
body{min-height:100vh;display:grid;place-items:center;padding:1.5rem}
main{width:100%;max-width:27rem;padding:2rem;background:var(--surface);border:1px solid var(--line);border-radius:var(--radius-large);overflow-wrap:anywhere}
.above{display:flex;gap:.5rem;align-items:center;margin:0 0 .75rem;color:var(--quiet);font-size:.875rem}
svg{flex:none;fill:none;stroke:currentColor;stroke-width:1.75;stroke-linecap:round;stroke-linejoin:round}
h1{margin:0 0 .5rem;font-size:1.25rem;font-weight:600;line-height:1.3;letter-spacing:-.011em;text-wrap:balance}
p{margin:0;color:var(--quiet)}
p+p{margin-top:1rem}
a{color:var(--accent);text-underline-offset:.2em}
form{display:grid;gap:.5rem;margin-top:1.25rem}
label{font-weight:500}
input,button,select,textarea{min-height:2.75rem;font:inherit;padding:.5rem .75rem;border-radius:var(--radius)}
input,select,textarea{width:100%;color:var(--ink);background:var(--surface);border:1px solid var(--edge);text-overflow:ellipsis}
button{margin-top:.5rem;border:0;background:var(--accent);color:var(--on-accent);font-weight:500;cursor:pointer}
button:hover{background:var(--accent-strong)}
.wrong{color:var(--wrong)}
dl{display:grid;grid-template-columns:auto 1fr;gap:.5rem 1rem;margin:1.25rem 0}
dt{color:var(--quiet)}
dd{margin:0}
footer{margin-top:1.5rem;font-size:.8125rem}
footer a{color:var(--quiet);margin-right:1rem}
footer span{display:flex;gap:.5rem;align-items:center;margin-bottom:.5rem;color:var(--quiet)}
footer img{flex:none;object-fit:contain}
@media (pointer:coarse){footer a,p>a:only-child{display:inline-block;padding-block:.875rem}}
`

export interface ServicePage {
  status: number
  language: Language
  title: string
  main: Html
  headers?: readonly string[]
  /** The form for reports does not link to itself. */
  isReportForm?: boolean
}

export class PageFrame {
  readonly accentStyle: string
  readonly #branding: ServiceBranding
  readonly #logoUrl: string | undefined
  readonly #css: string
  /** Nothing runs, and nothing but the logo is loaded: the only style sheet is inline, allowed by its hash. */
  readonly #securityPolicy: string

  /** Pages of all hosts load the logo from `service`, the base URL. */
  constructor(branding: ServiceBranding, service: string) {
    this.#branding = branding
    this.#logoUrl = branding.hasLogo ? service + LOGO_PATH : undefined
    this.accentStyle = branding.accents ? accentStyle(branding.accents) : ''
    this.#css = CSS + this.accentStyle
    this.#securityPolicy = [
      "default-src 'none'",
      `style-src 'sha256-${hash('sha256', this.#css, 'base64')}'`,
      ...(this.#logoUrl === undefined ? [] : [`img-src ${this.#logoUrl}`]),
      "frame-ancestors 'none'",
      "base-uri 'none'",
    ].join('; ')
  }

  render({ status, language, title, main, headers = [], isReportForm }: ServicePage): EdgeResponse {
    const report = html`<a href="${REPORT_PATH}" rel="nofollow">${TEXTS[language].reportAbuse}</a>`
    const document = html`<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>${isReportForm ? html`\n<meta name="description" content="${TEXTS[language].report.text}">` : undefined}
<style>${new Html(this.#css)}</style>
</head>
<body>
<main>
${main}
<footer>${this.#renderName()}${isReportForm ? undefined : report}${this.#renderLinks(language)}</footer>
</main>
</body>
</html>
`
    return inlineResponse(status, 'text/html; charset=utf-8', document.text, [
      ...['Content-Language', language],
      // The password and the notice may lead to a redirect of the site, for which Chromium applies the directive as well.
      ...['Content-Security-Policy', this.#securityPolicy + (isReportForm ? "; form-action 'self'" : '')],
      ...headers,
    ])
  }

  /** A service without a name and a logo of its own is not named on the pages of other people's sites. */
  #renderName(): Html | undefined {
    const { name } = this.#branding
    const logo = this.#logoUrl && html`<img src="${this.#logoUrl}" alt="" width="20" height="20">`
    if (!logo && name === DEFAULT_BRANDING.name) return undefined
    return html`<span>${logo}${name}</span>`
  }

  #renderLinks(language: Language): Html[] {
    return legalLinks(this.#branding).map(
      ({ kind, url }) => html`<a href="${url}">${TEXTS[language][kind]}</a>`,
    )
  }
}

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
