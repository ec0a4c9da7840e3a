import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { CODE, settingsFrame, TYPE } from '../../packages/http-server/http2/frame.ts'
import { noise } from '../edge/fixture.ts'
import { Http2Fixture } from './http2-fixture.ts'
import { frame, getFields, getFrame, headerBlock, type RawClient, uint32 } from './raw-client.ts'

describe('an HTTP/2 flood', () => {
  let fixture: Http2Fixture
  let host: string
  before(async () => {
    fixture = await Http2Fixture.start()
    const slug = await fixture.edge.publish({ 'index.html': 'home', 'big.bin': noise(400_000) })
    host = fixture.edge.host(slug)
    for (const path of ['/', '/big.bin']) await fixture.edge.get(slug, path)
    fixture.server.removeAllListeners('request')
    // Relayed requests never get a response.
    fixture.server.on('request', (request) => request.on('error', () => undefined))
  })
  after(() => fixture[Symbol.asyncDispose]())

  const cancel = (stream: number) => frame(TYPE.reset, 0, stream, uint32(CODE.cancel))

  /** A request with its immediate cancellation. */
  const rapidReset = (stream: number) =>
    Buffer.concat([frame(TYPE.headers, 5, stream, headerBlock(getFields('api.test'))), cancel(stream)])

  const rapidResets = (count: number, first: number) =>
    Array.from({ length: count }, (_, index) => rapidReset(first + 2 * index))

  /** HEADERS of a POST without END_STREAM. */
  const post = (stream: number, more: Record<string, string> = {}) =>
    frame(TYPE.headers, 4, stream, headerBlock({ ...getFields(host), ':method': 'POST', ...more }))

  const HEADERS = TYPE.headers
  const ALL = 5

  /** A header block that adds 3,900 fields to the dynamic table: each evicts the oldest one. */
  const CHURN = Buffer.from('\x40\x01a\x00'.repeat(3900), 'latin1')

  const goAways = (client: RawClient) => client.received.filter(({ type }) => type === TYPE.goAway)

  test('a client may cancel any number of started downloads', async () => {
    const client = await fixture.open(
      settingsFrame([[4, 1000]]),
      frame(TYPE.windowUpdate, 0, 0, uint32(2 ** 30)),
    )
    for (let round = 0; round < 50; round++) {
      const streams = Array.from({ length: 25 }, (_, index) => 1 + 2 * (25 * round + index))
      client.send(...streams.map((stream) => getFrame(stream, host, '/big.bin')))
      await Promise.all(streams.map((stream) => client.status(stream)))
      client.send(...streams.map(cancel))
      await client.roundTrip(`round ${round}`.padEnd(8))
    }
    client.send(getFrame(9001, host))
    assert.equal(await client.status(9001), 200)
    assert.deepEqual(goAways(client), [])
  })

  describe('a client that cancels its requests before their responses', () => {
    test('may do so a thousand times; then new requests are refused for some seconds, and the connection stays open', async () => {
      const client = await fixture.open(...rapidResets(1001, 1), getFrame(3001, host))
      assert.equal(await client.reset(3001), CODE.refused)
      fixture.edge.clock.now += 1000
      client.send(getFrame(3003, host))
      assert.equal(await client.reset(3003), CODE.refused)
      fixture.edge.clock.now += 3000
      client.send(getFrame(3005, host))
      assert.equal(await client.status(3005), 200)
      assert.deepEqual(goAways(client), [])
    })

    test('loses its connection when it continues, after the responses in progress', async () => {
      const client = await fixture.open(settingsFrame([[4, 2 ** 20]]), getFrame(1, host, '/big.bin'))
      await client.status(1)
      client.send(...rapidResets(1600, 3))
      assert.equal(await client.goAway(), CODE.enhanceYourCalm)
      const [{ payload } = assert.fail()] = goAways(client)
      const last = payload.readUInt32BE(0)
      assert.ok(last > 2000 && last < 3 + 2 * 1002, `the last stream is ${last}`)
      client.send(getFrame(5001, host), frame(TYPE.windowUpdate, 0, 0, uint32(2 ** 20)))
      await client.ended(1)
      assert.equal(client.bodies.get(1), 400_000)
      assert.equal(await client.reset(5001), CODE.refused)
      await client.closed
    })
  })

  const many = (count: number, bytes: Buffer) => Buffer.concat(Array.from({ length: count }, () => bytes))
  // biome-ignore format: one row per case
  const cases: [string, () => Buffer[]][] = [
  ['unlimited pings', () => [many(2000, frame(TYPE.ping, 0, 0, '12345678'))]],
  ['unlimited settings', () => [many(2000, settingsFrame([[4, 65_535]]))]],
  ['unlimited priorities', () => [many(2000, frame(TYPE.priority, 0, 3, '\0\0\0\x01a'))]],
  ['unlimited unknown frames', () => [many(2000, frame(77, 0, 0, 'what'))]],
  ['unlimited window updates of one byte', () => [many(2000, frame(TYPE.windowUpdate, 0, 0, uint32(1)))]],
  ['unlimited empty data frames', () => [post(1), many(2000, frame(TYPE.data, 0, 1))]],
  ['unlimited data frames of one byte', () => [post(1), many(2000, frame(TYPE.data, 0, 1, 'a'))]],
  ['unlimited header lists that are too long', () => Array.from({ length: 110 }, (_, index) => frame(HEADERS, ALL, 2 * index + 1, CHURN))],
  ['unlimited trailers of a closed stream', () => [frame(HEADERS, ALL, 1), many(2000, frame(HEADERS, ALL, 1, headerBlock({ a: 'b' })))]],
  [
    'requests with immediate cancellation',
    () =>
      Array.from({ length: 2000 }, (_, index) =>
        Buffer.concat([post(2 * index + 1), frame(TYPE.reset, 0, 2 * index + 1, uint32(8))]),
      ),
  ],
  ['malformed requests that the server resets', () => Array.from({ length: 3000 }, (_, index) => post(2 * index + 1, { te: 'gzip' }))],
]
  for (const [what, frames] of cases) {
    test(`a connection ends with ENHANCE_YOUR_CALM when its client sends ${what}`, async () => {
      const client = await fixture.open(...frames())
      assert.equal(await client.goAway(), CODE.enhanceYourCalm)
      await client.closed
    })
  }
})
