import cluster from 'node:cluster'
import { randomBytes } from 'node:crypto'
import { npxCommand } from '../../protocol/client-package.ts'
import { hasSecureCookies } from '../api/cookies.ts'
import type { Service } from '../app.ts'
import type { Config } from '../config/settings.ts'
import type { Log } from '../lib/log.ts'
import { trimHeap } from '../lib/trim-heap.ts'
import { formatCode, type ShowCode } from '../mail/mail.ts'
import { type Command, type CommandContext, UsageError } from './command.ts'

type Ports = Pick<Config, 'port' | 'httpsPort' | 'internalPort'>

export const serve: Command = {
  usage: [['', 'serve until SIGTERM or SIGINT']],
  async run(context) {
    const { config, log } = context
    for (const warning of config.warnings) log.warn(warning)
    await warnOfSharedDomain(config, log)
    warnOfPlainHttp(config, log)
    return config.workers > 1 ? serveWithWorkers(context) : startAndServe(context)
  },
}

/** A process under the supervisor, which passes the boot ID and the ports. */
export const worker: Command = {
  usage: [],
  async run(context, [bootId, ports = '{}']) {
    if (!cluster.isWorker)
      throw new UsageError('Unknown command: worker. To run several, set SLIPWAY_WORKERS.')
    return startAndServe(context.withPorts(JSON.parse(ports) as Ports), bootId)
  },
}

async function warnOfSharedDomain({ baseUrl, siteDomain }: Config, log: Log): Promise<void> {
  if (baseUrl === '') return
  const { findSharedDomain } = await import('../domains/name.ts')
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
async function startAndServe(context: CommandContext, bootId?: string): Promise<number> {
  const { config, log, version, deadlines } = context
  const { promise: stopped, resolve } = Promise.withResolvers<string>()
  const starting = new AbortController()
  const stop = (reason: string) => {
    resolve(reason)
    starting.abort()
  }
  // Before the start, which may wait for a database. The supervisor stops its workers.
  onSignals(bootId === undefined ? stop : () => undefined)
  try {
    // Before the start, so that the supervisor and the other workers have answers.
    const workers = bootId === undefined ? undefined : await import('./workers.ts')
    const siblings = workers && new workers.WorkerChannel(() => stop('supervisor'))
    const { startService } = await import('../app.ts')
    const options = { signal: starting.signal, log, version, deadlines, showCode: showCode(config) }
    const service = await startService(config, {
      ...options,
      ...(bootId !== undefined && { bootId }),
      ...(siblings && {
        broadcastInvalidation: (effects) => siblings.broadcastInvalidation(effects),
        collectMetrics: () => siblings.collectMetrics(),
      }),
    })
    if (siblings) siblings.ready(service)
    else announce(service, context)
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

async function serveWithWorkers(context: CommandContext): Promise<number> {
  const { config, log } = context
  const { supervise } = await import('./workers.ts')
  const ports = await freePorts(config)
  const args = ['worker', randomBytes(8).toString('hex'), JSON.stringify(ports)]
  const onReady = (baseUrl: string) => announce({ ...ports, baseUrl }, context)
  const supervisor = supervise({ workers: config.workers, args, log, onReady })
  onSignals(() => supervisor.stop())
  return supervisor.ended
}

/** Ensures that no other program has the ports before the workers share them; picks them when any will do. */
async function freePorts({ host, port, httpsPort, internalHost, internalPort }: Config): Promise<Ports> {
  const { findFreePort } = await import('../config/open-port.ts')
  const probe = (setting: string, host: string, port: number | undefined) =>
    port === undefined ? undefined : findFreePort(setting, host, port)
  return {
    port: await findFreePort('SLIPWAY_PORT', host, port),
    httpsPort: await probe('SLIPWAY_HTTPS_PORT', host, httpsPort),
    internalPort: await probe('SLIPWAY_INTERNAL_PORT', internalHost, internalPort),
  }
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
  context: CommandContext,
): void {
  const { config, log, version } = context
  if (config.log === 'silent') return
  if (!context.environment.isTerminal) {
    const { host, data } = config
    log.info(`Slipway ${version} runs at ${baseUrl}`, { host, port, httpsPort, data })
    return
  }
  context.print(`
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
