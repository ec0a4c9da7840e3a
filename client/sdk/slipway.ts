import type {
  ArchiveAnswer,
  BundleReceipt,
  BundleTarget,
  ClaimAnswer,
  ClaimPreview,
  CreateAnswer,
  DeleteAnswer,
  DeleteDomainAnswer,
  DeleteVersionAnswer,
  DomainList,
  DomainRecord,
  DuplicateAnswer,
  FinalizeAnswer,
  FinalizeRequest,
  LeaveAnswer,
  Me,
  MetadataRequest,
  NewKeyAnswer,
  PublishRequest,
  RequestCodeAnswer,
  SessionAnswer,
  SessionList,
  SessionsEndedAnswer,
  SiteDetails,
  SiteList,
  SiteSummary,
  UpdateAnswer,
  UploadReceipt,
  UploadTarget,
  VerifyCodeAnswer,
  VersionDetails,
  VersionList,
  VisitRange,
  Visits,
} from '../wire.ts'
import { bytesOf, jsonOf, reach } from './answer.ts'
import { recordsOf } from './events.ts'
import { type Published, type PublishOptions, publish } from './publish.ts'
import { type Patience, realPatience } from './retry.ts'
import { type Bytes, fetchTransport, type Outgoing, type Payload, type Send } from './transport.ts'
import type { Sending } from './upload.ts'

export type * from '../wire.ts'
export type { Progress, Published, PublishOptions, Staged } from './publish.ts'
export { isSlipwayError, SlipwayError } from './slipway-error.ts'
export type { Bytes, Incoming, Outgoing, Payload, Send } from './transport.ts'
export type { PublishFile, Sending } from './upload.ts'

export interface SlipwayOptions {
  /** Address of the server; empty in a page that the server itself serves. */
  baseUrl: string
  /** API key. Without it calls are anonymous, or the page's session. */
  key?: string | undefined
  /** The HTTP transport; `fetch` by default. */
  send?: Send | undefined
  /** Stops every call of this client. */
  signal?: AbortSignal | undefined
  /** Clock, pauses and dice of retrying; tests bring their own. */
  patience?: Patience | undefined
}

/** A file or an archive on its way back. */
export interface Download {
  contentType: string | null
  /** In bytes, or null when the server does not say. */
  size: number | null
  bytes(): AsyncIterable<Uint8Array>
}

export interface ArchiveOptions {
  contentType: 'application/zip' | 'application/x-tar' | 'application/gzip'
  /** Length of a streamed archive in bytes, where it is known. */
  size?: number
  /** The site to update; without it a new one is made. */
  slug?: string
  /** In place of a key, to update an anonymous site. */
  claimToken?: string
  baseVersionId?: string
  title?: string
  description?: string
  ogImagePath?: string
  spaMode?: boolean
  ttlSeconds?: number
  /** `false` keeps the version as a draft. */
  live?: boolean
}

interface Call extends Sending {
  json?: unknown
  body?: Bytes
  contentType?: string
}

/**
 * A client of a Slipway server: one method for each call of the API, and `publish` for the whole story.
 * Every method rejects with a SlipwayError, or with the signal's reason when it was aborted.
 */
export class Slipway {
  readonly #options: SlipwayOptions
  readonly #baseUrl: string
  readonly #send: Send
  readonly #patience: Patience

  constructor(options: SlipwayOptions) {
    this.#options = options
    this.#baseUrl = options.baseUrl.replace(/\/+$/, '')
    this.#send = options.send ?? fetchTransport
    this.#patience = options.patience ?? realPatience
  }

