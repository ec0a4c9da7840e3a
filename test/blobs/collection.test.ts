import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { sweeps } from '../../server/jobs/jobs.ts'
import { HOUR_MS, MINUTE_MS } from '../../server/lib/time.ts'
import { AckLog } from '../faults/ack-log.ts'
import { DataFolderCheck } from '../faults/data-folder.ts'
import { Publisher } from '../faults/publisher.ts'
import { StateVerifier } from '../faults/state-verifier.ts'
import { SiteVisitor } from '../faults/visitor.ts'
import { anySeed, Random } from '../support/random.ts'
import { type ServiceWithInternals, startServiceWithInternals } from './service-with-internals.ts'

// Promise 3 of the design: a blob that a pending or kept version references is never deleted. Random publishes
// run while another process runs the sweeps, on a clock that the test advances. `SEED=… ROUNDS=…` repeats a run
// or makes a longer one.

const ROUNDS = Number(process.env.ROUNDS ?? 14)
const PUBLISHERS = 3

/** Fewer than the versions that the service keeps, of which one may be live and others drafts. */
const KEPT_VERSIONS = 3

for (const graceMinutes of [0, 5]) {
  test(`blobs of pending and kept versions are never deleted, all others are: grace period ${graceMinutes} minutes`, (t) =>
    run(t, graceMinutes))
}

async function run(context: TestContext, graceMinutes: number): Promise<void> {
  const seed = Number(process.env.SEED ?? anySeed())
  context.diagnostic(`SEED=${seed}`)
  const random = new Random(seed)
  await using started = await startServiceWithInternals({
    VERSIONS_KEPT: String(KEPT_VERSIONS + 1),
    DRAFTS_KEPT: String(KEPT_VERSIONS),
    BLOB_GRACE: String(graceMinutes * 60),
  })
  const { service, operator, sweep } = started
  // Behind the time of the file system, so that no upload looks old.
  service.clock.now -= 30 * 24 * HOUR_MS
  const ackLog = new AckLog()
  const client = service.client()
  const publishers = Array.from({ length: PUBLISHERS }, () => {
    const { mailedCode } = service
    return new Publisher({
      client,
      ackLog,
      random: random.fork(),
      mailedCode,
      recovery: async () => undefined,
    })
  })
  for (let round = 0; round < ROUNDS; round++) {
    await Promise.all([...publishers.map(actOnce), ...someSweeps(random, started)])
    service.clock.now += random.below(4 * MINUTE_MS)
  }
  await service.service.precompressor.onIdle()
  await sweep('old-versions')
  await sweep('blobs')

  using visitor = new SiteVisitor(service.port)
  const folder = new DataFolderCheck({ data: service.data, context: operator, keptVersions: KEPT_VERSIONS })
  const stored = await folder.run(ackLog)
  const served = await new StateVerifier({ ackLog, client, visitor }).verifyTouched(random)
  assert.deepEqual([...stored, ...served, ...ackLog.refusals], [])

  await deleteOwnedSites(ackLog, started)
  await service.service.precompressor.onIdle()
  await collectAll(started, graceMinutes)
  assert.deepEqual(await filesIn(join(service.data, 'blobs')), [], 'no file remains')
}

function actOnce(publisher: Publisher): Promise<void> {
  let actions = 0
  return publisher.work(() => actions++ > 0)
}

/** Picks sweeps at random, most often the one that deletes blobs. */
function someSweeps(random: Random, { sweep }: ServiceWithInternals): Promise<unknown>[] {
  const chosen = sweeps.filter(({ name }) => random.chance(name === 'blobs' ? 0.7 : 0.3))
  return chosen.map(({ name }) => sweep(name))
}

async function deleteOwnedSites(ackLog: AckLog, { service }: ServiceWithInternals): Promise<void> {
  for (const { slug, email, state } of ackLog.sites.values()) {
    if (email === undefined || state === null) continue
    await service.client(ackLog.accounts.get(email)!.key).delete(slug)
  }
}

/** Lets the anonymous sites expire and runs all sweeps twice, because some depend on the results of others. */
async function collectAll({ service, sweep }: ServiceWithInternals, graceMinutes: number): Promise<void> {
  service.clock.now = Date.now() + 25 * HOUR_MS
  for (let time = 0; time < 2; time++) {
    for (const { name } of sweeps) await sweep(name)
    service.clock.now += (graceMinutes + 1) * MINUTE_MS
  }
}

async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
}
