import { execFileSync, spawn } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type Figure, figure, type Measurement } from './figures.ts'
import {
  type Content,
  makeContent,
  type Phases,
  publish,
  publishArchive,
  publishWithSdk,
  toFiles,
  touch,
  update,
} from './publish-flow.ts'
import { ROOT, scratchFolder, startServer } from './server-process.ts'
import { childrenSeconds } from './serving/processes.ts'
import { appendFiles, writeFiles } from './write-files.ts'

const FILES = 1000
const BYTES = 10_240
const ROUNDS = 9

const NODE = join(ROOT, 'node_modules/.bin/node')
/** The kernel counts the CPU time of ended processes in ticks of 10 ms. */
const NODE_STARTS = 10

/** Everything that a publisher waits for, with the peer in the same rounds. */
export const publishing: Measurement = {
  name: 'publish',
  means: '1,000 files of 10 kB: API, SDK, command, archives, updates; beside writing and flushing them',
  async run({ quick }) {
    await using scratch = await scratchFolder()
    await using server = await startServer(join(scratch.path, 'data'))
    const taken = new Map<string, number[]>()
    const take = (name: string, value: number) => void taken.set(name, [...(taken.get(name) ?? []), value])
    for (let round = 0; round <= (quick ? 2 : ROUNDS); round++) {
      const found = await oneRound(server.baseUrl, join(scratch.path, `round-${round}`))
      if (round > 0) for (const [name, value] of found) take(name, value)
    }
    return figures(taken)
  },
}

type Round = [name: string, value: number][]

async function oneRound(baseUrl: string, folder: string): Promise<Round> {
  const content = makeContent(FILES, BYTES)
  const written = await writeFiles(join(folder, 'peer'), content)
  const appended = await appendFiles(join(folder, 'appended/all'), content)
  const { phases, site } = await publish(baseUrl, content)
  touch(content, BYTES)
  const again = await update(baseUrl, site, content)
  if (again.uploaded !== 1) throw new Error(`an update with one file changed uploaded ${again.uploaded}`)
  return [
    ['written', written],
    ['publish', phases.total],
    ['ratio', phases.total / written],
    ['appended', appended],
    ['ratio to appended', phases.total / appended],
    ['create', phases.create],
    ['finalize', phases.finalize],
    ['update', again.phases.total],
    ['sdk', await timeSdk(baseUrl, makeContent(FILES, BYTES))],
    ...(await commandRound(baseUrl, join(folder, 'site'), phases)),
    ...(await archiveRound(baseUrl, join(folder, 'archive'))),
  ]
}

/** Includes hashing, as the other ways do. */
async function timeSdk(baseUrl: string, content: Content): Promise<number> {
  const start = performance.now()
  await publishWithSdk(baseUrl, toFiles(content))
  return performance.now() - start
}

/** The command as a whole process: a new site, then an update of one file. */
async function commandRound(baseUrl: string, folder: string, api: Phases): Promise<Round> {
  const content = makeContent(FILES, BYTES)
  writeSite(folder, content)
  const first = await command(['publish', folder, '--server', baseUrl], dirname(folder))
  touch(content, BYTES)
  writeFileSync(join(folder, 'assets/1/file-1.txt'), content.get('assets/1/file-1.txt')!)
  const before = childrenSeconds()
  const second = await command(['publish', folder, '--server', baseUrl], dirname(folder))
  const updated = childrenSeconds()
  for (let start = 0; start < NODE_STARTS; start++) execFileSync(NODE, ['-e', '0'])
  const [updateCpu, nodeCpu] = [updated - before, (childrenSeconds() - updated) / NODE_STARTS]
  return [
    ['command', first],
    ['command ratio', first / api.total],
    ['command update', second],
    ['command update CPU', updateCpu * 1000],
    ['node -e 0', nodeCpu * 1000],
    ['command update ratio', updateCpu / nodeCpu],
  ]
}

async function archiveRound(baseUrl: string, folder: string): Promise<Round> {
  const site = join(folder, 'site')
  writeSite(site, makeContent(FILES, BYTES))
  const tar = join(folder, 'site.tar')
  execFileSync('tar', ['-C', site, '-cf', tar, '.'])
  execFileSync('tar', ['-C', site, '-czf', `${tar}.gz`, '.'])
  return [
    ['tar', await publishArchive(baseUrl, readFileSync(tar), 'application/x-tar')],
    ['tar.gz', await publishArchive(baseUrl, readFileSync(`${tar}.gz`), 'application/gzip')],
    ...(await zipRound(baseUrl, site, join(folder, 'site.zip'))),
  ]
}

/** Python's zip is available on most machines, Info-ZIP's is not. */
async function zipRound(baseUrl: string, site: string, file: string): Promise<Round> {
  try {
    execFileSync('python3', ['-m', 'zipfile', '-c', file, ...['index.html', 'assets']], { cwd: site })
  } catch {
    return []
  }
  return [['zip', await publishArchive(baseUrl, readFileSync(file), 'application/zip')]]
}

export function writeSite(folder: string, content: Content): void {
  for (const [path, bytes] of content) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), bytes)
  }
}

export function command(args: string[], cwd: string): Promise<number> {
  const start = performance.now()
  const child = spawn(NODE, [join(ROOT, 'client/bin/slipway.js'), ...args], {
    cwd,
    stdio: 'ignore',
  })
  return new Promise((resolve, reject) => {
    child.on('exit', (code) =>
      code === 0 ? resolve(performance.now() - start) : reject(new Error(`slipway: ${code}`)),
    )
  })
}

function figures(taken: Map<string, number[]>): Figure[] {
  const of = (name: string) => taken.get(name) ?? []
  return [
    figure('write and flush the files (baseline)', 'ms', of('written')),
    figure('publish through the API', 'ms', of('publish'), 650),
    figure('the same, relative to the baseline', 'times', of('ratio'), 2.5),
    figure('append them to one file, flushed once', 'ms', of('appended')),
    figure('publish through the API, relative to that', 'times', of('ratio to appended'), 8),
    figure('stage the manifest', 'ms', of('create'), 40),
    figure('finalize', 'ms', of('finalize'), 200),
    figure('update with one file changed', 'ms', of('update'), 30),
    figure('publish through the SDK', 'ms', of('sdk')),
    figure('publish with the command, the whole process', 'ms', of('command')),
    figure('the same, relative to the API', 'times', of('command ratio'), 1.15),
    figure('update with the command, one file changed', 'ms', of('command update')),
    figure('the same, CPU of the process', 'ms', of('command update CPU')),
    figure('CPU of `node -e 0`', 'ms', of('node -e 0')),
    figure('update with the command, CPU, relative to `node -e 0`', 'times', of('command update ratio'), 3),
    figure('one tar', 'ms', of('tar'), 400),
    figure('one tar.gz', 'ms', of('tar.gz'), 400),
    ...(of('zip').length > 0 ? [figure('one zip', 'ms', of('zip'), 400)] : []),
  ]
}
