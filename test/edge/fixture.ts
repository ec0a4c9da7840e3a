import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders, request } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { after, before } from 'node:test'
import type { StoredFile } from '../../protocol/manifest/manifest.ts'
import type { Blobs } from '../../server/blobs/blobs.ts'
import { diskBlobs } from '../../server/blobs/disk.ts'
import type { Encoding } from '../../server/blobs/encoding.ts'
import { readConfig } from '../../server/config/settings.ts'
import { Edge } from '../../server/edge/edge.ts'
import type { EdgeOptions } from '../../server/edge/edge-options.ts'
import { type LogFields, makeLog } from '../../server/lib/log.ts'
import { MemoryBudget } from '../../server/lib/second-chance-cache.ts'
import { newId } from '../../server/lib/tokens.ts'
import { handleNodeRequest } from '../../server/net/http1/node-handler.ts'
import { InjectedDocuments } from '../../server/sites/page-metadata/injected-document.ts'
import { hashPassword } from '../../server/sites/password.ts'
import { newSlug } from '../../server/sites/slug.ts'
import { deleteSite } from '../../server/sites/trash.ts'
import { UrlBuilder } from '../../server/sites/urls.ts'
import { activateVersion, deleteVersions } from '../../server/sites/version.ts'
import type { BlobEncodings } from '../../server/store/contract/encodings.ts'
import { emptySite, type Site } from '../../server/store/contract/sites.ts'
import { sqliteStore } from '../../server/store/sqlite.ts'
import { sha256 } from '../api/content.ts'
import { domainRow, versionRow } from '../store/rows.ts'
import { WatchedStore } from '../support/watched-store.ts'
import { type Content, readRules, typed } from './contents.ts'

/** The media type of HTML forms. */
export const FORM = 'application/x-www-form-urlencoded'

export interface Reply {
  status: number
  headers: IncomingHttpHeaders
  body: Buffer
  text: string
}

export interface RequestOptions {
  method?: string
  headers?: Record<string, string>
  body?: string
}

/** Encodings by path, with arbitrary bytes. */
type Encoded = Record<string, Partial<Record<Encoding, string | Buffer>>>

interface VersionOptions {
  live?: boolean
  encoded?: Encoded
}

interface FixtureOptions {
  siteDomain?: string
  baseUrl?: string
  cacheBytes?: number
  /** Two edges share a store by sharing a folder. */
  folder?: string
}

/** An edge on its own port with a real store and real blobs, on a clock that the test advances. */
export class EdgeFixture {
  readonly clock = { now: Date.parse('2031-05-06T07:08:09.500Z') }
  readonly logged: { level: string; message: string; fields: LogFields }[] = []
  address = '192.0.2.1'
  addresses!: UrlBuilder
  options!: EdgeOptions
  edge!: Edge
  store!: WatchedStore
  blobs!: Blobs
  folder!: string
  port!: number
  readonly #stack = new AsyncDisposableStack()

  static async start(options: FixtureOptions = {}): Promise<EdgeFixture> {
    const fixture = new EdgeFixture()
    await fixture.#start(options)
    return fixture
  }

