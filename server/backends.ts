import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { AcmeOptions } from '../packages/acme-client/client.ts'
import { parseBucketUrl } from '../packages/s3-client/bucket-url.ts'
import type { Blobs } from './blobs/blobs.ts'
import { DamageReport } from './blobs/damage.ts'
import { diskBlobs, hasShards } from './blobs/disk.ts'
import { Ballast, DiskReserve } from './blobs/disk-reserve.ts'
import type { CertificateManager } from './certificates/certificates.ts'
import type { IssuingDeps } from './certificates/deps.ts'
import { type DataFolder, prepareDataFolder } from './config/data-folder.ts'
import { type Config, ConfigError } from './config/settings.ts'
import { resolverDns } from './domains/dns/resolver.ts'
import type { Sweep } from './jobs/jobs.ts'
import { DEADLINES, type Deadlines } from './lib/deadlines.ts'
import { Incidents } from './lib/incidents.ts'
import type { Log } from './lib/log.ts'
import { Metrics, type ProcessSnapshot } from './lib/metrics.ts'
import { SecretBox } from './lib/secret-box.ts'
import type { Telemetry, Tracer } from './lib/telemetry.ts'
import type { Secrets } from './lib/tokens.ts'
import { folderMail } from './mail/folder.ts'
import type { Mail, ShowCode } from './mail/mail.ts'
import { checkSmtp, smtpMail } from './mail/smtp.ts'
import type { CheckResult } from './operations/check/check-result.ts'
import {
  assertServiceSettings,
  assertSharedSettings,
  FleetSettings,
  replaceSharedSettings,
  type UsedSettings,
} from './operations/fleet/fleet-settings.ts'
import { waitForDatabase } from './operations/fleet/wait-for-database.ts'
import { observeBlobs, observeMail, observeStore } from './operations/telemetry/observe.ts'
import { sqliteStore } from './store/sqlite.ts'
import { type ChangeEffects, INDEPENDENT, type Store } from './store/store.ts'
import { UNFINISHED_MOVE } from './store/tables/jobs.ts'

export interface StartOptions {
  log: Log
  version: string
  showCode?: ShowCode
  clock?: () => number
  /** Opens another store than that of the settings, for example one that a test observes. */
  openStore?: () => Promise<Store>
  /** Identifies this run of the service for all of its processes; see `blobs/disk.ts`. */
  bootId?: string
  /** Ends a start that waits for the database. */
  signal?: AbortSignal
  /** Notifies the other processes of this machine; resolves when they have invalidated their caches. */
  broadcastInvalidation?: (effects: ChangeEffects) => Promise<void>
  /** The sweeps that run by schedule: all, except in tests that run each of them themselves. */
  scheduledSweeps?: readonly Sweep[]
  createsSecret?: boolean
  tracer?: Tracer | undefined
  collectMetrics?: () => Promise<ProcessSnapshot[]>
  /** Others than in production, for tests. */
  deadlines?: Readonly<Deadlines>
}

export type Database = Awaited<ReturnType<typeof openAnyDatabase>>

export type Backends = Awaited<ReturnType<typeof openBackends>>

export function openSharedDatabase(config: Config, startOptions: StartOptions): Promise<Database> {
  const { log, signal } = startOptions
  const open = async () => {
    const database = await openDatabase(config, startOptions)
    await assertSameFleet(config, database)
    await new FleetSettings(config, database.secret).store(database.store)
    return database
  }
  return waitForDatabase(open, { log, signal })
}

/** ConfigError when the database has only a part of the data of a service. */
export async function openDatabase(config: Config, startOptions: StartOptions): Promise<Database> {
  const database = await openAnyDatabase(config, startOptions)
  try {
    await assertMoved(database.store)
  } catch (error) {
    await database.store[Symbol.asyncDispose]()
    throw error
  }
  return database
}

async function assertMoved({ read }: Store): Promise<void> {
  if ((await read.jobCursors.find(UNFINISHED_MOVE)) === undefined) return
  throw new ConfigError(
    'The database has only a part of the data that are being moved or restored there. Run the same `slipway-server move` or `restore` again until it is complete.',
  )
}

