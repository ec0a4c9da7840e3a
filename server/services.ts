import type { PageSettings } from '../protocol/api/page-settings.ts'
import { Accounts } from './accounts/account.ts'
import { AccountPlans } from './accounts/account-plans.ts'
import { Administrators } from './accounts/administrators.ts'
import { Blocklist } from './accounts/blocklist.ts'
import { DeviceSignIns } from './accounts/device-sign-in.ts'
import { Invitations } from './accounts/invitations.ts'
import { NamedKeys } from './accounts/named-keys.ts'
import { knownClients } from './accounts/oauth/known-clients.ts'
import { Programs } from './accounts/oauth/programs.ts'
import { DEFAULT_PLAN, fileLimits, Plans } from './accounts/plans.ts'
import { Quotas } from './accounts/quotas.ts'
import { RateLimits } from './accounts/rate-limits.ts'
import { Sessions } from './accounts/session.ts'
import { IdTokens } from './accounts/trusts/id-tokens.ts'
import { Trusts } from './accounts/trusts/trusts.ts'
import { UnsubscribeLinks } from './accounts/unsubscribe.ts'
import { authorizationCookies } from './api/cookies.ts'
import { MCP_PATH } from './api/mcp/resource.ts'
import type { Backends, StartOptions } from './backends.ts'
import { BlobReader } from './blobs/blob-reader.ts'
import type { Config } from './config/settings.ts'
import { DomainService } from './domains/domain.ts'
import { AccountDeletion } from './jobs/account-deletion.ts'
import { DEADLINES } from './lib/deadlines.ts'
import type { MemoryBudget } from './lib/second-chance-cache.ts'
import { SECOND_MS } from './lib/time.ts'
import { AuditLog } from './operations/administration/audit-log.ts'
import { Banners } from './operations/administration/banners.ts'
import { Lists } from './operations/administration/lists.ts'
import { describePolicies } from './operations/administration/policies.ts'
import { Blocks } from './operations/moderation/blocks.ts'
import { ModeratedSites } from './operations/moderation/moderated-sites.ts'
import { Removals } from './operations/moderation/removals.ts'
import { Reports } from './operations/moderation/reports.ts'
import { Suspensions } from './operations/moderation/suspensions.ts'
import { Notices } from './operations/notices/notices.ts'
import { SpoolSpace } from './publish/archive/spool.ts'
import { ArchivePublisher } from './publish/archive-upload.ts'
import { Finalizer } from './publish/finalize.ts'
import { Precompressor } from './publish/precompress/precompressor.ts'
import { PublishService } from './publish/publish.ts'
import { ClamdScanner } from './publish/scan/clamd-scanner.ts'
import { ContentScan } from './publish/scan/content-scan.ts'
import { ProgramScanner } from './publish/scan/program-scanner.ts'
import type { Scanner } from './publish/scan/scanner.ts'
import { SignedUploadUrls } from './publish/signed-uploads.ts'
import { PendingVersionStore } from './publish/stage.ts'
import { Collaborators } from './sites/collaborators.ts'
import { MarkdownPages } from './sites/markdown/markdown-pages.ts'
import { NamePolicy } from './sites/name-policy.ts'
import { SiteNames } from './sites/names.ts'
import { InjectedDocuments } from './sites/page-metadata/injected-document.ts'
import { PreviewLinks, PreviewTokens } from './sites/preview-links.ts'
import { Previews } from './sites/previews.ts'
import { Sites } from './sites/site.ts'
import { Thumbnails } from './sites/thumbnails.ts'
import { Trash } from './sites/trash.ts'
import { UrlBuilder } from './sites/urls.ts'
import { Versions } from './sites/version-history.ts'

