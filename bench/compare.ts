import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import http from 'node:http'
import { join } from 'node:path'
import { npm } from '../scripts/install.mjs'
import { compareEach, type Measurement } from './figures.ts'
import { makeContent, prepareSide, publish, type Side, touch, update } from './publish-flow.ts'
import { ROOT, SERVER_PATH, scratchFolder, startServer } from './server-process.ts'
import { threadSeconds } from './serving/processes.ts'

const ROUNDS = 9
const BYTES = 2000

/** How often each kind of work is done in a batch. */
const BATCH = { publish: 200, update: 100, visit: 20_000 }

const MEASURED = {
  publish: 'CPU of a publish of one file',
  update: 'CPU of an update of one file in 100',
  visit: 'CPU of a visit',
}

/** What a change costs: CPU of all threads of the server, without the process that compresses. */
export const comparing: Measurement = {
  name: 'compare',
  means: 'this tree beside the commit before, or beside AGAINST=COMMIT, in alternating batches',
  onRequest: true,
  async run({ quick }) {
    await using scratch = await scratchFolder()
    const before = checkOut(process.env.AGAINST ?? 'HEAD~1', scratch.path)
    const rounds = await alternate([before.path], scratch.path, quick ? 3 : ROUNDS)
    const names: [string, string] = [before.commit, 'this tree']
    return compareEach(
      MEASURED,
      { unit: 'µs', names, target: MOST_TIMES },
      rounds.map(([older, newer]) => [older!, newer!]),
    )
  },
}

/** At most this often, relative to the commit before. */
export const MOST_TIMES = 1.1

export type Kind = keyof typeof BATCH
export const KINDS = Object.keys(BATCH) as Kind[]
type Costs = Record<Kind, number>

/** What each batch costs the services of other trees and, last, of this one, in turns; their data is below `folder`. */
export async function alternate(
  otherTrees: readonly string[],
  folder: string,
  rounds: number,
): Promise<Costs[][]> {
  const data = await mkdtemp(join(folder, 'data-'))
  await using started = new AsyncDisposableStack()
  const sides: Side[] = []
  for (const [index, tree] of [...otherTrees, ROOT].entries()) {
    const program = join(tree, SERVER_PATH)
    sides.push(
      await prepareSide(
        started.use(await startServer(join(data, `${index}`), { program })),
        makeContent(100, BYTES),
      ),
    )
  }
  const measured: Costs[][] = []
  for (let round = 0; round <= rounds; round++) {
    const costs = sides.map((): Costs => ({ ...BATCH }))
    for (const kind of KINDS)
      for (const [index] of round % 2 === 0 ? [...sides.entries()] : [...sides.entries()].toReversed())
        costs[index]![kind] = await measure(kind, sides[index]!)
    if (round > 0) measured.push(costs)
  }
  return measured
}

/** The tree of a commit in a folder of its own, with everything built. */
export function checkOut(commit: string, folder: string): { path: string; commit: string } {
  const run = (command: string, args: string[], cwd: string, env = process.env) =>
    execFileSync(command, args, { cwd, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }).trim()
  const { command, args, env } = npm()
  const path = join(folder, 'tree')
  mkdirSync(path, { recursive: true })
  run('git', ['archive', '--format=tar', `--output=${path}.tar`, commit], ROOT)
  run('tar', ['-xf', `${path}.tar`], path)
  const lock = (root: string) => readFileSync(join(root, 'package-lock.json'), 'utf8')
  if (lock(path) === lock(ROOT)) symlinkSync(join(ROOT, 'node_modules'), join(path, 'node_modules'))
  // Not `npm ci`, which refuses the lock files of old commits.
  else run(command, [...args, 'install', '--no-audit', '--no-fund'], path, env)
  run(process.execPath, ['scripts/build-now.mjs'], path)
  return { path, commit: run('git', ['rev-parse', '--short', commit], ROOT) }
}

/** Microseconds of each of a batch. */
async function measure(kind: Kind, side: Side): Promise<number> {
  const { pid } = side.server
  const before = threadSeconds(pid)
  for (let index = 0; index < BATCH[kind]; index++) await WORK[kind](side)
  return (1e6 * (threadSeconds(pid) - before)) / BATCH[kind]
}

const WORK: Record<Kind, (side: Side) => Promise<unknown>> = {
  publish: ({ server }) => publish(server.baseUrl, makeContent(1, BYTES)),
  update: ({ server, site, content }) => {
    touch(content, BYTES)
    return update(server.baseUrl, site, content)
  },
  visit: ({ server, site }) => visit(new URL(server.baseUrl), site.slug),
}

const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })

function visit({ hostname, port, host }: URL, slug: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = { host: `${slug}.${host}` }
    http
      .get({ agent, hostname, port, headers }, (response) => {
        if (response.statusCode !== 200) reject(new Error(`a visit was answered with ${response.statusCode}`))
        response.on('error', reject).on('end', resolve).resume()
      })
      .on('error', reject)
  })
}
