import type { MemoryBudget } from '../packages/http-server/memory/second-chance-cache.ts'
import type { Policies } from '../protocol/api/admin/policies.schema.ts'
import type { PageSettings } from '../protocol/api/page-settings.ts'
import { Accounts } from './accounts/account.ts'
import { Administrators } from './accounts/administrators.ts'
import { Blocklist } from './accounts/blocklist.ts'
import { DeviceSignIns } from './accounts/device-sign-in.ts'
import { Invitations } from './accounts/invitations.ts'
import { NamedKeys } from './accounts/named-keys.ts'
import { knownClients } from './accounts/oauth/clients.ts'
import { Programs } from './accounts/oauth/programs.ts'
import { DEFAULT_PLAN, fileLimits, Plans, type PlanTable } from './accounts/plans.ts'
import { Quotas } from './accounts/quotas.ts'
import { RateLimits } from './accounts/rate-limits.ts'
import { Sessions } from './accounts/session.ts'
import { IdTokens } from './accounts/trusts/id-tokens.ts'
import { Trusts } from './accounts/trusts/trusts.ts'
import { UnsubscribeLinks } from './accounts/unsubscribe.ts'
import { VisitReports } from './analytics/report.ts'
import type { VisitRecorder } from './analytics/visit-recorder.ts'
import { authorizationCookies } from './api/cookies.ts'
import { MCP_PATH } from './api/mcp/resource.ts'
import type { Backends, StartOptions } from './backends.ts'
import { BlobReader } from './blobs/blob-reader.ts'
import type { Config } from './config/settings.ts'
import { DomainService } from './domains/domain.ts'
import { ErrorPages } from './edge/respond/pages/error-pages.ts'
import { VersionFiles } from './edge/version-files.ts'
import { AccountDeletion } from './jobs/account-deletion.ts'
import { sweeps } from './jobs/jobs.ts'
import { SweepList } from './jobs/scheduler.ts'
import { ThumbnailDrawer } from './jobs/thumbnail-drawer.ts'
import { removeAbandonedFolders } from './lib/chromium.ts'
import { DEADLINES } from './lib/deadlines.ts'
import { MissLimiter } from './lib/miss-limiter.ts'
import { SECOND_MS } from './lib/time.ts'
import { Overviews } from './operations/administration/activity.ts'
import { Banners } from './operations/administration/banners.ts'
import { Lists } from './operations/administration/lists.ts'
import { Blocks } from './operations/moderation/blocks.ts'
import { ModeratedSites } from './operations/moderation/moderated-sites.ts'
import { Removals } from './operations/moderation/removals.ts'
import { Reports } from './operations/moderation/reports.ts'
import { Suspensions } from './operations/moderation/suspensions.ts'
import { Notices } from './operations/notices/notices.ts'
import type { Parts } from './parts.ts'
import { SpoolSpace } from './publish/archive/spool.ts'
import { ArchivePublisher } from './publish/archive-upload.ts'
import { Finalizer } from './publish/finalize.ts'
import { Precompressor } from './publish/precompress/precompressor.ts'
import { PublishService } from './publish/publish.ts'
import { PublishQueue } from './publish/publish-queue.ts'
import { ClamdScanner } from './publish/scan/clamd-scanner.ts'
import { ContentScan, type Scanner } from './publish/scan/content-scan.ts'
import { ProgramScanner } from './publish/scan/program-scanner.ts'
import { SecretScan } from './publish/secrets/secret-scan.ts'
import { SignedUploadUrls } from './publish/signed-uploads.ts'
import { PendingVersionStore } from './publish/stage.ts'
import { Collaborators } from './sites/collaborators.ts'
import { MarkdownPages } from './sites/markdown/markdown-pages.ts'
import { NamePolicy, SiteNames } from './sites/names.ts'
import { InjectedDocuments } from './sites/page-metadata/injected-document.ts'
import { PreviewLinks, PreviewTokens } from './sites/preview-links.ts'
import { Previews } from './sites/previews.ts'
import { Reviews } from './sites/reviews/reviews.ts'
import { Sites } from './sites/site.ts'
import { Thumbnails } from './sites/thumbnails.ts'
import { Trash } from './sites/trash.ts'
import { UrlBuilder } from './sites/urls.ts'
import { Versions } from './sites/version-history.ts'

interface ServiceOptions extends Pick<StartOptions, 'log' | 'clock' | 'deadlines' | 'version'> {
  budget: MemoryBudget
  recorder?: VisitRecorder | undefined
}

/** Twice the connections to PostgreSQL: more would only wait for these, and in SQLite for one processor. */
const PUBLISHES_AT_ONCE = 16

