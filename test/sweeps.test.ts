import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { openForOperator } from '../server/app.ts'
import { readConfig } from '../server/config/settings.ts'
import { sweeps } from '../server/jobs/jobs.ts'
import { runOnce } from '../server/jobs/scheduler.ts'
import { makeLog } from '../server/lib/log.ts'
import { siteRow, versionRow } from './store/rows.ts'

const DAY_MS = 86_400_000

async function emptyHouse(now: number) {
  const stack = new AsyncDisposableStack()
  const data = await mkdtemp(join(tmpdir(), 'slipway-sweeps-'))
  stack.defer(() => rm(data, { recursive: true, force: true }))
  const log = makeLog({ level: 'silent', text: false, write: () => undefined })
  const config = readConfig({ SLIPWAY_DATA: data })
  const house = stack.use(await openForOperator(config, { log, version: 'test', clock: () => now }))
  const sweep = (name: string) => runOnce(sweeps.find((one) => one.name === name)!, house.sweepOptions)
  return { store: house.store, sweep, [Symbol.asyncDispose]: () => stack.disposeAsync() }
}

test('what was abandoned goes, however many drafts wait before it', async () => {
  await using house = await emptyHouse(3 * DAY_MS)
  await house.store.write('durable', async (tx) => {
    for (let number = 0; number < 150; number++) {
      const slug = `draft-${number}`
      await tx.sites.insert(siteRow(slug, { created_at: number }))
      await tx.versions.insert(versionRow(`${number}`, slug, { state: 'ready', created_at: number }))
    }
    await tx.sites.insert(siteRow('staged-again', { created_at: 500 }))
    await tx.versions.insert(
      versionRow('new', 'staged-again', { state: 'pending', created_at: 3 * DAY_MS - 1 }),
    )
    await tx.sites.insert(siteRow('abandoned', { created_at: 1000 }))
    await tx.versions.insert(versionRow('old', 'abandoned', { state: 'pending', created_at: 1000 }))
  })
  await house.sweep('abandoned')
  const gone = async (slug: string) => (await house.store.read.sites.bySlug(slug))?.gone_reason
  assert.equal(await gone('abandoned'), 'abandoned')
  assert.equal(await gone('draft-149'), null)
  assert.equal(await gone('staged-again'), null)
  assert.equal(await house.sweep('abandoned'), 0)
})
