import type { ServerReply, ServerRequest } from '../../scripts/server-messages.ts'
import { SharedServers } from '../../scripts/shared-servers.ts'

/**
 * Servers that take seconds of CPU time to start, so that all test files of a run share one of each. Each start resolves
 * with the address, and the server ends with the process.
 */
const STARTS = {
  /** The URL of a PostgreSQL server (`sharedPostgres`). */
  postgres: async () => (await (await import('./postgres.ts')).startPostgres()).url(),
  /** The endpoint of an S3 server (`sharedCeph`). */
  ceph: async () => (await (await import('./ceph.ts')).startCeph()).endpoint,
  /** The WebSocket endpoint of a headless Chromium (`openBrowser`, `ContextPool`). */
  chromium: async () => (await import('../support/browser.ts')).startChromium(),
} satisfies Record<string, () => Promise<string>>

export type SharedServerName = keyof typeof STARTS

/** Starts a server of this process. */
export function startSharedServer(name: SharedServerName): Promise<string> {
  return STARTS[name]()
}

const known = new Map<string, Promise<string>>()
let own: SharedServers | undefined

/**
 * The address of a server that the whole run of `npm test` shares. A test file that runs alone has servers of its own,
 * which end with its process. Tests must not change their settings, stop them, or rely on what others leave in them.
 */
export function sharedServer(name: SharedServerName): Promise<string> {
  const address = known.get(name) ?? findAddress(name)
  known.set(name, address)
  return address
}

async function findAddress(name: SharedServerName): Promise<string> {
  const request: ServerRequest = { kind: 'server', name }
  if (!isGroupOfRun()) own ??= new SharedServers({})
  const { address, error } = await (own ? own.address(request) : requestAddress(request))
  if (address === undefined) throw new Error(`the shared ${name} did not start: ${error}`)
  return address
}

/** The runner starts the process of a group of files; processes that tests start have another parent. */
function isGroupOfRun(): boolean {
  return process.env.TEST_RUNNER === String(process.ppid) && process.send !== undefined
}

async function requestAddress(request: ServerRequest): Promise<ServerReply> {
  const { promise, resolve } = Promise.withResolvers<ServerReply>()
  const onMessage = (reply: ServerReply) => {
    if (reply.kind === 'server' && reply.name === request.name) resolve(reply)
  }
  process.on('message', onMessage)
  process.channel?.ref()
  process.send!(request)
  try {
    return await promise
  } finally {
    process.off('message', onMessage)
    process.channel?.unref()
  }
}
