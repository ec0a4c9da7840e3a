import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { connect } from 'node:net'
import { ListenError } from '../../../packages/http-server/ports.ts'
import { probePort } from '../../config/open-port.ts'
import type { Config } from '../../config/settings.ts'
import { attempt } from '../../lib/attempt.ts'
import { fetchJson } from '../../lib/fetch-json.ts'
import { PROBE_HEADER, ProbeToken } from '../../lib/probe-token.ts'
import { SECOND_MS } from '../../lib/time.ts'
import type { Secrets } from '../../lib/tokens.ts'
import { findReason } from '../fleet/wait-for-database.ts'
import { type CheckResult, failed, ok, warning } from './check-result.ts'

const TIMEOUT_MS = 10 * SECOND_MS
const MAX_BYTES = 10_000

/** Whether the ports can be listened on, or which process has them: the service with this secret may be running. */
export async function checkPorts(config: Config, secret: Secrets | undefined): Promise<CheckResult[]> {
  const { host, port, httpsPort, internalHost, internalPort } = config
  const isRunning = secret !== undefined && port !== 0 && (await isService(config, secret))
  const wanted = [
    { host, port, setting: 'SLIPWAY_PORT' },
    { host, port: httpsPort, setting: 'SLIPWAY_HTTPS_PORT' },
    { host: internalHost, port: internalPort, setting: 'SLIPWAY_INTERNAL_PORT' },
  ]
  return Promise.all(
    wanted.flatMap(({ host, port, setting }) =>
      port === undefined ? [] : checkPort({ host, port, setting, isRunning }),
    ),
  )
}

/** The unit of systemd has this capability; a command that the operator runs does not. */
const CAPABILITY_ADVICE =
  'A service of systemd may use it with AmbientCapabilities=CAP_NET_BIND_SERVICE, which the unit of Slipway has.'

interface WantedPort {
  host: string
  port: number
  setting: string
  isRunning: boolean
}

async function checkPort({ host, port, setting, isRunning }: WantedPort): Promise<CheckResult> {
  const name = 'port'
  try {
    await probePort(setting, host, port)
    return ok(name, `${setting}: ${port === 0 ? 'any port' : port} on ${host} is free`)
  } catch (error) {
    const { message } = error as Error
    const code = error instanceof ListenError ? error.code : ''
    if (code === 'EACCES') return warning(name, `${message} ${CAPABILITY_ADVICE}`)
    if (code !== 'EADDRINUSE') return failed(name, message)
    if (isRunning) return ok(name, `${setting}: the service is running, and listens on ${port}`)
    const owner = findListener(port)
    if (owner === undefined) return failed(name, message)
    return failed(name, `${message} It is process ${owner.id}: ${owner.command.slice(0, MAX_COMMAND_LENGTH)}`)
  }
}

async function isService({ host, port, proxyProtocol }: Config, secret: Secrets): Promise<boolean> {
  const address = { '0.0.0.0': '127.0.0.1', '::': '::1' }[host] ?? host
  const probe = `${PROBE_HEADER}: ${new ProbeToken(secret).create(Date.now())}`
  try {
    await using socket = connect({ host: address, port, signal: AbortSignal.timeout(TIMEOUT_MS) })
    // As in `deploy/ready`.
    if (proxyProtocol !== undefined) socket.write('PROXY UNKNOWN\r\n')
    socket.write(`GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n${probe}\r\n\r\n`)
    let answer = ''
    for await (const chunk of socket.setEncoding('utf8')) {
      answer += chunk
      if (answer.length > MAX_BYTES) return false
    }
    return answer.includes('"forwardedFor":')
  } catch {
    return false
  }
}

/** The proxies between this process and the service at this URL; undefined unless it has this secret. */
async function countProxies(baseUrl: string, secret: Secrets): Promise<number | undefined> {
  const headers = { [PROBE_HEADER]: new ProbeToken(secret).create(Date.now()) }
  const signal = AbortSignal.timeout(TIMEOUT_MS)
  const found = await fetchJson(`${baseUrl}/health`, { signal, maxBytes: MAX_BYTES, headers })
  const { forwardedFor } = found as { forwardedFor?: unknown }
  return typeof forwardedFor === 'number' ? forwardedFor : undefined
}

const LISTENING = '0A'

const MAX_COMMAND_LENGTH = 80

/** Finds the process where this user can see it (Linux). Processes end while they are listed. */
function findListener(port: number): { id: string; command: string } | undefined {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  const sockets = new Set<string>()
  for (const table of ['tcp', 'tcp6'])
    for (const line of (read(`/proc/net/${table}`) ?? '').split('\n').slice(1)) {
      const [, local = '', , state, , , , , , inode] = line.trim().split(/\s+/)
      if (state === LISTENING && local.endsWith(suffix)) sockets.add(`socket:[${inode}]`)
    }
  const processes = list('/proc').filter((name) => /^\d+$/.test(name))
  const id = processes.find((process) => listDescriptors(process).some((link) => sockets.has(link)))
  if (id === undefined) return undefined
  return { id, command: (read(`/proc/${id}/cmdline`) ?? '').replaceAll('\0', ' ').trim() }
}

/** What the descriptors of a process are; none for processes of other users. */
function listDescriptors(process: string): string[] {
  const folder = `/proc/${process}/fd`
  return list(folder).map((name) => attempt(() => readlinkSync(`${folder}/${name}`)) ?? '')
}

function list(folder: string): string[] {
  return attempt(() => readdirSync(folder)) ?? []
}

function read(file: string): string | undefined {
  return attempt(() => readFileSync(file, 'utf8'))
}

/** Whether the base URL leads to the running service, through as many proxies as are trusted. */
export async function checkProxies(
  { baseUrl, trustedProxies, proxyProtocol }: Config,
  secret: Secrets | undefined,
): Promise<CheckResult[]> {
  if (baseUrl === '' || secret === undefined) return []
  const name = 'proxies'
  const url = `${baseUrl}/health`
  try {
    const count = await countProxies(baseUrl, secret)
    if (count === undefined)
      return [
        failed(
          name,
          `${url} leads to another service, or to one with another secret: check DNS and the proxy`,
        ),
      ]
    // Behind a balancer for TCP, the addresses do not come from this header.
    if (proxyProtocol !== undefined) return [ok(name, `${baseUrl} is this service`)]
    if (count === trustedProxies)
      return [ok(name, `${baseUrl} is this service, behind ${describeCount(count)}`)]
    const consequence =
      count > trustedProxies
        ? 'all visitors have the address of the proxy, and share its limits'
        : 'visitors can forge their address'
    return [
      failed(
        name,
        `${baseUrl} is this service, behind ${describeCount(count)}, but SLIPWAY_TRUSTED_PROXIES is ${trustedProxies}: ${consequence}; set it to ${count}`,
      ),
    ]
  } catch (error) {
    return [
      warning(name, `${url} cannot be requested (${findReason(error)}): start the service and check again`),
    ]
  }
}

function describeCount(count: number): string {
  return count === 1 ? 'one proxy' : `${count} proxies`
}
