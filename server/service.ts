import { randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import type { PageSettings } from '../client/wire/page-settings.ts'
import { Accounts } from './account.ts'
import { Addresses } from './address.ts'
import { buildApi } from './api/app.ts'
import { Archives } from './archive-publish.ts'
import type { Blobs } from './blobs/blobs.ts'
import { diskBlobs } from './blobs/disk.ts'
import { callerAddress } from './caller-address.ts'
import { type Config, ConfigError } from './config.ts'
import { type DataFolder, prepareDataFolder } from './data-folder.ts'
import { resolverDns } from './dns/resolver.ts'
import { Domains } from './domain.ts'
import { isChallenge } from './edge/challenge.ts'
import { Edge } from './edge/edge.ts'
import { FastLane } from './edge/lanes/fast-lane.ts'
import { serveVisit } from './edge/lanes/http-lane.ts'
import { refuseUnclear } from './edge/lanes/plain-request.ts'
import { Encodings } from './encodings/encodings.ts'
import { MOST_FILES } from './file.ts'
import { Finalizing } from './finalize.ts'
import { Fronts } from './front/fronts.ts'
import type { Https, HttpsOptions } from './https.ts'
import { Leaving } from './leaving.ts'
import { RateLimits } from './limits/limits.ts'
import { Shares } from './limits/shares.ts'
import type { Log } from './log.ts'
import { folderMail } from './mail/folder.ts'
import type { Mail } from './mail/mail.ts'
import { smtpMail } from './mail/smtp.ts'
import { Budget } from './memory/kept.ts'
import { Publishing } from './publish.ts'
import { Sessions } from './session.ts'
import { Sites } from './site.ts'
import { InternalDoor } from './sockets/internal.ts'
import { Listener } from './sockets/listener.ts'
import { Staging } from './stage.ts'
import { sqliteStore } from './store/sqlite.ts'
import type { Store } from './store/store.ts'
import { Scheduler } from './sweeps/scheduler.ts'
import { type SweepOptions, sweeps } from './sweeps/sweeps.ts'
import type { Certificates } from './tls/issuing/certificates.ts'
import type { IssuingParts } from './tls/issuing/parts.ts'
import { Seal } from './tls/seal.ts'
import { toHttps } from './to-https.ts'
import { UploadTargets } from './upload.ts'
import { Versions } from './version.ts'
import { Bookkeeping } from './visits/bookkeeping.ts'
import { Visits } from './visits/visits.ts'

/** What a process is given beside its settings. */
export interface Surroundings {
  log: Log
  version: string
  /** Milliseconds since 1970. */
  clock?: () => number
  /** Names this run of the service for all of its processes; see `blobs/disk.ts`. */
  run?: string
  /** Tells the other processes of this machine which sites and domains changed; resolves when they have forgotten them. */
  tellSiblings?: (names: readonly string[]) => Promise<void>
}

/** The rooms without the doors: what the commands of the operator work with. */
export interface House {
  store: Store
  blobs: Blobs
  accounts: Accounts
  sweepOptions: SweepOptions
}

export interface Service extends AsyncDisposable {
  port: number
  /** Where HTTPS is spoken, when it is. */
  httpsPort: number | undefined
  /** Where proxies on this machine ask, when there is such a port. */
  internalPort: number | undefined
  baseUrl: string
  /** The work that goes on behind the answers. */
  encodings: Encodings
  /** Forgets what is cached of these sites and domains, because another process changed them. */
  forget(names: readonly string[]): Promise<void> | undefined
}

interface Engines {
  folder: DataFolder
  store: Store
  blobs: Blobs
  mail: Mail
  seal: Seal
  certificates: Certificates | undefined
}

/**
 * Runs the whole service in this process until it is disposed: that ends it in order, with what is under way
 * finished as far as `drainSeconds` allow.
 */
export async function startService(config: Config, surroundings: Surroundings): Promise<Service> {
  await using stack = new AsyncDisposableStack()
  const shared = surroundings.tellSiblings !== undefined
  const listener = await Listener.open(config.host, config.port, { shared })
  stack.defer(() => listener.drain(config.drainSeconds))
  const baseUrl = config.baseUrl || `http://localhost:${listener.port}`
  const clock = surroundings.clock ?? Date.now
  const { log } = surroundings

  const engines = await openEngines(config, baseUrl, surroundings)
  stack.use(engines.store)
  const { store, blobs } = engines
  const book = config.visits === 'on' ? new Bookkeeping({ store, clock, log }) : undefined
  if (book) stack.use(book)
  const rooms = furnish(config, baseUrl, engines, surroundings)
  stack.use(rooms.finalizing)
  stack.use(new Scheduler(rooms.sweepOptions, sweeps))
  // End before the sweeps, which wait for them.
  stack.use(rooms.encodings)
  stack.use(rooms.domains)
  if (rooms.certificates) stack.use(rooms.certificates)

  const addressOf = callerAddress(config.trustedProxies)
  const budget = new Budget(config.cacheBytes)
  const { secret } = engines.folder
  const https = await openHttps(config, { shared, baseUrl, store, secret, seal: rooms.seal, clock, log })
  if (https) stack.use(https)
  const edge = new Edge({
    store,
    blobs,
    addresses: rooms.addresses,
    clock,
    log,
    secret,
    budget,
    addressOf,
    https,
    book,
  })
  const forget = (names: readonly string[] | undefined) => {
    edge.forget(names)
    return https?.forget(names)
  }
  store.onChange(async (names, own) => {
    const known = forget(names)
    if (own && names) await surroundings.tellSiblings?.(names)
    await known
  })
  const api = await buildApi({
    ...rooms,
    visits: new Visits({ store, book, clock }),
    baseUrl,
    version: surroundings.version,
    manifestBytes: config.manifestBytes,
    page: pageSettings(config, baseUrl),
    sitesAddress: rooms.addresses.site('*').slice(0, -1),
    clock,
    uploads: new Shares({ all: config.uploadsAtOnce, each: Math.ceil(config.uploadsAtOnce / 4) }),
    addressOf,
    log,
    healthy: async () => {
      await store.check()
      await blobs.check()
    },
  })
  stack.defer(() => api.close())

  listener.serve({
    request: (request: IncomingMessage, response: ServerResponse) => {
      if (refuseUnclear(request, response)) return
      if (edge.knows(request.headers.host) || isChallenge(request.url ?? ''))
        serveVisit(edge, request, response)
      else if (!https || !toHttps(https, baseUrl, request, response)) api.routing(request, response)
    },
    lane: config.fastLane === 'on' ? new FastLane({ edge, clock, budget }) : undefined,
  })
  https?.serve({ edge, listener, budget })
  const internal = await openInternal(config.internalPort, {
    shared,
    allows: (name) => edge.mayHaveCertificate(name),
    log,
  })
  if (internal) stack.use(internal)
  const opened = stack.move()
  return {
    port: listener.port,
    httpsPort: https?.listeningPort,
    internalPort: internal?.port,
    baseUrl,
    encodings: rooms.encodings,
    forget,
    [Symbol.asyncDispose]: async () => {
      const { drainSeconds } = config
      // Those who follow a domain would have to be waited for.
      const ended = rooms.domains.endFollowing()
      await Promise.all([ended, listener.drain(drainSeconds), https?.drain(drainSeconds)])
      await opened.disposeAsync()
    },
  }
}

/** Opens the rooms for a command of the operator, beside a running service or without one. */
export async function openHouse(
  config: Config,
  surroundings: Surroundings,
): Promise<House & AsyncDisposable> {
  const baseUrl = config.baseUrl || `http://localhost:${config.port}`
  const engines = await openEngines(config, baseUrl, surroundings)
  const rooms = furnish(config, baseUrl, engines, surroundings)
  const { accounts, encodings, sweepOptions } = rooms
  const { store, blobs } = engines
  const stack = new AsyncDisposableStack()
  stack.use(store)
  stack.use(encodings)
  return { store, blobs, accounts, sweepOptions, [Symbol.asyncDispose]: () => stack.disposeAsync() }
}

/** What the pages for people know before they ask. */
function pageSettings(config: Config, baseUrl: string): PageSettings {
  return {
    baseUrl,
    siteDomain: `.${config.siteDomain}`,
    ...publishLimits(config),
    anonymousLifetime: config.anonymousLifetime,
    visits: config.visits === 'on',
  }
}

/** How much may be published without an account, and with one. */
function publishLimits(config: Config): Pick<PageSettings, 'anonymous' | 'owned'> {
  const { anonymousFileBytes, anonymousSiteBytes, ownedFileBytes, ownedSiteBytes } = config
  return {
    anonymous: { files: MOST_FILES, fileBytes: anonymousFileBytes, siteBytes: anonymousSiteBytes },
    owned: { files: MOST_FILES, fileBytes: ownedFileBytes, siteBytes: ownedSiteBytes },
  }
}

async function openInternal(
  port: number | undefined,
  options: Omit<Parameters<typeof InternalDoor.open>[0], 'port'>,
): Promise<InternalDoor | undefined> {
  return port === undefined ? undefined : InternalDoor.open({ ...options, port })
}

/** The only place that picks engines. */
async function openEngines(config: Config, baseUrl: string, surroundings: Surroundings): Promise<Engines> {
  const { log, version, clock = Date.now, run = randomBytes(8).toString('hex') } = surroundings
  const folder = inDataFolder(config, () => prepareDataFolder(config.data, config.secret))
  const store = await sqliteStore({ file: folder.database, clock })
  const blobs = inDataFolder(config, () => diskBlobs({ folder: folder.blobs, run }))
  const mail = config.smtpUrl
    ? smtpMail({ url: config.smtpUrl, from: config.mailFrom, log })
    : folderMail({ folder: folder.mail, from: config.mailFrom, log, clock })
  const seal = new Seal(folder.secret)
  const certificates = await openCertificates(config, { store, seal, clock, log, version, baseUrl })
  return { folder, store, blobs, mail, seal, certificates }
}

function inDataFolder<T>({ data }: Config, prepare: () => T): T {
  try {
    return prepare()
  } catch (error) {
    throw new ConfigError(
      `SLIPWAY_DATA=${JSON.stringify(data)} is not allowed: it must be a folder that can be written (${(error as Error).message})`,
    )
  }
}

/** Builds every room over its engines. */
function furnish(config: Config, baseUrl: string, engines: Engines, { clock = Date.now, log }: Surroundings) {
  const { store, blobs, mail, folder, seal, certificates } = engines
  const { secret } = folder
  const addresses = new Addresses({ baseUrl, siteDomain: config.siteDomain })
  const staging = new Staging({
    store,
    addresses,
    clock,
    anonymousLifetime: config.anonymousLifetime,
    limits: publishLimits(config),
  })
  const encodings = new Encodings({ store, blobs, clock, log })
  const targets = new UploadTargets({ baseUrl, secret, clock })
  const fronts = new Fronts({ store, blobs, addresses, encodings, clock })
  const versions = new Versions({ store, blobs, addresses, fronts, clock, kept: config.versionsKept })
  const finalizing = new Finalizing({ store, blobs, versions, encodings, addresses, fronts, clock, log })
  const domains = new Domains({
    store,
    certificates,
    dns: resolverDns({ servers: config.dnsServers }),
    clock,
    log,
    proxyHost: config.proxyHost,
    siteDomain: config.siteDomain,
    baseUrl,
  })
  const sessions = new Sessions({ store, clock })
  const leaving = new Leaving({ store, blobs, clock, certificates })
  const rates = {
    anonymous: config.rateAnonymous,
    free: config.rateFree,
    hobby: config.rateHobby,
    signIn: config.rateSignIn,
  }
  return {
    addresses,
    accounts: new Accounts({ store, mail, sessions, baseUrl, secret, clock }),
    sessions,
    leaving,
    versions,
    staging,
    publishing: new Publishing({ store, blobs, staging, targets, addresses, clock }),
    finalizing,
    encodings,
    archives: new Archives({ store, blobs, staging, finalizing, spoolFolder: folder.spool, clock }),
    sites: new Sites({ store, blobs, addresses, fronts, clock, certificates }),
    domains,
    seal,
    certificates,
    limits: new RateLimits({ store, clock, rates }),
    sweepOptions: {
      store,
      blobs,
      versions,
      encodings,
      domains,
      leaving,
      certificates,
      clock,
      log,
      pendingLifetime: config.pendingLifetime,
      blobGrace: config.blobGrace,
    },
  }
}

/**
 * Gets and renews certificates at the CA of the settings; undefined when this service does not speak HTTPS. What only HTTPS
 * needs is loaded only then: it would take a third of the time that a start takes.
 */
async function openCertificates(
  config: Config,
  parts: Pick<IssuingParts, 'store' | 'seal' | 'clock' | 'log'> & { version: string; baseUrl: string },
): Promise<Certificates | undefined> {
  if (config.httpsPort === undefined) return undefined
  const { acmeClient } = await import('./tls/acme/client.ts')
  const { dnsHook } = await import('./tls/dns-hook.ts')
  const { Certificates } = await import('./tls/issuing/certificates.ts')
  const { ownNames } = await import('./https.ts')
  const acme = acmeClient({
    ...parts,
    directory: config.acmeUrl,
    email: config.acmeEmail,
    caFile: config.acmeCaFile || undefined,
    profile: config.acmeProfile,
    eab: config.acmeEabKeyId ? { keyId: config.acmeEabKeyId, hmacKey: config.acmeEabHmacKey } : undefined,
    pause,
  })
  const hook = config.dnsHook ? dnsHook({ program: config.dnsHook, log: parts.log }) : undefined
  return new Certificates({ ...parts, acme, hook, own: ownNames(config, parts.baseUrl) })
}

async function openHttps(config: Config, parts: Omit<HttpsOptions, 'config'>): Promise<Https | undefined> {
  if (config.httpsPort === undefined) return undefined
  const { Https } = await import('./https.ts')
  return Https.open({ ...parts, config }, config.httpsPort)
}
