import { randomBytes } from 'node:crypto'
import { mkdir, rm, stat } from 'node:fs/promises'
import { join, relative, resolve } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Blobs } from './blobs/blobs.ts'
import { DamageReport } from './blobs/damage.ts'
import { diskBlobs } from './blobs/disk.ts'
import { DiskReserve } from './blobs/disk-reserve.ts'
import { parseBucketUrl } from './blobs/s3/bucket-url.ts'
import type { AcmeOptions } from './certificates/acme/client.ts'
import type { CertificateManager } from './certificates/certificates.ts'
import type { IssuingDeps } from './certificates/deps.ts'
import { assertDataFolder, type DataFolder, prepareDataFolder } from './config/data-folder.ts'
import { bucketUrl, readValue } from './config/setting-types.ts'
import { type Config, ConfigError } from './config/settings.ts'
import type { Dns } from './domains/dns/dns.ts'
import { resolverDns } from './domains/dns/resolver.ts'
import type { Sweep } from './jobs/jobs.ts'
import { DEADLINES, type Deadlines } from './lib/deadlines.ts'
import { Incidents } from './lib/incidents.ts'
import type { Log } from './lib/log.ts'
import { Metrics, type ProcessSnapshot } from './lib/metrics.ts'
import { SecretBox } from './lib/secret-box.ts'
import type { Telemetry, Tracer } from './lib/telemetry.ts'
import { type Secrets, Signer } from './lib/tokens.ts'
import { folderMail } from './mail/folder.ts'
import type { Mail } from './mail/mail.ts'
import type { ShowCode } from './mail/show-code.ts'
import { checkSmtp, smtpMail } from './mail/smtp.ts'
import type { BackupOptions, BackupProgress } from './operations/backup/backup.ts'
import type { BackupManifest } from './operations/backup/manifest.ts'
import type { PruneResult } from './operations/backup/prune.ts'
import type { BackupTarget } from './operations/backup/target.ts'
import type { CheckResult } from './operations/check/check-result.ts'
import { FleetSettings } from './operations/fleet/fleet-settings.ts'
import { assertSharedSettings, replaceSharedSettings } from './operations/fleet/shared-settings.ts'
import { waitForDatabase } from './operations/fleet/wait-for-database.ts'
import type { MoveOptions, MoveResult, Storage } from './operations/move.ts'
import { observeBlobs, observeMail, observeStore } from './operations/telemetry/observe-engines.ts'
import type { ChangeEffects } from './store/contract/changes.ts'
import { UNFINISHED_MOVE } from './store/contract/job-cursors.ts'
import { isOpenElsewhere, sqliteStore, sqliteTables } from './store/sqlite.ts'
import type { Store } from './store/store.ts'
import type { Tables } from './store/transfer.ts'

/** Start options beside the settings. */
export interface StartOptions {
  log: Log
  version: string
  /** Shows sign-in codes without a mail server. */
  showCode?: ShowCode
  /** Milliseconds since 1970. */
  clock?: () => number
  /** Opens another store than that of the settings, for example one that a test observes. */
  openStore?: () => Promise<Store>
  /** Identifies this run of the service for all of its processes; see `blobs/disk.ts`. */
  bootId?: string
  /** Ends a start that waits for the database. */
  signal?: AbortSignal
  /**
   * Notifies the other processes of this machine of changed sites and domains; resolves when they have
   * invalidated their caches.
   */
  broadcastInvalidation?: (effects: ChangeEffects) => Promise<void>
  /** The sweeps that run by schedule: all, except in tests that run each of them themselves. */
  scheduledSweeps?: readonly Sweep[]
  /** Records traces. */
  tracer?: Tracer | undefined
  /** Collects the metrics of all processes of this machine. */
  collectMetrics?: () => Promise<ProcessSnapshot[]>
  /** Others than in production, for tests. */
  deadlines?: Readonly<Deadlines>
}

/** The database, and what it is opened with. */
export interface Database {
  secret: Secrets
  telemetry: Telemetry
  incidents: Incidents
  folder: DataFolder
  store: Store
}

/** The engines of the services. */
export interface Backends extends Database {
  reserve: DiskReserve
  blobs: Blobs
  mail: Mail
  dns: Dns
  secretBox: SecretBox
  certificates: CertificateManager | undefined
}

