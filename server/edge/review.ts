import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { HttpRequest } from '../../packages/http-server/http-handler.ts'
import { Component } from '../lib/component.ts'
import { ApiError } from '../lib/errors.ts'
import type { Tail } from './respond/pages/generated-page.ts'
import { inlineResponse } from './respond/pages/page-frame.ts'
import { type EdgeResponse, withHeaders } from './response.ts'

/** At the hosts of review grants only; the site does not own it there. */
const SCRIPT_PATH = '/_slipway/review.js'

/** An output of the build of the dashboard, whose page the script connects to (`dashboard/review/frame.ts`). */
const SCRIPT_FILE = join(import.meta.dirname, '../../dashboard/dist/review-frame.js')

const BASE_ORIGIN = '{base_origin}'

/**
 * Shows versions in the frame of the review page (docs/decisions/051-review.md): with a script in their documents, which
 * reports places and shows marks, and framed by the service only.
 */
export class ReviewFrames extends Component<{ base: string }> {
  readonly #baseOrigin = new URL(this.parts.base).origin
  #script: { response: EdgeResponse; source: string; tag: Tail } | undefined

  /** The element that is appended to each document, for `admit`. UNAVAILABLE until the dashboard is built. */
  get tag(): Tail {
    return this.#load().tag
  }

  /** The script; undefined for the paths of the site. */
  respond({ target }: HttpRequest): EdgeResponse | undefined {
    return target.path === SCRIPT_PATH ? this.#load().response : undefined
  }

  /** For a document in a frame. Everything else that requests such a host gets the bytes as they were published. */
  isFramed({ headers }: HttpRequest): boolean {
    return headers['sec-fetch-dest'] === 'iframe'
  }

  /** The response with a policy that allows the script and a frame of the service. */
  admit(response: EdgeResponse, { host, isSecure }: HttpRequest): EdgeResponse {
    const url = `${isSecure ? 'https' : new URL(this.#baseOrigin).protocol.slice(0, -1)}://${host}${SCRIPT_PATH}`
    const { source } = this.#load()
    const headers: string[] = []
    for (let at = 0; at < response.headers.length; at += 2) {
      const [name, value] = [response.headers[at]!, response.headers[at + 1]!]
      const lower = name.toLowerCase()
      if (lower === 'x-frame-options') continue
      if (lower !== 'content-security-policy') headers.push(name, value)
      else headers.push(...extendPolicies(value, { source, url }).flatMap((policy) => [name, policy]))
    }
    headers.push('Content-Security-Policy', `frame-ancestors ${this.#baseOrigin}`)
    return withHeaders(response, headers)
  }

  #load() {
    if (this.#script) return this.#script
    const code = readScript().replace(BASE_ORIGIN, this.#baseOrigin)
    const integrity = `sha256-${hash('sha256', code, 'base64')}`
    const response = inlineResponse(200, 'text/javascript; charset=utf-8', code)
    const html = `\n<script src="${SCRIPT_PATH}" type="module" integrity="${integrity}" async></script>\n`
    this.#script = { response, source: `'${integrity}'`, tag: { html: Buffer.from(html) } }
    return this.#script
  }
}

function readScript(): string {
  try {
    return readFileSync(SCRIPT_FILE, 'utf8')
  } catch (cause) {
    throw new ApiError('UNAVAILABLE', 'The web pages are not built. Run: npm run build', { cause })
  }
}

/** Of what the browser uses for a script element, the first that a policy has (CSP Level 3, 6.8.3). */
const SCRIPT_DIRECTIVES = ['script-src-elem', 'script-src', 'default-src']

/** Their presence makes browsers ignore 'unsafe-inline' (CSP Level 3, 6.7.3.2). */
const STRICT_SOURCE = /^'(?:sha\d+-|nonce-|strict-dynamic')/i

/**
 * The policies of a header, each with the script and without `frame-ancestors`. A hash would end what 'unsafe-inline'
 * allows; the URL would be ignored beside 'strict-dynamic'.
 */
export function extendPolicies(header: string, { source, url }: { source: string; url: string }): string[] {
  return header.split(',').flatMap((policy) => {
    const directives = policy
      .split(';')
      .map((text) => text.trim().split(/\s+/))
      .filter(([name]) => name !== '' && name!.toLowerCase() !== 'frame-ancestors')
    const find = (name: string) => directives.find(([found]) => found!.toLowerCase() === name)
    const effective = SCRIPT_DIRECTIVES.map(find).find((directive) => directive !== undefined)
    if (effective) {
      const sources = effective.slice(1).filter((text) => text.toLowerCase() !== "'none'")
      const isLoose =
        sources.some((text) => text.toLowerCase() === "'unsafe-inline'") &&
        !sources.some((text) => STRICT_SOURCE.test(text))
      const extended = [...sources, isLoose ? url : source]
      if (effective[0]!.toLowerCase() === 'default-src') directives.push(['script-src-elem', ...extended])
      else effective.splice(1, effective.length - 1, ...extended)
    }
    return directives.length === 0 ? [] : [directives.map((words) => words.join(' ')).join('; ')]
  })
}
