import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Killing } from './killing.ts'
import type { Random } from './random.ts'

export interface KillOptions {
  kills: number
  random: Random
  /** Called after each kill with a line about it. */
  report: (line: string) => void
}

export interface KillResult {
  acknowledged: number
  /** Sentences about what was lost or seen by halves. */
  faults: string[]
  /** Milliseconds from the start of a process on what a kill left to its first answer. */
  restarts: number[]
}

/** Kills that one data folder goes through before a new one takes its place. */
const KILLS_A_FOLDER = 50

/**
 * Kills the real service at random instants while clients publish and visitors visit, as often as it is told, and
 * compares what is there afterwards with what was acknowledged.
 */
export async function killAgainAndAgain({ kills, random, report }: KillOptions): Promise<KillResult> {
  const result: KillResult = { acknowledged: 0, faults: [], restarts: [] }
  for (let done = 0; done < kills; done += KILLS_A_FOLDER) {
    const data = await mkdtemp(join(tmpdir(), 'slipway-kill-'))
    try {
      const killing = await Killing.begin(data, random)
      for (let kill = done; kill < Math.min(kills, done + KILLS_A_FOLDER); kill++) {
        const line = await killing.once()
        report(`kill ${kill + 1}: ${line}`)
      }
      await killing.end()
      result.acknowledged += killing.ledger.acknowledged
      result.faults.push(...killing.faults)
      result.restarts.push(...killing.restarts)
    } finally {
      await rm(data, { recursive: true, force: true })
    }
  }
  return result
}
