import { type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import { epochMs } from '../publishing/history.ts'
import type { Fleet } from './fleet.ts'
import type { FleetNode } from './fleet-node.ts'
import type { Report } from './report.ts'

/** A promise of the service: every node publishes this soon after a standby was promoted. */
const MAX_RECOVERY_MS = 5000

const MAX_REQUEST_MS = 20_000
const RETRY_MS = 50

/** Publishes at every running node until it succeeds there; the time of the slowest node counts. */
export async function measureRecovery({ nodes, overload }: Fleet, report: Report): Promise<void> {
  const startedAt = epochMs()
  const publishing = nodes.map(async (node) => {
    while (node.isRunning && !(await publishAt(node))) await pause(RETRY_MS)
  })
  await Promise.all(publishing)
  const endedAt = epochMs()
  const what = `all nodes published ${Math.round(endedAt - startedAt)} ms after the promotion`
  const isOverloaded = overload.sinceWhen(endedAt) !== undefined
  if (endedAt - startedAt > MAX_RECOVERY_MS && !isOverloaded) return report.violation(what)
  report.event(`${what}${isOverloaded ? ', on an overloaded machine' : ''}`)
  if (!isOverloaded)
    report.max('longest time from a promotion to a publish at every node, ms', endedAt - startedAt)
}

/** Publishes a page in one request; false when that failed. */
export async function publishAt({ port, agent }: FleetNode): Promise<boolean> {
  try {
    const outgoing = request({
      method: 'PUT',
      host: '127.0.0.1',
      port,
      path: '/page.html',
      agent,
      headers: { host: 'localhost', 'Content-Type': 'text/html' },
      signal: AbortSignal.timeout(MAX_REQUEST_MS),
    })
    outgoing.end('<!doctype html><title>Page</title>')
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      outgoing.once('response', resolve).once('error', reject)
    })
    await text(response)
    return response.statusCode === 201
  } catch {
    return false
  }
}