/** Builds every service over its engines. */
export function createServices(
  config: Config,
  baseUrl: string,
  backends: Backends,
  {
    log,
    budget,
    clock: testClock,
    deadlines = DEADLINES,
  }: Pick<StartOptions, 'log' | 'clock' | 'deadlines'> & { budget: MemoryBudget },
) {
  const { store, blobs, mail, dns, folder, secret, secretBox, certificates, telemetry } = backends
  const { clock } = store
  const plans = new Plans(config.plans, log)
  const anonymousQuotas = {
    total: { bytes: config.anonymousTotalBytes, sites: config.anonymousTotalSites },
    network: { bytes: config.anonymousNetworkBytes, sites: config.anonymousNetworkSites },
  }
  const quotas = new Quotas({
    plans,
    anonymous: anonymousQuotas,
    secret,
    clock,
  })
  const addresses = new UrlBuilder({ baseUrl, siteDomain: config.siteDomain })
  const blobReader = new BlobReader(blobs, store.read.blobs)
  const injectedDocuments = new InjectedDocuments({ blobs: blobReader, budget })
  const markdownPages = new MarkdownPages({ blobs: blobReader, budget, log })
  const precompressor = new Precompressor({
    store,
    blobs,
    blobReader,
    addresses,
    injectedDocuments,
    clock,
    log,
  })
  const policy = namePolicy(config, baseUrl)
  const blocklist = new Blocklist(store)
  const names = new SiteNames({ store, policy, addresses, precompressor, clock })
  const pendingVersions = new PendingVersionStore({
    store,
    blocklist,
    addresses,
    names,
    clock,
    anonymousLifetime: config.anonymousLifetime,
    previewLifetime: config.previewLifetime,
    plans,
    quotas,
    allowsAnonymous: config.anonymousPublishing === 'on',
    anonymousLimits: publishLimits(config).anonymous,
  })
  const targets = new SignedUploadUrls({ baseUrl, secret, clock })
  const versions = new Versions({
    store,
    blobs: blobReader,
    addresses,
    precompressor,
    clock,
    plans,
    draftLifetime: config.draftLifetime,
  })
  const contentScan = new ContentScan({
    store,
    scanner: openScanner(config, folder.spool),
    timeoutMs: config.scanSeconds * SECOND_MS,
    onFailure: config.scanFailure,
    clock,
    log,
    telemetry,
  })
  const finalizer = new Finalizer({
    store,
    blocklist,
    contentScan,
    blobs,
    blobReader,
    versions,
    plans,
    quotas,
    names,
    precompressor,
    addresses,
    clock,
    log,
    telemetry,
  })
  const domains = new DomainService({
    store,
    certificates,
    dns,
    clock,
    log,
    proxyHost: config.proxyHost,
    siteDomain: config.siteDomain,
    baseUrl,
    plans,
  })
  const sessions = new Sessions({ store, clock })
  const auditLog = new AuditLog(store)
  const { branding } = config
  const accounts = new Accounts({
    ...{ store, mail, sessions, signUp: config.signUp },
    ...{ baseUrl, branding, secret, clock },
  })
  const unsubscribeLinks = new UnsubscribeLinks({ baseUrl, secret, accounts })
  const blocks = new Blocks({ store, clock })
  const rates = {
    anonymous: config.rateAnonymous,
    session: config.rateSession,
    signIn: config.rateSignIn,
  }
  const limits = new RateLimits({ store, clock, rates, plans })
  const reports = new Reports({
    store,
    mail,
    addresses,
    branding,
    limits,
    clock,
    email: config.reportEmail,
  })
  const accountDeletion = new AccountDeletion({ store, clock, certificates })
  const issuers = config.oidcIssuers
  const monotonicClock = testClock ?? (() => performance.now())
  const { issuerKeys: keysTimeoutMs } = deadlines
  const tokens = new IdTokens({ issuers, audience: baseUrl, clock, monotonicClock, log, keysTimeoutMs })
  return {
    addresses,
    injectedDocuments,
    markdownPages,
    accounts,
    unsubscribeLinks,
    accountPlans: new AccountPlans({ store, plans, clock }),
    invitations: new Invitations({ store, mail, policy: config.signUp, baseUrl, branding, clock }),
    administrators: new Administrators({ store, clock }),
    auditLog,
    blocklist,
    suspensions: new Suspensions({ store, clock }),
    removals: new Removals({ store, clock, certificates, accountDeletion, mail, baseUrl, branding }),
    blocks,
    reports,
    moderatedSites: new ModeratedSites({ store, addresses }),
    banners: new Banners({ store, clock }),
    lists: new Lists({ store, addresses }),
    policies: describePolicies({
      signUp: config.signUp,
      anonymous: {
        isPermitted: config.anonymousPublishing === 'on',
        lifetimeSeconds: config.anonymousLifetime,
        limits: publishLimits(config).anonymous,
        ...anonymousQuotas,
      },
      plans: config.plans,
    }),
    namedKeys: new NamedKeys({ store, clock }),
    trusts: new Trusts({ store, clock, issuers, tokens }),
    deviceSignIns: new DeviceSignIns({ store, baseUrl, secret, clock }),
    sessions,
    programs: new Programs({
      baseUrl,
      resource: baseUrl + MCP_PATH,
      cookies: authorizationCookies(baseUrl),
      clients: knownClients(config.oauthClients),
      secret,
      store,
      clock,
    }),
    accountDeletion,
    versions,
    pendingVersions,
    publishService: new PublishService({
      store,
      blobs,
      pendingVersions,
      targets,
      addresses,
      clock,
      log,
    }),
    finalizer,
    precompressor,
    archivePublisher: new ArchivePublisher({
      store,
      blobs,
      pendingVersions: pendingVersions,
      finalizer: finalizer,
      spoolFolder: folder.spool,
      spoolSpace: new SpoolSpace({
        total: config.spoolBytes,
        perNetwork: Math.ceil(config.spoolBytes / 2),
      }),
      quotas,
      clock,
      pendingLifetime: config.pendingLifetime,
    }),
    names,
    previews: new Previews({ store, versions, clock }),
    previewLinks: new PreviewLinks({ store, addresses, tokens: new PreviewTokens(secret), clock }),
    thumbnails: new Thumbnails({ store, blocklist, blobs, addresses, clock }),
    sites: new Sites({ store, blobs, addresses, precompressor, quotas, names, clock }),
    trash: new Trash({
      store,
      precompressor,
      plans,
      certificates,
      clock,
      lifetimeSeconds: config.trashLifetime,
    }),
    collaborators: new Collaborators({ store, clock }),
    domains,
    secretBox,
    certificates,
    limits,
    plans,
    sweepOptions: {
      store,
      blobs,
      versions,
      precompressor,
      domains,
      accountDeletion,
      auditLog,
      blocks,
      contentScan,
      reports,
      notices: new Notices({ store, mail, addresses, branding, unsubscribeLinks, clock, log }),
      certificates,
      clock,
      log,
      telemetry,
      pendingLifetime: config.pendingLifetime,
      blobGrace: config.blobGrace,
      verifyDaily: config.verifyDaily,
    },
  }
}

/** The scanner that the settings select. */
function openScanner(
  { scanHook, scanHookEnvironment: environment, scanSeconds }: Config,
  folder: string,
): Scanner | undefined {
  if (scanHook === undefined) return undefined
  if (scanHook.kind === 'clamd') return new ClamdScanner(scanHook.address)
  const { program } = scanHook
  return new ProgramScanner({ program, environment, folder, timeoutMs: scanSeconds * SECOND_MS })
}

/** Publishing limits with and without an account. */
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

function namePolicy({ reservedNames, siteDomain, proxyHost }: Config, baseUrl: string): NamePolicy {
  return new NamePolicy({ reservedNames, hosts: [new URL(baseUrl).hostname, siteDomain, proxyHost] })
}