/** Waits for the database of a fleet. */
export function openSharedDatabase(config: Config, startOptions: StartOptions): Promise<Database> {
  const { log, signal } = startOptions
  const open = async () => {
    const database = await openDatabase(config, startOptions)
    await assertSameFleet(config, database)
    const settings = new FleetSettings(config, database.secret)
    await settings.warn(database.store, log)
    await settings.store(database.store)
    return database
  }
  return waitForDatabase(open, { log, signal })
}

/** Opens the database; ConfigError when it has only a part of the data of a service. */
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

async function openAnyDatabase(config: Config, startOptions: StartOptions): Promise<Database> {
  const folder = inDataFolder(config, () => prepareDataFolder(config.data, config.secret))
  const { secretPrevious } = config
  const secret: Secrets = secretPrevious === '' ? folder.secret : [folder.secret, secretPrevious]
  const metrics = new Metrics()
  const incidents = new Incidents({ log: startOptions.log, metrics })
  const open =
    startOptions.openStore ?? (() => openStore(config, folder, { ...startOptions, metrics, incidents }))
  const telemetry = { metrics, tracer: startOptions.tracer }
  return { secret, telemetry, incidents, folder, store: observeStore(await open(), telemetry) }
}

/** Closes the database when this node does not belong to its fleet. */
export async function assertSameFleet(config: Config, { store, secret }: Database): Promise<void> {
  if (config.databaseUrl === '') return
  try {
    await assertSharedSettings(store, { ...config, secret })
  } catch (error) {
    await store[Symbol.asyncDispose]()
    throw error
  }
}

/** Makes the settings of this node those of the fleet: nodes with others do not start, or warn. */
export async function makeSettingsShared(config: Config, { store, secret }: Database): Promise<void> {
  if (config.databaseUrl === '') return
  await replaceSharedSettings(store, { ...config, secret })
  await new FleetSettings(config, secret).store(store)
}

/** The only place that selects engines, with `openStore`. */
export async function openBackends(
  config: Config,
  baseUrl: string,
  startOptions: StartOptions,
  opened?: Database,
): Promise<Backends> {
  const { log, version, bootId = randomBytes(8).toString('hex') } = startOptions
  const { showCode = () => {}, deadlines = DEADLINES } = startOptions
  const database = opened ?? (await openDatabase(config, startOptions))
  const { folder, store, secret, telemetry, incidents } = database
  const { clock } = store
  const reserve = new DiskReserve({ folder: config.data, size: config.diskReserve })
  const blobs = await openBlobs(config, folder, {
    ...{ bootId, clock, reserve, telemetry, incidents, log },
    timeoutMs: deadlines.blobs,
  })
  const mail = observeMail(openMail(config, { log, showCode, clock, deadlines }), telemetry)
  const dns = resolverDns({ servers: config.dnsServers, timeoutMs: deadlines.dns })
  const secretBox = new SecretBox(secret)
  const certificates = await openCertificates(config, {
    ...{ store, secretBox, clock, log, dns, version, baseUrl },
    deadlines: deadlines.authority,
  })
  return { ...database, reserve, blobs, mail, dns, secretBox, certificates }
}

interface MailParts {
  log: Log
  showCode: ShowCode
  clock: () => number
  deadlines?: Readonly<Deadlines>
}

/** The mail server of the settings, or files in the data folder. */
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
  {
    clock = Date.now,
    log,
    version,
    metrics,
    incidents,
    deadlines = DEADLINES,
  }: StartOptions & { metrics: Metrics; incidents: Incidents },
): Promise<Store> {
  if (databaseUrl === '') {
    const upgrade = { release: version, log }
    return sqliteStore({ file: database, clock, busyTimeoutMs: deadlines.databaseLock, upgrade })
  }
  const { postgresStore } = await import('./store/postgres/postgres.ts')
  return postgresStore({ url: databaseUrl, log, metrics, incidents, timeouts: deadlines.database })
}

