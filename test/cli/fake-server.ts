import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { extract } from 'tar-stream'
import type { FileEntry } from '../../protocol/api/fields.schema.ts'
import { listRequestedFiles } from '../../server/publish/merge.ts'
import { sha256 } from '../api/content.ts'
import { listen } from '../support/listen.ts'

export interface Call {
  method: string
  path: string
  key: string | undefined
  body: Buffer
}

interface FakeVersion {
  files: FileEntry[]
  arrived: Map<string, Buffer>
}

interface FakeSite {
  claimToken: string | undefined
  versions: Map<string, FakeVersion>
  live: string | undefined
}

/** Responds to a request itself and returns true, or returns false to let the server respond. */
export type Interceptor = (call: Call, request: IncomingMessage, response: ServerResponse) => boolean

/** A JSON response, a cut connection, or none at all. */
export type Reply = 'cut' | 'none' | [status: number, body: unknown, headers?: Record<string, string>]

/**
 * Implements the publish protocol in memory. A test sets `intercept` to answer requests in another way; it runs after
 * the body was read, or before with `interceptBeforeBody`.
 */
export class FakeServer implements AsyncDisposable {
  readonly sites = new Map<string, FakeSite>()
  readonly calls: Call[] = []
  intercept: Interceptor = () => false
  /** Runs `intercept` before the body of the request is read. */
  interceptBeforeBody = false
  /** The only valid API key. */
  key = 'sl_live_00000000000000000000000000000000'
  expiresInSeconds = 3600
  /** The URL in its responses, if another one leads to it. */
  publicUrl: string | undefined
  /** Maximum bytes of a bundle; undefined for a server without bundles. */
  bundleBytes: number | undefined
  url = ''
  readonly #server: Server

