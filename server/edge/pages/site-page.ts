import { hash } from 'node:crypto'
import { Html, html } from '../../html.ts'
import type { Answer } from '../answer.ts'
import type { Policy } from '../policy.ts'
import { common } from '../served-file.ts'
import { THEME } from './theme.ts'

/** What a page made for a site says of it in its head. */
export interface Head {
  title: string
  description: string | null
  /** The address of an image, in full. */
  image: string | undefined
}

/** A page before it is one. */
export interface Markup {
  head: Head
  css: string
  /** The directive that lets in what the page shows; nothing else is fetched and nothing runs. */
  shows?: 'img-src' | 'media-src' | 'frame-src' | undefined
  body: Html
}

/** A page that stands at the root of a site without a document of its own. Made when first asked for. */
export class SitePage {
  readonly #make: () => Markup
  readonly #policy: Policy
  #etag: string | undefined
  #ok: Answer | undefined
  #notModified: Answer | undefined

  constructor(make: () => Markup, policy: Policy) {
    this.#make = make
    this.#policy = policy
  }

  get kind(): 'page' {
    return 'page'
  }

  /** Milliseconds since 1970. */
  get modified(): number {
    return this.#policy.said.time
  }

  get etag(): string {
    this.#etag ??= `"${hash('sha256', this.ok.body!).slice(0, 32)}"`
    return this.#etag
  }

  get ok(): Answer {
    this.#ok ??= this.#made()
    return this.#ok
  }

  get notModified(): Answer {
    this.#notModified ??= { status: 304, headers: ['ETag', this.etag, ...common(this.#policy)], isPage: true }
    return this.#notModified
  }

  #made(): Answer {
    const markup = this.#make()
    const css = THEME + markup.css
    const body = Buffer.from(documentOf(markup, css))
    const headers = [
      'Content-Type',
      'text/html; charset=utf-8',
      'Content-Length',
      `${body.length}`,
      'ETag',
      `"${hash('sha256', body).slice(0, 32)}"`,
      'Last-Modified',
      this.#policy.said.date,
      'Content-Security-Policy',
      securityPolicy(css, markup.shows),
      ...common(this.#policy),
    ]
    return { status: 200, headers, body, isPage: true }
  }
}

const UNITS = ['kB', 'MB', 'GB', 'TB']

/** Bytes for people: `999 bytes`, `4.2 kB`, `17 MB`. */
export function sizeText(bytes: number): string {
  if (bytes < 1000) return bytes === 1 ? '1 byte' : `${bytes} bytes`
  let value = bytes / 1000
  let unit = 0
  while (Math.round(value) >= 1000) {
    value /= 1000
    unit++
  }
  return `${value < 9.95 ? value.toFixed(1) : Math.round(value)} ${UNITS[unit]}`
}

function documentOf({ head, body }: Markup, css: string): string {
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

function securityPolicy(css: string, shows: Markup['shows']): string {
  const style = `style-src 'sha256-${hash('sha256', css, 'base64')}'`
  const shown = shows === undefined ? [] : [`${shows} 'self'`]
  return ["default-src 'none'", style, ...shown, "form-action 'none'", "base-uri 'none'"].join('; ')
}
