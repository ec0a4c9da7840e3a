import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { FRAME_HEADER_BYTES, settingsFrame, TYPE } from '../../packages/http-server/http2/frame.ts'
import { PREFACE } from '../../packages/http-server/http2/frame-reader.ts'
import { numbers } from '../support/random.ts'
import { waitFor } from '../support/wait-for.ts'
import { Http2Fixture } from './http2-fixture.ts'
import { CLIENT_PREFACE, frame, getFields, getFrame, headerBlock, uint32 } from './raw-client.ts'

/** `SESSIONS=100000` runs longer, `SEED=…` repeats a run. */
const SESSIONS = Number(process.env.SESSIONS ?? 80)

describe('random frames', () => {
  let fixture: Http2Fixture
  let host: string
  before(async () => {
    fixture = await Http2Fixture.start()
    const slug = await fixture.edge.publish({ 'index.html': 'home', 'big.bin': Buffer.alloc(300_000, 1) })
    host = fixture.edge.host(slug)
  })
  after(() => fixture[Symbol.asyncDispose]())

  type Pick = (bound: number) => number

  /** A mostly valid frame of a client that has opened `begun` streams. */
  function likelyFrame(pick: Pick, begun: number): { bytes: Buffer; begins: boolean } {
    const next = pick(60) === 0 ? 1 + 2 * pick(8) : 1 + 2 * begun
    const path = ['/', '/big.bin', '/none', '/%', '/a#b'][pick(5)]!
    const put = {
      ...getFields(pick(2) === 0 ? host : 'api.test', path),
      ':method': ['PUT', 'POST', 'GET'][pick(3)]!,
    }
    const starts = [
      () => getFrame(next, host, path),
      () => frame(TYPE.headers, 4, next, headerBlock(put)),
      () =>
        Buffer.concat([
          frame(TYPE.headers, 1, next, headerBlock(getFields(host, path))),
          frame(TYPE.continuation, 4, next),
        ]),
    ]
    if (begun === 0 || pick(2) === 0) return { bytes: starts[pick(3)]!(), begins: true }
    const older = 1 + 2 * pick(begun)
    const others = [
      () => frame(TYPE.data, pick(2), older, Buffer.alloc(pick(3) === 0 ? 16_384 : pick(100))),
      () => frame(TYPE.reset, 0, older, uint32(8)),
      () => frame(TYPE.windowUpdate, 0, pick(2) * older, uint32(1 + pick(100_000))),
      () => settingsFrame([[4, [0, 1, 65_535, 2 ** 30][pick(4)]!]]),
      () => settingsFrame([[1, pick(2) * 4096]]),
      () => frame(TYPE.headers, 5, older, headerBlock({ late: 'trailers' })),
      () => frame(TYPE.ping, pick(2), 0, '12345678'),
    ]
    return { bytes: others[pick(pick(3) === 0 ? 7 : 5)]!(), begins: false }
  }

  function randomFrame(pick: Pick): Buffer {
    const payload = Buffer.from(Array.from({ length: pick(40) }, () => pick(256)))
    return frame(pick(11), pick(256), pick(2) === 0 ? 0 : pick(20), payload)
  }

  /** All bytes of one connection. */
  function randomSession(pick: Pick): Buffer {
    let begun = 0
    const frames = Array.from({ length: 1 + pick(40) }, () => {
      if (pick(60) === 0) return randomFrame(pick)
      const { bytes, begins } = likelyFrame(pick, begun)
      if (begins) begun++
      return bytes
    })
    const bytes = Buffer.concat([CLIENT_PREFACE, ...frames])
    const mutations = pick(3) === 0 ? 1 + pick(4) : 0
    for (let count = 0; count < mutations; count++)
      bytes[CLIENT_PREFACE.length + pick(bytes.length - CLIENT_PREFACE.length)] = pick(256)
    return bytes
  }

  test('never break the server, and their connections are released', async (t) => {
    const pick = numbers(t)
    let responses = 0
    let goAways = 0
    for (let count = 0; count < SESSIONS; count++) {
      const client = await fixture.raw()
      const bytes = randomSession(pick)
      for (let at = 0; at < bytes.length; ) {
        const end = at + 1 + pick(pick(4) === 0 ? 10 : 30_000)
        client.send(bytes.subarray(at, end))
        if (pick(3) === 0) await new Promise(setImmediate)
        at = end
      }
      const serverSocket = fixture.sockets.at(-1)!
      // The server acknowledges a ping, or has closed the connection with GOAWAY.
      if (pick(4) > 0 && isWhole(bytes)) {
        client.send(frame(TYPE.ping, 0, 0, 'the end!'))
        await client.frame(({ type, payload }) => type === TYPE.goAway || payload.toString() === 'the end!')
      }
      responses += client.received.filter(({ type }) => type === TYPE.headers).length
      goAways += client.received.filter(({ type }) => type === TYPE.goAway).length
      client.socket.destroy()
      await waitFor(() => serverSocket.destroyed)
    }
    t.diagnostic(`${responses} responses, ${goAways} goAways`)
    assert.ok(responses > SESSIONS && goAways > 0)
    assert.deepEqual(fixture.logged, [])
    const client = await fixture.open(getFrame(1, host))
    assert.equal(await client.status(1), 200)
    fixture.server.closeAllConnections()
  })
})

/** Whether the last frame is complete: otherwise further bytes would be its payload. */
function isWhole(bytes: Buffer): boolean {
  let at = PREFACE.length
  while (at + FRAME_HEADER_BYTES <= bytes.length) at += FRAME_HEADER_BYTES + bytes.readUIntBE(at, 3)
  return at === bytes.length
}