function collectParts(
  config: Config,
  baseUrl: string,
  { store, blobs, mail, secret, telemetry }: Backends,
  { log, budget, clock: testClock, deadlines = DEADLINES }: ServiceOptions,
): Parts {
  const { clock } = store
  const plans = new Plans({ table: config.plans, log })
  return Object.freeze({
    ...{ config, baseUrl, branding: config.branding, budget, log },
    ...{ store, blobs, mail, secret, telemetry, clock },
    ...{ plans, quotas: new Quotas({ plans, anonymous: anonymousQuotas(config), secret, clock, log }) },
    publishQueue: new PublishQueue({
      running: PUBLISHES_AT_ONCE,
      uploadsAtOnce: config.uploadsAtOnce,
      timeouts: { ...deadlines.database, expectedUploads: deadlines.expectedUploads },
      store,
      metrics: telemetry.metrics,
      clock: testClock,
    }),
    blobReader: new BlobReader(blobs, store.read.blobs),
    addresses: new UrlBuilder({ baseUrl, siteDomain: config.siteDomain }),
  })
}

export function createServices(config: Config, baseUrl: string, backends: Backends, options: ServiceOptions) {
  const { dns, folder, secretBox, certificates, reserve } = backends
  const { log, clock: testClock, deadlines = DEADLINES, recorder } = options
  const parts = collectParts(config, baseUrl, backends, options)
  const { store, clock, secret } = parts
  /** Reads of an admitted publish wait longer for a connection than those of others, instead of being refused. */
  const publishing = {
    ...parts,
    store: { ...store, read: store.patient },
    blobReader: new BlobReader(parts.blobs, store.patient.blobs),
  }
  const injectedDocuments = new InjectedDocuments({ blobs: parts.blobReader, budget: parts.budget })
  const reading = { blobs: parts.blobReader, timeoutMs: deadlines.markdown }
  const markdownPages = new MarkdownPages({ ...parts, ...reading })
  const precompressor = new Precompressor({ ...parts, injectedDocuments })
  const { reservedNames, siteDomain, proxyHost } = config
  const hosts = [new URL(baseUrl).hostname, siteDomain, proxyHost]
  const policy = new NamePolicy({ reservedNames, hosts })
  const blocklist = new Blocklist({ store, clock })
  const names = new SiteNames({ ...parts, policy, precompressor })
  const pendingVersions = new PendingVersionStore({
    ...publishing,
    blocklist,
    names: new SiteNames({ ...publishing, policy, precompressor }),
    anonymousLifetime: config.anonymousLifetime,
    previewLifetime: config.previewLifetime,
    allowsAnonymous: config.anonymousPublishing === 'on',
    anonymousLimits: publishLimits(config).anonymous,
  })
  const versions = new Versions({
    ...parts,
    blobs: parts.blobReader,
    precompressor,
    draftLifetime: config.draftLifetime,
  })
  const contentScan = new ContentScan({
    ...publishing,
    scanner: openScanner(config, { ...parts, folder: folder.spool }),
    timeoutMs: config.scanSeconds * SECOND_MS,
    onFailure: config.scanFailure,
  })
  const secretScan = new SecretScan({
    ...parts,
    secrets: secret,
    mode: config.secretScan,
    onFailure: config.secretScanFailure,
    timeoutMs: deadlines.secretScan,
  })
  const finalizer = new Finalizer({
    ...publishing,
    ...{ blocklist, contentScan, secretScan, versions, names, precompressor },
  })
  const sessions = new Sessions(parts)
  const accounts = new Accounts({ ...parts, sessions, signUp: config.signUp })
  const unsubscribeLinks = new UnsubscribeLinks({ ...parts, accounts })
  const rates = { anonymous: config.rateAnonymous, session: config.rateSession, signIn: config.rateSignIn }
  const limits = new RateLimits({ ...parts, rates })
  const accountDeletion = new AccountDeletion({ ...parts, certificates })
  const { oidcIssuers: issuers, trashLifetime } = config
  const monotonicClock = testClock ?? (() => performance.now())
  const lookupLimits = { clock: monotonicClock, metrics: parts.telemetry.metrics }
  const { issuerKeys: keysTimeoutMs } = deadlines
  const pages = new ErrorPages(config.branding, baseUrl)
  const thumbnails = new Thumbnails({ ...parts, blocklist })
  const drawn = { ...parts, injectedDocuments, markdownPages, pages }
  const tokens = new IdTokens({ issuers, audience: baseUrl, clock, monotonicClock, log, keysTimeoutMs })
  const services = {
    ...parts,
    injectedDocuments,
    markdownPages,
    accounts,
    unsubscribeLinks,
    invitations: new Invitations({ ...parts, policy: config.signUp }),
    administrators: new Administrators(parts),
    blocklist,
    suspensions: new Suspensions(parts),
    removals: new Removals({ ...parts, certificates, accountDeletion }),
    blocks: new Blocks(parts),
    reports: new Reports({ ...parts, limits, email: config.reportEmail }),
    moderatedSites: new ModeratedSites(parts),
    banners: new Banners(parts),
    lists: new Lists(parts),
    visits: new VisitReports({ ...parts, recorder }),
    policies: describePolicies({
      signUp: config.signUp,
      anonymous: {
        isPermitted: config.anonymousPublishing === 'on',
        lifetimeSeconds: config.anonymousLifetime,
        limits: publishLimits(config).anonymous,
        ...anonymousQuotas(config),
      },
      plans: config.plans,
    }),
    namedKeys: new NamedKeys(parts),
    trusts: new Trusts({ ...parts, issuers, tokens }),
    deviceSignIns: new DeviceSignIns(parts),
    sessions,
    programs: new Programs({
      ...parts,
      resource: baseUrl + MCP_PATH,
      cookies: authorizationCookies(baseUrl),
      clients: knownClients(config.oauthClients),
    }),
    accountDeletion,
    versions,
    pendingVersions,
    publishService: new PublishService({
      ...publishing,
      pendingVersions,
      targets: new SignedUploadUrls(parts),
    }),
    finalizer,
    secretScan,
    precompressor,
    archivePublisher: new ArchivePublisher({
      ...publishing,
      pendingVersions,
      finalizer,
      pendingLifetime: config.pendingLifetime,
      spoolFolder: folder.spool,
      spoolSpace: new SpoolSpace({ total: config.spoolBytes, perNetwork: Math.ceil(config.spoolBytes / 2) }),
    }),
    names,
    previews: new Previews({ ...parts, versions }),
    reviews: new Reviews(parts),
    previewLinks: new PreviewLinks({ ...parts, tokens: new PreviewTokens({ secret, kind: 'link' }) }),
    thumbnails,
    pages,
    thumbnailDrawer: openThumbnailDrawer(drawn, thumbnails, deadlines.drawing),
    sites: new Sites({ ...parts, precompressor, names, blocklist, trashLifetime }),
    trash: new Trash({ ...parts, precompressor, certificates, trashLifetime }),
    collaborators: new Collaborators(parts),
    domains: new DomainService({
      ...parts,
      certificates,
      dns,
      proxyHost: config.proxyHost,
      siteDomain: config.siteDomain,
    }),
    notices: new Notices({ ...parts, unsubscribeLinks }),
    secretBox,
    certificates,
    limits,
    credentialLookups: new MissLimiter({ ...lookupLimits, forgets: true }),
    uncounted: new MissLimiter(lookupLimits),
  }
  const sweepList = new SweepList(services, sweeps)
  const overviews = new Overviews({ ...parts, reserve, sweepList, release: options.version })
  return { ...services, sweepList, overviews }
}