  /** The same client with some options changed. */
  with(change: Partial<SlipwayOptions>): Slipway {
    return new Slipway({ ...this.#options, ...change })
  }

  /**
   * Publishes files as a new site, or as a new version of `slug`. Uploads only what the server lacks, in parallel;
   * goes on through broken connections and expired targets; resolves when the version is live (or kept as a draft).
   */
  publish(options: PublishOptions): Promise<Published> {
    return publish(this, options, this.#patience)
  }

  /** Publishes an archive in one request, as a new site or as a new version of `slug`. */
  publishArchive(body: Bytes, archive: ArchiveOptions): Promise<ArchiveAnswer> {
    const { contentType, size, slug, claimToken, ...wishes } = archive
    const query = queryOf({ ...wishes, claimToken })
    const call = { body, contentType, ...(size !== undefined && { size }) }
    const client = this.#bearing(claimToken)
    return slug === undefined
      ? client.#call('POST', `/api/v1/publish${query}`, call)
      : client.#call('PUT', site(slug) + query, call)
  }

  /** Mails a sign-in code (spec 4.1). */
  requestCode(email: string): Promise<RequestCodeAnswer> {
    return this.#call('POST', '/api/auth/agent/request-code', { json: { email } })
  }

  /** Exchanges a mailed code for a new key, which ends the one before (spec 4.2). */
  verifyCode(email: string, code: string): Promise<VerifyCodeAnswer> {
    return this.#call('POST', '/api/auth/agent/verify-code', { json: { email, code } })
  }

  /** Exchanges a mailed code for a session cookie; the key stays as it is. For pages only. */
  signIn(email: string, code: string): Promise<SessionAnswer> {
    return this.#call('POST', '/api/auth/session', { json: { email, code } })
  }

  /** Ends the page's session. */
  async signOut(): Promise<void> {
    await this.#reach('DELETE', '/api/auth/session')
  }

  me(): Promise<Me> {
    return this.#call('GET', '/api/v1/me')
  }

  /** A new key in place of the one before. */
  newKey(): Promise<NewKeyAnswer> {
    return this.#call('POST', '/api/v1/me/key')
  }

  /** The browsers that are signed in, newest first. */
  sessions(): Promise<SessionList> {
    return this.#call('GET', '/api/v1/me/sessions')
  }

  endSession(id: string): Promise<SessionsEndedAnswer> {
    return this.#call('DELETE', `/api/v1/me/sessions/${encodeURIComponent(id)}`)
  }

  /** Signs out every browser but the one that asks. */
  endOtherSessions(): Promise<SessionsEndedAnswer> {
    return this.#call('DELETE', '/api/v1/me/sessions')
  }

  /** Deletes the account for good, with every site and domain of it. `email` must be its address. */
  leave(email: string): Promise<LeaveAnswer> {
    return this.#call('DELETE', '/api/v1/me', { json: { email } })
  }

  /** Stages the first version of a new site (spec 4.3). */
  create(request: PublishRequest): Promise<CreateAnswer> {
    return this.#call('POST', '/api/v1/publish', { json: request })
  }

  /** Stages another version (spec 4.4). With a claim token the key is not sent. */
  update(slug: string, request: PublishRequest): Promise<UpdateAnswer> {
    return this.#bearing(request.claimToken).#call('PUT', site(slug), { json: request })
  }

  /** Fresh upload targets for what a pending version still lacks. With a claim token the key is not sent. */
  refresh(
    slug: string,
    request: { versionId: string; claimToken?: string | undefined },
  ): Promise<UpdateAnswer> {
    const path = `${site(slug)}/uploads/refresh`
    return this.#bearing(request.claimToken).#call('POST', path, { json: request })
  }

  /** Sends one file's bytes. The key is never sent along (spec 4.6). */
  upload(target: UploadTarget, body: Bytes, sending: Sending = {}): Promise<UploadReceipt> {
    return this.#put(target, body, sending)
  }

  /** Sends many files as a tar of them. The key is not sent along here either. */
  uploadBundle(target: BundleTarget, body: Bytes, sending: Sending = {}): Promise<BundleReceipt> {
    return this.#put(target, body, sending)
  }

  /** Makes a version live, or keeps it as a draft with `live: false`. May be repeated. */
  finalize(slug: string, request: FinalizeRequest): Promise<FinalizeAnswer> {
    return this.#call('POST', `${site(slug)}/finalize`, { json: request })
  }

  details(slug: string): Promise<SiteDetails> {
    return this.#call('GET', site(slug))
  }

  /** One page of the caller's sites, newest first. */
  list({ limit, cursor }: { limit?: number; cursor?: string } = {}): Promise<SiteList> {
    return this.#call('GET', `/api/v1/publishes${queryOf({ limit, cursor })}`)
  }

  /** All the caller's sites, newest first, page by page. */
  async *sites(): AsyncGenerator<SiteSummary> {
    let cursor: string | null = null
    do {
      const page: SiteList = await this.list({ limit: 100, ...(cursor !== null && { cursor }) })
      yield* page.publishes
      cursor = page.nextCursor
    } while (cursor !== null)
  }

  setMetadata(slug: string, change: MetadataRequest): Promise<SiteDetails> {
    return this.#call('PATCH', `${site(slug)}/metadata`, { json: change })
  }

  duplicate(slug: string): Promise<DuplicateAnswer> {
    return this.#call('POST', `${site(slug)}/duplicate`)
  }

  /** How often a site was visited, by whom it was led to, and what was asked for. */
  visits(slug: string, range: VisitRange = '7d'): Promise<Visits> {
    return this.#call('GET', `${site(slug)}/analytics?range=${range}`)
  }

  /** Deletes a site for good; its slug is never given out again. */
  delete(slug: string): Promise<DeleteAnswer> {
    return this.#call('DELETE', site(slug))
  }

  /** Makes an anonymous site the caller's own. */
  claim(slug: string, claimToken: string): Promise<ClaimAnswer> {
    return this.#call('POST', `${site(slug)}/claim`, { json: { claimToken } })
  }

  /** What a claim link is about, before signing in. */
  claimPreview(slug: string, claimToken: string): Promise<ClaimPreview> {
    return this.#call('POST', `${site(slug)}/claim/preview`, { json: { claimToken } })
  }

  versions(slug: string): Promise<VersionList> {
    return this.#call('GET', `${site(slug)}/versions`)
  }

  /** A finalized version with its files and what is different in it. */
  version(slug: string, versionId: string): Promise<VersionDetails> {
    return this.#call('GET', version(slug, versionId))
  }

  /** Makes a kept version live again. */
  restore(slug: string, versionId: string): Promise<FinalizeAnswer> {
    return this.#call('POST', `${version(slug, versionId)}/restore`)
  }

  deleteVersion(slug: string, versionId: string): Promise<DeleteVersionAnswer> {
    return this.#call('DELETE', version(slug, versionId))
  }

  /** One file of the live version, or of another kept one. */
  file(slug: string, path: string, versionId?: string): Promise<Download> {
    const encoded = path.split('/').map(encodeURIComponent).join('/')
    return this.#download(`${site(slug)}/files/${encoded}${queryOf({ versionId })}`)
  }

  /** The live version, or another kept one, as tar.gz. */
  archive(slug: string, versionId?: string): Promise<Download> {
    return this.#download(`${site(slug)}/archive${queryOf({ versionId })}`)
  }

  domains(): Promise<DomainList> {
    return this.#call('GET', '/api/v1/domains')
  }

  addDomain(domain: string, siteSlug: string): Promise<DomainRecord> {
    return this.#call('POST', '/api/v1/domains', { json: { domain, siteSlug } })
  }

  /** The record after another look at DNS. */
  checkDomain(domain: string): Promise<DomainRecord> {
    return this.#call('GET', `/api/v1/domains/${encodeURIComponent(domain)}`)
  }

  /**
   * The record now and whenever it changes, for one request; ends when the server wants to be asked again. NOT_FOUND when
   * the domain is removed. `signal` takes the place of the client's.
   */
  async *domainEvents(domain: string, signal = this.#options.signal): AsyncGenerator<DomainRecord> {
    const request = this.with({ signal }).#request(
      'GET',
      `/api/v1/domains/${encodeURIComponent(domain)}/events`,
      {},
    )
    yield* recordsOf(bytesOf(await reach(this.#send, request, this.#patience.now), request))
  }

  removeDomain(domain: string): Promise<DeleteDomainAnswer> {
    return this.#call('DELETE', `/api/v1/domains/${encodeURIComponent(domain)}`)
  }

  #bearing(claimToken: string | undefined): Slipway {
    return claimToken === undefined ? this : this.with({ key: undefined })
  }

  async #put<T>(
    { method, url, headers }: Pick<UploadTarget, 'method' | 'url' | 'headers'>,
    body: Bytes,
    sending: Sending,
  ): Promise<T> {
    const request = this.#outgoing(method, url, headers, { body, ...sending })
    return jsonOf(await reach(this.#send, request, this.#patience.now), request)
  }

  async #call<T>(method: string, path: string, call: Call = {}): Promise<T> {
    const request = this.#request(method, path, call)
    return jsonOf(await reach(this.#send, request, this.#patience.now), request)
  }

  #reach(method: string, path: string) {
    return reach(this.#send, this.#request(method, path, {}), this.#patience.now)
  }

  async #download(path: string): Promise<Download> {
    const incoming = await this.#reach('GET', path)
    const length = incoming.header('content-length')
    return {
      contentType: incoming.header('content-type'),
      size: length === null ? null : Number(length),
      bytes: incoming.bytes,
    }
  }

  #request(method: string, path: string, { json, body, contentType, ...sending }: Call): Outgoing {
    const headers: Record<string, string> = { Accept: 'application/json' }
    if (this.#options.key !== undefined) headers.Authorization = `Bearer ${this.#options.key}`
    if (json !== undefined) headers['Content-Type'] = 'application/json'
    if (contentType !== undefined) headers['Content-Type'] = contentType
    const payload = json === undefined ? body : JSON.stringify(json)
    return this.#outgoing(method, this.#baseUrl + path, headers, {
      ...(payload !== undefined && { body: payload }),
      ...sending,
    })
  }

  #outgoing(
    method: string,
    url: string,
    headers: Record<string, string>,
    carried: { body?: Payload } & Sending,
  ): Outgoing {
    const { signal } = this.#options
    return { method, url, headers, ...carried, ...(signal && { signal }) }
  }
}

function site(slug: string): string {
  return `/api/v1/publish/${encodeURIComponent(slug)}`
}

function version(slug: string, versionId: string): string {
  return `${site(slug)}/versions/${encodeURIComponent(versionId)}`
}

function queryOf(values: Record<string, string | number | boolean | undefined>): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(values)) if (value !== undefined) query.set(name, String(value))
  const text = query.toString()
  return text && `?${text}`
}
