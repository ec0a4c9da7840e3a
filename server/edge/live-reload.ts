import { rateLimitSubnet } from '../../packages/http-server/clients/client-ip.ts'
import type { HttpRequest } from '../../packages/http-server/http-handler.ts'
import { ChangeWaits, type WaitLimits } from '../lib/change-waits.ts'
import { Component } from '../lib/component.ts'
import { readParameters } from '../lib/parameters.ts'
import type { EdgeOptions } from './edge-options.ts'
import { DEFAULT_PAGES } from './respond/pages/error-pages.ts'
import type { Tail } from './respond/pages/generated-page.ts'
import { inlineResponse } from './respond/pages/page-frame.ts'
import type { EdgeResponse } from './response.ts'

/** Paths of previews with live reload that the site does not own. */
const SCRIPT_PATH = '/_slipway/reload.js'
const CHANGE_PATH = '/_slipway/reload'

/** Of a process, a network and a site. */
const WAITING = { total: 1000, perKey: 100, perName: 250 }

const MAX_PAGE_NAME_LENGTH = 32

/**
 * Waits for another version while the page is visible, because browsers limit the connections to a host. A page that still
 * has its version after it was reloaded for another one asks again later: it came from a cache, or another node than the
 * one that has the page was asked, which does not know its version yet, or the preview (404).
 */
const SCRIPT = `(() => {
  const version = new URL(document.currentScript.src).searchParams.get('version')
  const key = 'slipway-reloaded'
  const page = Math.random().toString(36).slice(2)
  if (window[key]) return
  window[key] = true
  let failures = 0
  let waiting
  let timer
  const wait = async () => {
    waiting = new AbortController()
    const { signal } = waiting
    try {
      const response = await fetch('${CHANGE_PATH}?version=' + version + '&page=' + page, { cache: 'no-store', signal })
      const { status } = response
      const change = version + ' ' + (await response.text())
      if (status === 200 && sessionStorage.getItem(key) !== change) {
        sessionStorage.setItem(key, change)
        return location.reload()
      }
      failures = status === 204 ? 0 : failures + 1
    } catch {
      failures++
    }
    if (!signal.aborted) timer = setTimeout(begin, failures === 0 ? 0 : Math.min(30_000, 500 * 2 ** failures))
  }
  const begin = () => document.visibilityState === 'visible' && wait()
  document.addEventListener('visibilitychange', () => {
    waiting?.abort()
    clearTimeout(timer)
    if (document.visibilityState === 'visible') return wait()
    fetch('${CHANGE_PATH}?end&page=' + page, { keepalive: true }).catch(() => undefined)
  })
  begin()
})()
`

const SCRIPT_RESPONSE = inlineResponse(200, 'text/javascript; charset=utf-8', SCRIPT)
const UNCHANGED: EdgeResponse = { status: 204, headers: ['Cache-Control', 'no-store'] }

export function reloadTag(versionId: string): Tail {
  return {
    html: Buffer.from(`\n<script src="${SCRIPT_PATH}?version=${versionId}" async></script>\n`),
    directives: ["script-src 'self'", "connect-src 'self'"],
  }
}

interface LiveReloadOptions extends Pick<EdgeOptions, 'clientIp'> {
  maxWaitMs?: number
  waiting?: WaitLimits
}

/** Answers the requests of open pages for the next version of their preview (docs/decisions/027-live-reload.md). */
export class LiveReload extends Component<LiveReloadOptions> {
  readonly #waits = new ChangeWaits(this.parts.waiting ?? WAITING, this.parts.maxWaitMs)
  /** By network, site and name of the page. */
  readonly #pages = new Map<string, { abort: AbortController; response: Promise<EdgeResponse> }>()

  /**
   * The response to a request of a preview's page; undefined for paths of the site. `findVersionId` returns what the
   * preview shows now. UNAVAILABLE when too many requests wait. A request ends the earlier one of its page, whose
   * client disconnected: protocols do not report that. One with `end`, of a hidden or closed page, does not wait.
   */
  respond(
    request: HttpRequest,
    slug: string,
    findVersionId: () => Promise<string | undefined>,
  ): EdgeResponse | Promise<EdgeResponse> | undefined {
    const { path, query } = request.target
    if (path === SCRIPT_PATH) return SCRIPT_RESPONSE
    if (path !== CHANGE_PATH) return undefined
    const parameters = readParameters(query)
    const known = parameters.get('version')
    const page = parameters.get('page')?.slice(0, MAX_PAGE_NAME_LENGTH)
    const network = rateLimitSubnet(this.parts.clientIp(request))
    const key = `${network} ${slug} ${page}`
    if (parameters.has('end')) {
      this.#pages.get(key)?.abort.abort()
      return UNCHANGED
    }
    const check = async () => {
      const versionId = await findVersionId()
      if (versionId === undefined) return DEFAULT_PAGES.pageNotFound.for(request.headers)
      return versionId === known ? undefined : inlineResponse(200, 'text/plain; charset=utf-8', versionId)
    }
    const wait = async (signal: AbortSignal) =>
      (await this.#waits.wait([slug], { caller: network, signal, check })) ?? UNCHANGED
    return page ? this.#replaceEarlier(key, wait) : wait(new AbortController().signal)
  }

  invalidate(names: readonly string[] | undefined): void {
    this.#waits.notify(names)
  }

  end(): void {
    this.#waits.end()
  }

  /** Waits after the earlier request of the same page has ended, so that the page never counts twice. */
  async #replaceEarlier(
    key: string,
    wait: (signal: AbortSignal) => Promise<EdgeResponse>,
  ): Promise<EdgeResponse> {
    const earlier = this.#pages.get(key)
    const abort = new AbortController()
    const waitAlone = async () => {
      earlier?.abort.abort()
      await earlier?.response.catch(() => undefined)
      return wait(abort.signal)
    }
    const page = { abort, response: waitAlone() }
    this.#pages.set(key, page)
    try {
      return await page.response
    } finally {
      if (this.#pages.get(key) === page) this.#pages.delete(key)
    }
  }
}
