import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { FRAME_HEADER_BYTES, settingsFrame, TYPE } from '../../server/net/http2/frame.ts'
import { PREFACE } from '../../server/net/http2/frame-reader.ts'
import { numbers } from '../support/random.ts'
import { waitFor } from '../support/wait-for.ts'
import { Http2Fixture } from './http2-fixture.ts'
import { block, four, frame, get, getFrame, HELLO } from './raw-client.ts'

/** `SESSIONS=100000 SEED=…` makes it longer, or the same as another time. */
const SESSIONS = Number(process.env.SESSIONS ?? 400)

let fixture: Http2Fixture
let host: string
before(async () => {
  fixture = await Http2Fixture.start()
  const slug = await fixture.edge.publish({ 'index.html': 'home', 'big.bin': Buffer.alloc(300_000, 1) })
  host = fixture.edge.host(slug)
})
after(() => fixture[Symbol.asyncDispose]())

type Pick = (bound: number) => number

/** A frame as a client might send it that has begun so many streams. */
function likely(pick: Pick, begun: number): { bytes: Buffer; begins: boolean } {
  const next = pick(60) === 0 ? 1 + 2 * pick(8) : 1 + 2 * begun
  const path = ['/', '/big.bin', '/none', '/%', '/a#b'][pick(5)]!
  const put = { ...get(pick(2) === 0 ? host : 'api.test', path), ':method': ['PUT', 'POST', 'GET'][pick(3)]! }
  const starts = [
    () => getFrame(next, host, path),
    () => frame(TYPE.headers, 4, next, block(put)),
    () =>
      Buffer.concat([
        frame(TYPE.headers, 1, next, block(get(host, path))),
        frame(TYPE.continuation, 4, next),
      ]),
  ]
  if (begun === 0 || pick(2) === 0) return { bytes: starts[pick(3)]!(), begins: true }
  const older = 1 + 2 * pick(begun)
  const others = [
    () => frame(TYPE.data, pick(2), older, Buffer.alloc(pick(3) === 0 ? 16_384 : pick(100))),
    () => frame(TYPE.reset, 0, older, four(8)),
    () => frame(TYPE.windowUpdate, 0, pick(2) * older, four(1 + pick(100_000))),
    () => settingsFrame([[4, [0, 1, 65_535, 2 ** 30][pick(4)]!]]),
    () => settingsFrame([[1, pick(2) * 4096]]),
    () => frame(TYPE.headers, 5, older, block({ late: 'trailers' })),
    () => frame(TYPE.ping, pick(2), 0, '12345678'),
  ]
  return { bytes: others[pick(pick(3) === 0 ? 7 : 5)]!(), begins: false }
}

function anything(pick: Pick): Buffer {
  const payload = Buffer.from(Array.from({ length: pick(40) }, () => pick(256)))
  return frame(pick(11), pick(256), pick(2) === 0 ? 0 : pick(20), payload)
}

/** What one client says from beginning to end. */
function session(pick: Pick): Buffer {
  let begun = 0
  const frames = Array.from({ length: 1 + pick(40) }, () => {
    if (pick(60) === 0) return anything(pick)
    const { bytes, begins } = likely(pick, begun)
    if (begins) begun++
    return bytes
  })
  const bytes = Buffer.concat([HELLO, ...frames])
  const wrong = pick(3) === 0 ? 1 + pick(4) : 0
  for (let count = 0; count < wrong; count++)
    bytes[HELLO.length + pick(bytes.length - HELLO.length)] = pick(256)
  return bytes
}

test('whatever a client sends, the service goes on and forgets it', async (t) => {
  const pick = numbers(t)
  let answers = 0
  let farewells = 0
  for (let count = 0; count < SESSIONS; count++) {
    const client = await fixture.raw()
    const bytes = session(pick)
    for (let at = 0; at < bytes.length; ) {
      const end = at + 1 + pick(pick(4) === 0 ? 10 : 30_000)
      client.send(bytes.subarray(at, end))
      if (pick(3) === 0) await new Promise(setImmediate)
      at = end
    }
    const ours = fixture.sockets.at(-1)!
    // Something else is answered, or the connection is ended with a reason.
    if (pick(4) > 0 && isWhole(bytes)) {
      client.send(frame(TYPE.ping, 0, 0, 'the end!'))
      await client.frame(({ type, payload }) => type === TYPE.goAway || payload.toString() === 'the end!')
    }
    answers += client.came.filter(({ type }) => type === TYPE.headers).length
    farewells += client.came.filter(({ type }) => type === TYPE.goAway).length
    client.socket.destroy()
    await waitFor(() => ours.destroyed)
  }
  t.diagnostic(`${answers} answers, ${farewells} farewells`)
  assert.ok(answers > SESSIONS && farewells > SESSIONS / 10)
  assert.deepEqual(fixture.logged, [])
  const client = await fixture.raw()
  client.send(HELLO, getFrame(1, host))
  assert.equal(await client.status(1), 200)
  fixture.server.closeAllConnections()
})

/** Whether the last frame is whole: else what follows is its payload. */
function isWhole(bytes: Buffer): boolean {
  let at = PREFACE.length
  while (at + FRAME_HEADER_BYTES <= bytes.length) at += FRAME_HEADER_BYTES + bytes.readUIntBE(at, 3)
  return at === bytes.length
}
