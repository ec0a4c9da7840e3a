import { hash } from 'node:crypto'
import { Html, html } from '../../../lib/html.ts'
import type { EdgeResponse } from '../../response.ts'
import type { Policy } from '../policy.ts'
import { baseHeaders } from '../served-file.ts'
import { THEME } from './theme.ts'

/** Metadata in the head of a generated page. */
export interface PageHead {
  title: string
  description: string | null
  /** The full URL of an image. */
  image: string | undefined
}

/** The content of a generated page. */
export interface PageContent {
  head: PageHead
  css: string
  /** The directive for the displayed content, such as `img-src 'self'`; nothing else is loaded and nothing runs. */
  allowedSources?: string | undefined
  body: Html
}

/** A generated page at the root of a site without a root document, rendered on first use. */
export class GeneratedPage {
  readonly #make: () => PageContent
  readonly #policy: Policy
  readonly #accentStyle: string
  #etag: string | undefined
  #ok: EdgeResponse | undefined
  #notModified: EdgeResponse | undefined

  constructor(make: () => PageContent, policy: Policy, accentStyle: string) {
    this.#make = make
    this.#policy = policy
    this.#accentStyle = accentStyle
  }

  get kind(): 'page' {
    return 'page'
  }

  /** Milliseconds since 1970. */
  get modified(): number {
    return this.#policy.metadataChangedAt.time
  }

  get etag(): string {
    this.#etag ??= `"${hash('sha256', this.ok.body!).slice(0, 32)}"`
    return this.#etag
  }

  get ok(): EdgeResponse {
    this.#ok ??= this.#build()
    return this.#ok
  }

  get notModified(): EdgeResponse {
    this.#notModified ??= {
      status: 304,
      headers: ['ETag', this.etag, ...baseHeaders(this.#policy)],
      isPage: true,
    }
    return this.#notModified
  }

  #build(): EdgeResponse {
    const markup = this.#make()
    const css = THEME + this.#accentStyle + markup.css
    const body = Buffer.from(renderDocument(markup, css))
    const headers = [
      'Content-Type',
      'text/html; charset=utf-8',
      'Content-Length',
      `${body.length}`,
      'ETag',
      `"${hash('sha256', body).slice(0, 32)}"`,
      'Last-Modified',
      this.#policy.metadataChangedAt.date,
      'Content-Security-Policy',
      securityPolicy(css, markup.allowedSources),
      ...baseHeaders(this.#policy),
    ]
    return { status: 200, headers, body, isPage: true }
  }
}

function renderDocument({ head, body }: PageContent, css: string): string {
  const { title, description, image } = head
  return html`<!doctype html>
<html lang="en">
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
${body}
</body>
</html>
`.text
}

function securityPolicy(css: string, allowedSources: PageContent['allowedSources']): string {
  const style = `style-src 'sha256-${hash('sha256', css, 'base64')}'`
  const sources = allowedSources === undefined ? [] : [allowedSources]
  return ["default-src 'none'", style, ...sources, "form-action 'none'", "base-uri 'none'"].join('; ')
}
