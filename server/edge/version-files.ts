import { FULL_READ_BYTES, type RequestHeaders } from '../../packages/http-server/http-handler.ts'
import { MemoryBudget } from '../../packages/http-server/memory/second-chance-cache.ts'
import { Component } from '../lib/component.ts'
import type { Store } from '../store/store.ts'
import { BodyCache } from './body/body-cache.ts'
import { buildResponse } from './build-response.ts'
import type { EdgeOptions } from './edge-options.ts'
import { type BuildOptions, buildPreviewSite } from './resolve/build-site.ts'
import { bodyBytes, type EdgeResponse } from './response.ts'

type VersionFilesOptions = BuildOptions &
  Pick<EdgeOptions, 'blobs' | 'clock'> & { store: Pick<Store, 'read'> }

const NO_BYTES = Buffer.alloc(0)

/** Serves versions within this process as their visitors see them, except for a password and notices. Counts no visits. */
export class VersionFiles extends Component<VersionFilesOptions> {
  readonly #options = { ...this.parts, config: { ...this.parts.config, anonymousNotice: 'off' as const } }
  readonly #bodies = new BodyCache({ ...this.parts, budget: new MemoryBudget(0) })

  /**
   * Returns what answers a GET, with undefined beyond `maxBytes` in total, and rejects when a file cannot be read or
   * rendered; itself undefined for a version that no visitor sees.
   */
  async open(slug: string, id: string, maxBytes: number) {
    const { store, clock } = this.#options
    const found = await store.read.serving.findSite(slug, { now: clock(), withLive: false, version: { id } })
    const isVisible = found && !found.suspension && found.site.deletedAt === null
    const table = isVisible ? await buildPreviewSite(found, this.#options) : undefined
    if (!table) return undefined
    if (table.renderError) throw table.renderError
    let left = maxBytes
    return async ({ host, pathname: path, search: query }: URL, headers: RequestHeaders) => {
      const request = { host, isSecure: true, target: { path, query }, headers, socket: {} }
      const response = buildResponse(table, request, clock())
      const bytes = bodyBytes(response)
      if (bytes > left) return undefined
      left -= bytes
      return { ...response, body: await this.#read(response) }
    }
  }

  async #read({ content, body = NO_BYTES }: EdgeResponse): Promise<Buffer> {
    if (!content) return body
    const found = await this.#bodies.open(content)
    if (found === undefined) throw new Error(`the file ${content.path} is missing or damaged`)
    if (Buffer.isBuffer(found)) return found
    try {
      const parts: Buffer[] = []
      for (let part = await found.next(FULL_READ_BYTES); part; part = await found.next(FULL_READ_BYTES))
        parts.push(part)
      return Buffer.concat(parts)
    } finally {
      found.close()
    }
  }
}
