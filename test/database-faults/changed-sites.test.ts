import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { brotliDecompressSync } from 'node:zlib'
import { type Service, startService } from '../../server/app.ts'
import { readConfig } from '../../server/config/settings.ts'
import { MINUTE_MS } from '../../server/lib/time.ts'
import { unavailable } from '../../server/store/postgres/errors.ts'
import { postgresStore } from '../../server/store/postgres/postgres.ts'
import type { Store } from '../../server/store/store.ts'
import { createStorage } from '../s3/storage.ts'
import { PATIENT_TIMEOUTS } from '../support/engines.ts'
import { sendRequest } from '../support/http-client.ts'
import { PATIENT } from '../support/patient.ts'
import { silentLog } from '../support/silent-log.ts'
import { waitFor } from '../support/wait-for.ts'
import { memoryFolder } from '../tools/memory-folder.ts'
import { requires } from '../tools/part.ts'
import { freePort } from '../tools/port.ts'
import { borrowProxied } from './proxied-store.ts'
import {
  CHANGES,
  changeBy,
  formerLabel,
  hostOf,
  listShown,
  PAGE_AND_STYLE,
  UNSEEN_CHANGES,
} from './site-changes.ts'

type Fault = `the ${'database' | 'bucket'} ${'refuses' | 'is silent'}`

const FAULTS: Fault[] = [
  'the database refuses',
  'the database is silent',
  'the bucket refuses',
  'the bucket is silent',
]

describe(
  'a site that visitors use is served through an outage of the database or of the bucket, as it is after',
  requires('postgres', 'ceph'),
  () => {
    const stack = new AsyncDisposableStack()
    let nodes: Nodes
    before(async () => {
      nodes = await startNodes(stack)
    })
    after(() => stack.disposeAsync())

    for (const fault of FAULTS)
      test(`any change, when ${fault} before the next visit`, async () => {
        const sites = await nodes.publishAll(CHANGES.length, fault)
        for (const [index, { prepare }] of CHANGES.entries()) await prepare?.(nodes, sites[index]!)
        await nodes.settle()
        for (const [index, one] of CHANGES.entries())
          for (const [path] of PAGE_AND_STYLE) await nodes.visit(formerLabel(one, sites[index]!), path)
        for (const [index, { change }] of CHANGES.entries()) await change(nodes, sites[index]!)
        await nodes.settle()
        await using _outage = await nodes.fail(fault)
        for (const [index, one] of CHANGES.entries()) {
          const { what, status, shows = '', host = (site: string) => site } = one
          for (const [path, coding] of listShown(one)) {
            const responses = await nodes.visit(host(sites[index]!), path, coding)
            for (const [node, response] of responses.entries()) {
              const label = `${what}, node ${node}, ${path}, ${coding}`
              assert.equal(response.status, status, label)
              const isCoded = response.headers['content-encoding'] === 'br'
              const text = isCoded ? brotliDecompressSync(response.body).toString() : response.text
              assert.ok(text.includes(shows), `${label}: ${text.slice(0, 300)}`)
            }
          }
        }
      })

    for (const { what, prepare, change } of UNSEEN_CHANGES)
      test(`${what}, heard of when the database can no longer be read`, async () => {
        const [site] = await nodes.publishAll(1, what)
        await nodes.update(site, 'two')
        await prepare?.(nodes, site!)
        await nodes.settle()
        await nodes.visit(site!)
        {
          using _ = nodes.blindOther()
          await change(nodes, site!)
          await nodes.settle()
          const [, response] = await nodes.visit(site!)
          assert.equal(response!.status, 200)
          assert.ok(response!.text.includes('<p>two</p>'))
        }
      })
  },
)

type Nodes = Awaited<ReturnType<typeof startNodes>>

