import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { OperatorContext } from '../../server/app.ts'
import { ENCODINGS } from '../../server/blobs/encoding.ts'
import { sweeps } from '../../server/jobs/jobs.ts'
import type { BlobRecord } from '../../server/store/tables/blobs.ts'
import { sha256 } from '../api/content.ts'
import { History, type SiteHistory } from '../publishing/history.ts'
import { Publisher } from '../publishing/publisher.ts'
import { SiteVisitor } from '../publishing/site-visitor.ts'
import { StateVerifier } from '../publishing/verifier.ts'
import { anySeed, Random } from '../support/random.ts'
import { ALL_VARIANTS } from '../support/variants.ts'
import { listObjects, readBlob, recordsOf } from './bytes.ts'
import { type ServiceWithInternals, startServiceWithInternals } from './service-with-internals.ts'

// Promise 3 of the design: a blob that a pending or kept version references is never deleted. Random publishes
// run while another process runs the sweeps, on a clock that the test advances. `SEED=… ROUNDS=…` repeats a run
// or makes a longer one, as `npm run nightly` does.

const SEED = anySeed()
const ROUNDS = Number(process.env.ROUNDS ?? (ALL_VARIANTS ? 25 : 6))
/** Without a grace period every collection deletes; `npm run nightly` also runs with one. */
const GRACE_MINUTES = ALL_VARIANTS ? [0, 5] : [0]
const PUBLISHERS = 6
const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const MONTH_MS = 30 * 24 * HOUR_MS

for (const [index, graceMinutes] of GRACE_MINUTES.entries()) {
  test(`blobs of pending and kept versions are never deleted, all others are: grace period ${graceMinutes} minutes`, (t) =>
    run(t, SEED + index, graceMinutes))
}

async function run(context: TestContext, seed: number, graceMinutes: number): Promise<void> {
  context.diagnostic(`SEED=${seed - GRACE_MINUTES.indexOf(graceMinutes)}`)
  const random = new Random(seed)
  await using started = await startServiceWithInternals({
    VERSIONS_KEPT: '3',
    DRAFTS_KEPT: '2',
    DRAFT_LIFETIME: '31536000',
    BLOB_GRACE: String(graceMinutes * 60),
    PENDING_LIFETIME: '10800',
    ANONYMOUS_LIFETIME: '7200',
    TRASH_LIFETIME: '0',
  })
  const { service, operator } = started
  service.clock.now -= MONTH_MS
  using visitor = new SiteVisitor(service.port)
  const history = new History({ now: () => service.clock.now })
  const key = await service.signIn('owner@example.test')
  const done = new Map<string, number>()
  const publishers = Array.from({ length: PUBLISHERS }, () => {
    const client = service.client()
    return new Publisher({
      ...{ client, history, random: random.fork(), pendingLifetime: 3 * HOUR_MS, maxSites: 2 },
      account: { email: 'owner@example.test', key },
      onDone: (name) => void done.set(name, (done.get(name) ?? 0) + 1),
    })
  })
  const verifier = new StateVerifier({ history, client: service.client(), visitor })
  for (let round = 0; round < ROUNDS; round++) {
    const acting = publishers.filter(() => random.chance(0.7)).map((one) => one.step())
    await Promise.all([...acting, ...someSweeps(random, started)])
    service.clock.now += random.chance(0.1) ? 80 * MINUTE_MS : random.below(4 * MINUTE_MS)
    const sites = [...history.sites.values()].filter((site) => site.isLive && !site.isExpired())
    await assertKept(sites, operator)
    assert.deepEqual(await verifier.verifySites(sites.filter(() => random.chance(0.3))), [])
  }
  context.diagnostic([...done].map(([name, count]) => `${count} × ${name}`).join(', '))
  await service.service.precompressor.onIdle()
  await collectAll(started, graceMinutes)
  assert.deepEqual(await listObjects(operator.blobs), await neededObjects(history, operator))
  const owner = service.client(key)
  for await (const { slug } of owner.sites()) await owner.delete(slug)
  await collectAll(started, graceMinutes)
  assert.deepEqual(await listObjects(operator.blobs), [], 'no object remains')
}

/** Picks sweeps at random, most often the one that deletes blobs. */
function someSweeps(random: Random, { sweep }: ServiceWithInternals): Promise<unknown>[] {
  const chosen = sweeps.filter(({ name }) => random.chance(name === 'blobs' ? 0.7 : 0.3))
  return chosen.map(({ name }) => sweep(name))
}

/** The live version is there, and every version has all bytes that it was published with, and its encodings. */
async function assertKept(sites: readonly SiteHistory[], operator: OperatorContext): Promise<void> {
  const { store, blobs } = operator
  const read = new Map<string, Promise<Buffer | undefined>>()
  for (const { slug, liveId, versions } of sites) {
    const ready = (await store.read.versions.bySlug(slug)).filter(({ state }) => state === 'ready')
    const [live] = ready.filter(({ id }) => id === liveId)
    assert.ok(live, `the live version ${liveId} of ${slug}`)
    for (const { id } of ready)
      for (const file of (await store.read.versions.findFiles(id)) ?? []) {
        const { path, hash } = file as { path: string; hash: string }
        assert.equal(hash, versions.get(id)?.state[path]?.hash ?? hash, `${path} of version ${id} of ${slug}`)
        if (!read.has(hash)) read.set(hash, readBlob({ store, blobs }, hash))
        const bytes = await read.get(hash)
        assert.equal(bytes && sha256(bytes), hash, `${path} of version ${id} of ${slug}`)
      }
    for (const { encodings } of await listRecords(slug, operator))
      for (const encoding of ENCODINGS) {
        const location = encodings?.[encoding]
        if (!location) continue
        const bytes = await blobs.bytes(location)
        assert.equal(bytes && sha256(bytes), location.hash, location.object)
      }
  }
}

async function listRecords(slug: string, { store: { read } }: OperatorContext): Promise<BlobRecord[]> {
  return recordsOf(
    read,
    (await read.versions.bySlug(slug)).map(({ id }) => id),
  )
}

/** The objects of the files of all remaining versions and of their encodings, in order. */
async function neededObjects({ sites }: History, operator: OperatorContext): Promise<string[]> {
  const records = (await Promise.all([...sites.keys()].map((slug) => listRecords(slug, operator)))).flat()
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
