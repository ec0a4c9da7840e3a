import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { sendRequest } from '../support/http-client.ts'
import { startTestService } from '../support/service.ts'
import { memoryFolder } from '../tools/memory-folder.ts'
import { requires } from '../tools/part.ts'
import { sharedPostgres } from '../tools/postgres.ts'
import { TcpProxy } from '../tools/tcp-proxy.ts'
import { nodeSettings } from './node-settings.ts'

interface Database {
  settings: Record<string, string>
  /** Makes it hang until the returned function is called. */
  stop(): () => void
}

const databases: Record<string, (stack: AsyncDisposableStack) => Promise<Database>> = {
  async 'SQLite is locked by another process'(stack) {
    const { path } = stack.use(await memoryFolder())
    return {
      settings: { DATA: path },
      stop() {
        const other = new DatabaseSync(join(path, 'slipway.db'))
        other.exec('begin exclusive')
        return () => other.close()
      },
    }
  },
  async 'PostgreSQL does not answer'(stack) {
    const server = await sharedPostgres()
    const proxy = stack.use(await TcpProxy.open(server.port))
    const { pathname } = new URL(stack.use(await server.borrowDatabase()).url)
    return {
      settings: await nodeSettings(server.url(pathname.slice(1), proxy.port)),
      stop() {
        proxy.stop()
        return () => proxy.resume?.()
      },
    }
  },
}

for (const [state, open] of Object.entries(databases))
  test(`while ${state}, metrics are served until the last request ends`, requires('postgres'), async () => {
    await using stack = new AsyncDisposableStack()
    const { settings, stop } = await open(stack)
    const given = { ...settings, INTERNAL_PORT: '0', DRAIN_SECONDS: '60' }
    const { service, port } = stack.use(await startTestService(given))
    const scrape = () => sendRequest(service.internalPort!, { path: '/metrics' })
    const resume = stop()
    const waiting = sendRequest(port, { method: 'PUT', path: '/page.html', body: Buffer.from('text') })
    const upload = await beginUpload(port)
    assertServed(await scrape())
    const stopped = service[Symbol.asyncDispose]()
    assertServed(await scrape())
    resume()
    upload.destroy()
    await Promise.all([waiting, stopped])
    await assert.rejects(scrape(), { code: 'ECONNREFUSED' })
  })

/** Begins a request whose body does not end. */
async function beginUpload(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  socket.write('POST /api/v1/publish HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n')
  socket.write('Content-Length: 100\r\n\r\n')
  await once(socket, 'connect')
  return socket
}

function assertServed({ status, text }: { status: number; text: string }): void {
  assert.equal(status, 200)
  assert.match(text, /^slipway_connections [1-9]/m)
}