export type Services = ReturnType<typeof createServices>

function anonymousQuotas(config: Config) {
  return {
    total: { bytes: config.anonymousTotalBytes, sites: config.anonymousTotalSites },
    network: { bytes: config.anonymousNetworkBytes, sites: config.anonymousNetworkSites },
  }
}

function openScanner(
  { scanHook, scanHookEnvironment: environment, scanSeconds }: Config,
  parts: Pick<Parts, 'blobs' | 'log'> & { folder: string },
): Scanner | undefined {
  if (scanHook === undefined) return undefined
  if (scanHook.kind === 'clamd') return new ClamdScanner(scanHook.address)
  const { program } = scanHook
  const timeoutMs = scanSeconds * SECOND_MS
  return new ProgramScanner({ ...parts, program, environment, timeoutMs })
}

/** Undefined unless the operator has installed a browser for it. */
function openThumbnailDrawer(
  parts: Parts & ConstructorParameters<typeof VersionFiles>[0],
  thumbnails: Thumbnails,
  timeoutMs: number,
): ThumbnailDrawer | undefined {
  const { config: program } = parts
  if (program.chromium === '') return undefined
  removeAbandonedFolders().catch((error: unknown) =>
    parts.log.warn('files of an earlier Chromium cannot be deleted', { error }),
  )
  return new ThumbnailDrawer({ ...parts, program, files: new VersionFiles(parts), thumbnails, timeoutMs })
}

export function publishLimits(config: Config): Pick<PageSettings, 'anonymous' | 'owned'> {
  return {
    anonymous: {
      files: config.anonymousFiles,
      fileBytes: config.anonymousFileBytes,
      siteBytes: config.anonymousSiteBytes,
    },
    owned: fileLimits(config.plans[DEFAULT_PLAN]!),
  }
}

/** What the settings permit, in the form of the API. */
function describePolicies({ plans, ...others }: Omit<Policies, 'plans'> & { plans: PlanTable }): Policies {
  return {
    ...others,
    plans: Object.entries(plans).map(([id, { name, ...limits }]) => ({ id, name, limits })),
  }
}
