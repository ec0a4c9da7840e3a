import { argon2Sync, randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { after, before } from 'node:test'
import { ClientMemory } from '../../packages/http-server/clients/client-memory.ts'
import { Connections } from '../../packages/http-server/clients/connections.ts'
import { handleNodeRequest } from '../../packages/http-server/http1/node-handler.ts'
import { Listener } from '../../packages/http-server/listener.ts'
import { MemoryBudget } from '../../packages/http-server/memory/second-chance-cache.ts'
import { EMPTY_HASH } from '../../protocol/manifest/empty-files.ts'
import type { StoredFile } from '../../protocol/manifest/manifest.ts'
import { BlobReader } from '../../server/blobs/blob-reader.ts'
import type { BlobLocation, Blobs, StoredBlob } from '../../server/blobs/blobs.ts'
import type { Encoding } from '../../server/blobs/encoding.ts'
import { readConfig } from '../../server/config/settings.ts'
import { Edge } from '../../server/edge/edge.ts'
import type { EdgeOptions } from '../../server/edge/edge-options.ts'
import { DEFAULT_PAGES } from '../../server/edge/respond/pages/error-pages.ts'
import { type LogFields, makeLog } from '../../server/lib/log.ts'
import { Metrics } from '../../server/lib/metrics.ts'
import { newId } from '../../server/lib/tokens.ts'
import type { SiteRules } from '../../server/site-rules/site-rules.ts'
import { MarkdownPages } from '../../server/sites/markdown/markdown-pages.ts'
import { InjectedDocuments } from '../../server/sites/page-metadata/injected-document.ts'
import { newSlug } from '../../server/sites/slug.ts'
import { deleteSite } from '../../server/sites/trash.ts'
import { UrlBuilder } from '../../server/sites/urls.ts'
import { activateVersion, deleteVersions, forgetFormerFiles } from '../../server/sites/version.ts'
import type { Store, WriteTransaction } from '../../server/store/store.ts'
import type { BlobEncodings } from '../../server/store/tables/blobs.ts'
import type { Domain } from '../../server/store/tables/domains.ts'
import { emptySite, type Site } from '../../server/store/tables/sites.ts'
import type { Version } from '../../server/store/tables/versions.ts'
import { sha256 } from '../api/content.ts'
import { domainRow, versionRow } from '../store/rows.ts'
import { openTestBlobs, openTestStore } from '../support/engines.ts'
import { type HttpResponse, type RequestSpec, sendRequest } from '../support/http-client.ts'
import { makeLookupLimits } from '../support/lookup-limits.ts'
import { parseRules } from '../support/parse-rules.ts'
import { PATIENT } from '../support/patient.ts'
import { WatchedStore } from '../support/watched-store.ts'

/** The media type of HTML forms. */
export const FORM = 'application/x-www-form-urlencoded'

/** A file's text or bytes, optionally with its type. */
export type Content = string | Buffer | { type: string; body: string | Buffer }

const TYPES: Record<string, string> = {
  html: 'text/html; charset=utf-8',
  css: 'text/css',
  js: 'text/javascript',
  txt: 'text/plain',
  json: 'application/json',
  zip: 'application/zip',
}

export type RequestOptions = Pick<RequestSpec, 'method' | 'headers' | 'body'>

/** Encodings by path, with arbitrary bytes. */
type Encoded = Record<string, Partial<Record<Encoding, string | Buffer>>>

interface VersionOptions {
  live?: boolean
  encoded?: Encoded
  row?: Partial<Version>
}

interface FixtureOptions {
  siteDomain?: string
  baseUrl?: string
  cacheBytes?: number
  /** Settings beside the domain of sites. */
  environment?: Record<string, string>
  /** Two edges share a store by sharing a folder. */
  folder?: string
  /** Opens another store than one in SQLite. */
  openStore?: () => Promise<Store>
  /** The deadline of a rendering of Markdown. */
  renderMs?: number
}

/** An edge on its own port with a real store and real blobs, on a clock that the test advances. */
export class EdgeFixture {
  readonly clock = { now: Date.parse('2031-05-06T07:08:09.500Z') }
  readonly logged: { level: string; message: string; fields: LogFields }[] = []
  readonly clientMemory = new ClientMemory({ totalBytes: 2 ** 26, perNetworkBytes: 2 ** 26 })
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
    openStore,
    siteDomain = 'sites.test',
    baseUrl,
    cacheBytes = 2 ** 26,
    environment = {},
    renderMs = PATIENT.markdown,
  }: FixtureOptions): Promise<void> {
    const clock = () => this.clock.now
    this.addresses = new UrlBuilder({ baseUrl: baseUrl ?? 'http://api.test:8080', siteDomain })
    this.folder = folder ?? mkdtempSync(join(tmpdir(), 'slipway-edge-'))
    if (!folder) this.#stack.defer(() => rmSync(this.folder, { recursive: true }))
    // Tests get changes of other processes by `pollChanges`.
    const open = () => openTestStore({ folder: this.folder, clock, pollIntervalMs: 60_000 })
    const real = this.#stack.use(await (openStore ?? open)())
    this.store = new WatchedStore(real)
    this.blobs = await openTestBlobs({ folder: this.folder, clock })
    const log = makeLog({ level: 'debug', text: false, write: () => undefined })
    for (const level of ['debug', 'info', 'warn', 'error'] as const) {
      log[level] = (message, fields = {}) => void this.logged.push({ level, message, fields })
    }
    log.summarize = (level, message, fields) => log[level](message, fields)
    const budget = new MemoryBudget(cacheBytes)
    const blobReader = new BlobReader(this.blobs, this.store.watched.read.blobs)
    const metrics = new Metrics()
    this.options = {
      config: readConfig({ SLIPWAY_SITE_DOMAIN: siteDomain, ...environment }),
      store: this.store.watched,
      ...makeLookupLimits({ silenceMs: () => this.store.silenceMs(), clock, metrics }),
      blobs: this.blobs,
      deadlines: PATIENT,
      addresses: this.addresses,
      pages: DEFAULT_PAGES,
      injectedDocuments: new InjectedDocuments({ blobs: blobReader, budget }),
      markdownPages: new MarkdownPages({ blobs: blobReader, budget, log, timeoutMs: renderMs }),
      clock,
      log,
      metrics,
      secret: 'a secret of this test',
      clientIp: () => this.address,
      budget,
    }
    this.edge = new Edge(this.options)
    real.onChange((names, _, effects) => this.edge.invalidate(names, effects))
    await this.#listen()
  }

  /** Serves from empty caches, as after a restart. */
  forgetAll(): void {
    this.edge = new Edge(this.options)
  }

  async #listen(): Promise<void> {
    const { log } = this.options
    const connections = this.#stack.use(
      new Connections({ memory: this.clientMemory, perNetwork: undefined, log }),
    )
    const listener = await Listener.open('127.0.0.1', 0, { connections, deadlines: PATIENT })
    this.#stack.defer(() => listener.drain(0))
    listener.serve({ request: (request, response) => handleNodeRequest(this.edge, request, response) })
    this.port = listener.port
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync()
  }

  #write<T>(work: (tx: WriteTransaction) => Promise<T>): Promise<T> {
    return this.store.real.write('durable', {}, work)
  }

  /** Creates a site without a version. */
  async createSite(row: Partial<Site> = {}): Promise<string> {
    const slug = row.slug ?? newSlug()
    const now = this.clock.now
    await this.#write((tx) => tx.sites.insert({ ...emptySite(slug, now), ...row }))
    return slug
  }

  /**
   * Stores the files as a finalized version of the site with its rules, live by default; `encoded` has encodings by path.
   */
  async createVersion(
    slug: string,
    contents: Record<string, Content>,
    { live = true, encoded = {}, row }: VersionOptions = {},
  ): Promise<string> {
    const id = newId(this.clock.now)
    const { files, stored } = await this.#storeFiles(contents)
    const encodings = await Promise.all(
      Object.entries(encoded).map(([path, bodies]) =>
        this.#encode(files.find((file) => file.path === path)!.hash!, bodies),
      ),
    )
    const rules = readRules(contents)
    await this.#write(async (tx) => {
      await tx.rows.insert(
        'versions',
        versionRow(id, slug, { createdAt: this.clock.now, files, rules, ...row }),
      )
      await tx.blobs.add(slug, stored)
      await tx.blobs.recordEncodings(encodings)
      if (live) await this.#activate(tx, slug, id)
    })
    return id
  }

  /** Stores encodings of a file or of the injected document, as the precompressor does after a finalize. */
  async encode(slug: string, bytes: string | Buffer, bodies: Encoded[string]): Promise<void> {
    const row = await this.#encode(sha256(bytes), bodies)
    await this.#write(async (tx) => {
      await tx.blobs.addReferences(slug, [row.hash])
      await tx.blobs.recordEncodings([row])
      const { liveVersionId } = (await tx.sites.find(slug))!
      const isPublished = (await tx.versions.findFiles(liveVersionId!))!.some(({ hash }) => hash === row.hash)
      if (!isPublished) await tx.versions.update(liveVersionId!, { injectedDocumentHash: row.hash })
      await tx.notifyChanged(slug)
    })
  }

  async #storeFiles(
    contents: Record<string, Content>,
  ): Promise<{ files: StoredFile[]; stored: StoredBlob[] }> {
    const files: StoredFile[] = []
    const stored: StoredBlob[] = []
    for (const [path, content] of Object.entries(contents)) {
      const { type, body } = typed(path, content)
      if (body.length === 0) {
        files.push({ path, contentType: type, hash: EMPTY_HASH, size: 0 })
        continue
      }
      const blob = await this.blobs.put(Readable.from([body]), { size: body.length })
      files.push({ path, contentType: type, hash: blob.hash, size: blob.size })
      stored.push(blob)
    }
    await this.blobs.commit(stored)
    return { files, stored }
  }

  async #encode(hash: string, bodies: Encoded[string]): Promise<BlobEncodings> {
    const locations: Record<Encoding, BlobLocation | null> = { br: null, zstd: null, gzip: null }
    const stored = await this.blobs.putTogether(Object.values(bodies).map((bytes) => Buffer.from(bytes)))
    for (const [index, encoding] of Object.keys(bodies).entries())
      locations[encoding as Encoding] = stored[index]!
    return { hash, ...locations }
  }

  /** Where the store says that a published content is. */
  async locate(content: string | Buffer): Promise<BlobLocation> {
    return (await this.store.real.read.blobs.find(sha256(content)))!
  }

  /** Makes the blob of this content, or all, absent until disposal. */
  loseBlobs(content?: string | Buffer): Disposable {
    const { bytes, read } = this.blobs
    const hash = content === undefined ? undefined : sha256(content)
    const isLost = (location: BlobLocation) => hash === undefined || location.hash === hash
    this.blobs.bytes = async (location) => (isLost(location) ? undefined : bytes(location))
    this.blobs.read = async (location, range) => (isLost(location) ? undefined : read(location, range))
    return { [Symbol.dispose]: () => void Object.assign(this.blobs, { bytes, read }) }
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
    await this.updateSite(slug, { passwordHash: password && hashCheaply(password) })
  }

  async updateSite(slug: string, row: Partial<Site>): Promise<void> {
    await this.#write(async (tx) => {
      await tx.sites.update(slug, row)
      await tx.notifyChanged(slug)
    })
  }

  /** Blocks a content, or ends that, and invalidates these sites. */
  async setBlocked(content: string, isBlocked: boolean, slugs: readonly string[]): Promise<void> {
    const block = { kind: 'hash', value: sha256(content) } as const
    await this.#write(async (tx) => {
      const { now } = this.clock
      if (isBlocked)
        await tx.rows.put('blocks', { ...block, reason: 'malware', createdAt: now, expiresAt: null })
      else await tx.blocks.remove(block.kind, block.value)
      for (const slug of slugs) await tx.notifyChanged(slug)
    })
  }

  deleteSite(slug: string, reason: NonNullable<Site['deletionReason']>): Promise<unknown> {
    return this.#write((tx) => deleteSite(tx, slug, reason, this.clock.now))
  }

  /** Makes a version live. */
  async restore(slug: string, id: string): Promise<void> {
    await this.#write((tx) => this.#activate(tx, slug, id))
  }

  async #activate(tx: WriteTransaction, slug: string, id: string): Promise<void> {
    await activateVersion(tx, (await tx.sites.find(slug))!, (await tx.versions.find(id))!, {
      now: this.clock.now,
    })
  }

  deleteVersion(slug: string, id: string): Promise<unknown> {
    return this.#write(async (tx) => {
      const { now } = this.clock
      await forgetFormerFiles(tx, (await tx.sites.find(slug))!, id, now)
      await deleteVersions(tx, slug, { ids: [id], now, effect: 'withdrawn' })
    })
  }

  /** Adds an active custom domain, or another row. */
  addDomain(domain: string, slug: string, row: Partial<Domain> = {}): Promise<unknown> {
    const accountId = `owner of ${slug}`
    return this.#write((tx) =>
      tx.domains.insert(
        domainRow(domain, { slug, status: 'active', accountId, createdAt: this.clock.now, ...row }),
      ),
    )
  }

  async moveDomain(domain: string, from: string, to: string): Promise<void> {
    await this.#write(async (tx) => {
      await tx.rows.remove('domains', { accountId: `owner of ${from}`, domain })
      await tx.notifyChanged(from)
    })
    await this.addDomain(domain, to)
  }

  host(slug: string): string {
    return `${slug}.sites.test`
  }

  /** Sends a request to a site's own host. */
  async get(slug: string, path = '/', options: RequestOptions = {}): Promise<HttpResponse> {
    return this.request(this.host(slug), path, options)
  }

  /** Posts the password form. */
  async submitPassword(
    slug: string,
    password: string,
    next = '/',
    headers: Record<string, string> = {},
  ): Promise<HttpResponse> {
    return this.post(slug, new URLSearchParams({ password, next }).toString(), headers)
  }

  async post(slug: string, body: string, headers: Record<string, string> = {}): Promise<HttpResponse> {
    return this.get(slug, '/_slipway/password', {
      ...{ method: 'POST', body, headers: { 'content-type': FORM, ...headers } },
    })
  }

  request(host: string, path: string, { headers, ...more }: RequestOptions = {}): Promise<HttpResponse> {
    return sendRequest(this.port, { path, headers: { host, ...headers }, ...more })
  }

  /** Sends bytes with Connection: close on a new connection; returns all bytes received. */
  async raw(bytes: string): Promise<string> {
    const socket = connect(this.port, '127.0.0.1')
    socket.write(bytes, 'latin1')
    return (await buffer(socket)).toString('latin1')
  }
}

/** The default media type by extension. */
export function defaultType(path: string): string {
  return TYPES[path.split('.').at(-1)!] ?? 'application/octet-stream'
}

function typed(path: string, content: Content): { type: string; body: Buffer } {
  const isTyped = typeof content === 'object' && 'type' in content
  const { type, body } = isTyped ? content : { type: defaultType(path), body: content }
  return { type, body: Buffer.from(body) }
}

/** The rules as finalize stores them. */
function readRules(contents: Record<string, Content>): SiteRules | null {
  const textOf = (path: string) =>
    path in contents ? typed(path, contents[path]!).body.toString() : undefined
  return parseRules({ redirects: textOf('_redirects'), headers: textOf('_headers') }).rules
}

/** The stored form of a password, at the lowest cost: hashing as usual would take most CPU time of these tests. */
function hashCheaply(password: string): string {
  const [nonce, memory, passes] = [randomBytes(16), 8, 1]
  const message = Buffer.from(password.normalize('NFC'))
  const tag = argon2Sync('argon2id', { message, nonce, memory, passes, parallelism: 1, tagLength: 32 })
  return ['argon2id', memory, passes, 1, nonce.toString('base64url'), tag.toString('base64url')].join('$')
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
