import assert from 'node:assert/strict'
import { after, before, describe, mock, test } from 'node:test'
import { CODE, FLAG, MAX_STREAM_ID, TYPE } from '../../packages/http-server/http2/frame.ts'
import { waitFor } from '../support/wait-for.ts'
import { Http2Fixture } from './http2-fixture.ts'
import { frame, getFrame, type RawClient } from './raw-client.ts'

const isPing = ({ type, flags }: { type: number; flags: number }) => type === TYPE.ping && flags === 0

describe('a service that stops', () => {
  before(() => mock.timers.enable({ apis: ['setInterval'] }))
  after(() => mock.timers.reset())

  async function start() {
    const fixture = await Http2Fixture.start()
    const slug = await fixture.edge.publish({ 'index.html': 'home' })
    const client = await fixture.open(getFrame(1, fixture.edge.host(slug)))
    await client.ended(1)
    return { fixture, client, request: (stream: number) => getFrame(stream, fixture.edge.host(slug)) }
  }

  const lastStreams = (client: RawClient) =>
    client.received.filter(({ type }) => type === TYPE.goAway).map(({ payload }) => payload.readUInt32BE(0))

  test('answers the requests that a client sends before it has received GOAWAY', async () => {
    const { fixture, client, request } = await start()
    await using _ = fixture
    fixture.http2Server.pool.close()
    const { payload } = await client.frame(isPing)
    client.send(request(3))
    await client.ended(3)
    assert.deepEqual(lastStreams(client), [MAX_STREAM_ID])
    client.send(frame(TYPE.ping, FLAG.ack, 0, payload.toString('latin1')))
    await client.closed
    assert.deepEqual([await client.goAway(), lastStreams(client).at(-1)], [CODE.noError, 3])
  })

  test('does not wait for a client that does not respond', async () => {
    const { fixture, client } = await start()
    await using _ = fixture
    fixture.http2Server.pool.close()
    await client.frame(isPing)
    mock.timers.tick(10_000)
    await client.closed
    await waitFor(() => fixture.sockets.every(({ destroyed }) => destroyed))
  })
})
