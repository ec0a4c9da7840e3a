import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

/** Services that are careless on purpose: a harness that does not notice them notices nothing. */
export const CONTROLS = {
  'blobs that are acknowledged before they are flushed': 'without-blob-flush.ts',
  'a database that acknowledges before it flushes': 'without-commit-flush.ts',
}

export interface CutOptions {
  cuts: number
  seed: number
  workers?: number
  /** A control in place of the service as it is; the first cut that loses something is the last. */
  control?: keyof typeof CONTROLS
  /** Called with each line of the harness. */
  report?: (line: string) => void
  /** Ends the harness; it cleans up. */
  signal?: AbortSignal | undefined
}

export interface CutResult {
  /** How many cuts were made. */
  cuts: number
  /** How many of them lost something that was acknowledged. */
  lost: number
  /** How many facts were acknowledged. */
  acknowledged: number
  /** All that the harness said. */
  said: string
}

const HARNESS = join(import.meta.dirname, 'power-cut')

/** Cuts the power under the real service while clients publish; see the file `power-cut`. */
export async function cutPower(options: CutOptions): Promise<CutResult> {
  const { report = () => undefined, signal } = options
  signal?.throwIfAborted()
  // In a group of its own, because it must clean up when that of a test file is killed.
  const child = spawn(HARNESS, toArguments(options), {
    env: { ...process.env, NODE: process.execPath },
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
  const said = lines.join('\n')
  if (code !== 0 && code !== 1) throw new Error(`the power-cut harness failed:\n${said}`)
  return parseResult(said)
}

function toArguments({ cuts, seed, workers = 1, control }: CutOptions): string[] {
  const careless = control && join(import.meta.dirname, CONTROLS[control])
  return [
    ...[
      '--writer',
      command('writer.ts', '--workers', String(workers), ...(careless ? ['--import', careless] : [])),
    ],
    ...['--verifier', command('verifier.ts')],
    ...['--cuts', String(cuts), '--seed', String(seed), '--while-open'],
    // The more there was to lose, the sooner a control is caught.
    ...(careless ? ['--until-lost', '--facts', '30-60'] : []),
  ]
}

function command(script: string, ...args: string[]): string {
  return [process.execPath, join(import.meta.dirname, script), ...args].map(quoted).join(' ')
}

/** As bash reads it. */
function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`
}

function parseResult(said: string): CutResult {
  const verdicts = [...said.matchAll(/^cut \d+: (ok|LOST), /gm)].map(([, verdict]) => verdict)
  const facts = [...said.matchAll(/(\d+) acknowledged facts/g)].map(([, count]) => Number(count))
  return {
    cuts: verdicts.length,
    lost: verdicts.filter((verdict) => verdict === 'LOST').length,
    acknowledged: facts.reduce((sum, count) => sum + count, 0),
    said,
  }
}
