import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { getPort, limited, listenOn, SOCKETS } from '../../packages/http-server/ports.ts'
import { waitFor } from '../support/wait-for.ts'

const CLIENTS = 200

async function listen(
  port: number,
  onConnection: (socket: Socket) => unknown = () => undefined,
  host = '127.0.0.1',
) {
  const stack = new AsyncDisposableStack()
  const place = { host, port, shared: false, sockets: SOCKETS }
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
  for (const host of ['127.0.0.1', '0.0.0.0', '::'])
    await assert.rejects(listen(listening.port, undefined, host), {
      name: 'ListenError',
      code: 'EADDRINUSE',
    })
})

test('the address "::" of the documents accepts connections over IPv6 and IPv4', async () => {
  for (const document of ['README.md', 'docs/run.md', 'docs/https.md', 'deploy/README.md']) {
    const text = await readFile(new URL(`../../${document}`, import.meta.url), 'utf8')
    assert.doesNotMatch(text, /SLIPWAY_HOST=0/, `${document} asks for AAAA records`)
  }
  await using listening = await listen(0, undefined, '::')
  for (const host of ['127.0.0.1', '::1']) {
    const client = connect(listening.port, host)
    await once(client, 'connect')
    client.destroy()
  }
})

test('the sockets of a port have one limit of open connections, beyond which they are closed', async () => {
  const accepted: Socket[] = []
  const accept = limited((socket) => void accepted.push(socket.resume()), 2)
  await using listening = await listen(0, accept)
  const open = () =>
    connect(listening.port, '127.0.0.1')
      .resume()
      .on('error', () => undefined)
  const reach = async (count: number) => {
    await waitFor(() => accepted.length >= count)
  }
  const clients = [open(), open()]
  await reach(2)
  await Promise.race([once(open(), 'close'), reach(3)])
  assert.equal(accepted.length, 2)
  clients[0]!.destroy()
  clients[1]!.destroy()
  await Promise.all(accepted.map((socket) => socket.destroyed || once(socket, 'close')))
  clients.push(open())
  await reach(3)
  clients[2]!.destroy()
})
