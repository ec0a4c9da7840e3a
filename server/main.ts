import cluster from 'node:cluster'
import { randomBytes, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { npxCommand } from '../protocol/client-package.ts'
import { formatBytes, formatNumber, pluralize, stripControlChars } from '../protocol/format.ts'
import { hasSecureCookies } from './api/cookies.ts'
import type { Service } from './app.ts'
import type { StorageSettings } from './backends.ts'
import { assertDataFolder } from './config/data-folder.ts'
import { bucketUrl, databaseUrl, readValue, text } from './config/setting-types.ts'
import { type Config, ConfigError, describeSettings, readConfig } from './config/settings.ts'
import type { MoveProgress } from './fleet/move.ts'
import { formatNodes } from './fleet/node-list.ts'
import { findReason } from './fleet/wait-for-database.ts'
import { ApiError } from './lib/errors.ts'
import { type Log, makeLog } from './lib/log.ts'
import { toIso } from './lib/time.ts'
import { trimHeap } from './lib/trim-heap.ts'
import { formatCode, type ShowCode } from './mail/show-code.ts'

const HELP = `slipway-server: run the Slipway service

  slipway-server                            serve until SIGTERM or SIGINT
  slipway-server sweep NAME|all             run one sweep now, or all of them
  slipway-server sweeps                     list the sweeps
  slipway-server account plan EMAIL PLAN    set the plan of an account: free or hobby
  slipway-server certificates               list the certificates with expiry, next check and last error
  slipway-server settings                   list the settings (environment variables)
  slipway-server settings share             make this secret, base URL and domains those of all nodes; with
                                            --discard-lost-keys also when the former secret is lost:
                                            certificates are then ordered again
  slipway-server nodes [--json]             list the nodes of the database
  slipway-server move --to-data FOLDER      copy all data of a stopped service to another data folder, or with
                                            --to-database URL and --to-blobs URL to a database or a bucket;
                                            a database URL in SLIPWAY_MOVE_DATABASE_URL stays hidden
  slipway-server check [--nodes N] [--json] check what the settings need: database, bucket, mail, DNS
  slipway-server help | version             also --help, -h, --version
`

/** Interval of reports of progress, in milliseconds. */
const REPORT_INTERVAL_MS = 1000

/** As few as tolerate the outage of one. */
const DEFAULT_MACHINES = 2

const MOVE_OPTIONS = [
  { key: 'data', setting: text('--to-data', '', 'Folder') },
  { key: 'databaseUrl', setting: databaseUrl('--to-database', 'URL of a database') },
  { key: 'blobsUrl', setting: bucketUrl('--to-blobs', 'URL of a bucket') },
] as const

const CHECK_MARKS = { ok: 'ok     ', warning: 'WARNING', failed: 'FAILED ' }

const { version } = JSON.parse(readFileSync(new URL('./package.json', import.meta.url), 'utf8')) as {
  version: string
}

// What this process and its children create is readable by its user only, whatever the mode of the data folder.
process.umask(0o077)

process.exitCode = await main(process.argv.slice(2))

/** Runs the command of the arguments and returns the exit code: 0 success, 1 failure, 2 usage error. */
async function main(args: string[]): Promise<number> {
  const [command = 'serve', ...rest] = args
  try {
    switch (command) {
      case 'sweeps':
        return await listSweeps()
      case 'settings':
        if (rest.length > 0) break
        ignoreClosedOutput()
        listSettings()
        return 0
      case 'version':
      case '--version':
        print(version)
        return 0
      case 'help':
      case '--help':
      case '-h':
        print(HELP)
        return 0
    }
    return await runCommand(command, rest)
  } catch (error) {
    return reportError(error)
  }
}

function listSettings(): void {
  const rows = describeSettings(process.env).map(({ name, defaultValue, value, description }) =>
    [name, defaultValue, value, description].map((cell) => stripControlChars(cell) || '-'),
  )
  const table = [['NAME', 'DEFAULT', 'VALUE', 'MEANING'], ...rows]
  const widths = [0, 1, 2].map((column) => Math.max(...table.map((row) => row[column]!.length)))
  for (const row of table) print(row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '))
}

/** The commands that need valid settings. */
async function runCommand(command: string, rest: string[]): Promise<number> {
  const config = readConfig(process.env)
  const text = process.stdout.isTTY === true
  const log = makeLog({ level: config.log, text, write: (line) => void process.stdout.write(line) })
  switch (command) {
    case 'serve':
      if (rest.length > 0) return usageError(`serve takes no arguments: ${rest.join(' ')}`)
      for (const warning of config.warnings) log.warn(warning)
      await warnOfSharedDomain(config, log)
      warnOfPlainHttp(config, log)
      return config.workers > 1 ? serveWithWorkers(config, log) : serve(config, log)
    case 'worker':
      return serve({ ...config, ...(JSON.parse(rest[1]!) as Ports) }, log, rest[0])
    case 'sweep':
      return sweep(config, log, rest)
    case 'account':
      return account(config, log, rest)
    case 'certificates':
      return listCertificates(config, log)
    case 'settings':
      return shareSettings(config, log, rest)
    case 'check':
      return check(config, rest)
    case 'nodes':
      return listNodes(config, log, rest)
    case 'move':
      return moveTo(config, log, rest)
  }
  return usageError(`Unknown command: ${command}`)
}

async function warnOfSharedDomain({ baseUrl, siteDomain }: Config, log: Log): Promise<void> {
  if (baseUrl === '') return
  const { findSharedDomain } = await import('./domains/name.ts')
  const shared = await findSharedDomain(new URL(baseUrl).hostname, siteDomain)
  if (shared === undefined) return
  const sentence =
    'SLIPWAY_BASE_URL and SLIPWAY_SITE_DOMAIN share a registrable domain: sites can set cookies for the service and for one another. Use another domain for sites, or have the site domain added to the Public Suffix List'
  log.warn(sentence, { shared, baseUrl, siteDomain })
}

function warnOfPlainHttp({ baseUrl }: Config, log: Log): void {
  if (baseUrl === '' || hasSecureCookies(baseUrl)) return
  const sentence =
    'SLIPWAY_BASE_URL uses plain HTTP: connections are not encrypted, so others on the network can read sign-in codes and take over sessions. Use HTTPS wherever you do not trust the network'
  log.warn(sentence, { baseUrl })
}

/** One process does everything; with `bootId` it is one of several workers under a supervisor. */
async function serve(config: Config, log: Log, bootId?: string): Promise<number> {
  const { promise: stopped, resolve } = Promise.withResolvers<string>()
  const starting = new AbortController()
  const stop = (reason: string) => {
    resolve(reason)
    starting.abort()
  }
  // Before the start, which may wait for a database. The supervisor stops its workers.
  onSignals(bootId === undefined ? stop : () => undefined)
  const { startService } = await import('./app.ts')
  const options = { signal: starting.signal, log, version, showCode: showCode(config) }
  try {
    if (bootId === undefined) {
      const service = await startService(config, options)
      announce(service, config, log)
      await service.preload()
      trimHeap()
      return await shutDown(service, await stopped, log)
    }
    const { WorkerChannel } = await import('./workers.ts')
    const siblings = new WorkerChannel(() => stop('supervisor'))
    const service = await startService(config, {
      ...options,
      bootId,
      broadcastInvalidation: (slugs) => siblings.broadcastInvalidation(slugs),
    })
    siblings.ready(service)
    await service.preload()
    trimHeap()
    return await shutDown(service, await stopped, log)
  } catch (error) {
    if ((error as Error).name === 'AbortError') return 0
    throw error
  } finally {
    // The IPC channel would keep it alive, also when it could not start.
    cluster.worker?.disconnect()
  }
}

async function shutDown(service: AsyncDisposable, reason: string, log: Log): Promise<number> {
  log.info('stopping: draining requests in progress', { reason })
  await service[Symbol.asyncDispose]()
  log.info('stopped')
  return 0
}

async function serveWithWorkers(config: Config, log: Log): Promise<number> {
  const { supervise } = await import('./workers.ts')
  const ports = await freePorts(config)
  const args = ['worker', randomBytes(8).toString('hex'), JSON.stringify(ports)]
  const onReady = (baseUrl: string) => announce({ ...ports, baseUrl }, config, log)
  const supervisor = supervise({ workers: config.workers, args, log, onReady })
  onSignals(() => supervisor.stop())
  return supervisor.ended
}

type Ports = Pick<Config, 'port' | 'httpsPort' | 'internalPort'>

/** Ensures that no other program has the ports before the workers share them; picks them when any will do. */
async function freePorts({ host, port, httpsPort, internalHost, internalPort }: Config): Promise<Ports> {
  return {
    port: await freePort(host, port, 'SLIPWAY_PORT'),
    httpsPort: httpsPort === undefined ? undefined : await freePort(host, httpsPort, 'SLIPWAY_HTTPS_PORT'),
    internalPort:
      internalPort === undefined
        ? undefined
        : await freePort(internalHost, internalPort, 'SLIPWAY_INTERNAL_PORT'),
  }
}

async function freePort(host: string, port: number, setting: string): Promise<number> {
  const { createServer } = await import('node:net')
  const { listenOn, getPort } = await import('./net/ports.ts')
  const probes = await listenOn({ host, port, setting, shared: false }, () => createServer())
  const free = getPort(probes[0])
  await Promise.all(probes.map((probe) => new Promise((resolve) => probe.close(resolve))))
  return free
}

/** The services of the database, or of an existing data folder: a command with a wrong SLIPWAY_DATA creates nothing. */
async function openData(config: Config, log: Log, options?: { acceptsOtherSettings: boolean }) {
  if (config.databaseUrl === '') assertDataFolder(config.data)
  const { openForOperator } = await import('./app.ts')
  return openForOperator(config, { log, version }, options)
}

async function sweep(config: Config, log: Log, [name]: string[]): Promise<number> {
  const { sweeps } = await import('./jobs/jobs.ts')
  const { runOnce } = await import('./jobs/scheduler.ts')
  const chosen = sweeps.filter((one) => name === 'all' || one.name === name)
  if (chosen.length === 0) {
    const problem = name === undefined ? 'The name of a sweep is missing.' : `Unknown sweep: ${name}.`
    return usageError(`${problem} Use one of ${sweeps.map((one) => one.name).join(', ')}, all.`)
  }
  await using context = await openData(config, log)
  for (const one of chosen) print(`${one.name}: ${await runOnce(one, context.sweepOptions)}`)
  return 0
}

async function listSweeps(): Promise<number> {
  const { sweeps } = await import('./jobs/jobs.ts')
  for (const one of sweeps)
    print(`${one.name.padEnd(16)} every ${String(one.intervalSeconds).padStart(5)} s  ${one.description}`)
  return 0
}

async function listCertificates(config: Config, log: Log): Promise<number> {
  await using context = await openData(config, log)
  const certificates = await context.store.read.certificates.requested()
  const file = config.tlsCertFile
  if (file !== '') {
    const { subjectAltName, validToDate } = new X509Certificate(readFileSync(file))
    print(`${file}: ${subjectAltName ?? 'no names'}, until ${toIso(validToDate.getTime()).slice(0, 10)}\n`)
  }
  if (certificates.length === 0) {
    print(`No certificates in ${config.databaseUrl === '' ? config.data : 'the database'}`)
    return 0
  }
  const day = (time: number | null) => (time === null ? '-' : toIso(time).slice(0, 16).replace('T', ' '))
  print(`${'NAME'.padEnd(40)} ${'ENDS (UTC)'.padEnd(17)} ${'NEXT CHECK (UTC)'.padEnd(17)} PROBLEM`)
  for (const { name, notAfter, dueAt, problem } of certificates)
    print(`${name.padEnd(40)} ${day(notAfter).padEnd(17)} ${day(dueAt).padEnd(17)} ${problem ?? '-'}`)
  return 0
}

async function shareSettings(config: Config, log: Log, [verb, ...options]: string[]): Promise<number> {
  if (verb !== 'share')
    return usageError(`Unknown command: settings ${verb}. Use settings, or settings share.`)
  if (options.some((option) => option !== '--discard-lost-keys'))
    return usageError(`settings share takes only --discard-lost-keys: ${options.join(' ')}`)
  await using context = await openData(config, log, { acceptsOtherSettings: true })
  const discardsLostKeys = options.length > 0
  const { encrypted, discarded } = await context.shareSettings({ discardsLostKeys })
  if (config.databaseUrl !== '')
    print(
      'The secret, base URL and domains of this machine are those of all nodes now. Nodes with others do not start.',
    )
  print(`${pluralize(encrypted, 'key')} encrypted with this secret.`)
  if (discardsLostKeys)
    print(
      `${pluralize(discarded, 'key')} of a lost secret discarded. Their certificates are ordered again, within the limits of the CA.`,
    )
  return 0
}

/** Exit code 1 when something that the service needs is missing. */
async function check(config: Config, rest: string[]): Promise<number> {
  const options = parseCheckOptions(rest)
  if (typeof options === 'string') return usageError(options)
  const { checkService } = await import('./backends.ts')
  const checks = await checkService(config, options.machines)
  const isRight = checks.every(({ status }) => status !== 'failed')
  if (options.json) print(JSON.stringify({ ok: isRight, checks }))
  else for (const { name, status, message } of checks) print(`${CHECK_MARKS[status]} ${name}: ${message}`)
  return isRight ? 0 : 1
}

function parseCheckOptions(args: string[]): { machines: number; json: boolean } | string {
  const [json, rest] = [args.includes('--json'), args.filter((one) => one !== '--json')]
  if (rest.length === 0) return { machines: DEFAULT_MACHINES, json }
  const [name, count, ...more] = rest
  if (name !== '--nodes' || more.length > 0) return `check takes --nodes N and --json: ${rest.join(' ')}`
  return /^[1-9]\d{0,4}$/.test(count ?? '')
    ? { machines: Number(count), json }
    : '--nodes needs a number of machines.'
}

async function listNodes(config: Config, log: Log, rest: string[]): Promise<number> {
  if (rest.some((one) => one !== '--json')) return usageError(`nodes takes only --json: ${rest.join(' ')}`)
  if (config.databaseUrl === '') throw new ConfigError('Only the nodes of SLIPWAY_DATABASE_URL are listed')
  await using context = await openData(config, log)
  const { store } = context
  const nodes = await store.read.nodes.list()
  if (rest.length > 0) print(JSON.stringify({ now: store.clock(), nodes }))
  else for (const line of formatNodes(nodes, store.clock())) print(line)
  return 0
}

/** Exit code 1 when the source has lost or damaged files. */
async function moveTo(config: Config, log: Log, rest: string[]): Promise<number> {
  const to = parseMoveTarget(rest, config.moveDatabaseUrl)
  if (typeof to === 'string') return usageError(to)
  const target = { data: config.data, databaseUrl: '', blobsUrl: '', ...to }
  if (isSameStorage(config, target)) return usageError('The target is where the data are.')
  if (config.databaseUrl === '') assertDataFolder(config.data)
  const { moveData } = await import('./backends.ts')
  let reportedAt = 0
  const report = ({ files, ofFiles, bytes }: MoveProgress) => {
    if (performance.now() - reportedAt < REPORT_INTERVAL_MS && files < ofFiles) return
    reportedAt = performance.now()
    print(`${formatNumber(files)} of ${pluralize(ofFiles, 'file')}, ${formatBytes(bytes)} copied`)
  }
  const { files, rows, damaged } = await moveData(config, target, { log, version, report })
  for (const hash of damaged) print(`The file with SHA-256 ${hash} is lost or damaged; it was not copied.`)
  print(`${pluralize(files, 'file')} and ${pluralize(rows, 'row')} are in the target.`)
  print(
    'Start the service with the settings of the target, and with SLIPWAY_SECRET set to the present secret.',
  )
  return damaged.length > 0 ? 1 : 0
}

/** Data stay in the folder unless the target is in a database or a bucket. Values, which may have passwords, are not shown. */
function parseMoveTarget(args: string[], databaseUrl: string): Partial<StorageSettings> | string {
  const to: { -readonly [Name in keyof StorageSettings]?: string } = databaseUrl ? { databaseUrl } : {}
  for (let at = 0; at < args.length; at += 2) {
    const option = MOVE_OPTIONS.find(({ setting }) => setting.name === args[at])
    const value = args[at + 1]
    if (option === undefined || !value) {
      const given = /^--[a-z-]+/.exec(args[at]!)?.[0] ?? 'a value without an option'
      const known = MOVE_OPTIONS.map(({ setting }) => setting.name)
      return `move takes ${known.join(', ')}, each followed by a value: ${given}`
    }
    to[option.key] = readValue(option.setting, value)
  }
  if (to.data !== undefined || (to.databaseUrl !== undefined && to.blobsUrl !== undefined)) return to
  return 'move needs --to-data FOLDER, unless both --to-database (or SLIPWAY_MOVE_DATABASE_URL) and --to-blobs are set.'
}

/** A part that both have in common would be overwritten while it is read. */
function isSameStorage(from: StorageSettings, to: StorageSettings): boolean {
  const isSameFolder = resolve(from.data) === resolve(to.data)
  const isSame = (one: string, other: string) => (one === '' && other === '' ? isSameFolder : one === other)
  return isSame(from.databaseUrl, to.databaseUrl) || isSame(from.blobsUrl, to.blobsUrl)
}

async function account(config: Config, log: Log, [verb, email, plan]: string[]): Promise<number> {
  const names: Record<string, string> = { free: config.planFree, hobby: config.planHobby }
  const plans = Object.entries(names).map(([id, name]) => `${id} (displayed as "${name}")`)
  if (verb === undefined) return usageError('account needs a command: plan.')
  if (verb !== 'plan') return usageError(`Unknown command: account ${verb}. Use account plan.`)
  if (!email || !plan)
    return usageError(`account plan needs an email address and a plan: ${plans.join(' or ')}.`)
  if (plan !== 'free' && plan !== 'hobby')
    return usageError(`Unknown plan: ${plan}. Use ${plans.join(' or ')}.`)
  await using context = await openData(config, log)
  await context.accounts.setPlan(email, plan)
  print(`${email} is on the plan ${plan} (displayed as "${names[plan]}").`)
  return 0
}

/** A box on a terminal; otherwise a line on stderr, so that a log in JSON stays one. */
function showCode(config: Config): ShowCode {
  const isTerminal = process.stdout.isTTY === true
  const stream = isTerminal ? process.stdout : process.stderr
  return (shown) => {
    if (config.log !== 'silent') stream.write(formatCode(shown, isTerminal))
  }
}

/** Prints the URL and the next step on a terminal; otherwise logs the URL. */
function announce(
  { baseUrl, port, httpsPort }: Pick<Service, 'baseUrl' | 'port' | 'httpsPort'>,
  config: Config,
  log: Log,
): void {
  if (config.log === 'silent') return
  if (process.stdout.isTTY !== true) {
    log.info(`Slipway ${version} runs at ${baseUrl}`, {
      host: config.host,
      port,
      httpsPort,
      data: config.data,
    })
    return
  }
  print(`
  Slipway ${version} runs at ${baseUrl}${config.baseUrl && `\n  Listens on:         ${config.host}, port ${port}`}

  Publish a folder:   ${npxCommand(baseUrl)} publish ./folder
  API reference:      ${baseUrl}/docs
  ${httpsPort === undefined ? '' : `HTTPS:              port ${httpsPort}, ${certificateSource(config)}\n  `}Data:               ${config.data}${config.smtpUrl ? '' : `\n  Sign-in codes:      printed below (no SMTP configured), copies in ${config.data}/mail`}

  Press Ctrl-C to stop.
`)
}

function certificateSource({ tlsCertFile, dnsHook, siteCertificates }: Config): string {
  if (tlsCertFile) return tlsCertFile
  if (dnsHook) return 'certificates are obtained automatically'
  if (siteCertificates !== undefined)
    return 'certificates of domains and of sites with an account are obtained automatically'
  return 'certificates of domains are obtained automatically; sites have none'
}

/** The first signal stops gracefully; a second Ctrl-C stops immediately. */
function onSignals(stop: (signal: string) => void): void {
  let isStopping = false
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
    process.on(signal, () => {
      if (!isStopping) stop(signal)
      else if (signal === 'SIGINT') process.exit(130)
      isStopping = true
    })
  }
}

function reportError(error: unknown): number {
  const expected =
    error instanceof ConfigError ||
    error instanceof ApiError ||
    ['ListenError', 'DatabaseInUseError', 'SettingError'].includes((error as Error).name)
  process.stderr.write(
    `slipway-server: ${expected ? describeError(error as Error) : (error as Error).stack}\n`,
  )
  return 1
}

/** The message, with the reason of a failure of the database. */
function describeError(error: Error): string {
  return error.message.includes(findReason(error)) ? error.message : `${error.message} (${findReason(error)})`
}

function usageError(sentence: string): number {
  process.stderr.write(`${sentence}\n\n${HELP}`)
  return 2
}

/** A reader such as `head` may close the pipe before the end of a list. */
function ignoreClosedOutput(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
  })
}

function print(text: string): void {
  process.stdout.write(`${text}\n`)
}