  /** A fixture that is started before the tests of the file or suite that calls it, and disposed after them. */
  static shared(options: FixtureOptions = {}): EdgeFixture {
    const fixture = new EdgeFixture()
    before(() => fixture.#start(options))
    after(() => fixture[Symbol.asyncDispose]())
    return fixture
  }

  async #start({
    folder,
    siteDomain = 'sites.test',
    baseUrl,
    cacheBytes = 2 ** 26,
  }: FixtureOptions): Promise<void> {
    const clock = () => this.clock.now
    this.addresses = new UrlBuilder({ baseUrl: baseUrl ?? 'http://api.test:8080', siteDomain })
    this.folder = folder ?? mkdtempSync(join(tmpdir(), 'slipway-edge-'))
    if (!folder) this.#stack.defer(() => rmSync(this.folder, { recursive: true }))
    // Tests get changes of other processes by `pollChanges`.
    const real = this.#stack.use(
      await sqliteStore({ file: join(this.folder, 'slipway.db'), clock, pollIntervalMs: 60_000 }),
    )
    this.store = new WatchedStore(real)
    this.blobs = diskBlobs({ folder: join(this.folder, 'blobs'), bootId: 'test' })
    const log = makeLog({ level: 'debug', text: false, write: () => undefined })
    for (const level of ['debug', 'info', 'warn', 'error'] as const) {
      log[level] = (message, fields = {}) => void this.logged.push({ level, message, fields })
    }
    const budget = new MemoryBudget(cacheBytes)
    this.options = {
      config: readConfig({ SLIPWAY_SITE_DOMAIN: siteDomain }),
      store: this.store.watched,
      blobs: this.blobs,
      addresses: this.addresses,
      injectedDocuments: new InjectedDocuments({ blobs: this.blobs, budget }),
      clock,
      log,
      secret: 'a secret of this test',
      clientIp: () => this.address,
      budget,
    }
    this.edge = new Edge(this.options)
    real.onChange((slugs) => this.edge.invalidate(slugs))
    await this.#listen()
  }

  async #listen(): Promise<void> {
    const server = createServer((request, response) => handleNodeRequest(this.edge, request, response))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    this.port = (server.address() as AddressInfo).port
    this.#stack.defer(() => {
      server.closeAllConnections()
      server.close()
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync()
  }

  /** Creates a site without a version. */
  async createSite(row: Partial<Site> = {}): Promise<string> {
    const slug = row.slug ?? newSlug()
    const now = this.clock.now
    await this.store.real.write('durable', (tx) => tx.sites.insert({ ...emptySite(slug, now), ...row }))
    return slug
  }

  /**
   * Stores the files as a finalized version of the site with its rules, live by default; `encoded` has encodings by path.
   */
  async createVersion(
    slug: string,
    contents: Record<string, Content>,
    { live = true, encoded = {} }: VersionOptions = {},
  ): Promise<string> {
    const id = newId(this.clock.now)
    const files = await this.#storeFiles(id, contents)
    const encodings = await Promise.all(
      Object.entries(encoded).map(([path, bodies]) =>
        this.#encode(files.find((file) => file.path === path)!.hash!, bodies),
      ),
    )
    await this.store.real.write('durable', async (tx) => {
      const rules = readRules(contents)
      await tx.versions.insert(versionRow(id, slug, { createdAt: this.clock.now, files, rules }))
      await tx.blobReferences.addReferences(slug, [...new Set(files.map((file) => file.hash!))])
      await tx.encodings.record(encodings)
      if (live)
        await activateVersion(
          tx,
          (await tx.sites.bySlug(slug))!,
          (await tx.versions.byId(id))!,
          this.clock.now,
        )
    })
    return id
  }

  /** Stores encodings of these bytes, as the precompressor does after a finalize. */
  async encode(slug: string, bytes: string | Buffer, bodies: Encoded[string]): Promise<void> {
    const row = await this.#encode(sha256(bytes), bodies)
    await this.store.real.write('durable', async (tx) => {
      await tx.blobReferences.addReferences(slug, [row.hash])
      await tx.encodings.record([row])
      await tx.notifyChanged(slug)
    })
  }

  async #storeFiles(area: string, contents: Record<string, Content>): Promise<StoredFile[]> {
    const files: StoredFile[] = []
    for (const [path, content] of Object.entries(contents)) {
      const { type, body } = typed(path, content)
      const received = await this.blobs.put(area, Readable.from([body]), { size: body.length })
      files.push({ path, contentType: type, ...received })
    }
    await this.blobs.commit(area, files as { hash: string; size: number }[])
    await this.blobs.discard(area)
    return files
  }

  async #encode(hash: string, bodies: Encoded[string]): Promise<BlobEncodings> {
    const row: BlobEncodings = { hash, br: null, zstd: null, gzip: null }
    for (const [encoding, bytes] of Object.entries(bodies)) {
      row[encoding as Encoding] = bytes.length
      await this.blobs.putEncoding(hash, encoding as Encoding, Buffer.from(bytes))
    }
    return row
  }

  /** Creates a site with a live version. */
  async publish(
    contents: Record<string, Content>,
    row: Partial<Site> = {},
    options: VersionOptions = {},
  ): Promise<string> {
    const slug = await this.createSite(row)
    await this.createVersion(slug, contents, options)
    return slug
  }

  async setPassword(slug: string, password: string | null): Promise<void> {
    await this.updateSite(slug, { passwordHash: password && (await hashPassword(password)) })
  }

  async updateSite(slug: string, row: Partial<Site>): Promise<void> {
    await this.store.real.write('durable', async (tx) => {
      await tx.sites.update(slug, row)
      await tx.notifyChanged(slug)
    })
  }

  async deleteSite(slug: string, reason: NonNullable<Site['deletionReason']>): Promise<void> {
    await this.store.real.write('durable', (tx) => deleteSite(tx, slug, reason, this.clock.now))
  }

  async restore(slug: string, id: string): Promise<void> {
    await this.store.real.write('durable', async (tx) => {
      await activateVersion(tx, (await tx.sites.bySlug(slug))!, (await tx.versions.byId(id))!, this.clock.now)
    })
  }

  async deleteVersion(slug: string, id: string): Promise<void> {
    await this.store.real.write('durable', (tx) => deleteVersions(tx, slug, [id], this.clock.now))
  }

  /** Creates a version with all its files, not finalized. */
  async pendingVersion(slug: string, contents: Record<string, Content>): Promise<string> {
    const id = await this.createVersion(slug, contents, { live: false })
    await this.store.real.write('durable', (tx) => tx.versions.update(id, { state: 'pending' }))
    return id
  }

  async addDomain(domain: string, slug: string, status: 'pending' | 'active'): Promise<void> {
    await this.store.real.write('durable', (tx) =>
      tx.domains.insert(
        domainRow(domain, { slug, status, accountId: `owner of ${slug}`, createdAt: this.clock.now }),
      ),
    )
  }

  async activate(domain: string, slug: string): Promise<void> {
    await this.removeDomain(domain, slug)
    await this.addDomain(domain, slug, 'active')
    await this.store.real.write('durable', (tx) => tx.notifyChanged(domain))
  }

  async moveDomain(domain: string, from: string, to: string): Promise<void> {
    await this.removeDomain(domain, from)
    await this.addDomain(domain, to, 'active')
  }

  async removeDomain(domain: string, slug: string): Promise<void> {
    await this.store.real.write('durable', async (tx) => {
      await tx.domains.remove(`owner of ${slug}`, domain)
      await tx.notifyChanged(slug)
    })
  }

  host(slug: string): string {
    return `${slug}.sites.test`
  }

  /** Sends a request to a site's own host. */
  async get(slug: string, path = '/', options: RequestOptions = {}): Promise<Reply> {
    return this.request(this.host(slug), path, options)
  }

  /** Posts the password form. */
  async submitPassword(slug: string, password: string, next = '/'): Promise<Reply> {
    return this.post(slug, new URLSearchParams({ password, next }).toString())
  }

  async post(slug: string, body: string, type = FORM): Promise<Reply> {
    return this.get(slug, '/_slipway/password', { method: 'POST', body, headers: { 'content-type': type } })
  }

  async request(
    host: string,
    path: string,
    { method = 'GET', headers = {}, body }: RequestOptions = {},
  ): Promise<Reply> {
    const outgoing = request({
      host: '127.0.0.1',
      port: this.port,
      path,
      method,
      headers: { host, ...headers },
      agent: false,
    })
    outgoing.end(body)
    const [response] = await once(outgoing, 'response')
    const chunks: Buffer[] = []
    for await (const chunk of response) chunks.push(chunk)
    const bytes = Buffer.concat(chunks)
    return { status: response.statusCode, headers: response.headers, body: bytes, text: bytes.toString() }
  }

  /** Sends bytes with Connection: close on a new connection; returns all bytes received. */
  async raw(bytes: string): Promise<string> {
    const socket = connect(this.port, '127.0.0.1')
    socket.write(bytes, 'latin1')
    const chunks: Buffer[] = []
    socket.on('data', (chunk: Buffer) => chunks.push(chunk))
    await once(socket, 'close')
    return Buffer.concat(chunks).toString('latin1')
  }
}

/** The Cookie header for the cookie that a reply set. */
export function readCookie(reply: Reply): string {
  return reply.headers['set-cookie']![0]!.split(';')[0]!
}

/** Random bytes. */
export function noise(size: number): Buffer {
  return randomBytes(size)
}

/** A promise with the function that resolves it. */
export function gate(): { open: () => void; opened: Promise<void> } {
  const { promise, resolve } = Promise.withResolvers<void>()
  return { open: () => resolve(), opened: promise }
}
