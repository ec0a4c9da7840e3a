import type {
  DeleteAccountResponse,
  KeyEndedResponse,
  Me,
  MeChange,
  MeChangeResponse,
  NewKeyResponse,
  RequestCodeResponse,
  SessionList,
  SessionResponse,
  SessionsEndedResponse,
  VerifyCodeResponse,
} from '../../protocol/api/account.schema.ts'
import type {
  Collaborator,
  CollaboratorList,
  RemoveCollaboratorResponse,
} from '../../protocol/api/collaborators.schema.ts'
import type { DeviceDecisionResponse, DeviceRequest } from '../../protocol/api/device.schema.ts'
import * as device from '../../protocol/api/device.ts'
import type { DeleteDomainResponse, DomainList, DomainRecord } from '../../protocol/api/domains.schema.ts'
import type * as keys from '../../protocol/api/keys.schema.ts'
import type { Answer } from '../../protocol/api/operations.schema.ts'
import type { OperationId } from '../../protocol/api/paths.ts'
import type { DeletePreviewResponse, Preview, PreviewList } from '../../protocol/api/previews.schema.ts'
import type * as programs from '../../protocol/api/programs.schema.ts'
import type {
  ArchiveResponse,
  BundleReceipt,
  BundleTarget,
  ContentsRequest,
  CreateResponse,
  FileLimits,
  FinalizeRequest,
  FinalizeResponse,
  PublishRequest,
  UpdateResponse,
  UploadReceipt,
  UploadTarget,
} from '../../protocol/api/publish.schema.ts'
import type { ReportReceived, ReportRequest } from '../../protocol/api/reports.schema.ts'
import type { Review } from '../../protocol/api/reviews.schema.ts'
import type {
  ClaimPreview,
  ClaimResponse,
  DeleteResponse,
  DuplicateResponse,
  MetadataRequest,
  NameCheck,
  RenameResponse,
  SiteDetails,
  SiteList,
  SiteSummary,
  UndeleteResponse,
} from '../../protocol/api/sites.schema.ts'
import type {
  CreateTrustRequest,
  ExchangeRequest,
  ExchangeResponse,
  Trust,
  TrustList,
  TrustRemovedResponse,
} from '../../protocol/api/trusts.schema.ts'
import type {
  DeleteVersionResponse,
  PreviewLink,
  ThumbnailResponse,
  VersionDetails,
  VersionList,
} from '../../protocol/api/versions.schema.ts'
import type { Visits } from '../../protocol/api/visits.schema.ts'
import type { VisitRange } from '../../protocol/api/visits.ts'
import { parseRecords } from './events.ts'
import { type Call, operationTarget } from './operation.ts'
import {
  type AnyCall,
  type ArchiveOptions,
  type DeleteOptions,
  type Download,
  type ListOptions,
  readBaseUrl,
  readKey,
  type SlipwayOptions,
  type VisitsOptions,
} from './options.ts'
import type { PublishOptions, PublishResult } from './publish.ts'
import { readBytes, readJson, sendRequest } from './response.ts'
import { defaultRetryPolicy, type RetryPolicy } from './retry.ts'
import { SiteReview } from './review.ts'
import { SlipwayError } from './slipway-error.ts'
import {
  type Bytes,
  fetchTransport,
  type HttpRequest,
  type RequestBody,
  type Transport,
} from './transport.ts'
import type { UploadOptions } from './upload.ts'
import { uploadRequest } from './upload-targets.ts'

