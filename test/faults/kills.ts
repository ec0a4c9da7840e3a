import type { Random } from '../support/random.ts'
import { memoryFolder } from '../tools/memory-folder.ts'
import { KillRun, type Restart, type Target } from './kill-run.ts'

export interface KillOptions {
  kills: number
  random: Random
  /** Each kill takes the next one. */
  targets: readonly Target[]
  /** Maximum client steps (see `KillPoint`) before a kill. */
  maxSteps: number
  /** Called with one line after each kill. */
  report?: (line: string) => void
  /** Kills the server and rejects. */
  signal?: AbortSignal | undefined
}

export interface KillResult {
  /** Acknowledged facts. */
  acknowledged: number
  /** Consistency checks of sites that were changing. */
  reads: number
  /** One sentence per lost fact or inconsistent read. */
  faults: string[]
  restarts: Restart[]
}

const KILLS_PER_FOLDER = 50

/**
 * Kills the real server at random points while clients publish and read, and compares the state after each restart
 * with the acknowledged facts.
 */
export async function runKills(options: KillOptions): Promise<KillResult> {
  const { kills, random, targets, maxSteps, report = () => undefined, signal } = options
  const stopped = whenAborted(signal)
  const result: KillResult = { acknowledged: 0, reads: 0, faults: [], restarts: [] }
  for (let done = 0; done < kills; done += KILLS_PER_FOLDER) {
    // In memory: a killed process loses no written data on any file system.
    await using folder = await memoryFolder()
    const run = await KillRun.begin({ data: folder.path, random, targets, maxSteps, signal })
    for (let kill = done; kill < Math.min(kills, done + KILLS_PER_FOLDER); kill++) {
      const line = await Promise.race([run.once(), stopped])
      report(`kill ${kill + 1}: ${line}`)
    }
    await Promise.race([run.end(), stopped])
    result.acknowledged += run.history.acknowledged
    result.reads += run.reads
    result.faults.push(...run.faults)
    result.restarts.push(...run.restarts)
  }
  return result
}

/** A promise that never resolves and rejects on abort. */
function whenAborted(signal: AbortSignal | undefined): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>()
  signal?.addEventListener('abort', () => reject(signal.reason))
  promise.catch(() => undefined)
  return promise
}
