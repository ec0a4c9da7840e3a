import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { OperatorContext } from '../../server/app.ts'
import { ENCODINGS } from '../../server/blobs/encoding.ts'
import { sweeps } from '../../server/jobs/jobs.ts'
import type { BlobRecord } from '../../server/store/contract/blobs.ts'
import type { Store } from '../../server/store/store.ts'
import { sha256 } from '../api/content.ts'
import { SiteVisitor } from '../faults/visitor.ts'
import { anySeed, Random } from '../support/random.ts'
import { listObjects, readBlob } from './bytes.ts'
import { PublishModel, type Site } from './publish-model.ts'
import { type ServiceWithInternals, startServiceWithInternals } from './service-with-internals.ts'

// Promise 3 of the design: a blob that a pending or kept version references is never deleted. Random publishes
// run while another process runs the sweeps, on a clock that the test advances. `SEED=… ROUNDS=…` repeats a run
// or makes a longer one.

const SEED = anySeed()
const ROUNDS = Number(process.env.ROUNDS ?? 40)
const GRACE_MINUTES = [0, 5]
const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const MONTH_MS = 30 * 24 * HOUR_MS
const VERSIONS_KEPT = 3
const DRAFTS_KEPT = 2

for (const [index, graceMinutes] of GRACE_MINUTES.entries()) {
  test(`blobs of pending and kept versions are never deleted, all others are: grace period ${graceMinutes} minutes`, (t) =>
    run(t, SEED + index, graceMinutes))
}

async function run(context: TestContext, seed: number, graceMinutes: number): Promise<void> {
  context.diagnostic(`SEED=${seed - GRACE_MINUTES.indexOf(graceMinutes)}`)
  const random = new Random(seed)
  await using started = await startServiceWithInternals({
    VERSIONS_KEPT: String(VERSIONS_KEPT),
    DRAFTS_KEPT: String(DRAFTS_KEPT),
    DRAFT_LIFETIME: '31536000',
    BLOB_GRACE: String(graceMinutes * 60),
    PENDING_LIFETIME: '10800',
    ANONYMOUS_LIFETIME: '7200',
    TRASH_LIFETIME: '0',
  })
  const { service, operator } = started
  service.clock.now -= MONTH_MS
  using visitor = new SiteVisitor(service.port)
  const owner = service.client(await service.signIn('owner@example.test'))
  const model = new PublishModel({
    random,
    clock: service.clock,
    owner,
    anonymous: service.client(),
    versionsKept: VERSIONS_KEPT,
    draftsKept: DRAFTS_KEPT,
    pendingLifetime: 3 * HOUR_MS,
  })
  for (let round = 0; round < ROUNDS; round++) {
    await Promise.all([...actions(random, model), ...someSweeps(random, started)])
    service.clock.now += random.chance(0.1) ? 80 * MINUTE_MS : random.below(4 * MINUTE_MS)
    model.timePassed()
    await assertSitesIntact(model, operator, visitor, random)
  }
  context.diagnostic([...model.done].map(([name, count]) => `${count} × ${name}`).join(', '))
  await service.service.precompressor.onIdle()
  await collectAll(started, graceMinutes)
  model.timePassed()
  assert.deepEqual(await listObjects(operator.blobs), await neededObjects(model, operator))
  await model.deleteEverything()
  await collectAll(started, graceMinutes)
  assert.deepEqual(await listObjects(operator.blobs), [], 'no object remains')
}

function actions(random: Random, model: PublishModel): Promise<void>[] {
  const sites = [...model.sites].filter(() => random.chance(0.5)).slice(0, 6)
  const acting = sites.map((site) => model.act(site))
  return model.sites.length < 6 || random.chance(0.2) ? [...acting, model.newSite()] : acting
}

/** Picks sweeps at random, most often the one that deletes blobs. */
function someSweeps(random: Random, { sweep }: ServiceWithInternals): Promise<unknown>[] {
  const chosen = sweeps.filter(({ name }) => random.chance(name === 'blobs' ? 0.7 : 0.3))
  return chosen.map(({ name }) => sweep(name))
}

async function assertSitesIntact(
  model: PublishModel,
  operator: OperatorContext,
  visitor: SiteVisitor,
  random: Random,
): Promise<void> {
  const bytesByHash = new Map<string, Promise<Buffer | undefined>>()
  for (const site of model.sites) {
    await assertKept(site, operator, bytesByHash)
    await assertEncodings(site, operator)
  }
  const [visited] = model.sites.filter((site) => site.live && random.chance(0.3))
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
  const known = new Map([...site.kept, ...site.maybePruned])
  const ready = (await store.read.versions.bySlug(site.slug)).filter(({ state }) => state === 'ready')
  for (const id of site.kept.keys())
    assert.ok(
      ready.some((version) => version.id === id),
      `${id} is kept`,
    )
  for (const { id } of ready) {
    for (const file of (await store.read.versions.findFiles(id)) ?? []) {
      const { path, hash } = file as { path: string; hash: string }
      if (!read.has(hash)) read.set(hash, readBlob({ store, blobs }, hash))
      const bytes = await read.get(hash)
      assert.ok(bytes?.equals(known.get(id)!.get(path)!), `${path} of version ${id} of ${site.slug}`)
    }
  }
}

/** The contents have no markup, so that the tags are injected at their start. */
function withTitle(bytes: Buffer, title: string): Buffer {
  const head = `\n<title>${title}</title>\n<meta property="og:title" content="${title}">`
  return Buffer.concat([Buffer.from(head), bytes])
}

/** Asserts that every recorded encoding is stored. */
async function assertEncodings({ slug }: Site, { store, blobs }: OperatorContext): Promise<void> {
  for (const { encodings } of await listRecords(slug, store)) {
    for (const encoding of ENCODINGS) {
      const location = encodings?.[encoding]
      if (!location) continue
      const bytes = await blobs.bytes(location)
      assert.equal(bytes && sha256(bytes), location.hash, location.object)
    }
  }
}

async function listRecords(slug: string, { read }: Store): Promise<BlobRecord[]> {
  return read.blobs.ofVersions((await read.versions.bySlug(slug)).map(({ id }) => id))
}

/** The objects of the files of all remaining versions and of their encodings, in order. */
async function neededObjects({ sites }: PublishModel, { store }: OperatorContext): Promise<string[]> {
  const records = (await Promise.all(sites.map(({ slug }) => listRecords(slug, store)))).flat()
  const objects = records.flatMap(({ location, encodings }) =>
    [location, ...Object.values(encodings ?? {})].flatMap((one) => one?.object ?? []),
  )
  return [...new Set(objects)].sort()
}

/** Moves the clock more than a day ahead and runs all sweeps twice, because some depend on the results of others. */
async function collectAll({ service, sweep }: ServiceWithInternals, graceMinutes: number): Promise<void> {
  service.clock.now = Math.max(service.clock.now, Date.now()) + 25 * HOUR_MS
  for (let time = 0; time < 2; time++) {
    for (const { name } of sweeps) await sweep(name)
    service.clock.now += (graceMinutes + 1) * MINUTE_MS
  }
}
