import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { nodeTransport } from '../../client/sdk/node-transport.ts'
import { Slipway } from '../../client/sdk/slipway.ts'
import { forEachConcurrent } from '../../server/lib/concurrency.ts'
import { toFiles } from '../api/content.ts'
import { lastingPort, Program, type Settings } from '../operator/program.ts'
import { compressibleText } from '../precompress/encoded.ts'
import { numberedFiles } from '../publishing/content.ts'
import { SiteVisitor } from '../publishing/site-visitor.ts'
import { startCeph } from '../tools/ceph.ts'
import { EMPTY, startPostgres } from '../tools/postgres.ts'
import { Report } from './report.ts'

interface MoveOptions {
  sites: number
  log?: (line: string) => void
}

interface PublishedSite {
  slug: string
  /** The files of its live version, then those of its draft, if it has one. */
  contents: readonly Record<string, Buffer>[]
}

interface PublishOptions {
  settings: Settings
  count: number
  first?: number
  report: Report
}

interface MoveParts {
  report: Report
  /** Settings of the service before the move, and of the machine that moves it. */
  from: Settings
  /** Settings of the service after the move. */
  to: Settings
  args: readonly string[]
}

const COMMON: Settings = {
  SECRET: 'the secret of the machine that moves into a fleet',
  SMTP_URL: 'smtp://127.0.0.1:1',
  LOG: 'warn',
}

const CLIENTS = 8
export const transport = nodeTransport()
const EMAIL = 'owner@example.test'

/** Sites with a draft are one of this many. */
const DRAFT_INTERVAL = 50

/** Different texts: the same one is a file of several sites. */
const TEXTS = 2000

/**
 * Publishes sites on one machine, moves its data into PostgreSQL and a bucket, and back into another folder. Each move is
 * killed twice: while it copies files, and after them. Compares every byte that the service sends after each move.
 */
export async function runMove({ sites: count, log }: MoveOptions): Promise<Report> {
  const report = new Report(log)
  await using opened = new AsyncDisposableStack()
  const folder = await mkdtemp(join(tmpdir(), 'slipway-move-'))
  opened.defer(() => rm(folder, { recursive: true, force: true }))
  const ceph = opened.use(await startCeph())
  const postgres = opened.use(await startPostgres())
  const databaseUrl = await postgres.createDatabase(EMPTY)
  const port = await lastingPort()
  const common = { ...COMMON, PORT: String(port), BASE_URL: `http://localhost:${port}` }
  const machine = { ...common, DATA: join(folder, 'machine') }
  const node = {
    ...common,
    DATA: join(folder, 'node'),
    DATABASE_URL: databaseUrl,
    BLOBS_URL: ceph.storageUrl(),
  }
  const last = { ...common, DATA: join(folder, 'last') }
  const { key, sites } = await publishSites({ settings: machine, count, report })
  const parts = { key, sites, report }
  await moveAll({
    report,
    from: { ...machine, MOVE_DATABASE_URL: databaseUrl },
    to: node,
    args: ['--to-blobs', node.BLOBS_URL],
  })
  await compare('the fleet', node, parts)
  await moveAll({ report, from: node, to: last, args: ['--to-data', last.DATA] })
  await compare('the last machine', last, parts)
  transport.close()
  return report
}

/** Starts a service, publishes the sites from number `first` on, and stops it. */
export async function publishSites({
  settings,
  count,
  first = 0,
  report,
}: PublishOptions): Promise<{ key: string; sites: PublishedSite[] }> {
  await using service = await Program.serve({ ...settings, LOG: 'info', SMTP_URL: '' })
  const client = clientOf(service)
  await client.requestCode(EMAIL)
  const { apiKey: key } = await client.verifyCode(EMAIL, await service.mailedCode(EMAIL))
  const own = clientOf(service, key)
  const sites: PublishedSite[] = []
  await forEachConcurrent(CLIENTS, [...Array(count).keys()], async (number) => {
    const live = filesOfSite(first + number)
    const { slug } = await own.publish({ files: toFiles(live) })
    const contents = [live]
    if (number % DRAFT_INTERVAL === 0) {
      const draft = filesOfSite(first + count + number)
      await own.publish({ files: toFiles(draft), slug, live: false })
      contents.push(draft)
    }
    sites.push({ slug, contents })
    if (sites.length % 1000 === 0) report.event(`${sites.length} sites are published`)
  })
  await service.stop()
  return { key, sites }
}

