import assert from 'node:assert/strict'
import { mkdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { DEADLINES } from '../../server/lib/deadlines.ts'
import { toFiles } from '../api/content.ts'
import { sendRequest } from '../support/http-client.ts'
import { startTestService } from '../support/service.ts'
import { waitFor } from '../support/wait-for.ts'
import { memoryFolder } from '../tools/memory-folder.ts'
import { requires } from '../tools/part.ts'
import { startPgBouncer } from '../tools/pgbouncer.ts'
import { freePort } from '../tools/port.ts'
import { sharedPostgres } from '../tools/postgres.ts'

test('behind a pooler a node shows what another publishes', requires('postgres', 'pgbouncer'), async () => {
  await using stack = new AsyncDisposableStack()
  const server = await sharedPostgres()
  const pooler = stack.use(await startPgBouncer(server.port))
  const { pathname } = new URL(stack.use(await server.borrowDatabase()).url)
  const url = server.url(pathname.slice(1), pooler.ports[0]!)
  const folder = stack.use(await memoryFolder()).path
  const ports = [await freePort(), await freePort()]
  await mkdir(join(folder, 'blobs'))
  const nodes = []
  for (const [index, port] of ports.entries()) {
    const data = join(folder, `${port}`)
    await mkdir(data)
    await symlink(join(folder, 'blobs'), join(data, 'blobs'))
    const settings = {
      PORT: `${port}`,
      DATA: data,
      DATABASE_URL: url,
      SECRET: 'a secret of all nodes of this test',
      SMTP_URL: 'smtp://127.0.0.1:1',
      BASE_URL: `http://localhost:${ports[0]}`,
    }
    // The node that publishes; visits give up as soon as in a service, which the load of the machine would decide.
    const deadlines = index === 0 ? { database: DEADLINES.database } : {}
    nodes.push(stack.use(await startTestService(settings, Date.now(), { deadlines })))
  }
  const [one, other] = nodes as [(typeof nodes)[0], (typeof nodes)[0]]
  const publish = (content: string, site = {}) =>
    one.client().publish({ files: toFiles({ 'index.html': content }), ...site })
  const visit = async (slug: string) => (await sendRequest(other.port, { site: slug, path: '/' })).text

  // More at a time than the pooler has connections to the server.
  const sites = await Promise.all(Array.from({ length: 20 }, (_, number) => publish(`${number}`)))
  for (const [number, { slug }] of sites.entries()) assert.equal(await visit(slug), `${number}`)
  const { slug, claimToken } = sites[0]!
  await publish('updated', { slug, claimToken })
  await waitFor(async () => (await visit(slug)) === 'updated')
})