  private constructor() {
    this.#server = createServer((request, response) => {
      this.#serve(request, response).catch(() => response.destroy())
    })
  }

  /**
   * Gives this reply to the next `times` requests whose "METHOD /path" matches, and removes other interceptors. Without a
   * reply, the server responds itself.
   */
  reply(
    requests: RegExp,
    reply: Reply | ((call: Call) => Reply | undefined),
    times = Number.POSITIVE_INFINITY,
  ): void {
    let left = times
    this.intercept = (call, _request, response) => {
      if (!requests.test(`${call.method} ${call.path}`) || left-- <= 0) return false
      const given = typeof reply === 'function' ? reply(call) : reply
      if (given === 'cut') response.destroy()
      else if (given && given !== 'none') sendJson(response, ...given)
      return given !== undefined
    }
  }

  static async start(): Promise<FakeServer> {
    const fake = new FakeServer()
    fake.url = `http://127.0.0.1:${await listen(fake.#server)}`
    return fake
  }

  /** Received requests, such as "PUT /api/v1/publish/calm-otter"; without queries. */
  get log(): string[] {
    return this.calls.map(({ method, path }) => `${method} ${path.replace(/\?.*/, '')}`)
  }

  /** The logged upload requests. */
  get uploads(): string[] {
    return this.log.filter((line) => line.includes('/_upload/'))
  }

  /** The files of a site's live version, by path. */
  live(slug: string): Map<string, Buffer> {
    const site = this.sites.get(slug)!
    return site.versions.get(site.live!)!.arrived
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const call: Call = {
      method: request.method!,
      path: request.url!,
      key: request.headers.authorization?.slice('Bearer '.length),
      body: Buffer.alloc(0),
    }
    this.calls.push(call)
    if (this.interceptBeforeBody && this.intercept(call, request, response)) return
    call.body = await buffer(request)
    if (!this.interceptBeforeBody && this.intercept(call, request, response)) return
    const [status, body] = await this.#answer(call, request)
    sendJson(response, status, body)
  }

  async #answer(call: Call, request: IncomingMessage): Promise<[number, unknown]> {
    const url = new URL(call.path, this.url)
    const [, , , first = '', second = '', ...rest] = url.pathname.split('/')
    if (call.key !== undefined && call.key !== this.key) return errorResponse(401, 'UNAUTHORIZED')
    if (first === '_upload' && rest.length === 1) return this.#bundle(second, rest[0]!, call)
    if (first === '_upload') return this.#upload(second, decodeURIComponent(rest.join('/')), call, request)
    if (first === 'me') return [200, { key: null }]
    if (first !== 'publish') return errorResponse(404, 'NOT_FOUND')
    const body = call.body.length > 0 ? JSON.parse(call.body.toString()) : {}
    if (second === '') return this.#create(listRequestedFiles(body), call.key)
    const site = this.sites.get(second)
    if (!site) return errorResponse(404, 'NOT_FOUND')
    if (rest.join('/') === 'finalize') return this.#finalize(second, site, body)
    if (site.claimToken ? site.claimToken !== body.claimToken : call.key === undefined) {
      return site.claimToken ? errorResponse(403, 'INVALID_CLAIM_TOKEN') : errorResponse(401, 'UNAUTHORIZED')
    }
    if (rest.join('/') === 'uploads/refresh') return this.#refresh(second, site, body.versionId)
    return [200, this.#stage(second, site, listRequestedFiles(body))]
  }

  #create(files: FileEntry[], key: string | undefined): [number, unknown] {
    const slug = `site-${this.sites.size + 1}`
    const claimToken = key === undefined ? randomUUID() : undefined
    const site: FakeSite = { claimToken, versions: new Map(), live: undefined }
    this.sites.set(slug, site)
    const extras = claimToken && {
      claimToken,
      claimUrl: `${this.publicUrl ?? this.url}/claim?slug=${slug}&token=${claimToken}`,
      expiresAt: '2030-01-02T00:00:00.000Z',
      anonymous: true,
      warning: 'Save it',
    }
    return [201, { ...this.#stage(slug, site, files), status: 'pending', ...extras }]
  }

  #stage(slug: string, site: FakeSite, files: FileEntry[]) {
    const versionId = randomUUID()
    const arrived = new Map<string, Buffer>()
    const before = site.live === undefined ? undefined : site.versions.get(site.live)
    for (const { path, hash, size } of files) {
      if (size === 0) arrived.set(path, Buffer.alloc(0))
      const same = before?.files.find((file) => file.hash === hash)
      if (same) arrived.set(path, before!.arrived.get(same.path)!)
    }
    site.versions.set(versionId, { files, arrived })
    return this.#plan(slug, versionId, site)
  }

  #refresh(slug: string, site: FakeSite, versionId: string): [number, unknown] {
    if (!site.versions.has(versionId) || site.live === versionId) return errorResponse(410, 'UPLOAD_EXPIRED')
    return [200, this.#plan(slug, versionId, site)]
  }

  #plan(slug: string, versionId: string, site: FakeSite) {
    const { files, arrived } = site.versions.get(versionId)!
    const missing = files.filter(({ path }) => !arrived.has(path))
    const uploads = missing.map(({ path, contentType }) => ({
      path,
      method: 'PUT',
      url: `${this.publicUrl ?? this.url}/api/v1/_upload/${slug}/${versionId}/${encodeURIComponent(path)}?token=t${this.calls.length}`,
      headers: { 'Content-Type': contentType },
    }))
    const skipped = [...arrived.keys()].map((path) => ({ path, reason: 'hash_match' }))
    const finalizeUrl = `${this.publicUrl ?? this.url}/api/v1/publish/${slug}/finalize`
    const bundle = this.bundleBytes !== undefined &&
      missing.length > 0 && {
        method: 'PUT',
        url: `${this.publicUrl ?? this.url}/api/v1/_upload/${slug}/${versionId}?token=t${this.calls.length}`,
        headers: { 'Content-Type': 'application/x-tar' },
        maxBytes: this.bundleBytes,
      }
    const { expiresInSeconds } = this
    const upload = { versionId, uploads, ...(bundle && { bundle }), skipped, finalizeUrl, expiresInSeconds }
    return { slug, siteUrl: siteUrl(slug), upload }
  }

  async #bundle(slug: string, versionId: string, { body }: Call): Promise<[number, unknown]> {
    const version = this.sites.get(slug)?.versions.get(versionId)
    if (!version || this.bundleBytes === undefined) return errorResponse(403, 'INVALID_UPLOAD_TOKEN')
    if (body.length > this.bundleBytes) return errorResponse(413, 'PAYLOAD_TOO_LARGE')
    const files: unknown[] = []
    for (const [path, bytes] of await filesInTar(body)) {
      const [status, receipt] = receive(version, path, bytes)
      if (status !== 200) return [status, receipt]
      files.push(receipt)
    }
    return [200, { files }]
  }

  #upload(slug: string, rest: string, { body }: Call, request: IncomingMessage): [number, unknown] {
    const versionId = rest.slice(0, rest.indexOf('/'))
    const path = rest.slice(rest.indexOf('/') + 1)
    const version = this.sites.get(slug)?.versions.get(versionId)
    const file = version?.files.find((one) => one.path === path)
    if (!version || !file) return errorResponse(403, 'INVALID_UPLOAD_TOKEN')
    if (request.headers['content-type'] !== file.contentType)
      return errorResponse(400, 'CONTENT_TYPE_MISMATCH')
    return receive(version, path, body)
  }

  #finalize(slug: string, site: FakeSite, body: { versionId: string; live?: boolean }): [number, unknown] {
    const version = site.versions.get(body.versionId)
    if (!version) return errorResponse(404, 'NOT_FOUND')
    const missing = version.files.map(({ path }) => path).filter((path) => !version.arrived.has(path))
    if (missing.length > 0) return errorResponse(409, 'UPLOADS_MISSING', { missing, count: missing.length })
    const previousVersionId = site.live ?? null
    if (body.live !== false) site.live = body.versionId
    const { versionId } = body
    const previewUrl = siteUrl(`${versionId}--${slug}`)
    const versions = { versionId, currentVersionId: site.live ?? null, previousVersionId }
    return [200, { success: true, slug, siteUrl: siteUrl(slug), status: 'active', ...versions, previewUrl }]
  }
}

/** Stores a file with the size and hash of the manifest; its receipt. */
function receive({ files, arrived }: FakeVersion, path: string, bytes: Buffer): [number, unknown] {
  const file = files.find((one) => one.path === path)
  const [size, hash] = [bytes.length, sha256(bytes)]
  if (!file) return errorResponse(400, 'VALIDATION_ERROR')
  if (size !== file.size) return errorResponse(400, 'SIZE_MISMATCH')
  if (file.hash !== undefined && hash !== file.hash) return errorResponse(400, 'HASH_MISMATCH')
  arrived.set(path, bytes)
  return [200, { path, size, hash }]
}

/** The files in a tar in their order, as another implementation reads them. */
export async function filesInTar(tar: Buffer): Promise<[path: string, bytes: Buffer][]> {
  const files: [string, Buffer][] = []
  for await (const entry of Readable.from([tar]).pipe(extract())) {
    files.push([entry.header.name, Buffer.concat(await Array.fromAsync(entry as AsyncIterable<Buffer>))])
  }
  return files
}

export function sendJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'Content-Type': 'application/json', ...headers })
  response.end(typeof body === 'string' ? body : JSON.stringify(body))
}

/** Status and body of an error response. */
export function errorResponse(status: number, code: string, details?: unknown): [number, unknown] {
  return [status, { error: `The server says ${code}`, code, status, details }]
}

function siteUrl(slug: string): string {
  return `http://${slug}.sites.test/`
}
