import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { findMutation, mutationEnvironment } from '../mutations/edit.ts'

/** Mutations of the server that omit a flush. A harness that does not detect them proves nothing. */
export const CONTROLS = [
  'acknowledges blobs that are not flushed',
  'acknowledges commits that are not flushed',
] as const

/** More facts at risk detect a control sooner. */
export const MANY_FACTS = '30-60'

export interface CutOptions {
  cuts: number
  seed: number
  workers?: number
  /** Before a cut; 0 to 60 by default. */
  facts?: string
  /** Run this control instead of the unchanged server; the first cut that loses data ends the run. */
  control?: string
  /** Called with each line of the harness. */
  report?: (line: string) => void
  /** Ends the harness; it cleans up. */
  signal?: AbortSignal | undefined
}

export interface CutResult {
  cuts: number
  /** Cuts that lost acknowledged data. */
  lost: number
  /** Acknowledged facts. */
  acknowledged: number
  /** Standard output and standard error of the harness. */
  output: string
}

const HARNESS = join(import.meta.dirname, 'power-cut')
const MUTATE = join(import.meta.dirname, '..', 'mutations', 'apply.ts')

/** Simulates power cuts of the real server while clients publish; the script `power-cut` describes how. */
export async function cutPower(options: CutOptions): Promise<CutResult> {
  const { report = () => undefined, signal } = options
  signal?.throwIfAborted()
  // Its own process group: it must clean up when the group of the test file is killed.
  const child = spawn(HARNESS, toArguments(options), {
    env: {
      ...process.env,
      NODE: process.execPath,
      ...(options.control && { MUTATION: mutationEnvironment(findMutation(options.control)).MUTATION }),
    },
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  signal?.addEventListener('abort', () => child.stdin.end())
  const lines: string[] = []
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on('line', (line) => {
      lines.push(line)
      report(line)
    })
  }
  const [code] = (await once(child, 'close')) as [number | null]
  child.stdin.end()
  const output = lines.join('\n')
  if (code !== 0 && code !== 1) throw new Error(`the power-cut harness failed:\n${output}`)
  return parseResult(output)
}

function toArguments({ cuts, seed, workers = 1, control, facts }: CutOptions): string[] {
  const mutation = control === undefined ? [] : ['--import', MUTATE]
  return [
    ...['--writer', command('writer.ts', '--workers', String(workers), ...mutation)],
    ...['--verifier', command('verifier.ts')],
    ...['--cuts', String(cuts), '--seed', String(seed), '--while-open'],
    ...(facts === undefined ? [] : ['--facts', facts]),
    ...(control ? ['--until-lost'] : []),
  ]
}

function command(script: string, ...args: string[]): string {
  return [process.execPath, join(import.meta.dirname, script), ...args].map(quote).join(' ')
}

/** Quotes a word for bash. */
function quote(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`
}

function parseResult(output: string): CutResult {
  const verdicts = [...output.matchAll(/^cut \d+: (ok|LOST), /gm)].map(([, verdict]) => verdict)
  const facts = [...output.matchAll(/(\d+) acknowledged facts/g)].map(([, count]) => Number(count))
  return {
    cuts: verdicts.length,
    lost: verdicts.filter((verdict) => verdict === 'LOST').length,
    acknowledged: facts.reduce((sum, count) => sum + count, 0),
    output,
  }
}
