import { MINUTE_MS, SECOND_MS } from '../../lib/time.ts'
import type { NodeReport } from '../../store/tables/nodes.ts'

/** A node reports itself every ten seconds. */
export const SILENT_MS = 30 * SECOND_MS

export function isSilent({ seenAt }: Pick<NodeReport, 'seenAt'>, now: number): boolean {
  return now - seenAt > SILENT_MS
}

/** The hosts of which no process reports itself any more, in order; all could do so from `since` on. */
export function listSilent(nodes: readonly NodeReport[], times: { now: number; since: number }): string[] {
  const { now, since } = times
  const isReporting = (node: NodeReport) => !isSilent({ seenAt: Math.max(node.seenAt, since) }, now)
  const reporting = new Set(nodes.filter(isReporting).map(({ host }) => host))
  const hosts = new Set(nodes.map(({ host }) => host))
  return [...hosts.difference(reporting)].sort()
}

export function formatNodes(nodes: readonly NodeReport[], now: number): string[] {
  const hosts = Math.max(4, ...nodes.map(({ host }) => host.length))
  const releases = Math.max(7, ...nodes.map(({ release }) => release.length))
  const row = (cells: readonly [string, string, string, string, string]) => {
    const [host, release, started, seen, behind] = cells
    return `${host.padEnd(hosts)}  ${release.padEnd(releases)}  ${started.padEnd(10)}  ${seen.padEnd(19)}  ${behind}`
  }
  return [
    row(['NODE', 'RELEASE', 'RUNS FOR', 'LAST REPORT', 'BEHIND']),
    ...nodes.flatMap((node) => {
      const { host, release, startedAt, seenAt, numbers } = node
      const seen = `${formatAge(now - seenAt)} ago${isSilent(node, now) ? ' (silent)' : ''}`
      const lag = numbers.slipway_store_feed_lag_seconds
      const behind = lag === undefined ? '-' : `${lag.toFixed(1)} s`
      const values = Object.entries(numbers).filter(([, value]) => value !== 0)
      return [
        row([host, release, formatAge(seenAt - startedAt), seen, behind]),
        ...values.map(([name, value]) => `  ${name} ${value}`),
      ]
    }),
  ]
}

/** "42 s", "17 min", "5 h", "12 d": rounded down. */
function formatAge(milliseconds: number): string {
  const minutes = Math.floor(Math.max(0, milliseconds) / MINUTE_MS)
  if (minutes === 0) return `${Math.floor(Math.max(0, milliseconds) / SECOND_MS)} s`
  if (minutes < 60) return `${minutes} min`
  return minutes < 48 * 60 ? `${Math.floor(minutes / 60)} h` : `${Math.floor(minutes / (24 * 60))} d`
}
