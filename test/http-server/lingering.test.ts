import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { after, afterEach, before, beforeEach, describe, mock, test } from 'node:test'
import { LingeringConnections } from '../../packages/http-server/lingering.ts'
import { pluck } from '../support/pluck.ts'

const SECOND = 1000

describe('a connection whose client still sends after its response', () => {
  const server = createServer({ allowHalfOpen: true })
  before(() => once(server.listen(0, '127.0.0.1'), 'listening'))
  after(() => server.close())
  beforeEach(() => mock.timers.enable({ apis: ['setTimeout'] }))
  const opened = new Set<Socket>()
  afterEach(() => {
    mock.timers.reset()
    for (const socket of opened) socket.destroy()
  })

  const lingering = (max = 10) =>
    new LingeringConnections({ deadlines: { idle: 5 * SECOND, total: 30 * SECOND }, max })

  /** The two ends of a connection. */
  async function open(address: string): Promise<{ ours: Socket; theirs: Socket }> {
    const { port } = server.address() as { port: number }
    const theirs = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
    theirs.on('error', () => undefined).resume()
    const [ours] = (await once(server, 'connection')) as [Socket]
    Object.defineProperty(ours, 'remoteAddress', { value: address })
    ours.on('error', () => undefined)
    opened.add(ours).add(theirs)
    return { ours, theirs }
  }

  test('is closed after 30 seconds, however much arrives', async () => {
    const { ours, theirs } = await open('192.0.2.1')
    lingering().close(ours)
    for (let second = 0; second < 30; second++) {
      assert.equal(ours.destroyed, false, `after ${second} seconds`)
      theirs.write('x')
      await once(ours, 'data')
      mock.timers.tick(SECOND)
    }
    assert.equal(ours.destroyed, true)
  })

  test('is closed after 5 seconds without a byte', async () => {
    const { ours } = await open('192.0.2.1')
    lingering().close(ours)
    mock.timers.tick(5 * SECOND - 1)
    assert.equal(ours.destroyed, false)
    mock.timers.tick(1)
    assert.equal(ours.destroyed, true)
  })

  test('is closed when its client has closed its side', async () => {
    const { ours, theirs } = await open('192.0.2.1')
    const connections = lingering()
    connections.close(ours)
    theirs.end('the rest')
    await once(ours, 'close')
    assert.equal(connections.count, 0)
  })

  test('gives way to those of others when its network has the most', async () => {
    const connections = lingering(3)
    const sockets = []
    for (const address of ['192.0.2.1', '198.51.100.1', '198.51.100.1', '203.0.113.1']) {
      const { ours } = await open(address)
      connections.close(ours)
      sockets.push(ours)
    }
    assert.deepEqual(pluck(sockets, 'destroyed'), [false, true, false, false])
  })
})
