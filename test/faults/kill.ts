import type { Random } from '../support/random.ts'
import { memoryFolder } from '../tools/memory-folder.ts'
import { Killing, type Restart, type Target } from './killing.ts'

export interface KillOptions {
  kills: number
  random: Random
  /** What is killed, one of these each time. */
  targets: readonly Target[]
  /** Steps of clients (see `KillPoint`) before a kill, at most. */
  maxSteps: number
  /** Called after each kill with a line about it. */
  report?: (line: string) => void
  /** Ends the service, whatever it is doing. */
  signal?: AbortSignal | undefined
}

export interface KillResult {
  /** How many facts were acknowledged. */
  acknowledged: number
  /** How often visitors looked at a site in the midst of changes. */
  looks: number
  /** Sentences about what was lost or seen by halves. */
  faults: string[]
  restarts: Restart[]
}

/** Kills that one data folder goes through before a new one takes its place. */
const KILLS_A_FOLDER = 50

/**
 * Kills the real service at random instants while clients publish and visitors visit, as often as it is told, and
 * compares what is there afterwards with what was acknowledged.
 */
export async function killAgainAndAgain(options: KillOptions): Promise<KillResult> {
  const { kills, random, targets, maxSteps, report = () => undefined, signal } = options
  const stopped = whenAborted(signal)
  const result: KillResult = { acknowledged: 0, looks: 0, faults: [], restarts: [] }
  for (let done = 0; done < kills; done += KILLS_A_FOLDER) {
    // A killed process loses nothing that it wrote, to whatever file system.
    await using folder = await memoryFolder()
    const killing = await Killing.begin({ data: folder.path, random, targets, maxSteps, signal })
    for (let kill = done; kill < Math.min(kills, done + KILLS_A_FOLDER); kill++) {
      const line = await Promise.race([killing.once(), stopped])
      report(`kill ${kill + 1}: ${line}`)
    }
    await Promise.race([killing.end(), stopped])
    result.acknowledged += killing.ledger.acknowledged
    result.looks += killing.looks
    result.faults.push(...killing.faults)
    result.restarts.push(...killing.restarts)
  }
  return result
}

/** Only ever rejects. */
function whenAborted(signal: AbortSignal | undefined): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>()
  signal?.addEventListener('abort', () => reject(signal.reason))
  promise.catch(() => undefined)
  return promise
}