export type * from '../../protocol/api/account.schema.ts'
export type * from '../../protocol/api/collaborators.schema.ts'
export type * from '../../protocol/api/domains.schema.ts'
export type * from '../../protocol/api/errors.schema.ts'
export type * from '../../protocol/api/fields.schema.ts'
export type * from '../../protocol/api/previews.schema.ts'
export type * from '../../protocol/api/publish.schema.ts'
export type * from '../../protocol/api/reports.schema.ts'
export type * from '../../protocol/api/reviews.schema.ts'
export type * from '../../protocol/api/sites.schema.ts'
export type * from '../../protocol/api/versions.schema.ts'
export type * from '../../protocol/api/visits.schema.ts'
export type {
  ArchiveOptions,
  DeleteOptions,
  Download,
  ListOptions,
  SlipwayOptions,
  VisitsOptions,
} from './options.ts'
export type {
  PublishOptions,
  PublishResult as Published,
  StagedVersion as Staged,
  UploadProgress as Progress,
} from './publish.ts'
export {
  type PublishedSite,
  type PublishMemory,
  publishRemembered,
  type ResumableOptions,
  type ResumableResult,
  SiteOwnedError,
} from './resume.ts'
export type { SiteReview } from './review.ts'
export { isSlipwayError, SlipwayError } from './slipway-error.ts'
export type {
  Bytes,
  HttpRequest as Outgoing,
  HttpResponse as Incoming,
  RequestBody as Payload,
  Transport as Send,
} from './transport.ts'
export type { PublishFile, UploadOptions as Sending } from './upload.ts'

/** Pages of 100 sites: more than any account has. */
const MAX_LIST_PAGES = 10_000

/**
 * A client of a Slipway server: a method for each API call, and `publish`. Rejects with a SlipwayError or the
 * signal's reason.
 */
export class Slipway {
  readonly #options: SlipwayOptions
  readonly #baseUrl: string
  readonly #send: Transport
  readonly #retryPolicy: RetryPolicy

  /** TypeError when `baseUrl` is not the address of a server, or `key` cannot be a key. */
  constructor(options: SlipwayOptions) {
    this.#options = { ...options, key: readKey(options.key) }
    this.#baseUrl = readBaseUrl(options.baseUrl)
    this.#send = options.send ?? fetchTransport
    this.#retryPolicy = options.retryPolicy ?? defaultRetryPolicy
  }

  /** That of the options. */
  get signal(): AbortSignal | undefined {
    return this.#options.signal
  }

