import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { Slipway } from '../../client/sdk/slipway.ts'
import { type Service, startService } from '../../server/app.ts'
import { readConfig } from '../../server/config/settings.ts'
import { postgresStore } from '../../server/store/postgres/postgres.ts'
import { PATIENT_TIMEOUTS } from '../support/engines.ts'
import { type HttpResponse, sendRequest } from '../support/http-client.ts'
import { insertAccount } from '../support/insert-account.ts'
import { PATIENT } from '../support/patient.ts'
import { silentLog } from '../support/silent-log.ts'
import { memoryFolder } from '../tools/memory-folder.ts'
import { requires } from '../tools/part.ts'
import { sharedPostgres } from '../tools/postgres.ts'

const KB = 1000

describe('two nodes of one database', requires('postgres'), () => {
  const stack = new AsyncDisposableStack()
  let nodes: Service[]
  let databaseUrl: string
  before(async () => {
    const folder = stack.use(await memoryFolder())
    databaseUrl = stack.use(await (await sharedPostgres()).borrowDatabase()).url
    const config = readConfig({
      SLIPWAY_PORT: '0',
      SLIPWAY_DATABASE_URL: databaseUrl,
      SLIPWAY_DATA: folder.path,
      SLIPWAY_SECRET: 'a secret that all of the nodes have in common',
      SLIPWAY_SMTP_URL: 'smtp://127.0.0.1:1',
      SLIPWAY_BASE_URL: 'http://localhost',
      SLIPWAY_TRUSTED_PROXIES: '1',
      SLIPWAY_READY_SECONDS: '0',
      SLIPWAY_RATE_ANONYMOUS: '1000',
      // Manifests count too.
      SLIPWAY_ANONYMOUS_NETWORK_BYTES: `${11 * KB}`,
      SLIPWAY_ANONYMOUS_TOTAL_SITES: '12',
    })
    const openStore = () => postgresStore({ url: databaseUrl, timeouts: PATIENT_TIMEOUTS })
    nodes = []
    for (let node = 0; node < 2; node++)
      nodes.push(
        stack.use(
          await startService(config, { log: silentLog, version: 'test', deadlines: PATIENT, openStore }),
        ),
      )
  })
  after(() => stack.disposeAsync())

  const clientOf = (node: number, key: string) =>
    new Slipway({ baseUrl: `http://localhost:${nodes[node]!.port}`, key })

  const publishFrom = (node: number, address: string, content: string): Promise<HttpResponse> =>
    sendRequest(nodes[node]!.port, {
      method: 'POST',
      path: '/api/v1/publish',
      headers: { 'content-type': 'application/json', 'x-forwarded-for': address },
      body: JSON.stringify({ files: [{ path: 'index.html', content }] }),
    })

  describe('admit as many publishes at the same time as there is room for:', () => {
    const CALLS = 20

    /** Publishes different pages of 2 kB through both nodes; returns how many are admitted. */
    async function countAdmitted(
      publish: (call: number, content: string) => Promise<number>,
    ): Promise<number> {
      const statuses = await Promise.all(
        Array.from({ length: CALLS }, (_, call) => publish(call, `page ${call}`.padEnd(2 * KB, '.'))),
      )
      assert.deepEqual(new Set(statuses), new Set([201, 413]))
      return statuses.filter((status) => status === 201).length
    }

    const QUOTAS: [what: string, limits: { bytes?: number; sites?: number }, admitted: number][] = [
      ['the bytes of an account', { bytes: 11 * KB }, 5],
      ['the sites of an account', { sites: 3 }, 3],
    ]
    for (const [what, limits, admitted] of QUOTAS)
      test(what, async () => {
        const key = await insertAccount(databaseUrl, what, { limits })
        const publish = async (call: number, content: string) => {
          const files = [{ path: 'index.html', content }]
          return clientOf(call % 2, key)
            .publishContents({ files })
            .then(
              () => 201,
              (error: { status: number }) => error.status,
            )
        }
        assert.equal(await countAdmitted(publish), admitted)
        const { usage } = await clientOf(0, key).me()
        assert.deepEqual([usage.heldBytes, usage.heldSites], [admitted * 2 * KB, admitted])
      })

    test('the bytes of a network, and the sites of all networks', async () => {
      const fromOne = async (call: number, content: string) =>
        (await publishFrom(call % 2, `192.0.2.${call}`, content)).status
      const fromMany = async (call: number, content: string) =>
        (await publishFrom(call % 2, `10.0.${call}.1`, content)).status
      assert.equal(await countAdmitted(fromOne), 5)
      assert.equal(await countAdmitted(fromMany), 12 - 5)
    })
  })
})