/** Loads the client of S3 only for its setting. */
async function openBlobs(
  config: Config,
  folder: DataFolder,
  {
    telemetry,
    incidents,
    timeoutMs,
    ...parts
  }: {
    bootId: string
    clock: () => number
    reserve: DiskReserve
    telemetry: Telemetry
    incidents: Incidents
    log: Log
    timeoutMs: number
  },
): Promise<Blobs> {
  const { metrics } = telemetry
  if (config.blobsUrl === '') {
    const damage = new DamageReport({ log: parts.log, metrics })
    const blobs = await inDataFolder(config, () => diskBlobs({ ...parts, damage, folder: folder.blobs }))
    return observeBlobs(blobs, telemetry)
  }
  const { s3Blobs } = await import('./blobs/s3/s3.ts')
  const cache = { folder: folder.cache, limit: config.cacheDiskBytes, processes: config.workers }
  const bucket = parseBucketUrl(config.blobsUrl)
  const options = { ...parts, bucket, cache, hasLocalDatabase: config.databaseUrl === '' }
  return observeBlobs(
    inDataFolder(config, () => s3Blobs({ ...options, metrics, incidents, timeoutMs })),
    telemetry,
  )
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

/**
 * Requests and renews certificates; undefined without HTTPS. Modules that only HTTPS needs are loaded only
 * then: they would take a third of the start time.
 */
async function openCertificates(
  config: Config,
  parts: Pick<IssuingDeps, 'store' | 'secretBox' | 'clock' | 'log' | 'dns'> &
    Pick<AcmeOptions, 'version' | 'deadlines'> & { baseUrl: string },
): Promise<CertificateManager | undefined> {
  if (config.httpsPort === undefined) return undefined
  const { acmeClient } = await import('./certificates/acme/client.ts')
  const { dnsHook } = await import('./certificates/dns-hook.ts')
  const { CertificateManager } = await import('./certificates/certificates.ts')
  const { getOwnNames: ownNames } = await import('./net/tls/https.ts')
  const acme = acmeClient({
    ...parts,
    directory: config.acmeUrl,
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
  return new CertificateManager({ ...parts, acme, hook, own: ownNames(config, parts.baseUrl), sites })
}

interface CheckServiceOptions {
  /** Machines of the fleet. */
  machines: number
  version: string
  /** Sends an email and says so; undefined unless it is wanted. */
  sendMail?: (() => Promise<string>) | undefined
}

/** Checks what the settings need, without a change: for `slipway-server check`. */
export async function checkService(
  config: Config,
  { machines, version, sendMail }: CheckServiceOptions,
): Promise<CheckResult[]> {
  const { secretPrevious, databaseUrl, smtpUrl } = config
  const { checkConfiguration } = await import('./operations/check/check.ts')
  const { checkPorts } = await import('./operations/check/check-ports.ts')
  const { checkFolder } = await import('./operations/check/check-folder.ts')
  const { checkAccessLog } = await import('./operations/check/check-access-log.ts')
  const { checkSecret, readSecret } = await import('./operations/check/check-secret.ts')
  const { checkProxies } = await import('./operations/check/check-proxies.ts')
  const { inspectDatabase } = databaseUrl === '' ? {} : await import('./store/postgres/inspect.ts')
  const current = config.secret || readSecret(config.data)
  return checkConfiguration({
    config,
    secret: secretPrevious === '' ? (current ?? '') : [current ?? '', secretPrevious],
    dns: resolverDns({ servers: config.dnsServers }),
    machines,
    inspectDatabase: inspectDatabase && (() => inspectDatabase(databaseUrl)),
    checkMachine: async () => [
      ...(await checkPorts(config, current)),
      ...(await checkFolder(config)),
      ...checkAccessLog(config),
      checkSecret(config),
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
  const { inspectAuthority } = await import('./certificates/acme/inspect.ts')
  const { checkAuthority } = await import('./operations/check/check-authority.ts')
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

async function checkBlobsUrl({ blobsUrl }: Config): Promise<CheckResult[]> {
  if (blobsUrl === '') return []
  const { inspectBucket } = await import('./blobs/s3/inspect.ts')
  const { checkBucket } = await import('./operations/check/check-bucket.ts')
  return checkBucket(await inspectBucket(blobsUrl))
}

/** The settings of a service's storage. */
export type StorageSettings = Pick<Config, 'data' | 'databaseUrl' | 'blobsUrl'>

/** Copies all data of a service to another database and other blobs (`move`). */
export async function moveData(
  config: Config,
  to: StorageSettings,
  { report, ...startOptions }: StartOptions & Pick<MoveOptions, 'report'>,
): Promise<MoveResult> {
  await using stack = new AsyncDisposableStack()
  const source = stack.use(await openStorage(config, startOptions, { isSource: true }))
  const [secret] = [source.secret].flat()
  const targetConfig = { ...config, ...to, secret: secret! }
  const target = stack.use(await openStorage(targetConfig, startOptions, { isSource: false }))
  const sourceId = new Signer(source.secret, 'move').sign(['source'])
  const { move } = await import('./operations/move.ts')
  return await move({
    source,
    target,
    sourceId,
    now: { source: source.clock(), target: target.clock() },
    report,
  })
}

export interface BackupRun extends StartOptions, Pick<BackupOptions, 'report'> {
  target: string
  withSecret: boolean
  /** Backups that the target keeps; 0 keeps all. */
  keep: number
}

/**
 * Copies the database and the files that it names to a backup target, and then deletes earlier backups there. BackupError
 * when the target fails; the reason of `signal` when it aborts.
 */
export async function backUpData(config: Config, run: BackupRun): Promise<BackupResult> {
  assertBackedUpHere(config, run.target)
  const { withSpaceErrors } = await import('./operations/backup/space-errors.ts')
  const { recordRun } = await import('./operations/backup/record-run.ts')
  await using stack = new AsyncDisposableStack()
  const database = await openDatabase(config, run)
  const { store } = database
  stack.use(store)
  return await recordRun({ store, log: run.log }, () =>
    withSpaceErrors(config.data, () => backUpInto(config, database, run)),
  )
}

type BackupResult = BackupManifest & BackupProgress & { pruned: PruneResult | undefined }

async function backUpInto(
  config: Config,
  database: Database,
  { target: to, withSecret, keep, report, ...startOptions }: BackupRun,
): Promise<BackupResult> {
  const { BackupLease } = await import('./operations/backup/backup-lease.ts')
  const { backUp } = await import('./operations/backup/backup.ts')
  const { pruneAfter } = await import('./operations/backup/prune.ts')
  const { copySqlite } = await import('./store/sqlite-copy.ts')
  const { Snapshot } = await import('./store/snapshot.ts')
  const target = await openBackupTarget(to)
  await using stack = new AsyncDisposableStack()
  const { store, folder, secret } = database
  const blobs = await openBlobsOf(config, database, startOptions)
  const lease = stack.use(await BackupLease.acquire(store))
  const workFolder = join(config.data, 'backup')
  const removeWork = () => rm(workFolder, { recursive: true, force: true })
  // What a backup that was killed has left.
  await removeWork()
  await mkdir(workFolder)
  stack.defer(removeWork)
  const copy = join(workFolder, 'slipway.db')
  await blobs.assertLocalSpace((await stat(folder.database)).size)
  await copySqlite(folder.database, copy)
  const tables = stack.use(await sqliteTables(copy, { isSource: true }))
  const made = await backUp({
    ...{ target, signal: startOptions.signal },
    database: copy,
    snapshot: new Snapshot(tables),
    at: store.clock(),
    blobs,
    lease,
    workFolder,
    release: startOptions.version,
    secret: withSecret ? [secret].flat()[0] : undefined,
    report,
  })
  // Within the lease: another backup would lose the files that it has copied.
  await lease.assertHeld()
  return { ...made, pruned: await pruneAfter(target, made, keep) }
}

interface RepairRun extends StartOptions {
  target: BackupTarget
  hashes: readonly string[]
}

/** Copies files that a backup target has lost from the service to it again. Returns the hashes of those it has now. */
export async function repairBackup(
  config: Config,
  { target, hashes, ...startOptions }: RepairRun,
): Promise<string[]> {
  assertBackedUp(config)
  const { BackupLease } = await import('./operations/backup/backup-lease.ts')
  const { repair } = await import('./operations/backup/repair.ts')
  await using stack = new AsyncDisposableStack()
  const database = await openDatabase(config, startOptions)
  const store = stack.use(database.store)
  const blobs = await openBlobsOf(config, database, startOptions)
  stack.use(await BackupLease.acquire(store))
  return await repair(target, { store, blobs }, hashes)
}

function assertBackedUp({ databaseUrl, data }: Config): void {
  if (databaseUrl !== '')
    throw new ConfigError(
      'SLIPWAY_DATABASE_URL is set: back up PostgreSQL with its own tools, as docs/scale.md describes under "Backup".',
    )
  assertDataFolder(data)
}

function assertBackedUpHere(config: Config, target: string): void {
  assertBackedUp(config)
  const path = relative(config.data, resolve(target))
  if (!isBucketUrl(target) && !path.startsWith('..'))
    throw new ConfigError(`${target} is in the data folder. Use a folder on another disk, or a bucket.`)
}

/** A folder, or a bucket as in SLIPWAY_BLOBS_URL. */
export async function openBackupTarget(target: string): Promise<BackupTarget> {
  if (isBucketUrl(target)) {
    const { S3Target } = await import('./operations/backup/s3-target.ts')
    return new S3Target(parseBucketUrl(readValue(bucketUrl('TARGET', ''), target)))
  }
  const { FolderTarget } = await import('./operations/backup/folder-target.ts')
  return FolderTarget.open(resolve(target))
}

function isBucketUrl(target: string): boolean {
  return target.startsWith('s3:')
}

export interface RestoreRun extends StartOptions, Pick<MoveOptions, 'report'> {
  target: BackupTarget
  manifest: BackupManifest
}

/** Copies a backup into a new data folder. A second run continues one that was interrupted. */
export async function restoreData(config: Config, run: RestoreRun): Promise<MoveResult> {
  const { withSpaceErrors } = await import('./operations/backup/space-errors.ts')
  return withSpaceErrors(config.data, () => restoreInto(config, run))
}

async function restoreInto(
  config: Config,
  { target, manifest, report, ...startOptions }: RestoreRun,
): Promise<MoveResult> {
  const { beginRestore, toBlobSource } = await import('./operations/backup/restore.ts')
  const { Snapshot } = await import('./store/snapshot.ts')
  const { move } = await import('./operations/move.ts')
  const { claimTarget } = await import('./store/transfer.ts')
  const { database, secret, fetchDatabase, finish } = await beginRestore(target, manifest, config.data)
  await using stack = new AsyncDisposableStack()
  const targetConfig = { ...config, databaseUrl: '', blobsUrl: '', secret }
  const restored = stack.use(await openStorage(targetConfig, startOptions, { isSource: false }))
  const sourceId = `${manifest.time} ${manifest.database.hash}`
  // From now on, no service starts on the folder before it is complete.
  await claimTarget(restored.tables, sourceId)
  await fetchDatabase()
  // Migrates it, or refuses that of a newer release.
  await (await sqliteStore({ file: database, clock: Date.now }))[Symbol.asyncDispose]()
  {
    await using tables = await sqliteTables(database, { isSource: false })
    await new Snapshot(tables).discardEncodings()
  }
  const tables = stack.use(await sqliteTables(database, { isSource: true }))
  const result = await move({
    source: { tables, blobs: toBlobSource(target) },
    target: restored,
    sourceId,
    now: { source: restored.clock(), target: restored.clock() },
    report,
  })
  await finish()
  return result
}

async function openStorage(
  config: Config,
  startOptions: StartOptions,
  { isSource }: { isSource: boolean },
): Promise<Storage & { secret: Secrets; clock: () => number } & AsyncDisposable> {
  await using stack = new AsyncDisposableStack()
  if (config.databaseUrl === '') await assertClosed(config, isSource ? 'source' : 'target')
  const open = isSource ? openDatabase : openAnyDatabase
  const database = await open(config, startOptions)
  const { folder, store, secret } = database
  const { clock } = stack.use(store)
  const blobs = await openBlobsOf(config, database, startOptions)
  const tables = stack.use(await openTables(config, folder, { isSource }))
  const opened = stack.move()
  return { tables, blobs, secret, clock, [Symbol.asyncDispose]: () => opened.disposeAsync() }
}

async function openBlobsOf(
  config: Config,
  { folder, store, telemetry, incidents }: Database,
  { log, bootId = randomBytes(8).toString('hex'), deadlines = DEADLINES }: StartOptions,
): Promise<Blobs> {
  const reserve = new DiskReserve({ folder: config.data, size: config.diskReserve })
  const parts = { bootId, clock: store.clock, reserve, telemetry, incidents, log }
  return openBlobs(config, folder, { ...parts, timeoutMs: deadlines.blobs })
}

/** A service on a data folder reports no nodes, but keeps its database open. */
async function assertClosed(config: Config, name: string): Promise<void> {
  const { database } = inDataFolder(config, () => prepareDataFolder(config.data, config.secret))
  if (!isOpenElsewhere(database)) return
  const { DatabaseInUseError } = await import('./store/transfer.ts')
  throw new DatabaseInUseError(`The ${name} is in use: a service or a command has ${database} open`)
}

async function openTables(
  { databaseUrl }: Config,
  { database }: DataFolder,
  options: { isSource: boolean },
): Promise<Tables> {
  if (databaseUrl === '') return sqliteTables(database, options)
  const { postgresTables } = await import('./store/postgres/tables.ts')
  return postgresTables(databaseUrl, options)
}
