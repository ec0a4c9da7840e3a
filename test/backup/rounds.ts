import assert from 'node:assert/strict'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import type { Slipway } from '../../client/sdk/slipway.ts'
import { sweeps } from '../../server/jobs/jobs.ts'
import { runOnce } from '../../server/jobs/scheduler.ts'
import { toFiles } from '../api/content.ts'
import { run } from '../operator/program.ts'
import { SiteVisitor } from '../publishing/site-visitor.ts'
import { Random } from '../support/random.ts'
import { openOperator, type RunningService, startTestService } from '../support/service.ts'
import { memoryFolder } from '../tools/memory-folder.ts'

interface RoundOptions {
  rounds: number
  sites: number
  seed: number
  log?: (line: string) => void
}

/** A site that is published again and again; each publish has a number. */
interface ChangingSite {
  slug: string
  /** The last publish that was sent, and the last one that was acknowledged. */
  sent: number
  acknowledged: number
}

/** Files without a reference are deleted immediately, unless a backup needs them. */
const SETTINGS = { BLOB_GRACE: '0', VERSIONS_KEPT: '1', SECRET: 'a secret of thirty-two characters' }

/**
 * Backs a service up again and again into one target, while it publishes and deletes files. Restores each backup, and
 * compares each site byte for byte with a publish that was acknowledged before the backup ended, and not before it began.
 */
export async function runRounds({ rounds, sites: count, seed, log }: RoundOptions): Promise<void> {
  await using folder = await memoryFolder()
  const target = join(folder.path, 'target')
  await using service = await startTestService({ ...SETTINGS, DATA: join(folder.path, 'data') })
  await mkdir(target)
  const client = service.client(await service.signIn('owner@example.test'))
  const sites: ChangingSite[] = []
  while (sites.length < count) {
    const { slug } = await client.publish({ files: toFiles(contentOf(sites.length, 1, seed)) })
    sites.push({ slug, sent: 1, acknowledged: 1 })
  }
  const settings = { ...SETTINGS, DATA: service.data, LOG: 'warn' }
  for (let round = 1; round <= rounds; round++) {
    const before = sites.map(({ acknowledged }) => acknowledged)
    const stop = new AbortController()
    const load = Promise.all([
      ...sites.map((site, number) => publishUntil(stop.signal, { client, site, number, seed })),
      collectUntil(stop.signal, service),
    ])
    load.catch(() => stop.abort())
    const backup = run(['backup', target, '--json', '--keep', '3'], settings)
    const { code, lines, stderr } = await backup.finally(() => stop.abort())
    const after = sites.map(({ sent }) => sent)
    await load
    assert.deepEqual([code, stderr], [0, ''])
    const { time, copiedFiles, counts } = JSON.parse(lines[0]!)
    const restored = { target, time, folder: join(folder.path, `round-${round}`) }
    const found = await restoreAndCompare(restored, sites, seed)
    for (const [index, number] of found.entries())
      assert.ok(
        before[index]! <= number && number <= after[index]!,
        `site ${index} has publish ${number} of ${before[index]} to ${after[index]}`,
      )
    log?.(`round ${round}: ${copiedFiles} of ${counts.files} files copied, publishes ${found.join(' ')}`)
  }
}

/** A few files: some differ with each publish, one changes rarely, one is the same in all sites. */
function contentOf(site: number, publish: number, seed: number): Record<string, Buffer> {
  const random = new Random(seed + site * 1_000_003 + publish)
  const files: Record<string, Buffer> = {
    'index.html': Buffer.from(`<title>Site ${site}</title><p id="publish">${publish}</p>`),
    'shared.txt': Buffer.from('the same in all sites'),
    'rare.txt': Buffer.from(`site ${site}, ${Math.floor(publish / 7)}`),
  }
  for (let number = random.below(4); number >= 0; number--)
    files[`random-${number}.bin`] = Buffer.from(
      Array.from({ length: 1 + random.below(3000) }, () => random.below(256)),
    )
  return files
}

async function publishUntil(
  signal: AbortSignal,
  { client, site, number, seed }: { client: Slipway; site: ChangingSite; number: number; seed: number },
): Promise<void> {
  while (!signal.aborted) {
    site.sent++
    await client.publish({ files: toFiles(contentOf(number, site.sent, seed)), slug: site.slug })
    site.acknowledged = site.sent
  }
}

/** Deletes versions and files as the sweeps of the service do, without their pauses. */
async function collectUntil(signal: AbortSignal, service: RunningService): Promise<void> {
  await using operator = await openOperator(service, SETTINGS)
  while (!signal.aborted) {
    for (const name of ['old-versions', 'blobs'])
      await runOnce(sweeps.find((one) => one.name === name)!, operator)
    // SQLite completes without a turn of the event loop.
    await setImmediate()
  }
}

/** Returns the number of the publish that each site has, all of whose files are those of that publish. */
async function restoreAndCompare(
  { target, time, folder }: { target: string; time: string; folder: string },
  sites: readonly ChangingSite[],
  seed: number,
): Promise<number[]> {
  const { code, stderr } = await run(['restore', target, time, '--to-data', folder], { LOG: 'warn' })
  assert.deepEqual([code, stderr], [0, ''])
  await using restored = await startTestService({ DATA: folder })
  using visitor = new SiteVisitor(restored.port)
  const found: number[] = []
  for (const [index, { slug }] of sites.entries()) {
    const { body } = await visitor.get(slug, 'index.html')
    const publish = Number(/id="publish">(\d+)</.exec(String(body))?.[1])
    for (const [path, bytes] of Object.entries(contentOf(index, publish, seed))) {
      const { status, body } = await visitor.get(slug, path)
      assert.equal(status, 200, `${slug}/${path} of publish ${publish}`)
      assert.ok(body.equals(bytes), `${slug}/${path} of publish ${publish}`)
    }
    found.push(publish)
  }
  await rm(folder, { recursive: true })
  return found
}
