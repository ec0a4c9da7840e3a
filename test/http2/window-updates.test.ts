import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { settingsFrame, TYPE } from '../../packages/http-server/http2/frame.ts'
import { noise } from '../edge/fixture.ts'
import { Http2Fixture } from './http2-fixture.ts'
import { CLIENT_PREFACE, frame, getFrame, uint32 } from './raw-client.ts'

const SIZE = 1_300_000

describe('a client of HTTP/2 with small windows', () => {
  let fixture: Http2Fixture
  let host: string
  before(async () => {
    fixture = await Http2Fixture.start()
    const slug = await fixture.edge.publish({ 'big.bin': noise(SIZE), 'middle.bin': noise(120_000) })
    host = fixture.edge.host(slug)
    for (const path of ['/big.bin', '/middle.bin']) await fixture.edge.get(slug, path)
  })
  after(() => fixture[Symbol.asyncDispose]())

  interface Download {
    streams: number
    /** SETTINGS_INITIAL_WINDOW_SIZE. */
    window: number
    path?: string
    size?: number
    ping?: boolean
  }

  /** Downloads, and sends WINDOW_UPDATE for each DATA frame, as simple clients do. Returns the frame sizes. */
  async function download({ streams, window, path = '/middle.bin', size = 120_000, ping }: Download) {
    const client = await fixture.raw()
    const sizes: number[] = []
    client.onFrame = ({ type, stream, flags, payload }) => {
      if (type !== TYPE.data) return
      sizes.push(payload.length)
      if (payload.length === 0) return
      const acknowledgments = [frame(TYPE.windowUpdate, 0, 0, uint32(payload.length))]
      if ((flags & 1) === 0) acknowledgments.push(frame(TYPE.windowUpdate, 0, stream, uint32(payload.length)))
      if (ping) acknowledgments.push(frame(TYPE.ping, 0, 0, '12345678'))
      for (const one of acknowledgments) client.send(one)
    }
    const ids = Array.from({ length: streams }, (_, index) => 2 * index + 1)
    client.send(
      CLIENT_PREFACE,
      settingsFrame([[4, window]]),
      ...ids.map((stream) => getFrame(stream, host, path)),
    )
    await Promise.all(ids.map((stream) => client.ended(stream)))
    for (const stream of ids) assert.equal(client.bodies.get(stream), size)
    client.socket.destroy()
    return sizes
  }

  describe('a client that sends WINDOW_UPDATE for each DATA frame gets', () => {
    for (const [streams, window] of [
      [40, 65_535],
      [30, 8192],
    ] as const)
      test(`${streams} downloads with windows of ${window} bytes, without tiny frames`, async () => {
        const sizes = await download({ streams, window })
        const small = sizes.filter((bytes) => bytes < 1024).length
        assert.ok(small <= 2 * streams, `${small} of ${sizes.length} frames have less than 1 KiB`)
      })

    for (const [window, ping] of [
      [1000, false],
      [100, false],
      [65_535, true],
    ] as const)
      test(`one download with a window of ${window} bytes${ping ? ', with a ping for each' : ''}`, async () => {
        const [path, size] = window < 1000 ? ['/middle.bin', 120_000] : ['/big.bin', SIZE]
        const sizes = await download({ streams: 1, window, path, size, ping })
        assert.ok(sizes.length >= size / Math.min(16_384, window))
      })
  })

  test('a download uses the last bytes of a small window', async () => {
    const client = await fixture.open(settingsFrame([[4, 2 ** 20]]), getFrame(1, host, '/big.bin'))
    const has = (bytes: number) => client.frame(() => client.bodies.get(1) === bytes)
    await has(65_535)
    client.send(frame(TYPE.windowUpdate, 0, 0, uint32(100)))
    await has(65_635)
  })
})