  /** The same client with changed options. */
  with(change: Partial<SlipwayOptions>): Slipway {
    return new Slipway({ ...this.#options, ...change })
  }

  /**
   * Publishes files as a new site, or as a new version of `slug`. Uploads only what the server lacks,
   * concurrently; survives network errors and expired targets; resolves when the version is live (or kept as
   * a draft).
   */
  async publish(options: PublishOptions): Promise<PublishResult> {
    // Half of the code of the SDK, which most pages of the dashboard do not need.
    const { publish } = await import('./publish.ts')
    const { signal = this.signal } = options
    return publish(this, { ...options, signal }, this.#retryPolicy)
  }

  /** What a site may have; without a slug, a new one of the caller. It does not count as a request. */
  limits(site?: string): Promise<FileLimits> {
    return this.#call('getLimits', { query: { site } })
  }

  /** Publishes an archive in one request, as a new site or as a new version of `slug`. */
  publishArchive(body: Bytes, archive: ArchiveOptions): Promise<ArchiveResponse> {
    const { contentType, size, slug, claimToken, ...query } = archive
    const call = { query, body, contentType, claimToken, ...(size !== undefined && { size }) }
    const client = this.#withClaimToken(claimToken)
    return slug === undefined
      ? client.#call<'createSite', ArchiveResponse>('createSite', call)
      : client.#call<'updateSite', ArchiveResponse>('updateSite', { params: { slug }, ...call })
  }

  /** Mails a sign-in code (spec 4.1). */
  requestCode(email: string): Promise<RequestCodeResponse> {
    return this.#call('requestCode', { json: { email } })
  }

  /**
   * Exchanges an emailed code for a new key, which ends the one before (spec 4.2), or with `keyName` only an earlier key of
   * that name. With the `attempt` that `requestCode` answered, wrong codes that others enter for the address do not count.
   */
  verifyCode(email: string, code: string, attempt?: string, keyName?: string): Promise<VerifyCodeResponse> {
    return this.#call('verifyCode', { json: { email, code, attempt, keyName } })
  }

  /** Exchanges an emailed code for a session cookie; the key stays. For pages only. */
  signIn(email: string, code: string, attempt?: string): Promise<SessionResponse> {
    return this.#call('openSession', { json: { email, code, attempt } })
  }

  /** Ends the page's session. */
  async signOut(): Promise<void> {
    await this.#call('closeSession')
  }

  /** Starts the sign-in of a program without a browser (RFC 8628, section 3.1). */
  requestDeviceCode(request: device.DeviceAuthorizationRequest): Promise<device.DeviceAuthorization> {
    return this.#authorize('device_authorization', { ...request })
  }

  /**
   * The key, once the user has entered the code (RFC 8628, section 3.4). Until then AUTHORIZATION_PENDING, or SLOW_DOWN,
   * after which the interval is 5 seconds longer; ACCESS_DENIED and EXPIRED_TOKEN are final.
   */
  exchangeDeviceCode(clientId: string, deviceCode: string): Promise<device.DeviceToken> {
    const form = { grant_type: device.DEVICE_GRANT_TYPE, client_id: clientId, device_code: deviceCode }
    return this.#authorize('token', form)
  }

  /** What the program asks for that shows this code. */
  deviceRequest(userCode: string): Promise<DeviceRequest> {
    return this.#call('getDeviceRequest', { json: { userCode } })
  }

  /** Gives the program that shows this code a key, or refuses it. */
  decideDevice(userCode: string, allow: boolean): Promise<DeviceDecisionResponse> {
    return this.#call('decideDeviceRequest', { json: { userCode, allow } })
  }

  /** The account of the key or session, with its limits, its usage, and what the key permits. */
  me(): Promise<Me> {
    return this.#call('getAccount')
  }

  /** Turns emails about events on or off. */
  updateMe(change: MeChange): Promise<MeChangeResponse> {
    return this.#call('updateAccount', { json: change })
  }

  /** Creates a new key that replaces the previous one. */
  newKey(): Promise<NewKeyResponse> {
    return this.#call('renewKey')
  }

  /** Ends the key of this client. */
  endKey(): Promise<KeyEndedResponse> {
    return this.#call('endKey')
  }

  /** Named keys, newest first. */
  keys(): Promise<keys.KeyList> {
    return this.#call('listKeys')
  }

  /** Creates a named key; only this response contains it. */
  createKey(request: keys.CreateKeyRequest): Promise<keys.CreatedKey> {
    return this.#call('createKey', { json: request })
  }

  /** Ends a named key. */
  revokeKey(id: string): Promise<keys.KeyRevokedResponse> {
    return this.#call('revokeKey', { params: { id } })
  }

  /** Exchanges the token of a CI job for a key of one site. */
  exchangeIdToken(request: ExchangeRequest): Promise<ExchangeResponse> {
    return this.#call('exchangeIdToken', { json: request })
  }

  /** Repositories whose CI jobs get keys, newest first. */
  trusts(): Promise<TrustList> {
    return this.#call('listTrusts')
  }

  /** Lets the CI jobs of a repository that meet the conditions publish to a site without a stored key. */
  createTrust(request: CreateTrustRequest): Promise<Trust> {
    return this.#call('createTrust', { json: request })
  }

  /** Removes a trust and ends its keys. */
  removeTrust(id: string): Promise<TrustRemovedResponse> {
    return this.#call('removeTrust', { params: { id } })
  }

  /** Browser sessions, newest first. */
  sessions(): Promise<SessionList> {
    return this.#call('listSessions')
  }

  /** Signs one browser out. */
  endSession(id: string): Promise<SessionsEndedResponse> {
    return this.#call('endSession', { params: { id } })
  }

  /** What a program asks for. Only in the browser in which it asks. */
  authorization(id: string): Promise<programs.AuthorizationRequest> {
    return this.#call('getAuthorization', { params: { id } })
  }

  /** Allows or refuses the access that a program asks for; the result is where the browser continues. */
  decideAuthorization(id: string, allow: boolean): Promise<programs.AuthorizationResult> {
    return this.#call('decideAuthorization', { params: { id }, json: { allow } })
  }

  /** The programs that have access to the account. */
  programs(): Promise<programs.ProgramList> {
    return this.#call('listPrograms')
  }

  /** Ends the access of a program. */
  revokeProgram(id: string): Promise<programs.ProgramRevokedResponse> {
    return this.#call('revokeProgram', { params: { id } })
  }

  /** Ends all browser sessions except the caller's. */
  endOtherSessions(): Promise<SessionsEndedResponse> {
    return this.#call('endOtherSessions')
  }

  /** Deletes the account permanently, with all its sites and domains. `email` must be its address. */
  deleteAccount(email: string): Promise<DeleteAccountResponse> {
    return this.#call('deleteAccount', { json: { email } })
  }

  /** Stages the first version of a new site (spec 4.3). */
  create(request: PublishRequest): Promise<CreateResponse> {
    return this.#call<'createSite', CreateResponse>('createSite', { json: request })
  }

  /** Stages another version (spec 4.4). With a claim token the key is not sent. */
  update(slug: string, request: PublishRequest): Promise<UpdateResponse> {
    const client = this.#withClaimToken(request.claimToken)
    return client.#call<'updateSite', UpdateResponse>('updateSite', { params: { slug }, json: request })
  }

  /** Publishes files whose bytes are in the request, as a new site or as a version of the site `slug`. */
  publishContents(request: ContentsRequest, slug?: string): Promise<ArchiveResponse> {
    const client = this.#withClaimToken(request.claimToken)
    return slug === undefined
      ? this.#call<'createSite', ArchiveResponse>('createSite', { json: request })
      : client.#call<'updateSite', ArchiveResponse>('updateSite', { params: { slug }, json: request })
  }

  /**
   * New upload targets for the missing files of a pending version. With a claim token the key is not sent.
   */
  refresh(
    slug: string,
    request: { versionId: string; claimToken?: string | undefined },
  ): Promise<UpdateResponse> {
    const client = this.#withClaimToken(request.claimToken)
    return client.#call('refreshUploads', { params: { slug }, json: request })
  }

  /** Uploads one file. The key is never sent (spec 4.6). */
  upload(target: UploadTarget, body: Bytes, sending: UploadOptions = {}): Promise<UploadReceipt> {
    return this.#put(target, body, sending)
  }

  /** Uploads several files as a tar. The key is not sent. */
  uploadBundle(target: BundleTarget, body: Bytes, sending: UploadOptions = {}): Promise<BundleReceipt> {
    return this.#put(target, body, sending)
  }

  /**
   * Makes a version live, or keeps it as a draft with `live: false`. May be repeated. An anonymous draft needs its
   * claim token.
   */
  finalize(slug: string, request: FinalizeRequest): Promise<FinalizeResponse> {
    return this.#call('finalizeVersion', { params: { slug }, json: request })
  }

  /** The settings of a site and the files of its live version. */
  details(slug: string): Promise<SiteDetails> {
    return this.#call('getSite', { params: { slug } })
  }

  /** One page of the caller's sites and of those that are shared with it, newest first, or of its trash. */
  list({ limit, cursor, q, deleted }: ListOptions = {}): Promise<SiteList> {
    return this.#call('listSites', { query: { limit, cursor, q, deleted } })
  }

  /** All the caller's sites, newest first, or all in its trash, page by page. */
  async *sites(options: Pick<ListOptions, 'deleted'> = {}): AsyncGenerator<SiteSummary> {
    let cursor: string | null = null
    for (let pages = 0; pages < MAX_LIST_PAGES; pages++) {
      const page: SiteList = await this.list({ ...options, limit: 100, ...(cursor !== null && { cursor }) })
      yield* page.publishes
      cursor = page.nextCursor ?? null
      if (cursor === null) return
    }
    throw new SlipwayError(`${this.#baseUrl} sends a list without an end`, { code: 'BAD_ANSWER' })
  }

  /** Changes settings of a site: absent fields stay, `null` clears. */
  setMetadata(slug: string, change: MetadataRequest): Promise<SiteDetails> {
    return this.#call('updateMetadata', { params: { slug }, json: change })
  }

  /** Gives a site another name; the former one redirects for 30 days. */
  renameSite(slug: string, name: string): Promise<RenameResponse> {
    return this.#call('renameSite', { params: { slug }, json: { name } })
  }

  /** Reports a page of a site to the operator of the service. Needs no key. */
  report(report: ReportRequest): Promise<ReportReceived> {
    return this.#call('reportPage', { json: report })
  }

  /** Whether a new site of the caller can have a name. */
  checkName(name: string): Promise<NameCheck> {
    return this.#call('checkName', { params: { name } })
  }

  /** Copies a site to a new one, which is live immediately. The password, the domains and the expiry are not copied. */
  duplicate(slug: string): Promise<DuplicateResponse> {
    return this.#call('duplicateSite', { params: { slug } })
  }

  /**
   * Visits of a site with referrers and paths; days begin at midnight in the time zone, by default UTC. With `path`,
   * `missing` or `referrer`, one name of a list, also the requests of that name by day (`filtered`).
   */
  visits(
    slug: string,
    range: VisitRange = '7d',
    { timeZone, path, missing, referrer }: VisitsOptions = {},
  ): Promise<Visits> {
    const query = { range, timeZone, path, missing, referrer }
    return this.#call('getVisits', { params: { slug }, query })
  }

  /** Deletes a site; its slug is never reused. A site of an account can be restored for a time, unless `permanent` is set. */
  delete(slug: string, { permanent, claimToken }: DeleteOptions = {}): Promise<DeleteResponse> {
    const client = this.#withClaimToken(claimToken)
    return client.#call('deleteSite', { params: { slug }, query: { permanent }, claimToken })
  }

  /** Restores a deleted site; its domains are verified again. */
  undelete(slug: string): Promise<UndeleteResponse> {
    return this.#call('undeleteSite', { params: { slug } })
  }

  /** The accounts that may publish to a site. */
  collaborators(slug: string): Promise<CollaboratorList> {
    return this.#call('listCollaborators', { params: { slug } })
  }

  /** Lets the account of an address publish to a site, and notifies it by email. */
  addCollaborator(slug: string, email: string): Promise<Collaborator> {
    return this.#call('addCollaborator', { params: { slug }, json: { email } })
  }

  /** Ends the access of a collaborator; a collaborator can end its own. */
  removeCollaborator(slug: string, email: string): Promise<RemoveCollaboratorResponse> {
    return this.#call('removeCollaborator', { params: { slug }, json: { email } })
  }

  /** Claims an anonymous site for the caller; with a name that it gets in the same step. */
  claim(slug: string, claimToken: string, name?: string): Promise<ClaimResponse> {
    return this.#call('claimSite', { params: { slug }, json: { claimToken, name } })
  }

  /** What a claim link refers to, before signing in. */
  claimPreview(slug: string, claimToken: string): Promise<ClaimPreview> {
    return this.#call('previewClaim', { params: { slug }, json: { claimToken } })
  }

  /** The kept versions of a site, the newest first. */
  versions(slug: string): Promise<VersionList> {
    return this.#call('listVersions', { params: { slug } })
  }

  /** A finalized version with its files and changes. */
  version(slug: string, versionId: string): Promise<VersionDetails> {
    return this.#call('getVersion', { params: { slug, versionId } })
  }

  /**
   * Makes a kept version live again; `previous` is the one that the live version replaced, and repeated, an earlier one:
   * pass the live version as `baseVersionId`, so that repeating it after a lost response goes back no further.
   * VERSION_CONFLICT when that is not live.
   */
  restore(slug: string, versionId: string, baseVersionId?: string): Promise<FinalizeResponse> {
    return this.#call('restoreVersion', { params: { slug, versionId }, query: { baseVersionId } })
  }

  /** Deletes a version permanently; VERSION_LIVE for the live one. */
  deleteVersion(slug: string, versionId: string): Promise<DeleteVersionResponse> {
    return this.#call('deleteVersion', { params: { slug, versionId } })
  }

  /** The previews of a site, the last changed one first. A publish with `preview` makes one. */
  previews(slug: string): Promise<PreviewList> {
    return this.#call('listPreviews', { params: { slug } })
  }

  /** A preview with the version that it shows. */
  preview(slug: string, name: string): Promise<Preview> {
    return this.#call('getPreview', { params: { slug, name } })
  }

  /** Makes the version that a preview shows live; VERSION_CONFLICT when that is not `versionId`. */
  promote(slug: string, name: string, versionId?: string): Promise<FinalizeResponse> {
    return this.#call('promotePreview', { params: { slug, name }, query: { versionId } })
  }

  /** Deletes a preview, and its version unless that was ever live. */
  deletePreview(slug: string, name: string): Promise<DeletePreviewResponse> {
    return this.#call('deletePreview', { params: { slug, name } })
  }

  /** A URL that shows the live version, or another kept one, to its owner without the password for 10 minutes. */
  previewLink(slug: string, versionId?: string): Promise<PreviewLink> {
    return this.#call('createPreviewLink', { params: { slug }, query: { versionId } })
  }

  /** Stores the thumbnail of a version: WebP of at most 20,000 bytes. With a claim token the key is not sent. */
  putThumbnail(
    slug: string,
    versionId: string,
    bytes: Uint8Array | Blob,
    claimToken?: string,
  ): Promise<ThumbnailResponse> {
    const call = { body: bytes, contentType: 'image/webp', claimToken }
    return this.#withClaimToken(claimToken).#call('putThumbnail', { params: { slug, versionId }, ...call })
  }

  /** One file of the live version, or of another kept one. */
  file(slug: string, path: string, versionId?: string): Promise<Download> {
    return this.#download('downloadFile', { params: { slug, '*': path }, query: { versionId } })
  }

  /** The live version, or another kept one, as tar.gz or zip. */
  archive(slug: string, versionId?: string, format?: 'zip'): Promise<Download> {
    return this.#download('downloadArchive', { params: { slug }, query: { versionId, format } })
  }

  /** The domains of the account, with the DNS records of each. */
  domains(): Promise<DomainList> {
    return this.#call('listDomains')
  }

  /** Adds a domain to a site; it is pending until its DNS records are found. */
  addDomain(domain: string, siteSlug: string): Promise<DomainRecord> {
    return this.#call('addDomain', { json: { domain, siteSlug } })
  }

  /** The record after another DNS check. */
  checkDomain(domain: string): Promise<DomainRecord> {
    return this.#call('checkDomain', { params: { domain } })
  }

  /**
   * The record now and after every change, as one request; ends when the server closes the stream. NOT_FOUND
   * when the domain is removed. `signal` replaces the client's.
   */
  async *domainEvents(domain: string, signal = this.signal): AsyncGenerator<DomainRecord> {
    const request = this.with({ signal }).#request('followDomain', { params: { domain } })
    yield* parseRecords(readBytes(await sendRequest(this.#send, request, this.#retryPolicy.now), request))
  }

  /** Removes a domain; the site stays online at its own address. */
  removeDomain(domain: string): Promise<DeleteDomainResponse> {
    return this.#call('removeDomain', { params: { domain } })
  }

  /** The review of a preview, or without `preview` of the live version. */
  review(slug: string, preview?: string): SiteReview {
    return new SiteReview((id, call) => this.#call(id, ...([call] as Call<OperationId>)), slug, preview)
  }

  /** The review of the link whose token this client has. */
  openReview(): Promise<Review> {
    return this.#call('openReview')
  }

  #withClaimToken(claimToken: string | undefined): Slipway {
    return claimToken === undefined ? this : this.with({ key: undefined })
  }

  async #put<T>(
    target: Pick<UploadTarget, 'url' | 'headers'>,
    body: Bytes,
    sending: UploadOptions,
  ): Promise<T> {
    const { url, contentType } = uploadRequest(this.#baseUrl, target)
    const headers = contentType === undefined ? {} : { 'Content-Type': contentType }
    const request = this.#buildRequest('PUT', url, headers, { body, ...sending })
    return readJson(await sendRequest(this.#send, request, this.#retryPolicy.now), request)
  }

  /** The response of an operation; `Result` where it depends on the kind of the request. */
  async #call<Id extends OperationId, Result extends Answer<Id> = Answer<Id>>(
    id: Id,
    ...[call]: Call<Id>
  ): Promise<Result> {
    const request = this.#request(id, call)
    return readJson(await sendRequest(this.#send, request, this.#retryPolicy.now), request)
  }

  /** A request of OAuth, which is a form. */
  async #authorize<T>(endpoint: string, form: Record<string, string>): Promise<T> {
    const headers = { ...this.#headers({}), 'Content-Type': 'application/x-www-form-urlencoded' }
    const body = new URLSearchParams(form).toString()
    const request = this.#buildRequest('POST', `${this.#baseUrl}/oauth/${endpoint}`, headers, { body })
    return readJson(await sendRequest(this.#send, request, this.#retryPolicy.now), request)
  }

  async #download<Id extends 'downloadFile' | 'downloadArchive'>(
    id: Id,
    ...[call]: Call<Id>
  ): Promise<Download> {
    const request = this.#request(id, call)
    const incoming = await sendRequest(this.#send, request, this.#retryPolicy.now)
    const length = incoming.header('content-length')
    return {
      contentType: incoming.header('content-type'),
      size: length === null ? null : Number(length),
      bytes: () => readBytes(incoming, request),
    }
  }

  #request(
    id: OperationId,
    { params, query, json, body, contentType, claimToken, ...sending }: AnyCall = {},
  ): HttpRequest {
    const { method, path } = operationTarget(id, { ...(params && { params }), query })
    const payload = JSON.stringify(json) ?? body
    const headers = this.#headers({
      contentType: json === undefined ? contentType : 'application/json',
      claimToken,
    })
    return this.#buildRequest(method, this.#baseUrl + path, headers, {
      ...(payload !== undefined && { body: payload }),
      ...sending,
    })
  }

  #headers({ contentType, claimToken }: Pick<AnyCall, 'contentType' | 'claimToken'>): Record<string, string> {
    const { key, client, reviewToken } = this.#options
    return {
      Accept: 'application/json',
      ...(key !== undefined && { Authorization: `Bearer ${key}` }),
      ...(client !== undefined && { 'X-Slipway-Client': client }),
      ...(contentType !== undefined && { 'Content-Type': contentType }),
      ...(claimToken !== undefined && { 'X-Slipway-Claim-Token': claimToken }),
      ...(reviewToken !== undefined && { 'X-Slipway-Review': reviewToken }),
    }
  }

  #buildRequest(
    method: string,
    url: string,
    headers: Record<string, string>,
    carried: { body?: RequestBody } & UploadOptions,
  ): HttpRequest {
    const { signal } = this
    return { method, url, headers, ...carried, ...(signal && { signal }) }
  }
}