/** Also opens one that has only a part of the data of a service. */
export async function openAnyDatabase(config: Config, startOptions: StartOptions) {
  const folder = inDataFolder(config, () => prepareDataFolder(config.data, config.secret, startOptions))
  const { secretPrevious } = config
  const secret: Secrets = secretPrevious === '' ? folder.secret : [folder.secret, secretPrevious]
  const metrics = new Metrics()
  const incidents = new Incidents({ log: startOptions.log, metrics })
  const reserve = new DiskReserve({ folder: config.data, size: config.diskReserve })
  const ballast = new Ballast({ folder: config.data, reserve, log: startOptions.log })
  const parts = { ...startOptions, metrics, incidents, ballast }
  const open = startOptions.openStore ?? (() => openStore(config, folder, parts))
  const telemetry: Telemetry = { metrics, tracer: startOptions.tracer }
  const store = observeStore(await open(), telemetry)
  return { secret, telemetry, incidents, folder, store, reserve, ballast }
}

/** Closes the database when this node does not belong to its fleet, or a command has other settings than the service. */
export async function assertSameFleet(
  config: Config,
  { store, secret }: Database,
  uses: UsedSettings = 'identity',
): Promise<void> {
  const isNode = config.databaseUrl !== '' && uses !== 'storage'
  try {
    await assertUnusedBucket(config, store)
    if (isNode) await assertSharedSettings(store, { ...config, secret })
    if (!isNode || uses === 'all') await assertServiceSettings(store, { config, secret, uses })
  } catch (error) {
    await store[Symbol.asyncDispose]()
    throw error
  }
}

/** ConfigError when a service begins in a bucket that has files: each of the two would delete those of the other one. */
export async function assertUnusedBucket({ blobsUrl }: Config, { read }: Store): Promise<void> {
  if (blobsUrl === '' || (await read.sharedSettings.list()).length > 0) return
  if ((await read.blobs.list('', 1)).length > 0) return
  const { hasObjects } = await import('./blobs/s3/inspect.ts')
  if (await hasObjects(blobsUrl, DEADLINES.blobs))
    throw new ConfigError(
      'SLIPWAY_BLOBS_URL has files, but the database is new: two services would delete the files of each other. Use another bucket or prefix, or the database of these files. If no other service uses them, run once: slipway-server settings share',
    )
}

/** Makes the settings of this node those of the fleet, or of the data folder: nodes with others do not start, or warn. */
export async function makeSettingsShared(config: Config, { store, secret }: Database): Promise<void> {
  await replaceSharedSettings(store, { ...config, secret })
  await new FleetSettings(config, secret).store(store)
}

/** The only place that selects engines, with `openStore`. */
export async function openBackends(
  config: Config,
  baseUrl: string,
  startOptions: StartOptions,
  opened?: Database,
) {
  const { log, version, showCode = () => {}, deadlines = DEADLINES } = startOptions
  const database = opened ?? (await openDatabase(config, startOptions))
  const { store, secret, telemetry, ballast } = database
  const { clock } = store
  const blobs = await openBlobs(config, database, startOptions)
  const mail = observeMail(openMail(config, { log, showCode, clock, deadlines, ballast }), telemetry)
  const dns = resolverDns({ servers: config.dnsServers, timeoutMs: deadlines.dns })
  const secretBox = new SecretBox(secret)
  const certificates = await openCertificates(config, {
    ...{ store, secretBox, clock, log, dns, version, baseUrl },
    deadlines: deadlines.authority,
  })
  return { ...database, blobs, mail, dns, secretBox, certificates }
}

type MailParts = Pick<StartOptions, 'log' | 'deadlines'> &
  Required<Pick<StartOptions, 'showCode' | 'clock'>> & { ballast?: Ballast }

export function openMail(
  { smtpUrl: url, mailFrom: from, data }: Config,
  { log, deadlines = DEADLINES, ...parts }: MailParts,
): Mail {
  return url
    ? smtpMail({ url, from, log, deadlines: deadlines.mail })
    : folderMail({ folder: join(data, 'mail'), from, log, ...parts })
}

