import assert from 'node:assert/strict'
import { connect, createServer, type Server } from 'node:net'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { getPort, listenOn, SOCKETS } from '../../packages/http-server/ports.ts'

const CLIENTS = 200

async function listen(port: number, onConnection = () => undefined as unknown) {
  const stack = new AsyncDisposableStack()
  const place = { host: '127.0.0.1', port, shared: false, sockets: SOCKETS }
  const servers = await listenOn(place, () =>
    stack.adopt(createServer(onConnection), (server: Server) => void server.close()),
  )
  return { servers, port: getPort(servers[0]), [Symbol.asyncDispose]: () => stack.disposeAsync() }
}

test('many new clients do not wait for as many turns of the event loop', async () => {
  let accepted = 0
  await using listening = await listen(0, () => accepted++)
  const clients = Array.from({ length: CLIENTS }, () => connect(listening.port, '127.0.0.1'))
  let turns = 0
  for (; accepted < CLIENTS; turns++) await turn()
  for (const client of clients) client.destroy()
  assert.ok(turns < CLIENTS / 2, `${turns} turns`)
})

test('a port with several sockets is refused to another service', async () => {
  await using listening = await listen(0)
  assert.equal(listening.servers.length, SOCKETS)
  await assert.rejects(listen(listening.port), { name: 'ListenError', code: 'EADDRINUSE' })
})
