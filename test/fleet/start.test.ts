import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { after, before, describe, test } from 'node:test'
import { Program, run, type Settings } from '../operator/program.ts'
import { manifest, Publisher } from '../operator/publisher.ts'
import { sendRequest } from '../support/http-client.ts'
import { memoryFolder } from '../tools/memory-folder.ts'
import { requires } from '../tools/part.ts'
import { freePort } from '../tools/port.ts'
import { type Postgres, startPostgres } from '../tools/postgres.ts'

describe('nodes of one database', requires('postgres'), () => {
  const started = new AsyncDisposableStack()
  let postgres: Postgres
  before(async () => {
    postgres = started.use(await startPostgres())
  })
  after(() => started.disposeAsync())

  /** The settings of two nodes that share a database and a folder of blobs; the first one has the base URL. */
  async function fleetSettings(stack: AsyncDisposableStack): Promise<[Settings, Settings]> {
    const { path } = stack.use(await memoryFolder())
    const ports = [await freePort(), await freePort()]
    const common = {
      DATABASE_URL: (await postgres.createDatabase()).replace('slipway@', 'slipway:hush@'),
      SECRET: 'a secret that all of the nodes have in common',
      SMTP_URL: 'smtp://127.0.0.1:1',
      BASE_URL: `http://localhost:${ports[0]}`,
      DATA: path,
    }
    return [
      { ...common, PORT: `${ports[0]}` },
      { ...common, PORT: `${ports[1]}`, WORKERS: '2' },
    ]
  }

  test('a change that one node publishes is served by the workers of another', async () => {
    await using stack = new AsyncDisposableStack()
    const [first, second] = await fleetSettings(stack)
    const one = stack.use(await Program.serve(first))
    const other = stack.use(await Program.serve(second))
    const publisher = stack.use(new Publisher(one))
    const site = await publisher.stage({ 'index.html': 'before' })
    await publisher.client.finalize(site.slug, site)
    const shown = async () => (await sendRequest(Number(second.PORT), { site: site.slug })).text
    assert.equal(await shown(), 'before')
    const claimToken = site.claimToken!
    const files = manifest({ 'index.html': 'after' })
    const { upload } = await publisher.client.update(site.slug, { files, claimToken })
    await publisher.client.upload(upload.uploads[0]!, Buffer.from('after'))
    await publisher.client.finalize(site.slug, { versionId: upload.versionId, claimToken })
    while ((await shown()) !== 'after');
    assert.deepEqual(
      (await readdir(first.DATA!)).filter((name) => /slipway\.db|secret/.test(name)),
      [],
      'the data folder has no database and no secret',
    )
    for (const { lines } of [one, other]) assert.doesNotMatch(lines.join('\n'), /hush/)
  })

  test('a command of the operator works on the database of the fleet, from any folder', async () => {
    await using stack = new AsyncDisposableStack()
    const [settings] = await fleetSettings(stack)
    const swept = await run(['sweep', 'expired-sites'], settings)
    assert.deepEqual([swept.code, swept.stderr], [0, ''])
    const { code, stderr } = await run(['account', 'plan', 'unknown@example.test', 'hobby'], settings)
    assert.equal(code, 1)
    assert.match(stderr, /unknown@example\.test/)
  })
})