/** Loads the driver of PostgreSQL only for its setting. */
async function openStore(
  { databaseUrl }: Config,
  { database }: DataFolder,
  options: StartOptions & { metrics: Metrics; incidents: Incidents; ballast: Ballast },
): Promise<Store> {
  const { clock = Date.now, log, version, metrics, incidents, ballast, deadlines = DEADLINES } = options
  if (databaseUrl === '') {
    const { broadcastInvalidation } = options
    const parts = { clock, ballast, deadlines, metrics, incidents, broadcastInvalidation }
    return sqliteStore({ file: database, ...parts, upgrade: { release: version, log } })
  }
  const { postgresStore } = await import('./store/postgres/postgres.ts')
  return postgresStore({ url: databaseUrl, log, metrics, incidents, timeouts: deadlines.database })
}

export async function openBlobs(
  config: Config,
  { folder, store, reserve, telemetry, incidents }: Database,
  { log, bootId = randomBytes(8).toString('hex'), deadlines = DEADLINES }: StartOptions,
): Promise<Blobs> {
  const { metrics } = telemetry
  const record = (object: string) =>
    store.write('relaxed', INDEPENDENT, ({ blobs }) => blobs.markDamaged(object))
  const damage = new DamageReport({ log, metrics, record })
  const parts = { bootId, clock: store.clock, reserve, damage }
  if (config.blobsUrl === '') {
    const blobs = inDataFolder(config, () => diskBlobs({ ...parts, folder: folder.blobs }))
    // What is published below a mount point is lost when its disk is mounted.
    if (!hasShards(folder.blobs) && (await store.read.blobs.list('', 1)).length > 0)
      throw new ConfigError(
        `${folder.blobs} is empty, but the database names files: mount its disk, or set SLIPWAY_BLOBS_URL to their bucket. If they are lost, create the folder ${join(folder.blobs, '00')} to start without them.`,
      )
    return observeBlobs(blobs, telemetry)
  }
  const { s3Blobs } = await import('./blobs/s3/s3.ts')
  const cache = { folder: folder.cache, limit: config.cacheDiskBytes, processes: config.workers }
  const bucket = parseBucketUrl(config.blobsUrl)
  const options = { ...parts, bucket, cache, hasLocalDatabase: config.databaseUrl === '' }
  return observeBlobs(
    inDataFolder(config, () => s3Blobs({ ...options, metrics, incidents, timeouts: deadlines.blobs })),
    telemetry,
  )
}

/** ConfigError when the data folder is the reason of a failure. */
export function inDataFolder<T>({ data }: Config, prepare: () => T): T {
  try {
    return prepare()
  } catch (error) {
    if (error instanceof ConfigError) throw error
    throw new ConfigError(
      `SLIPWAY_DATA=${JSON.stringify(data)} is not allowed: it must be a folder that can be written (${(error as Error).message})`,
    )
  }
}

/** Undefined without HTTPS. Modules that only HTTPS needs are loaded only then: they take a third of the start time. */
async function openCertificates(
  config: Config,
  parts: Pick<IssuingDeps, 'store' | 'secretBox' | 'clock' | 'log' | 'dns'> &
    Pick<AcmeOptions, 'version' | 'deadlines'> & { baseUrl: string },
): Promise<CertificateManager | undefined> {
  if (config.httpsPort === undefined) return undefined
  const { acmeClient } = await import('../packages/acme-client/client.ts')
  const { StoredAcmeAccount } = await import('./certificates/acme-account.ts')
  const { dnsHook } = await import('./certificates/dns-hook.ts')
  const { CertificateManager } = await import('./certificates/certificates.ts')
  const { getOwnNames: ownNames } = await import('./certificates/https.ts')
  const directory = config.acmeUrl
  const acme = acmeClient({
    ...parts,
    account: new StoredAcmeAccount({ ...parts, directory }),
    directory,
    email: config.acmeEmail,
    caFile: config.acmeCaFile || undefined,
    profile: config.acmeProfile,
    eab: config.acmeEabKeyId ? { keyId: config.acmeEabKeyId, hmacKey: config.acmeEabHmacKey } : undefined,
    pause,
  })
  const hook = config.dnsHook
    ? dnsHook({ program: config.dnsHook, environment: config.dnsHookEnvironment, log: parts.log })
    : undefined
  const { siteCertificates: perWeek, siteDomain: domain } = config
  const hasWildcard = hook !== undefined || config.tlsCertFile !== ''
  const sites = perWeek === undefined || hasWildcard ? undefined : { domain, perWeek }
  const own = ownNames(config, parts.baseUrl)
  return new CertificateManager({ ...parts, acme, directory, hook, own, sites })
}

