import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { parseBucketUrl } from '../../packages/s3-client/bucket-url.ts'
import type { RequestOutcome } from '../../packages/s3-client/errors.ts'
import { HangWatch } from '../../packages/s3-client/hang-watch.ts'
import { BucketState } from '../../server/blobs/s3/bucket-state.ts'
import { Incidents } from '../../server/lib/incidents.ts'
import { Metrics } from '../../server/lib/metrics.ts'
import { deterministicBytes, keep, toBody } from '../blobs/bytes.ts'
import { sendRequest } from '../support/http-client.ts'
import { PATIENT } from '../support/patient.ts'
import { startTestService } from '../support/service.ts'
import { silentLog } from '../support/silent-log.ts'
import { waitFor } from '../support/wait-for.ts'
import { memoryFolder } from '../tools/memory-folder.ts'
import { requires } from '../tools/part.ts'
import { TcpProxy } from '../tools/tcp-proxy.ts'
import { createStorage } from './storage.ts'

/** Ceph under load may take longer, so that each test waits until it answers. */
const HANG_MS = 500

const FILES = 20

/** A node with a bucket that hangs soon, which has none of the files of a site in memory. */
async function startNode(stack: AsyncDisposableStack) {
  const storage = stack.use(await createStorage())
  const { path: DATA } = stack.use(await memoryFolder())
  const settings = { BLOBS_URL: storage.url, DATA, CACHE_DISK_BYTES: '64mib' }
  const before = await startTestService(settings)
  const files = Array.from({ length: FILES }, (_, number) => ({
    path: `${number}.txt`,
    content: `file ${number}`,
  }))
  const { slug } = await before.client().publishContents({ files })
  await before[Symbol.asyncDispose]()
  const deadlines = { blobs: { ...PATIENT.blobs, hang: HANG_MS } }
  const service = stack.use(await startTestService(settings, Date.now(), { deadlines }))
  const visit = (number: number) => sendRequest(service.port, { site: slug, path: `/${number}.txt` })
  await waitFor(async () => (await visit(0)).status === 200)
  return { storage, service, slug, visit }
}

describe('a bucket that accepts requests and answers none', requires('ceph'), () => {
  test('gets no request of a cold visit, but a probe, until it answers; warm sites are served', async () => {
    await using stack = new AsyncDisposableStack()
    const { storage, service, slug, visit } = await startNode(stack)
    storage.proxy.fault = () => 'silence'
    assert.equal((await visit(1)).status, 503)
    storage.proxy.requests.length = 0
    const cold = await Promise.all(Array.from({ length: FILES - 1 }, (_, number) => visit(number + 1)))
    for (const { status, headers } of cold) assert.deepEqual([status, headers['retry-after']], [503, '5'])
    const publish = (content: string) =>
      service.client().publishContents({ files: [{ path: 'index.html', content }] })
    await assert.rejects(publish('new'), { code: 'UNAVAILABLE' })
    assert.equal((await sendRequest(service.port, { path: '/health' })).status, 503)
    const otherRequests = storage.proxy.requests.filter(({ path }) => !path.includes('max-keys=1'))
    assert.deepEqual(otherRequests, [])
    assert.equal((await visit(0)).text, 'file 0')
    assert.equal((await sendRequest(service.port, { site: 'no-such-site' })).status, 404)
    assert.equal((await sendRequest(service.port, { site: slug, path: '/none' })).status, 404)

    storage.proxy.fault = () => undefined
    await waitFor(async () => (await visit(1)).text === 'file 1')
    await waitFor(() =>
      publish('new').then(
        () => true,
        () => false,
      ),
    )
  })

  test('refuses what begins, and does not end a download that has begun', async () => {
    await using stack = new AsyncDisposableStack()
    const storage = stack.use(await createStorage())
    const proxy = stack.use(await TcpProxy.open(Number(new URL(storage.proxy.endpoint).port)))
    const large = deterministicBytes('large', 3_500_000)
    const location = await keep(storage.open().blobs, large)
    const small = await keep(storage.open().blobs, Buffer.from('small'))
    const endpoint = `endpoint=${encodeURIComponent(`http://127.0.0.1:${proxy.port}`)}`
    const { blobs } = storage.open({
      bucket: parseBucketUrl(storage.url.replace(/endpoint=[^&]+/, endpoint)),
      timeouts: { ...PATIENT.blobs, hang: HANG_MS },
    })
    let chunks: AsyncIterator<Buffer> | undefined
    await waitFor(async () => {
      chunks = (await blobs.read(location).catch(() => undefined))?.[Symbol.asyncIterator]()
      return chunks !== undefined
    })
    const received = [(await chunks!.next()).value as Buffer]
    proxy.stop()
    await assert.rejects(blobs.bytes(small), { code: 'UNAVAILABLE' })
    const rest = (async () => {
      for (;;) {
        const { value, done } = await chunks!.next()
        if (done) return
        received.push(value)
      }
    })()
    await assert.rejects(blobs.bytes(small), { code: 'UNAVAILABLE' })
    const upload = blobs.put(toBody(large), { size: large.length })
    await assert.rejects(upload, { code: 'UNAVAILABLE' })
    proxy.resume()
    await rest
    assert.ok(Buffer.concat(received).equals(large))
  })
})

