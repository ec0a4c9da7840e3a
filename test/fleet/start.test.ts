import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { describe, test } from 'node:test'
import type { NodeReport } from '../../server/store/tables/nodes.ts'
import { Program, run, type Settings } from '../operator/program.ts'
import { manifest, Publisher } from '../operator/publisher.ts'
import { sendRequest } from '../support/http-client.ts'
import { startTestService } from '../support/service.ts'
import { waitFor } from '../support/wait-for.ts'
import { memoryFolder } from '../tools/memory-folder.ts'
import { requires } from '../tools/part.ts'
import { freePort } from '../tools/port.ts'
import { sharedPostgres } from '../tools/postgres.ts'
import { TcpProxy } from '../tools/tcp-proxy.ts'

describe('nodes of one database', requires('postgres'), () => {
  /** The settings of two nodes that share a database and a folder of blobs; the first one has the base URL. */
  async function fleetSettings(stack: AsyncDisposableStack): Promise<[Settings, Settings]> {
    const { path } = stack.use(await memoryFolder())
    const ports = [await freePort(), await freePort()]
    const common = {
      DATABASE_URL: stack
        .use(await (await sharedPostgres()).borrowDatabase())
        .url.replace('slipway@', 'slipway:hush@'),
      SECRET: 'a secret that all of the nodes have in common',
      SMTP_URL: 'smtp://127.0.0.1:1',
      BASE_URL: `http://localhost:${ports[0]}`,
      DATA: path,
      PROXY_HOST: 'domains.slipway-test.net',
    }
    return [
      { ...common, PORT: `${ports[0]}` },
      { ...common, PORT: `${ports[1]}`, WORKERS: '2' },
    ]
  }

  test('a node that starts before its database waits, refuses connections and can be stopped; then its workers serve what another publishes, and the operator lists all that run', async () => {
    await using stack = new AsyncDisposableStack()
    const [first, second] = await fleetSettings(stack)
    const proxy = stack.use(await TcpProxy.open(await freePort()))
    second.INTERNAL_PORT = `${await freePort()}`
    const start = (settings: Settings) => {
      const url = new URL(settings.DATABASE_URL!)
      url.port = `${proxy.port}`
      return stack.use(Program.start({ ...settings, DATABASE_URL: url.href }))
    }
    const [stopped, other] = [start(first), start(second)]
    for (const program of [stopped, other]) {
      const line = await program.waitForLine(/the start waits for it/)
      assert.match(JSON.parse(line).reason, /ECONNRESET|Connection terminated/)
    }
    for (const port of [first.PORT, second.PORT, second.INTERNAL_PORT])
      await assert.rejects(sendRequest(Number(port), { path: '/health' }), { code: 'ECONNREFUSED' })
    assert.equal((await stopped.stop()).code, 0)
    proxy.upstreamPort = (await sharedPostgres()).port
    await other.waitForLine(/runs at http/)

    const one = stack.use(await startTestService(first))
    const publisher = stack.use(new Publisher(one))
    const site = await publisher.stage({ 'index.html': 'before' })
    await publisher.client.finalize(site.slug, site)
    const shown = async () => (await sendRequest(Number(second.PORT), { site: site.slug })).text
    await waitFor(async () => (await shown()) === 'before')
    const claimToken = site.claimToken!
    const files = manifest({ 'index.html': 'after' })
    const { upload } = await publisher.client.update(site.slug, { files, claimToken })
    await publisher.client.upload(upload.uploads[0]!, Buffer.from('after'))
    await publisher.client.finalize(site.slug, { versionId: upload.versionId, claimToken })
    await waitFor(async () => (await shown()) === 'after')
    assert.deepEqual(
      (await readdir(first.DATA!)).filter((name) => /slipway\.db|secret/.test(name)),
      [],
      'the data folder has no database and no secret',
    )
    for (const program of [stopped, other]) assert.doesNotMatch(program.lines.join('\n'), /hush/)

    const list = async () => {
      const { code, lines } = await run(['nodes', '--json'], first)
      assert.equal(code, 0)
      return JSON.parse(lines[0]!).nodes as NodeReport[]
    }
    let nodes: NodeReport[] = []
    // Each reports itself beside its start.
    await waitFor(async () => {
      nodes = await list()
      return nodes.length >= 3
    })
    const ports = nodes.map(({ host }) => host.split(':').at(-1))
    assert.deepEqual(ports.sort(), [first.PORT, second.PORT, second.PORT].sort(), 'a row for each process')
    for (const { release, numbers } of nodes) {
      assert.match(release, /^(\d+\.\d+\.\d+|test)$/)
      assert.ok(numbers['slipway_store_feed_polls_total{outcome="ok"}']! > 0)
    }
    assert.equal((await other.stop()).code, 0)
    assert.equal((await list()).length, 1)
  })

  test('a node with another secret does not start, until it shares its settings', async () => {
    await using stack = new AsyncDisposableStack()
    const [first] = await fleetSettings(stack)
    const sweep = async (settings: Settings) => (await run(['sweep', 'expired-sites'], settings)).code
    assert.equal(await sweep(first), 0)
    const different = { ...first, SECRET: 'another secret than that of the other nodes' }
    const { code, lines, stderr } = await run(['serve'], different)
    assert.deepEqual([code, lines], [1, []])
    assert.equal(
      stderr,
      'slipway-server: SLIPWAY_SECRET differs from that of the other nodes of the database\n' +
        'Correct it, or make the settings of this machine those of all nodes: slipway-server settings share\n',
    )
    assert.equal((await run(['settings', 'share'], different)).stderr, '')
    assert.deepEqual([await sweep(different), await sweep(first)], [0, 1])
  })

  for (const [part, property, reason, workers] of [
    ['database', 'pathname', /database "other" does not exist/, 2],
    ['user', 'username', /role "other" does not exist/, 1],
  ] as const)
    test(`a node with a wrong ${part} in its database URL ends with one line, without the password`, async () => {
      await using stack = new AsyncDisposableStack()
      const settings = (await fleetSettings(stack))[workers - 1]!
      const url = new URL(settings.DATABASE_URL!)
      url[property] = 'other'
      const command = workers === 1 ? ['serve'] : []
      const { code, stderr } = await run(command, { ...settings, DATABASE_URL: url.href })
      assert.equal(code, 1)
      for (const line of stderr.trimEnd().split('\n')) {
        assert.match(line, /^slipway-server: The database server refuses the connection\. \(/)
        assert.match(line, reason)
        assert.doesNotMatch(line, /hush/)
      }
    })
})