interface CheckServiceOptions extends Required<Pick<StartOptions, 'log' | 'version' | 'deadlines'>> {
  machines: number
  /** Sends an email and says so; undefined unless it is wanted. */
  sendMail?: (() => Promise<string>) | undefined
}

/** Checks what the settings need, without a change: for `slipway-server check`. */
export async function checkService(
  config: Config,
  { log, machines, version, deadlines, sendMail }: CheckServiceOptions,
): Promise<CheckResult[]> {
  const { secretPrevious, databaseUrl, smtpUrl } = config
  const { checkConfiguration } = await import('./operations/check/check.ts')
  const machine = await import('./operations/check/check-machine.ts')
  const { checkPorts, checkProxies } = await import('./operations/check/check-network.ts')
  const { inspectDatabase } = databaseUrl === '' ? {} : await import('./store/postgres/inspect.ts')
  const current = config.secret || machine.readSecret(config.data)
  return checkConfiguration({
    config,
    secret: secretPrevious === '' ? (current ?? '') : [current ?? '', secretPrevious],
    dns: resolverDns({ servers: config.dnsServers }),
    machines,
    inspectDatabase: inspectDatabase && (() => inspectDatabase(databaseUrl)),
    checkMachine: async () => [
      ...(await checkPorts(config, current)),
      ...(await machine.checkFolder(config)),
      ...machine.checkAccessLog(config),
      ...(await machine.checkChromium(config, deadlines.drawing)),
      machine.checkSecret(config),
      ...(await checkCertificateFile(config, log)),
      ...(await checkBlobsUrl(config)),
    ],
    checkMail: smtpUrl === '' ? undefined : () => checkSmtp(smtpUrl),
    sendMail,
    checkSurroundings: async () =>
      (await Promise.all([checkAuthorityUrl(config, version), checkProxies(config, current)])).flat(),
    label: `check-${randomBytes(8).toString('hex')}`,
  })
}

async function checkAuthorityUrl(config: Config, version: string): Promise<CheckResult[]> {
  const { httpsPort, acmeUrl: directory, acmeCaFile, acmeProfile: profile, acmeEabKeyId } = config
  if (httpsPort === undefined) return []
  const { inspectAuthority } = await import('../packages/acme-client/inspect.ts')
  const { checkAuthority } = await import('./operations/check/check-engines.ts')
  return checkAuthority(directory, () =>
    inspectAuthority({
      directory,
      caFile: acmeCaFile || undefined,
      profile,
      hasExternalAccount: acmeEabKeyId !== '',
      version,
    }),
  )
}

async function checkCertificateFile(config: Config, log: Log): Promise<CheckResult[]> {
  if (config.httpsPort === undefined) return []
  const { findUncoveredHost, openCertificateFiles } = await import('./certificates/https.ts')
  const machine = await import('./operations/check/check-machine.ts')
  return machine.checkCertificateFile(Date.now(), () => {
    using files = openCertificateFiles(config, log, () => undefined)
    const problem = files && config.baseUrl !== '' ? findUncoveredHost(files, config.baseUrl) : undefined
    return files && { ...files.validity, problem }
  })
}

async function checkBlobsUrl({ blobsUrl }: Config): Promise<CheckResult[]> {
  if (blobsUrl === '') return []
  const { inspectBucket } = await import('./blobs/s3/inspect.ts')
  const { checkBucket } = await import('./operations/check/check-engines.ts')
  return checkBucket(await inspectBucket(blobsUrl))
}
