import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { createServer } from 'node:net'
import type { Config } from '../../config/settings.ts'
import { ListenError, listenOn } from '../../net/ports.ts'
import { type CheckResult, failed, ok, warning } from './check-result.ts'

/** Whether the ports can be listened on, or which process has them. */
export async function checkPorts(config: Config): Promise<CheckResult[]> {
  const { host, port, httpsPort, internalHost, internalPort } = config
  const wanted = [
    { host, port, setting: 'SLIPWAY_PORT' },
    { host, port: httpsPort, setting: 'SLIPWAY_HTTPS_PORT' },
    { host: internalHost, port: internalPort, setting: 'SLIPWAY_INTERNAL_PORT' },
  ]
  return Promise.all(
    wanted.flatMap(({ host, port, setting }) =>
      port === undefined ? [] : checkPort({ host, port, setting }),
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
}

async function checkPort({ host, port, setting }: WantedPort): Promise<CheckResult> {
  const name = 'port'
  try {
    const probes = await listenOn({ host, port, setting, shared: false }, () => createServer())
    await Promise.all(probes.map((probe) => new Promise((resolve) => probe.close(resolve))))
    return ok(name, `${setting}: ${port === 0 ? 'any port' : port} on ${host} is free`)
  } catch (error) {
    const { message } = error as Error
    const code = error instanceof ListenError ? error.code : ''
    if (code === 'EACCES') return warning(name, `${message} ${CAPABILITY_ADVICE}`)
    const owner = code === 'EADDRINUSE' ? findListener(port) : undefined
    if (owner === undefined) return failed(name, message)
    return owner.command.includes('slipway-server')
      ? ok(name, `${setting}: Slipway listens on ${port}, process ${owner.id}`)
      : failed(name, `${message} It is process ${owner.id}: ${owner.command.slice(0, MAX_COMMAND_LENGTH)}`)
  }
}

const LISTENING = '0A'

const MAX_COMMAND_LENGTH = 80

/** The process that listens on a TCP port, where this user can see it (Linux). */
function findListener(port: number): { id: string; command: string } | undefined {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  const sockets = new Set<string>()
  for (const table of ['tcp', 'tcp6'])
    for (const line of (read(`/proc/net/${table}`) ?? '').split('\n').slice(1)) {
      const [, local = '', , state, , , , , , inode] = line.trim().split(/\s+/)
      if (state === LISTENING && local.endsWith(suffix)) sockets.add(`socket:[${inode}]`)
    }
  const id = listProcesses().find((process) => listDescriptors(process).some((link) => sockets.has(link)))
  if (id === undefined) return undefined
  return { id, command: (read(`/proc/${id}/cmdline`) ?? '').replaceAll('\0', ' ').trim() }
}

function listProcesses(): string[] {
  return list('/proc').filter((name) => /^\d+$/.test(name))
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

/** Processes end while they are listed. */
function attempt<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch {
    return undefined
  }
}