/** Two nodes whose connections to one database pass a proxy. */
async function startNodes(stack: AsyncDisposableStack) {
  const { url, proxy, proxied, serverPort } = await borrowProxied(stack)
  const bucket = stack.use(await createStorage())
  const settings = {
    SLIPWAY_BLOBS_URL: bucket.url,
    SLIPWAY_PORT: '0',
    SLIPWAY_DATABASE_URL: proxied,
    SLIPWAY_SECRET: 'a secret that all of the nodes have in common',
    SLIPWAY_SMTP_URL: 'smtp://127.0.0.1:1',
    SLIPWAY_BASE_URL: 'http://localhost',
    SLIPWAY_READY_SECONDS: '0',
    SLIPWAY_RATE_FREE: '1000',
  }
  const time = { aheadMs: 0 }
  const stores: Store[] = []
  const openNode = async () => {
    const store = await postgresStore({ url: proxied, timeouts: PATIENT_TIMEOUTS })
    const { silenceMs } = store
    store.silenceMs = () => silenceMs() + time.aheadMs
    const { serving } = store.read
    const isOther = stores.push(store) === 2
    const findSite = serving.findSite.bind(serving)
    serving.findSite = (...args) =>
      isOther && isOtherBlind ? Promise.reject(unavailable()) : findSite(...args)
    return store
  }
  const clock = () => Date.now() + time.aheadMs
  const services: Service[] = []
  let isOtherBlind = false
  for (let node = 0; node < 2; node++) {
    const options = {
      log: silentLog,
      version: 'test',
      deadlines: { ...PATIENT, encodedBody: 100 },
      openStore: openNode,
      clock,
    }
    // The disk cache of a node has what it has stored, and not what another one has.
    const { path } = stack.use(await memoryFolder())
    const config = readConfig({ ...settings, SLIPWAY_DATA: path })
    services.push(stack.use(await startService(config, { ...options, scheduledSweeps: [] })))
  }
  // Requests that nothing answers would delay the end of the stores.
  stack.defer(() => proxy.cut())
  let fault = ''
  const changing = await changeBy({ port: services[0]!.port, databaseUrl: url }, () => fault)
  return {
    ...changing,

    /** Sites with contents that no node has read for another fault. */
    async publishAll(count: number, contents: string): Promise<string[]> {
      fault = contents
      const sites: string[] = []
      for (let index = 0; index < count; index++) sites.push((await changing.update(undefined, 'one')).slug)
      for (const site of sites) await this.visit(site)
      return sites
    },

    /** Resolves when both nodes know of all changes, and have loaded again what is in use. */
    async settle(): Promise<void> {
      await services[0]!.precompressor.onIdle()
      for (const [node, store] of stores.entries()) {
        await store.pollChanges()
        await waitFor(async () => {
          const { slipway_reloads_waiting: waiting } = await services[node]!.metrics.collect()
          return waiting!.every(([, , value]) => value === 0)
        })
      }
    },

    visit: (label: string, path = '/', coding = 'identity') =>
      Promise.all(
        services.map((service) =>
          sendRequest(service.port, { path, headers: { host: hostOf(label), 'accept-encoding': coding } }),
        ),
      ),

    /** The other node than the one that publishes cannot look up sites. */
    blindOther(): Disposable {
      isOtherBlind = true
      return {
        [Symbol.dispose]() {
          isOtherBlind = false
        },
      }
    },

    /** From now on every connection is refused, or nothing is answered; no change was heard for a minute. */
    async fail(fault: Fault): Promise<AsyncDisposable> {
      if (fault.includes('bucket')) {
        bucket.proxy.fault = () => (fault === 'the bucket refuses' ? 'reset' : 'silence')
        return {
          async [Symbol.asyncDispose]() {
            bucket.proxy.fault = () => undefined
          },
        }
      }
      time.aheadMs = MINUTE_MS
      if (fault === 'the database is silent') proxy.stop()
      else {
        proxy.upstreamPort = await freePort()
        proxy.cut()
      }
      return {
        async [Symbol.asyncDispose]() {
          time.aheadMs = 0
          proxy.upstreamPort = serverPort
          proxy.resume()
          proxy.cut()
          for (const store of stores)
            await waitFor(() =>
              store.check().then(
                () => true,
                () => false,
              ),
            )
        },
      }
    },
  }
}