describe('whether a bucket hangs', () => {
  /** A watch with a clock of its own, and a request that waits. */
  function startWatch(t: { mock: import('node:test').MockTracker }) {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    let now = 0
    t.mock.method(performance, 'now', () => now)
    let probes = 0
    let onProbe = () => {}
    const watch = new HangWatch({
      hangMs: 2000,
      async probe() {
        probes++
        onProbe()
      },
    })
    const request = Promise.withResolvers<void>()
    void watch.during(request.promise)
    return {
      watch,
      request,
      probes: () => probes,
      answerProbes: () => {
        onProbe = () => watch.hear()
      },
      async pass(milliseconds: number) {
        for (let passed = 0; passed < milliseconds; passed += 100) {
          now += 100
          t.mock.timers.tick(100)
          await turn()
        }
      },
    }
  }

  test('is known after two seconds without a byte, and until the next one it gets a probe each second', async (t) => {
    const { watch, pass, probes } = startWatch(t)
    const { signal } = watch
    await pass(1900)
    assert.deepEqual([watch.isHanging, probes()], [false, 1])
    await pass(200)
    assert.ok(signal.aborted && watch.isHanging)
    const before = probes()
    await pass(5000)
    assert.equal(probes() - before, 5)
    watch.hear()
    assert.equal(watch.isHanging, false)
  })

  test('is not assumed of one that sends a byte a second', async (t) => {
    const { watch, pass } = startWatch(t)
    for (let second = 0; second < 60; second++) {
      await pass(1000)
      watch.hear()
      assert.equal(watch.isHanging, false)
    }
  })

  test('is not assumed of one that answers probes while an upload takes long', async (t) => {
    const { watch, answerProbes, pass, probes } = startWatch(t)
    answerProbes()
    await pass(60_000)
    assert.equal(watch.isHanging, false)
    assert.ok(probes() <= 60)
  })

  test('is not assumed of one that gets no request', async (t) => {
    const { watch, request, pass, probes } = startWatch(t)
    request.resolve()
    await turn()
    await pass(60_000)
    assert.deepEqual([watch.isHanging, probes()], [false, 0])
  })
})

describe('a bucket is unreachable', () => {
  function watchBucket() {
    const metrics = new Metrics()
    const incidents = new Incidents({ log: silentLog, metrics })
    const state = new BucketState({ metrics })
    const client = { bucket: parseBucketUrl('s3://bucket?region=eu-west-1'), isHanging: false }
    state.watch(incidents, client)
    return {
      client,
      async isUnreachable() {
        await incidents.check()
        return metrics.read()['slipway_incident{incident="bucket-unreachable"}'] === 1
      },
      /** Fails three requests; those with an error of the server are tried three times. */
      fail(operation: string, outcome: RequestOutcome, requests = 3) {
        const tries = outcome === 'server_error' ? 3 * requests : requests
        for (let count = 0; count < tries; count++) state.onRequest(operation, outcome, new Error('no'))
      },
      succeed: (operation: string) => state.onRequest(operation, 'ok'),
    }
  }

  test('not by time-outs while it hangs', async () => {
    const { client, fail, isUnreachable } = watchBucket()
    client.isHanging = true
    fail('get', 'timeout')
    client.isHanging = false
    assert.equal(await isUnreachable(), false)
    fail('get', 'timeout')
    assert.equal(await isUnreachable(), true, 'these are of a bucket that does not hang')
  })

  for (const outcome of ['refused', 'server_error'] as const)
    test(`while storing files is answered with ${outcome}, although it lists them, until it stores one`, async () => {
      const { fail, succeed, isUnreachable } = watchBucket()
      fail('put', outcome)
      succeed('list')
      assert.equal(await isUnreachable(), true)
      succeed('put')
      assert.equal(await isUnreachable(), false)
    })

  test('not by one request that fails in all of its tries, once another one succeeds', async () => {
    const { fail, succeed, isUnreachable } = watchBucket()
    fail('put', 'server_error', 1)
    succeed('list')
    assert.equal(await isUnreachable(), false)
  })

  test('for ten minutes after its last refusal, when nothing is stored and it lists files', async () => {
    const { fail, succeed, isUnreachable } = watchBucket()
    fail('put', 'refused')
    succeed('list')
    for (let second = 0; second < 600; second++) assert.equal(await isUnreachable(), true)
    assert.equal(await isUnreachable(), false)
    fail('put', 'refused')
    for (let second = 0; second < 700; second++)
      assert.equal(await isUnreachable(), true, 'it never answered')
  })

  test('not for long by what it has not answered, and not by what it does not delete', async () => {
    const { fail, succeed, isUnreachable } = watchBucket()
    fail('put', 'connection_lost')
    fail('delete', 'refused')
    assert.equal(await isUnreachable(), true)
    succeed('list')
    assert.equal(await isUnreachable(), false)
  })
})
