import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { settingsFrame, TYPE } from '../../server/edge/lanes/http2/frame.ts'
import { numbers } from '../api/random.ts'
import { comesTrue, Http2Fixture } from './http2-fixture.ts'
import { block, four, frame, get, getFrame, HELLO } from './raw-client.ts'

/** `SESSIONS=100000 SEED=…` makes it longer, or the same as another time. */
const SESSIONS = Number(process.env.SESSIONS ?? 600)

let fixture: Http2Fixture
let host: string
before(async () => {
  fixture = await Http2Fixture.start()
  const slug = await fixture.edge.publish({ 'index.html': 'home', 'big.bin': Buffer.alloc(300_000, 1) })
  host = fixture.edge.host(slug)
})
after(() => fixture[Symbol.asyncDispose]())

type Pick = (bound: number) => number

/** A frame as a client might send it, on some stream. */
function likely(pick: Pick): Buffer {
  const stream = 1 + 2 * pick(8)
  const path = ['/', '/big.bin', '/none', '/%', '/a#b'][pick(5)]!
  const put = { ...get(pick(2) === 0 ? host : 'api.test', path), ':method': ['PUT', 'POST', 'GET'][pick(3)]! }
  switch (pick(9)) {
    case 0:
    case 1:
      return getFrame(stream, host, path)
    case 2:
      return frame(TYPE.headers, 4, stream, block(put))
    case 3:
      return frame(TYPE.data, pick(2), stream, Buffer.alloc(pick(3) === 0 ? 16_384 : pick(100)))
    case 4:
      return frame(TYPE.reset, 0, stream, four(8))
    case 5:
      return frame(TYPE.windowUpdate, 0, pick(2) * stream, four(1 + pick(100_000)))
    case 6:
      return settingsFrame([[4, [0, 1, 65_535, 2 ** 30][pick(4)]!]])
    case 7:
      return Buffer.concat([
        frame(TYPE.headers, 1, stream, block(get(host, path))),
        frame(TYPE.continuation, 4, stream),
      ])
    default:
      return frame(TYPE.ping, pick(2), 0, '12345678')
  }
}

function anything(pick: Pick): Buffer {
  const payload = Buffer.from(Array.from({ length: pick(40) }, () => pick(256)))
  return frame(pick(11), pick(256), pick(2) === 0 ? 0 : pick(20), payload)
}

/** What one client says from beginning to end. */
function session(pick: Pick): Buffer {
  const frames = Array.from({ length: 1 + pick(40) }, () => (pick(12) === 0 ? anything(pick) : likely(pick)))
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
    if (pick(4) > 0) {
      // Something else is answered, or the connection is ended with a reason.
      client.send(frame(TYPE.ping, 0, 0, 'the end!'))
      await client
        .frame(({ type, payload }) => type === TYPE.goAway || payload.toString() === 'the end!')
        .catch((error: unknown) => assert.ok(cutWithin(bytes), `${error}`))
    }
    answers += client.came.filter(({ type }) => type === TYPE.headers).length
    farewells += client.came.filter(({ type }) => type === TYPE.goAway).length
    client.socket.destroy()
    await comesTrue(() => ours.destroyed)
  }
  t.diagnostic(`${answers} answers, ${farewells} farewells`)
  assert.ok(answers > SESSIONS && farewells > SESSIONS / 10)
  assert.deepEqual(fixture.logged, [])
  const client = await fixture.raw()
  client.send(HELLO, getFrame(1, host))
  assert.equal(await client.status(1), 200)
  fixture.server.closeAllConnections()
})

/** Whether the last frame is not whole: then what follows is its payload. */
function cutWithin(bytes: Buffer): boolean {
  let at = 24
  while (at + 9 <= bytes.length) at += 9 + bytes.readUIntBE(at, 3)
  return at !== bytes.length
}