function filesOfSite(number: number): Record<string, Buffer> {
  const text = compressibleText(`text ${number % TEXTS}`, 3000)
  return { ...numberedFiles(number), 'text.txt': Buffer.from(text) }
}

/** Runs the command three times; the first two runs are killed. */
async function moveAll({ report, from, to, args }: MoveParts): Promise<void> {
  const what = to.DATABASE_URL === undefined ? 'move back' : 'move'
  const run = () => Program.start(from, { args: ['move', ...args] })
  // After the last file, encodings and rows are copied.
  for (const [copied, signal] of [
    [0.3, 'SIGKILL'],
    [1, 'SIGTERM'],
  ] as const) {
    await using command = run()
    await waitForProgress(command, copied)
    command.child.kill(signal)
    const { code, lines } = await command.ended
    report.event(`${what}: ${signal} after "${lines.at(-1)}"`)
    if (code !== null) report.violation(`${what} ended with ${code} before it was stopped`)
  }
  const startedAt = performance.now()
  await using command = run()
  const { code, lines, stderr } = await command.ended
  report.max(`${what}: last run, ms`, performance.now() - startedAt)
  report.event(`${what}: ${lines.slice(-3).join(' ')}`)
  if (code !== 0) report.violation(`${what} failed with ${code}: ${stderr}`)
}

/** Waits until this part of all files is in the target. */
async function waitForProgress(command: Program, part: number): Promise<void> {
  for (let at = 0; ; at++) {
    const line = await command.waitForLine(/^[\d,]+ of [\d,]+ files?,/, at)
    const [files, ofFiles] = line.split(/ of | file/).map((text) => Number(text.replaceAll(',', '')))
    if (files! >= part * ofFiles!) return
    at = command.lines.indexOf(line, at)
  }
}

/** Compares every file of every version, and the list of the account's sites. */
export async function compare(
  place: string,
  settings: Settings,
  { key, sites, report }: { key: string; sites: readonly PublishedSite[]; report: Report },
): Promise<void> {
  await using service = await Program.serve({ ...settings, LOG: 'info' })
  const startedAt = performance.now()
  using visitor = new SiteVisitor(service.port)
  const client = clientOf(service, key)
  const listed = new Set<string>()
  for await (const { slug } of client.sites()) listed.add(slug)
  if (listed.size !== sites.length) report.violation(`${listed.size} sites are listed at ${place}`)
  await forEachConcurrent(CLIENTS, sites, async ({ slug, contents }) => {
    if (!listed.has(slug)) report.violation(`${slug} is not listed at ${place}`)
    const hosts = [slug]
    if (contents.length > 1) {
      const { versions } = await client.versions(slug)
      const drafts = versions.filter(({ current }) => !current)
      hosts.push(...drafts.map(({ versionId }) => `${versionId}--${slug}`))
    }
    if (hosts.length !== contents.length) report.violation(`${slug} has ${hosts.length} versions at ${place}`)
    for (const [index, files] of contents.entries())
      for (const [path, expected] of Object.entries(files)) {
        const { status, body } = await visitor.get(hosts[index]!, path)
        report.count(`files compared at ${place}`)
        if (status !== 200 || !body.equals(expected))
          report.violation(`${hosts[index]}/${path} at ${place}: ${status}, ${body.length} bytes`)
      }
  })
  report.max(`comparison at ${place}, ms`, performance.now() - startedAt)
  report.event(`compared at ${place}`)
  await service.stop()
}

function clientOf({ port }: Program, key?: string): Slipway {
  const baseUrl = `http://localhost:${port}`
  return new Slipway({ baseUrl, send: transport.send, ...(key === undefined ? {} : { key }) })
}
