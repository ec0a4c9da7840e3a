import { hash } from 'node:crypto'
import { Component } from '../../../lib/component.ts'
import { Html, html } from '../../../lib/html.ts'
import type { Policy } from '../policy.ts'
import { baseHeaders, type ServedFile } from '../served-file.ts'
import type { LanguageHeaders } from './error-pages.ts'
import { type Language, negotiateLanguage, TEXTS } from './language.ts'
import type { VisitorTexts } from './languages/english.ts'
import { THEME } from './page-frame.ts'

export interface PageHead {
  title: string
  description: string | null
  image: string | undefined
}

export interface PageContent {
  head: PageHead
  css: string
  /** The directive for what is displayed, such as `img-src 'self'`; nothing else is loaded and nothing runs. */
  allowedSources?: string | undefined
  body: Html
  /** The end of the body that is the same in every language: a list of many files is rendered once. */
  renderRest?: () => Html
}

/** What follows each HTML document, and what the policy of a generated page allows for it. */
export interface Tail {
  html: Buffer
  /** A page that frames a document with it has none of its own. */
  isVisible?: true
  styleSources?: readonly string[]
  directives?: readonly string[]
}

interface GeneratedPageOptions {
  make(texts: VisitorTexts): PageContent
  policy: Policy
  accentStyle: string
  tails: readonly Tail[]
  /** What it shows, without texts of the service: the same for every visitor, in a language that only its author knows. */
  document?: ServedFile | undefined
}

export const MAX_LANGUAGES = 3

/** Rendered on first use in each language. */
export class GeneratedPage extends Component<GeneratedPageOptions> {
  readonly kind = 'page'
  readonly #rendered = new Map<Language, ReturnType<typeof renderPage>>()
  #end: PageEnd | undefined

  get blockedUntil(): number {
    return this.parts.document?.blockedUntil ?? 0
  }

  for({ 'accept-language': accepted = '' }: LanguageHeaders) {
    const { make, tails, document } = this.parts
    const language = document ? 'en' : negotiateLanguage(accepted)
    const known = this.#rendered.get(language)
    if (known) return known
    const content = make(TEXTS[language])
    this.#end ??= renderEnd(content, tails)
    const page = renderPage({ content, end: this.#end, language }, this.parts)
    const [oldest] = this.#rendered.keys()
    if (this.#rendered.size >= MAX_LANGUAGES) this.#rendered.delete(oldest!)
    this.#rendered.set(language, page)
    return page
  }
}

type PageEnd = ReturnType<typeof renderEnd>

function renderEnd({ renderRest }: PageContent, tails: readonly Tail[]) {
  const rest = Buffer.from(`${renderRest?.().text ?? ''}\n</body>\n</html>\n`)
  const bytes = Buffer.concat([rest, ...tails.map((tail) => tail.html)])
  return { bytes, digest: hash('sha256', bytes, 'buffer') }
}

function renderPage(
  { content, end, language }: { content: PageContent; end: PageEnd; language: Language },
  { policy, accentStyle, tails, document }: GeneratedPageOptions,
) {
  const css = THEME + accentStyle + content.css
  const start = Buffer.from(renderStart(content, css, document ? undefined : language))
  const body = Buffer.concat([start, end.bytes])
  const etag = `"${hash('sha256', Buffer.concat([start, end.digest, Buffer.from(policy.headersDigest)])).slice(0, 32)}"`
  const always = [
    ...['ETag', etag],
    ...['Content-Security-Policy', securityPolicy(css, content.allowedSources, tails)],
    ...(document ? [] : ['Vary', 'Accept-Language']),
    ...baseHeaders(policy),
  ]
  const headers = [
    ...['Content-Type', 'text/html; charset=utf-8'],
    ...['Content-Length', `${body.length}`],
    ...['Last-Modified', policy.metadataChangedAt.date],
    ...always,
  ]
  return {
    modified: policy.metadataChangedAt.time,
    etag,
    ok: { status: 200, headers, body, isPage: true },
    notModified: { status: 304, headers: always, isPage: true },
  }
}

function renderStart({ head, body }: PageContent, css: string, language: Language | undefined): string {
  const { title, description, image } = head
  return html`<!doctype html>
<html${language === undefined ? undefined : html` lang="${language}"`}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<meta property="og:title" content="${title}">${
    description === null
      ? undefined
      : html`
<meta name="description" content="${description}">
<meta property="og:description" content="${description}">`
  }${
    image === undefined
      ? undefined
      : html`
<meta property="og:image" content="${image}">
<meta name="twitter:card" content="summary_large_image">`
  }
<style>${new Html(css)}</style>
</head>
<body>
${body}`.text
}

function securityPolicy(
  css: string,
  allowedSources: PageContent['allowedSources'],
  tails: readonly Tail[],
): string {
  const styles = [
    `style-src 'sha256-${hash('sha256', css, 'base64')}'`,
    ...tails.flatMap(({ styleSources = [] }) => styleSources),
  ]
  const sources = [
    ...(allowedSources === undefined ? [] : [allowedSources]),
    ...tails.flatMap(({ directives = [] }) => directives),
  ]
  const directives = ["default-src 'none'", styles.join(' '), ...sources]
  return [...directives, "form-action 'none'", "base-uri 'none'"].join('; ')
}
