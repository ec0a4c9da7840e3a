import assert from 'node:assert/strict'
import { readdir, stat, utimes } from 'node:fs/promises'
import { basename, extname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { OperatorContext } from '../../server/app.ts'
import { ENCODINGS } from '../../server/blobs/encoding.ts'
import { sweeps } from '../../server/jobs/jobs.ts'
import { SiteVisitor } from '../faults/visitor.ts'
import type { RunningService } from '../service.ts'
import { anySeed, Random } from '../support/random.ts'
import { type ServiceWithInternals, startServiceWithInternals } from './house.ts'
import { PublishModel, type Site } from './world.ts'

// Promise 3 of the design: a blob that any pending or kept version names is never collected. Publishers do what they
// like while the sweeps run beside them, from another process's point of view; time is the test's. `SEED=… ROUNDS=…`
// repeats a run or makes a longer one.

const SEED = Number(process.env.SEED ?? anySeed())
const ROUNDS = Number(process.env.ROUNDS ?? 40)
const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const MONTH = 30 * 24 * HOUR_MS
const VERSIONS_KEPT = 3

for (const [index, graceMinutes] of [0, 5, 30].entries()) {
  test(`what is pending or kept is never collected; all else is in the end: grace time ${graceMinutes} minutes`, (t) =>
    run(t, SEED + index, graceMinutes))
}

async function run(context: TestContext, seed: number, graceMinutes: number): Promise<void> {
  context.diagnostic(`SEED=${seed - [0, 5, 30].indexOf(graceMinutes)}`)
  const random = new Random(seed)
  await using both = await startServiceWithInternals({
    VERSIONS_KEPT: String(VERSIONS_KEPT),
    BLOB_GRACE: String(graceMinutes * 60),
    PENDING_LIFETIME: '10800',
    ANONYMOUS_LIFETIME: '7200',
  })
  const { service, house } = both
  service.clock.now -= MONTH
  using visitor = new SiteVisitor(service.port)
  const owner = service.client(await service.signIn('owner@example.test'))
  const world = new PublishModel({
    random,
    clock: service.clock,
    owner,
    stranger: service.client(),
    versionsKept: VERSIONS_KEPT,
    pendingLifetime: 3 * HOUR_MS,
  })
  for (let round = 0; round < ROUNDS; round++) {
    await Promise.all([...actions(random, world), ...someSweeps(random, both)])
    await dateUploads(service)
    service.clock.now += random.chance(0.1) ? 80 * MINUTE_MS : random.below(4 * MINUTE_MS)
    world.timePassed()
    await assertAllThere(world, house, visitor, random)
  }
  context.diagnostic(
    `${(await filesIn(join(service.data, 'blobs'))).filter((file) => extname(file)).length} encodings`,
  )
  context.diagnostic([...world.done].map(([name, count]) => `${count} × ${name}`).join(', '))
  await service.service.precompressor.onIdle()
  await collectAll(both, graceMinutes)
  world.timePassed()
  const files = await filesIn(join(service.data, 'blobs'))
  const blobs = new Set(files.map((file) => basename(file, extname(file))))
  assert.deepEqual([...blobs].sort(), await hashesOf(world, house))
  await world.deleteEverything()
  await collectAll(both, graceMinutes)
  assert.deepEqual(await filesIn(join(service.data, 'blobs')), [], 'nothing is left in the end')
}

function actions(random: Random, world: PublishModel): Promise<void>[] {
  const sites = [...world.sites].filter(() => random.chance(0.5)).slice(0, 6)
  const acting = sites.map((site) => world.act(site))
  return world.sites.length < 6 || random.chance(0.2) ? [...acting, world.newSite()] : acting
}

/** Those that take bytes or names away come most often. */
function someSweeps(random: Random, { sweep }: ServiceWithInternals): Promise<unknown>[] {
  const chosen = sweeps.filter(({ name }) => random.chance(name === 'blobs' ? 0.7 : 0.3))
  return chosen.map(({ name }) => sweep(name))
}

/** The disk knows the real time, which is later than the test's: what came in this round came now. */
async function dateUploads({ data, clock }: RunningService): Promise<void> {
  const folder = join(data, 'blobs', 'staged')
  for (const batch of await readdir(folder)) {
    const path = join(folder, batch)
    const found = await stat(path).catch(goneMeanwhile)
    if (found && found.mtimeMs > clock.now)
      await utimes(path, clock.now / 1000, clock.now / 1000).catch(goneMeanwhile)
  }
}

/** What is finalized is tidied up after the answer. */
function goneMeanwhile(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error
}

async function assertAllThere(
  world: PublishModel,
  house: OperatorContext,
  visitor: SiteVisitor,
  random: Random,
): Promise<void> {
  const bytesOf = new Map<string, Promise<Buffer | undefined>>()
  for (const site of world.sites) {
    await assertKept(site, house, bytesOf)
    await assertEncodings(site, house)
  }
  const [visited] = world.sites.filter((site) => site.live && random.chance(0.3))
  if (!visited) return
  for (const [path, bytes] of visited.kept.get(visited.live!)!) {
    const { status, body } = await visitor.get(visited.slug, path)
    const published: Buffer = path === 'index.html' && visited.title ? withTitle(bytes, visited.title) : bytes
    assert.deepEqual([status, body.equals(published)], [200, true], `${visited.slug}/${path}`)
  }
}

async function assertKept(
  site: Site,
  { store, blobs }: OperatorContext,
  read: Map<string, Promise<Buffer | undefined>>,
): Promise<void> {
  const row = await store.read.sites.bySlug(site.slug)
  assert.equal(row?.liveVersionId ?? undefined, site.live, `the live version of ${site.slug}`)
  const known = new Map([...site.kept, ...site.doubt])
  const ready = (await store.read.versions.bySlug(site.slug)).filter(({ state }) => state === 'ready')
  for (const id of site.kept.keys())
    assert.ok(
      ready.some((version) => version.id === id),
      `${id} is kept`,
    )
  for (const { id } of ready) {
    for (const file of (await store.read.versions.findFiles(id)) ?? []) {
      const { path, hash } = file as { path: string; hash: string }
      if (!read.has(hash)) read.set(hash, blobs.bytes(hash))
      const bytes = await read.get(hash)
      assert.ok(bytes?.equals(known.get(id)!.get(path)!), `${path} of version ${id} of ${site.slug}`)
    }
  }
}

/** What is published is no markup, so that its head is where it begins. */
function withTitle(bytes: Buffer, title: string): Buffer {
  const head = `\n<title>${title}</title>\n<meta property="og:title" content="${title}">`
  return Buffer.concat([Buffer.from(head), bytes])
}

/** What is said to be kept beside a blob is there. */
async function assertEncodings({ slug }: Site, { store, blobs }: OperatorContext): Promise<void> {
  for (const row of await store.read.encodings.ofSite(slug)) {
    for (const encoding of ENCODINGS) {
      const size = row[encoding]
      if (size !== null) assert.equal((await blobs.bytes(row.hash, encoding))?.length, size, row.hash)
    }
  }
}

/** What all versions of the sites that are left consist of, and root documents of which only encodings are kept. */
async function hashesOf({ sites }: PublishModel, { store }: OperatorContext): Promise<string[]> {
  const hashes = sites.map(async ({ slug }) => {
    const headers = await store.read.versions.bySlug(slug)
    const versions = await Promise.all(headers.map(async ({ id }) => (await store.read.versions.byId(id))!))
    const fronts = versions.flatMap(({ injectedDocumentHash }) => injectedDocumentHash ?? [])
    const encoded = (await store.read.encodings.ofSite(slug)).filter((row) => row.br ?? row.zstd ?? row.gzip)
    return [
      ...versions.flatMap(({ files }) => files.map(({ hash }) => hash!)),
      ...encoded.map(({ hash }) => hash).filter((hash) => fronts.includes(hash)),
    ]
  })
  return [...new Set((await Promise.all(hashes)).flat())].sort()
}

/** More than a day later by any clock, with every sweep run as often as it takes for one to use what another left. */
async function collectAll({ service, sweep }: ServiceWithInternals, graceMinutes: number): Promise<void> {
  service.clock.now = Math.max(service.clock.now, Date.now()) + 25 * HOUR_MS
  for (let time = 0; time < 2; time++) {
    for (const { name } of sweeps) await sweep(name)
    service.clock.now += (graceMinutes + 1) * MINUTE_MS
  }
}

async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
}
